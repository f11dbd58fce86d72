// SPDX-License-Identifier: Apache-2.0
// For tests: profiles from texts, and their stacks in folded form.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/files/text_source.h"
#include "stepscope/stack/read_profile.h"

namespace stepscope::test {

inline Result<Profile> profile_of(std::string_view text, const ProfileOptions& options = {}) {
  return read_profile_from(std::make_unique<TextSource>(text), "input", options);
}

// "thread;root;...;leaf" → weight, for stacks with a weight.
inline std::map<std::string, double> folded(const Profile& p) {
  std::map<std::string, double> out;
  std::map<std::uint32_t, std::string> thread;
  for (const ProfileThread& t : p.threads)
    thread[t.node] = t.process.empty() ? t.name : t.process + "|" + t.name;
  std::vector<std::string> text(p.tree.size());
  for (std::uint32_t n = 1; n < p.tree.size(); ++n) {
    const std::uint32_t parent = p.tree.parent[n];
    text[n] =
        parent == 0 ? thread.at(n) : text[parent] + ';' + std::string(p.strings[p.tree.frame[n]]);
    if (p.tree.self[n] != 0) out[text[n]] = p.tree.self[n];
  }
  return out;
}

using Folded = std::map<std::string, double>;

// The stacks of a readable text; for an unreadable one the error as a stack.
inline Folded folded_text(std::string_view text, const ProfileOptions& options = {}) {
  const auto p = profile_of(text, options);
  return p ? folded(*p) : Folded{{p.error().message(), -1}};
}

// Checks sums, subtrees and order of a sealed tree; empty if correct.
inline std::string broken_tree(const CallTree& t) {
  if (t.size() == 0 || t.end[0] != t.size()) return "the root ends elsewhere";
  std::vector<double> below(t.size());
  std::vector<std::uint32_t> last(t.size());
  for (std::uint32_t n = t.size(); n-- > 0;) {
    if (n > 0 && (t.parent[n] >= n || t.end[t.parent[n]] < t.end[n])) return "no preorder";
    if (t.end[n] <= n || t.end[n] > t.size()) return "a subtree ends before it begins";
    const double sum = below[n] + t.self[n];
    if (std::abs(sum - t.total[n]) > 1e-9 * std::max(1.0, std::abs(sum)))
      return "a total is no sum";
    if (n > 0) below[t.parent[n]] += t.total[n];
  }
  for (std::uint32_t n = 1; n < t.size(); ++n) {
    const std::uint32_t before = last[t.parent[n]];
    if (before != 0 && t.total[before] < t.total[n]) return "siblings out of order";
    last[t.parent[n]] = n;
  }
  return {};
}

}  // namespace stepscope::test
