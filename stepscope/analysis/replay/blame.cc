// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/blame.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_map>

namespace stepscope {
namespace {

// A piece of work on the way to a late arrival.
struct Suspect {
  std::uint32_t node = 0;
  bool delay = false;
  Ns own{};     // its time
  Ns excess{};  // over its peers; 0 if unknown
};

class Judge {
 public:
  Judge(const Replay& replay, std::span<const RankView> views, const Collectives& job,
        const PeerMedians& medians)
      : replay_(replay), graph_(*replay.graph), views_(views), job_(job), medians_(medians) {}

  std::vector<Blame> run();

 private:
  void judge(std::uint32_t join);
  [[nodiscard]] Ns waiting(std::uint32_t join) const;
  [[nodiscard]] bool holds_all(std::uint32_t earlier, std::uint32_t join) const;
  [[nodiscard]] std::vector<Suspect> suspects(std::uint32_t join) const;
  void charge(const Suspect& suspect, bool excess, Ns wait, Ns at);

  // Labels are compared by place here, by text at the end.
  struct Key {
    std::uint32_t view = 0;
    const char* label = nullptr;
    bool excess = false;
    bool operator==(const Key&) const = default;
  };
  struct HashOfKey {
    std::size_t operator()(const Key& k) const {
      return std::hash<const char*>{}(k.label) * 31 + (std::size_t{k.view} << 1U) +
             (k.excess ? 1 : 0);
    }
  };
  struct Charged {
    Blame blame;
    std::unordered_map<std::uint32_t, Ns> names;  // by name of the row; no_node: no row
  };
  [[nodiscard]] Charged& charged(std::uint32_t node, std::string_view label, bool excess) {
    return charged_[{graph_.view[node], label.data(), excess}];
  }
  const Replay& replay_;
  const StepGraph& graph_;
  std::span<const RankView> views_;
  const Collectives& job_;
  const PeerMedians& medians_;
  std::unordered_map<Key, Charged, HashOfKey> charged_;
};

// Total wait of the members before the last one.
Ns Judge::waiting(std::uint32_t join) const {
  Ns total{};
  for (const std::uint32_t arrival : graph_.graph.preds_of(join))
    total += replay_.end[join] - replay_.end[arrival];
  return total;
}

// True if every member of `join` is also a member of `earlier`.
bool Judge::holds_all(std::uint32_t earlier, std::uint32_t join) const {
  return std::ranges::all_of(graph_.graph.preds_of(join), [&](std::uint32_t a) {
    return std::ranges::any_of(graph_.graph.preds_of(earlier),
                               [&](std::uint32_t b) { return graph_.view[a] == graph_.view[b]; });
  });
}

std::vector<Suspect> Judge::suspects(std::uint32_t join) const {
  std::vector<Suspect> found;
  for (std::uint32_t node = latest_pred(graph_.graph, replay_.end, join); node != no_node;
       node = latest_pred(graph_.graph, replay_.end, node)) {
    const NodeKind kind = graph_.kind[node];
    if (!replay_.movable[node] || (kind == NodeKind::join && holds_all(node, join))) break;
    const Ns duration = replay_.measured.duration[node];
    const Ns delay = replay_.measured.delay[node];
    const Ns median = medians_.of_node[node];
    if (median >= Ns{0}) {
      const Ns excess = std::max(Ns{0}, duration + delay - median);
      const bool late = delay > duration;
      found.push_back({node, late, duration + delay, excess});
      continue;
    }
    if (duration > Ns{0}) found.push_back({node, false, duration, Ns{0}});
    if (delay > Ns{0}) found.push_back({node, true, delay, Ns{0}});
  }
  return found;
}

void Judge::charge(const Suspect& suspect, bool excess, Ns wait, Ns at) {
  const int rank = views_[graph_.view[suspect.node]].rank;
  const std::string_view label = suspect.delay
                                     ? std::string_view("unexplained")
                                     : label_of(graph_, views_, job_.matches, suspect.node);
  Charged& c = charged(suspect.node, label, excess);
  c.blame.rank = rank;
  c.blame.label = label;
  c.blame.excess = excess;
  c.blame.wait += wait;
  const SliceId row = graph_.slice[suspect.node];
  const Trace& trace = *views_[graph_.view[suspect.node]].trace;
  c.names[row == no_slice ? no_node : index(trace.slices.name[index(row)])] += wait;
  if (wait <= c.blame.worst) return;
  c.blame.worst = wait;
  c.blame.worst_at = at + graph_.origin;
}

void Judge::judge(std::uint32_t join) {
  const Ns wait = waiting(join);
  if (wait <= Ns{0}) return;
  const std::vector<Suspect> found = suspects(join);
  Ns excess{};
  Ns own{};
  for (const Suspect& s : found) {
    excess += s.excess;
    own += s.own;
  }
  const bool by_excess = excess > Ns{0};
  const Ns whole = by_excess ? excess : own;
  if (whole <= Ns{0}) return;
  Ns left = wait;
  const Suspect* most = nullptr;
  for (const Suspect& s : found) {
    const Ns weight = by_excess ? s.excess : s.own;
    if (weight <= Ns{0}) continue;
    const Ns part{
        std::llround(static_cast<double>(wait.count()) *
                     (static_cast<double>(weight.count()) / static_cast<double>(whole.count())))};
    const Ns given = std::min(part, left);
    charge(s, by_excess, given, replay_.end[join]);
    left -= given;
    if (most == nullptr || weight > (by_excess ? most->excess : most->own)) most = &s;
  }
  if (most == nullptr) return;
  if (left > Ns{0}) charge(*most, by_excess, left, replay_.end[join]);
  const std::string_view label = most->delay ? std::string_view("unexplained")
                                             : label_of(graph_, views_, job_.matches, most->node);
  ++charged(most->node, label, by_excess).blame.collectives;
}

std::vector<Blame> Judge::run() {
  for (std::uint32_t n = 0; n < graph_.size(); ++n)
    if (graph_.kind[n] == NodeKind::join && replay_.movable[n]) judge(n);
  struct Named {
    Blame blame;
    std::map<std::string_view, Ns> names;
  };
  std::map<std::tuple<int, std::string_view, bool>, Named> merged;
  for (const auto& [key, c] : charged_) {
    Named& to = merged[{c.blame.rank, c.blame.label, key.excess}];
    const StringPool& strings = views_[key.view].trace->strings;
    for (const auto& [name, wait] : c.names)
      to.names[name == no_node ? std::string_view{} : strings[StringId{name}]] += wait;
    Blame sum = c.blame;
    sum.wait += to.blame.wait;
    sum.collectives += to.blame.collectives;
    const bool earlier = to.blame.worst == sum.worst && to.blame.worst_at < sum.worst_at;
    if (to.blame.worst > sum.worst || earlier) {
      sum.worst = to.blame.worst;
      sum.worst_at = to.blame.worst_at;
    }
    to.blame = std::move(sum);
  }
  std::vector<Blame> blames;
  for (auto& [key, named] : merged) {
    const auto most =
        std::ranges::max_element(named.names, {}, [](const auto& name) { return name.second; });
    named.blame.name = std::string(most->first);
    blames.push_back(std::move(named.blame));
  }
  std::ranges::stable_sort(blames, std::ranges::greater{}, &Blame::wait);
  return blames;
}

}  // namespace

std::vector<Blame> find_blame(const Replay& replay, std::span<const RankView> views,
                              const Collectives& job, const PeerMedians& medians) {
  return Judge(replay, views, job, medians).run();
}

}  // namespace stepscope
