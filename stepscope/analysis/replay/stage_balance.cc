// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/stage_balance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double same_count = 1.02;  // of calls a step
constexpr double much_hidden = 0.3;  // of the time of a dimension's communication
constexpr double least_left = 0.01;  // of the time of a name whose layers are moved away
constexpr double least_vote = 0.01;  // of the time of names with unequal calls: of one that counts
constexpr double grows_along = 0.1;  // the largest difference in the time of a call per layer

using Counts = std::vector<std::int64_t>;  // by stage

// A kernel name that all stages run: per step, on the median rank of each stage.
struct StageCalls {
  std::vector<double> time;
  Counts count;
  double mean = 0;  // of the times
  bool same = true;

  [[nodiscard]] double middle() const {
    std::vector<double> values = time;
    return lower_median(values);
  }
};

struct CallsOfStages {
  std::vector<std::string_view> stages;
  std::map<std::string_view, StageCalls> names;
};

// Calls visit(view, its movable compute nodes, ascending) for each view that has some, with the
// nodes that are rows.
template <class Visit>
void each_view(const WhatIfInputs& in, Visit&& visit) {
  const StepGraph& graph = *in.replay.graph;
  std::vector<std::uint32_t> first(in.views.size() + 1);
  const auto& nodes = in.replay.movable_of[static_cast<std::size_t>(NodeKind::compute)];
  const auto is_row = [&](std::uint32_t n) { return graph.slice[n] != no_slice; };
  for (const std::uint32_t n : nodes)
    if (is_row(n)) ++first[graph.view[n] + std::size_t{1}];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::uint32_t> sorted(first.back());
  std::vector<std::uint32_t> next(first.begin(), first.end() - 1);
  for (const std::uint32_t n : nodes)
    if (is_row(n)) sorted[next[graph.view[n]]++] = n;
  for (std::uint32_t v = 0; v < in.views.size(); ++v)
    if (first[v] < first[v + 1])
      visit(v, std::span(sorted).subspan(first[v], first[v + 1] - first[v]));
}

CallsOfStages calls_of_stages(const WhatIfInputs& in) {
  struct Sum {
    double time = 0;
    double count = 0;
  };
  using OfViews = std::vector<std::pair<std::uint32_t, Sum>>;
  const StepGraph& graph = *in.replay.graph;
  std::map<std::string_view, std::map<std::string_view, OfViews>> sums;  // by name and stage
  std::set<std::string_view> stages;
  for (const std::string& role : in.roles) stages.insert(stage_of(role));
  CallsOfStages calls{{stages.begin(), stages.end()}, {}};
  if (stages.size() < 2) return calls;
  each_view(in, [&](std::uint32_t v, std::span<const std::uint32_t> nodes) {
    const Trace& trace = *in.views[v].trace;
    std::unordered_map<StringId, Sum> of_name;
    std::vector<bool> counted(trace.slices.size());  // rows: others may divide them into nodes
    for (const std::uint32_t n : nodes) {
      const std::size_t row = index(graph.slice[n]);
      Sum& sum = of_name[trace.slices.name[row]];
      sum.time += static_cast<double>(in.replay.measured.duration[n].count());
      if (!counted[row]) ++sum.count;
      counted[row] = true;
    }
    for (const auto& [name, sum] : of_name)
      sums[trace.strings[name]][stage_of(in.roles[v])].emplace_back(v, sum);
  });
  for (const auto& [name, of_stage] : sums) {
    if (of_stage.size() != stages.size()) continue;
    StageCalls of_name;
    std::vector<double> counts;
    for (const auto& [stage, views] : of_stage) {
      std::vector<double> time;
      std::vector<double> count;
      for (const auto& [v, sum] : views) {
        const auto steps = static_cast<double>(std::max<std::size_t>(1, in.views[v].steps.size()));
        time.push_back(sum.time / steps);
        count.push_back(sum.count / steps);
      }
      of_name.time.push_back(lower_median(time));
      counts.push_back(lower_median(count));
      of_name.count.push_back(std::llround(counts.back()));
    }
    const auto [fewest, most] = std::ranges::minmax(counts);
    of_name.same = most <= fewest * same_count;
    of_name.mean = std::accumulate(of_name.time.begin(), of_name.time.end(), 0.0) /
                   static_cast<double>(stages.size());
    if (of_name.mean > 0) calls.names.emplace(name, std::move(of_name));
  }
  return calls;
}

std::int64_t divisor_of(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0},
                         [](std::int64_t a, std::int64_t b) { return std::gcd(a, b); });
}

// How many layers each stage has, and how many calls of a name that a layer calls once. Without a
// known number of micro-batches, a common divisor of the stages' layers counts as one layer.
struct StageLayers {
  Counts of_stage;
  std::int64_t calls = 1;  // per step of a kernel that a layer calls once: micro-batches
};

// Calls of a name in each layer; the others belong to the ends of the model (embedding, head).
std::int64_t calls_of_layer(const Counts& count, const Counts& layers) {
  std::int64_t each = std::numeric_limits<std::int64_t>::max();
  for (std::size_t s = 0; s < layers.size(); ++s)
    if (layers[s] > 0) each = std::min(each, count[s] / layers[s]);
  return each;
}

// The stages have calls in proportion to `layers`, but for the ends of the model.
bool agrees(const Counts& count, const Counts& layers) {
  const std::int64_t each = calls_of_layer(count, layers);
  std::ptrdiff_t more = 0;  // stages
  for (std::size_t s = 0; s < layers.size(); ++s)
    if (count[s] != each * layers[s]) ++more;
  return each > 0 && more <= std::min<std::ptrdiff_t>(2, std::ssize(layers) - 1);
}

// Layers are what most names agree on, the ends of the model aside; then what most time agrees on.
// Names that take next to no time count shapes and buffers rather than layers.
std::optional<StageLayers> find_layers(const CallsOfStages& calls, std::int64_t batches) {
  struct Shape {
    std::int64_t divisor = 0;  // common to the calls of all names that have it
    std::size_t names = 0;
  };
  double unequal = 0;
  for (const auto& [name, c] : calls.names)
    if (!c.same) unequal += c.mean;
  std::map<Counts, Shape> shapes;
  for (const auto& [name, c] : calls.names) {
    if (c.mean < least_vote * unequal) continue;
    const std::int64_t unit = divisor_of(c.count);
    if (c.same || unit == 0) continue;
    Counts shape = c.count;
    for (std::int64_t& n : shape) n /= unit;
    Shape& of_shape = shapes[shape];
    of_shape.divisor = std::gcd(of_shape.divisor, unit);
    ++of_shape.names;
  }
  std::optional<StageLayers> layers;
  std::pair<std::size_t, double> most;
  for (const auto& [shape, of_shape] : shapes) {
    std::pair<std::size_t, double> votes{of_shape.names, 0};
    for (const auto& [name, c] : calls.names)
      if (!c.same && agrees(c.count, shape)) votes.second += c.mean;
    if (votes <= most) continue;
    most = votes;
    layers = {shape, of_shape.divisor};
  }
  if (layers && batches > 0 && layers->calls % batches == 0) {
    for (std::int64_t& n : layers->of_stage) n *= layers->calls / batches;
    layers->calls = batches;
  }
  return layers;
}

std::int64_t fewest_of_busiest(const Counts& layers) {
  const std::int64_t sum = std::accumulate(layers.begin(), layers.end(), std::int64_t{0});
  return (sum + std::ssize(layers) - 1) / std::ssize(layers);
}

// Moves layers from the stage with most to the one with fewest until no layer can be moved.
Counts balanced(Counts layers) {
  const std::int64_t goal = fewest_of_busiest(layers);
  for (auto most = std::ranges::max_element(layers); *most > goal;
       most = std::ranges::max_element(layers)) {
    --*most;
    ++*std::ranges::min_element(layers);
  }
  return layers;
}

double quotient(std::int64_t a, std::int64_t b) {
  return b == 0 ? 1 : static_cast<double>(a) / static_cast<double>(b);
}

// The time of a name grows with the layers although its calls do not.
bool of_all_layers(const StageCalls& calls, const Counts& layers) {
  const auto [low, high] = std::ranges::minmax(layers);
  if (low <= 0 || low == high) return false;
  std::vector<double> per_layer;
  for (std::size_t s = 0; s < layers.size(); ++s)
    per_layer.push_back(calls.time[s] / static_cast<double>(layers[s]));
  const auto [least, most] = std::ranges::minmax(per_layer);
  return most - least <= grows_along * most;
}

// The mean time of one of a layer's calls, where a stage calls the name in its layers only.
double time_of_call(const StageCalls& calls, const Counts& layers, std::int64_t each) {
  std::vector<double> times;
  for (std::size_t s = 0; s < layers.size(); ++s)
    if (calls.count[s] > 0 && calls.count[s] == each * layers[s])
      times.push_back(calls.time[s] / static_cast<double>(calls.count[s]));
  return times.empty() ? 0 : lower_median(times);
}

void move_layers(const CallsOfStages& calls, const StageLayers& layers,
                 std::map<std::string_view, StageRatio>& ratios) {
  const Counts& before = layers.of_stage;
  const Counts after = balanced(before);
  std::vector<double> now(before.size(), 0);
  std::vector<double> then(before.size(), 0);
  for (const auto& [name, c] : calls.names) {
    const bool with_layers = c.same && of_all_layers(c, before);
    const std::int64_t each = calls_of_layer(c.count, before) / layers.calls * layers.calls;
    const double one = time_of_call(c, before, each);
    for (std::size_t s = 0; s < before.size(); ++s) {
      double ratio = 1;
      if (with_layers) {
        ratio = quotient(before[s], after[s]);
      } else if (!c.same) {
        const double moved = one * static_cast<double>(each * (after[s] - before[s]));
        ratio = c.time[s] / std::max(c.time[s] + moved, c.time[s] * least_left);
      }
      if (ratio != 1) ratios[calls.stages[s]].names[name] = ratio;
      now[s] += c.time[s];
      then[s] += c.time[s] / ratio;
    }
  }
  const bool movable = *std::ranges::max_element(before) > fewest_of_busiest(before);
  for (std::size_t s = 0; s < before.size(); ++s) {
    StageRatio& r = ratios[calls.stages[s]];
    r.work = then[s] > 0 ? now[s] / then[s] : 1;
    r.collectives = quotient(before[s], after[s]);
    r.layers = true;
    r.movable = movable;
  }
}

// By dimension: compute hides much of its communication.
std::vector<bool> hidden_dimensions(const Collectives& collectives) {
  std::vector<Ns> all(dimension_count);
  std::vector<Ns> exposed(dimension_count);
  for (std::size_t v = 0; v < collectives.exposed.size(); ++v)
    for (std::size_t c = 0; c < collectives.exposed[v].size(); ++c) {
      const CollectiveCall& call = collectives.matches.ranks[v].calls[c];
      if (call.group == no_row) continue;
      const auto d = static_cast<std::size_t>(collectives.dimension_of[call.group]);
      all[d] += call.end - call.start;
      exposed[d] += collectives.exposed[v][c];
    }
  std::vector<bool> hidden;
  for (std::size_t d = 0; d < all.size(); ++d)
    hidden.push_back(static_cast<double>((all[d] - exposed[d]).count()) >
                     much_hidden * static_cast<double>(all[d].count()));
  return hidden;
}

}  // namespace

std::map<std::string_view, StageRatio> stage_ratios(const WhatIfInputs& in) {
  const CallsOfStages calls = calls_of_stages(in);
  std::map<std::string_view, StageRatio> of_stage;
  if (calls.names.empty()) return of_stage;
  double alike = 0;  // time of names that all stages run equally often
  double moved = 0;
  for (const auto& [name, c] : calls.names) (c.same ? alike : moved) += c.mean;
  if (moved > alike) {
    if (const auto layers = find_layers(calls, in.micro_batches.value_or(0)))
      move_layers(calls, *layers, of_stage);
    return of_stage;
  }
  for (std::size_t s = 0; s < calls.stages.size(); ++s) {
    std::vector<std::pair<double, double>> ratios;
    for (const auto& [name, c] : calls.names)
      if (c.same && c.middle() > 0) ratios.emplace_back(c.time[s] / c.middle(), c.mean);
    of_stage[calls.stages[s]] = {
        weighted_median(std::move(ratios)).value_or(1), false, true, 1, {}};
  }
  return of_stage;
}

std::vector<NodeChange> balance_stages(const WhatIfInputs& in) {
  const auto ratios = stage_ratios(in);
  const StepGraph& graph = *in.replay.graph;
  const std::vector<bool> hidden = hidden_dimensions(in.collectives);
  std::vector<const StageRatio*> of_view;  // null: nothing changes
  for (const std::string& role : in.roles) {
    const auto at = ratios.find(stage_of(role));
    of_view.push_back(at == ratios.end() || at->second.work <= 0 ? nullptr : &at->second);
  }
  std::vector<std::unordered_map<StringId, double>> of_name(in.views.size());
  std::vector<NodeChange> changes;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    const std::uint32_t v = graph.view[n];
    const NodeKind kind = graph.kind[n];
    if (!in.replay.movable[n] || (kind != NodeKind::compute && kind != NodeKind::transfer))
      continue;
    if (of_view[v] == nullptr) continue;
    double ratio = 1;
    if (kind == NodeKind::compute) {
      if (graph.slice[n] == no_slice) continue;
      const Trace& trace = *in.views[v].trace;
      const StringId name = trace.slices.name[index(graph.slice[n])];
      const auto [known, fresh] = of_name[v].try_emplace(name, 1);
      if (fresh) known->second = of_view[v]->of(trace.strings[name]);
      ratio = known->second;
    } else if (graph.detail[n] != no_row) {
      const CollectiveCall& call = in.collectives.matches.ranks[v].calls[graph.detail[n]];
      if (call.edge_count == 0 && call.group != no_row &&
          !hidden[static_cast<std::size_t>(in.collectives.dimension_of[call.group])])
        ratio = of_view[v]->collectives;
    }
    const Ns now = in.replay.measured.duration[n];
    const Ns then{std::llround(static_cast<double>(now.count()) / ratio)};
    if (then != now) changes.push_back({n, then - now});
  }
  return changes;
}

std::map<std::string_view, double> stage_shares(const WhatIfInputs& in) {
  const CallsOfStages calls = calls_of_stages(in);
  std::map<std::string_view, double> of_stage;
  if (calls.names.empty()) return of_stage;
  for (std::size_t s = 0; s < calls.stages.size(); ++s) {
    std::vector<std::pair<double, double>> ratios;
    for (const auto& [name, c] : calls.names) ratios.emplace_back(c.time[s] / c.mean, c.mean);
    of_stage[calls.stages[s]] = weighted_median(std::move(ratios)).value_or(1);
  }
  return of_stage;
}

}  // namespace stepscope
