// SPDX-License-Identifier: Apache-2.0
// Invariants for any bytes read as a host profile of one format: an error has a text; a profile is
// a tree with correct sums, threads that cover it, and stacks with a phase.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "stepscope/stack/flame.h"
#include "stepscope/stack/stack_summary.h"
#include "stepscope/stack/stack_test_text.h"

namespace stepscope::fuzz {

inline void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

inline void check_profile(const Profile& p) {
  const std::string broken = test::broken_tree(p.tree);
  expect(broken.empty(), broken.c_str());
  double sum = 0;
  for (const ProfileThread& t : p.threads) {
    expect(t.node > 0 && t.node < p.tree.size() && p.tree.parent[t.node] == 0,
           "threads are below the root");
    sum += p.tree.total[t.node];
  }
  const double all = p.tree.total[0];
  const double slack = 1e-9 * std::max(1.0, std::abs(all));
  expect(std::abs(sum - all) <= slack, "threads sum to all");
  static const PhaseRules rules = *make_phase_rules();
  const NodePhases phases = phases_of(p, rules);
  const StackSummary s = summarize(p, rules, phases);
  expect(std::abs(s.weight - all) <= slack, "phases sum to all");
  expect(std::abs(s.busy + s.idle + s.hidden - all) <= slack, "kinds sum to all");
  const FlameGraph flame = flame_graph(p, phases, 50);
  expect(flame.size() <= 51, "a flame graph is small");
  expect(test::broken_tree(bottom_up(p, 5, 0)).empty(), "a tree from below holds");
}

// False if it could not be read.
inline bool run(const std::uint8_t* data, std::size_t size, const char* format) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto p = test::profile_of(bytes, {.format = format, .keep_samples = size % 2 == 0});
  if (!p) {
    expect(!p.error().message().empty(), "an error says something");
    return false;
  }
  check_profile(*p);
  // Without a given format: the first bytes show it.
  if (const auto told = test::profile_of(bytes)) check_profile(*told);
  return true;
}

}  // namespace stepscope::fuzz
