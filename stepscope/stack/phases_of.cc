// SPDX-License-Identifier: Apache-2.0
// One walk over the tree in preorder. The progress along each rule's path is recorded on the way
// down and undone on the way up, so the cost of a node is the number of its matches.
#include "stepscope/stack/phases_of.h"

#include <algorithm>

namespace stepscope {
namespace {

struct Place {
  std::uint32_t rule;
  std::uint32_t element;
};

struct Level {
  std::uint32_t end = 0;
  std::size_t log = 0;  // length of the log before this node
  std::uint32_t phase = 0;
  bool found = false;     // by any rule
  bool fallback = false;  // by a fallback rule only
  std::uint8_t pass = 0;
  FrameKind kind = FrameKind::unknown;
};

class Walk {
 public:
  Walk(const Profile& profile, const PhaseRules& rules, NodePhases& out)
      : tree_(profile.tree), strings_(profile.strings), rules_(rules), out_(out) {
    at_pattern_.resize(rules.patterns.size());
    for (std::uint32_t r = 0; r < rules.rules.size(); ++r)
      for (std::uint32_t e = 0; e < rules.rules[r].path.size(); ++e)
        at_pattern_[rules.rules[r].path[e]].push_back({r, e});
    met_.resize(rules.rules.size());
    advanced_.assign(rules.rules.size(), 0);
  }

  void find_hits() {
    hits_.resize(strings_.size());
    std::vector<bool> done(strings_.size());
    for (const StringId id : tree_.frame) {
      if (done[index(id)]) continue;
      done[index(id)] = true;
      const FrameFacts& f = out_.frames[index(id)];
      rules_.patterns.match(f.frame, f.line, hits_[index(id)]);
    }
  }

  void run() {
    std::vector<Level> levels{
        {.end = tree_.size(), .pass = static_cast<std::uint8_t>(rules_.other_pass)}};
    for (std::uint32_t n = 1; n < tree_.size(); ++n) {
      while (levels.back().end <= n) {
        take_back(levels.back().log);
        levels.pop_back();
      }
      Level here = levels.back();
      here.end = tree_.end[n];
      here.log = log_.size();
      visit(n, here);
      levels.push_back(here);
    }
  }

 private:
  struct Best {
    const PhaseRule* rule = nullptr;
    void offer(const PhaseRule& r) {
      if (rule == nullptr || r.path.size() > rule->path.size() ||
          (r.path.size() == rule->path.size() && &r < rule))
        rule = &r;
    }
  };

  void take_back(std::size_t length) {
    for (; log_.size() > length; log_.pop_back()) --met_[log_.back()];
  }

  [[nodiscard]] bool is_fallback(const PhaseRule& r) const {
    return rules_.phases[r.phase].fallback;
  }

  void visit(std::uint32_t n, Level& here) {
    const std::vector<std::uint32_t>& hits = hits_[index(tree_.frame[n])];
    const FrameFacts& facts = out_.frames[index(tree_.frame[n])];
    const bool is_thread = tree_.parent[n] == 0;
    if (!is_thread && facts.frame.kind != FrameKind::unknown) here.kind = facts.frame.kind;
    // [own, fallback] × [passing, innermost only]
    Best best[2][2];
    for (const std::uint32_t pattern : hits)
      for (const Place p : at_pattern_[pattern]) {
        const PhaseRule& rule = rules_.rules[p.rule];
        if (p.element + 1 == rule.path.size() && met_[p.rule] >= p.element)
          best[is_fallback(rule)][rules_.patterns[pattern].innermost].offer(rule);
      }
    for (const std::uint32_t pattern : hits)
      for (const Place p : at_pattern_[pattern])
        if (p.element == met_[p.rule] && p.element + 1 < rules_.rules[p.rule].path.size() &&
            advanced_[p.rule] != n) {
          advanced_[p.rule] = n;
          ++met_[p.rule];
          log_.push_back(p.rule);
        }
    const auto take = [&](Level& level, const Best(&own)[2], const Best(&weak)[2], bool innermost) {
      const PhaseRule* strong = own[0].rule;
      const PhaseRule* faint = weak[0].rule;
      if (innermost && own[1].rule != nullptr) strong = own[1].rule;
      if (innermost && weak[1].rule != nullptr) faint = weak[1].rule;
      if (strong != nullptr) {
        level.phase = strong->phase;
        level.found = true;
        level.fallback = false;
      } else if (faint != nullptr && (!level.found || level.fallback)) {
        level.phase = faint->phase;
        level.found = level.fallback = true;
      }
    };
    Level alone = here;
    take(here, best[0], best[1], false);
    take(alone, best[0], best[1], true);
    pass(hits, here);
    out_.pass[n] = here.pass;
    out_.through[n] = static_cast<std::uint16_t>(phase(here));
    out_.self[n] = static_cast<std::uint16_t>(phase(alone));
    if (strings_[tree_.frame[n]] == hidden_frame)
      out_.self[n] = out_.through[n] = static_cast<std::uint16_t>(rules_.hidden);
  }

  void pass(const std::vector<std::uint32_t>& hits, Level& here) const {
    for (const PassRule& rule : rules_.pass_rules) {
      if (!std::ranges::binary_search(hits, rule.pattern)) continue;
      if (!rule.inside.empty() && std::ranges::find(rule.inside, here.pass) == rule.inside.end())
        continue;
      here.pass = static_cast<std::uint8_t>(rule.pass);
      return;
    }
  }

  [[nodiscard]] std::uint32_t phase(const Level& level) const {
    if (level.found) return level.phase;
    switch (level.kind) {
      case FrameKind::python:
        return rules_.python;
      case FrameKind::native:
      case FrameKind::kernel:
        return rules_.native;
      case FrameKind::unknown:
        break;
    }
    return rules_.unknown;
  }

  const CallTree& tree_;
  const StringPool& strings_;
  const PhaseRules& rules_;
  NodePhases& out_;
  std::vector<std::vector<Place>> at_pattern_;    // rule positions by pattern
  std::vector<std::vector<std::uint32_t>> hits_;  // patterns that match a frame
  std::vector<std::uint32_t> met_;                // matched elements of each rule's path
  std::vector<std::uint32_t> advanced_;           // the node that last advanced a rule
  std::vector<std::uint32_t> log_;                // rules advanced on the path to here
};

}  // namespace

NodePhases phases_of(const Profile& profile, const PhaseRules& rules,
                     const InstructionTable* table) {
  NodePhases out;
  const std::uint32_t n = profile.tree.size();
  out.self.resize(n);
  out.through.resize(n);
  out.pass.assign(n, static_cast<std::uint8_t>(rules.other_pass));
  out.frames.resize(profile.strings.size());
  for (std::uint32_t id = 0; id < profile.strings.size(); ++id) {
    FrameFacts& f = out.frames[id];
    f.frame = frame_of(profile.strings[StringId{id}]);
    f.line = f.frame.line;
    f.file = f.frame.file;
    if (!f.frame.instruction) continue;
    const auto line = table == nullptr ? std::nullopt : table->find(f.frame);
    if (line) {
      f.line = line->line;
      f.file = line->file;
      f.by_table = true;
    }
    ++(line ? out.resolved : out.unresolved);
    if (!line && table != nullptr && table->knows(f.frame)) ++out.off_table;
  }
  Walk walk(profile, rules, out);
  walk.find_hits();
  walk.run();
  return out;
}

}  // namespace stepscope
