// SPDX-License-Identifier: Apache-2.0
// Nodes are in one array and are found by (parent, kind, name). A child comes after its parent, so
// one pass from the back adds up the sums.
#include "stepscope/analysis/work/range_tree.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "stepscope/analysis/steps/nesting.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/range_names.h"
#include "stepscope/base/key_index.h"

namespace stepscope {
namespace {

constexpr std::uint32_t root = 0;

struct RangeKey {
  std::uint32_t parent;
  RangeKind kind;
  std::uint32_t name;  // a StringId, of annotations RangeNames::number(); or a Phase
  bool operator==(const RangeKey&) const = default;
};
struct RangeKeyHash {
  std::size_t operator()(const RangeKey& k) const {
    std::size_t hash = (static_cast<std::size_t>(k.parent) << 32) | k.name;
    hash = (hash ^ static_cast<std::size_t>(k.kind)) * 0x9E3779B97F4A7C15ULL;
    return hash ^ (hash >> 29);
  }
};

struct Node {
  RangeKey key{};
  std::uint32_t depth = 0;
  std::optional<Phase> phase{};  // the phase this node is in or below
  std::uint64_t count = 0;
  Ns host{};
  Ns device{};
};

class Builder {
 public:
  Builder(const Trace& trace, const RankIndex& rank, std::span<const Step> steps,
          const HostPhases& phases, const RangeLimits& limits)
      : trace_(trace),
        names_(trace, rank, steps),
        steps_(steps),
        phases_(phases),
        limits_(limits),
        nodes_(1),
        place_(trace.slices.size(), no_row) {
    for (const Step& step : steps) step_names_.insert(step.name);
  }

  // The kind of range that a row opens.
  [[nodiscard]] std::optional<RangeKind> kind_of(SliceId row) const {
    switch (trace_.slices.category[index(row)]) {
      case Category::cpu_op:
        return RangeKind::operation;
      case Category::python_function:
        return trace_.name(row).starts_with("nn.Module: ") ? std::optional(RangeKind::module)
                                                           : std::nullopt;
      case Category::user_annotation:
      case Category::gpu_annotation:
        return is_step(trace_.name(row)) ? std::nullopt : std::optional(RangeKind::annotation);
      default:
        return std::nullopt;
    }
  }

  void add_host_rows(const RankIndex& rank) {
    const Slices& s = trace_.slices;
    std::vector<bool> backend(trace_.strings.size());
    if (rank.cpu_only()) backend = backend_row_names(trace_.strings);
    const auto in_flight = [&](SliceId row) { return backend[index(s.name[index(row)])]; };
    const auto frame = [&](SliceId row) { return kind_of(row) && !in_flight(row); };
    for (const TrackId track : rank.host_tracks) {
      visit_nested(s, trace_.track(track), frame, [&](SliceId row, SliceId parent) {
        if (in_flight(row)) {
          const StringId name = s.name[index(row)];
          count(child(root, RangeKind::annotation, index(name)), s.start[index(row)],
                s.dur[index(row)]);
          return;
        }
        const std::uint32_t above = parent == no_slice ? root : place_[index(parent)];
        if (is_call(s.category[index(row)]))
          place_[index(row)] = phase_below(above, track, s.start[index(row)]);
        else if (const auto kind = kind_of(row))
          place_[index(row)] = add_row(above, *kind, row, track);
      });
    }
  }

  void add_device_rows(const RankIndex& rank) {
    for (const SliceId op : rank.operations()) {
      if (!step_at(steps_, trace_.slices.start[index(op)])) continue;
      const SliceId call = rank.launch(op);
      std::uint32_t above = call == no_slice ? place_[index(op)] : place_[index(call)];
      if (above == no_row) above = phase_child(root, Phase::other);
      const std::uint32_t leaf =
          child(above, RangeKind::kernel, index(trace_.slices.name[index(op)]));
      ++nodes_[leaf].count;
      nodes_[leaf].device += trace_.slices.dur[index(op)];
    }
  }

  // For device operations without a launch call: the GPU annotations around them.
  void add_gpu_annotations(const RankIndex& rank) {
    const Slices& s = trace_.slices;
    const auto frame = [&](SliceId row) {
      return s.category[index(row)] == Category::gpu_annotation && kind_of(row);
    };
    for (const Track& track : trace_.tracks) {
      if (!track.device) continue;
      visit_nested(s, track, frame, [&](SliceId row, SliceId parent) {
        const std::uint32_t above = parent == no_slice ? no_row : place_[index(parent)];
        if (is_device_work(s.category[index(row)])) {
          if (rank.launch(row) == no_slice) place_[index(row)] = above;
        } else if (frame(row)) {
          const std::uint32_t phase = phase_child(root, Phase::other);
          place_[index(row)] = child(above == no_row ? phase : above, RangeKind::annotation,
                                     names_.number(s.name[index(row)]));
        }
      });
    }
  }

  std::vector<RangeNode> take() {
    std::vector<std::vector<std::uint32_t>> children(nodes_.size());
    for (std::uint32_t i = static_cast<std::uint32_t>(nodes_.size()) - 1; i > root; --i) {
      Node& parent = nodes_[nodes_[i].key.parent];
      parent.device += nodes_[i].device;
      children[nodes_[i].key.parent].push_back(i);
    }
    return listed(root, children);
  }

 private:
  [[nodiscard]] bool is_step(std::string_view name) const {
    return name.starts_with("ProfilerStep") || step_names_.contains(name);
  }

  std::uint32_t child(std::uint32_t parent, RangeKind kind, std::uint32_t name) {
    const RangeKey key{parent, kind, name};
    const auto [number, fresh] = places_.insert(key);
    const auto phase =
        kind == RangeKind::phase ? std::optional(static_cast<Phase>(name)) : nodes_[parent].phase;
    if (fresh) nodes_.push_back({.key = key, .depth = nodes_[parent].depth + 1, .phase = phase});
    return number + 1;  // after the root
  }
  std::uint32_t phase_child(std::uint32_t parent, Phase phase) {
    return child(parent, RangeKind::phase, static_cast<std::uint32_t>(phase));
  }

  std::uint32_t phase_below(std::uint32_t above, TrackId track, Ns instant) {
    if (nodes_[above].phase) return above;
    return phase_child(above, phases_.at(track, instant));
  }

  std::uint32_t add_row(std::uint32_t above, RangeKind kind, SliceId row, TrackId track) {
    const Ns start = trace_.slices.start[index(row)];
    const Ns dur = trace_.slices.dur[index(row)];
    if (nodes_[above].phase == Phase::backward && phases_.at(track, start) == Phase::recompute) {
      above = phase_child(above, Phase::recompute);
      count(above, start, dur);
    } else if (!nodes_[above].phase) {
      const Phase phase = phases_.at(track, start);
      const bool whole = dur <= Ns{1} || phases_.at(track, start + dur - Ns{1}) == phase;
      if (whole || kind == RangeKind::operation) {
        above = phase_child(above, phase);
        count(above, start, dur);
      }
    }
    if (nodes_[above].depth >= limits_.depth) return above;
    const StringId name = trace_.slices.name[index(row)];
    const std::uint32_t place =
        child(above, kind, kind == RangeKind::annotation ? names_.number(name) : index(name));
    count(place, start, dur);
    return place;
  }

  void count(std::uint32_t place, Ns start, Ns dur) {
    if (!step_of_host(steps_, start)) return;
    ++nodes_[place].count;
    nodes_[place].host += dur;
  }

  [[nodiscard]] std::string name_of(const Node& node) const {
    if (node.key.kind == RangeKind::phase) return std::string(phase_names[node.key.name]);
    return std::string(names_.text(node.key.name));
  }

  [[nodiscard]] std::vector<RangeNode> listed(
      std::uint32_t parent, std::vector<std::vector<std::uint32_t>>& children) const {
    std::vector<std::uint32_t> order = std::move(children[parent]);
    std::erase_if(
        order, [&](std::uint32_t i) { return nodes_[i].count == 0 && nodes_[i].device == Ns{}; });
    std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
      return std::tuple(nodes_[b].device, nodes_[b].host, a) <
             std::tuple(nodes_[a].device, nodes_[a].host, b);
    });
    std::vector<RangeNode> list;
    for (const std::uint32_t i : order) {
      const Node& node = nodes_[i];
      if (list.size() < limits_.children) {
        list.push_back({name_of(node), node.key.kind, node.count, node.host, node.device,
                        listed(i, children)});
        continue;
      }
      if (list.size() == limits_.children) {
        list.push_back({.name = "(" + std::to_string(order.size() - limits_.children) + " more)",
                        .kind = node.key.kind});
      }
      list.back().count += node.count;
      list.back().host += node.host;
      list.back().device += node.device;
    }
    return list;
  }

  const Trace& trace_;
  RangeNames names_;
  std::span<const Step> steps_;
  std::unordered_set<std::string_view> step_names_;
  const HostPhases& phases_;
  RangeLimits limits_;
  std::vector<Node> nodes_;           // [0] is the root
  std::vector<std::uint32_t> place_;  // by slice id: the parent node of what was launched there
  KeyIndex<RangeKey, RangeKeyHash> places_;
};

}  // namespace

std::vector<RangeNode> range_tree(const Trace& trace, const RankIndex& rank,
                                  std::span<const Step> steps, const HostPhases& phases,
                                  const RangeLimits& limits) {
  Builder builder(trace, rank, steps, phases, limits);
  builder.add_host_rows(rank);
  builder.add_gpu_annotations(rank);
  builder.add_device_rows(rank);
  return builder.take();
}

}  // namespace stepscope
