// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/stack_summary.h"

#include <algorithm>
#include <map>

namespace stepscope {
namespace {

using Cells = std::map<std::pair<std::uint32_t, std::uint32_t>, double>;

std::vector<PhaseWeight> sorted(const Cells& cells) {
  std::vector<PhaseWeight> out;
  out.reserve(cells.size());
  for (const auto& [key, weight] : cells) out.push_back({key.first, key.second, weight});
  std::ranges::stable_sort(out, std::greater<>(), &PhaseWeight::weight);
  return out;
}

ThreadSummary summary_of(const Profile& profile, const PhaseRules& rules, const NodePhases& phases,
                         std::uint32_t thread, Cells& all) {
  const CallTree& tree = profile.tree;
  ThreadSummary s{.thread = thread};
  const std::uint32_t first = profile.threads[thread].node;
  Cells cells;
  for (std::uint32_t n = first; n < tree.end[first]; ++n)
    if (tree.self[n] != 0) cells[{phases.self[n], phases.pass[n]}] += tree.self[n];
  for (const auto& [key, weight] : cells) {
    all[key] += weight;
    s.weight += weight;
    const PhaseKind kind = rules.phases[key.first].kind;
    (kind == PhaseKind::idle ? s.idle : kind == PhaseKind::hidden ? s.hidden : s.busy) += weight;
  }
  s.phases = sorted(cells);
  return s;
}

std::vector<FunctionWeight> functions_of(const Profile& profile, const NodePhases& phases) {
  const CallTree& tree = profile.tree;
  std::vector<FunctionWeight> all(profile.strings.size());
  Cells own;                                    // by function and phase
  std::vector<std::uint32_t> open(all.size());  // occurrences of a frame on the path
  std::vector<std::uint32_t> way;
  std::vector<bool> is_thread(tree.size());
  for (const ProfileThread& t : profile.threads) is_thread[t.node] = true;
  for (std::uint32_t n = 1; n < tree.size(); ++n) {
    while (!way.empty() && tree.end[way.back()] <= n) {
      --open[index(tree.frame[way.back()])];
      way.pop_back();
    }
    if (is_thread[n]) continue;
    const std::uint32_t f = index(tree.frame[n]);
    if (open[f]++ == 0) all[f].total += tree.total[n];
    way.push_back(n);
    all[f].self += tree.self[n];
    if (tree.self[n] > 0) own[{f, phases.self[n]}] += tree.self[n];
  }
  for (const auto& [key, weight] : own) {
    FunctionWeight& f = all[key.first];
    if (weight <= f.phase_weight) continue;
    f.phase = key.second;
    f.phase_weight = weight;
  }
  for (std::uint32_t f = 0; f < all.size(); ++f) all[f].frame = StringId{f};
  std::erase_if(all, [&](const FunctionWeight& f) {
    const std::string_view frame = profile.strings[f.frame];
    return f.total == 0 || frame == hidden_frame || frame == cut_frame;
  });
  std::ranges::stable_sort(all, [](const FunctionWeight& a, const FunctionWeight& b) {
    return a.self != b.self ? a.self > b.self : a.total > b.total;
  });
  return all;
}

}  // namespace

std::size_t shown_threads(const StackSummary& summary) {
  return static_cast<std::size_t>(std::ranges::count_if(
      summary.threads, [](const ThreadSummary& t) { return t.weight > t.hidden; }));
}

std::vector<PhaseWeight> by_phase(std::span<const PhaseWeight> weights) {
  Cells cells;
  for (const PhaseWeight& w : weights) cells[{w.phase, 0}] += w.weight;
  return sorted(cells);
}

StackSummary summarize(const Profile& profile, const PhaseRules& rules, const NodePhases& phases) {
  StackSummary all;
  Cells cells;
  for (std::uint32_t t = 0; t < profile.threads.size(); ++t) {
    all.threads.push_back(summary_of(profile, rules, phases, t, cells));
    const ThreadSummary& s = all.threads.back();
    all.weight += s.weight;
    all.busy += s.busy;
    all.idle += s.idle;
    all.hidden += s.hidden;
  }
  std::ranges::stable_sort(all.threads, std::greater<>(), &ThreadSummary::busy);
  all.phases = sorted(cells);
  all.functions = functions_of(profile, phases);
  return all;
}

CallTree bottom_up(const Profile& profile, std::uint32_t depth, double least) {
  const CallTree& tree = profile.tree;
  TreeBuilder builder;
  const double floor = tree.total[0] * least;
  for (std::uint32_t n = 1; n < tree.size(); ++n) {
    if (tree.self[n] <= 0 || tree.self[n] < floor || tree.parent[n] == 0 ||
        profile.strings[tree.frame[n]] == hidden_frame)
      continue;
    std::uint32_t node = TreeBuilder::root;
    std::uint32_t deep = 0;
    for (std::uint32_t m = n; tree.parent[m] != 0 && deep < depth; m = tree.parent[m], ++deep)
      node = builder.child(node, tree.frame[m]);
    builder.add(node, tree.self[n]);
  }
  return builder.seal();
}

}  // namespace stepscope
