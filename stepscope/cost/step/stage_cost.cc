// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/stage_cost.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <string_view>

#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

double latest_rank(const ComputeModel& compute, std::int64_t ranks) {
  if (ranks < 2) return 0;
  return of(compute, ComputeParameter::jitter) *
         std::sqrt(2 * std::log(static_cast<double>(ranks)));
}

namespace {

using Counts = std::array<std::array<std::int64_t, recompute_kind_count>, most_layer_kinds>;

struct Range {
  std::int64_t begin = 0;
  std::int64_t count = 0;
};

// The number of layers of each kind by recomputation.
Counts count_layers(const CostContext& context, const Plan& plan, Range range) {
  Counts counts{};
  if (context.kinds.size() == 1) {
    const auto none = static_cast<std::size_t>(Recompute::none);
    const auto full = static_cast<std::size_t>(Recompute::full);
    if (plan.memory.recompute == Recompute::every_k) {
      const std::int64_t kept =
          (range.count + plan.memory.recompute_every - 1) / plan.memory.recompute_every;
      counts[0][none] = kept;
      counts[0][full] = range.count - kept;
    } else {
      counts[0][static_cast<std::size_t>(plan.memory.recompute)] = range.count;
    }
    return counts;
  }
  for (std::int64_t i = 0; i < range.count; ++i) {
    const auto kind = context.kind[static_cast<std::size_t>(range.begin + i)];
    ++counts[kind][static_cast<std::size_t>(recompute_at(plan, i))];
  }
  return counts;
}

// A call of `seconds`; during `copying` of them the device's units move its bytes.
struct Call {
  double seconds = 0;
  double copying = 0;

  Call operator+(const Call& other) const {
    return {seconds + other.seconds, copying + other.copying};
  }
};

// The part of a call that `work` cannot hide, and the cost of running both at once.
template <formula::Number N>
N beside(const Call& call, const N& work, double contention, std::string_view name = "call") {
  using formula::seconds;
  if (call.seconds <= 0) return seconds<N>(0);
  const N all = seconds<N>(call.seconds, name);
  const N hidden = formula::min(all, work);
  return all - hidden +
         formula::count<N>(contention, "contention") * seconds<N>(call.copying, "copying") *
             hidden / all;
}

// The exposed time of a unit that ZeRO-3 gathers. One stream of gathers and reductions runs in
// parallel with compute. Its end after the end of compute is exposed, however early the calls were
// requested. A prefetch distance of 0 hides no gather. A unit is ready only after the latest rank
// has requested it.
struct UnitCalls {
  double contention = 0;
  double latest = 0;  // delay of the latest rank of a shard group, as a share of a layer's time
  bool prefetches = false;
  bool overlaps_reduction = false;
  std::int64_t gathers = 1;  // before backward

  UnitCalls(const ComputeModel& compute, const Plan& plan)
      : contention(of(compute, ComputeParameter::contention)),
        latest(latest_rank(compute, shard_counts(plan).dense)),
        prefetches(plan.overlap.parameter_gather && plan.overlap.prefetch > 0 &&
                   !gathers_singly(plan)),
        overlaps_reduction(plan.overlap.gradient_reduce && !gathers_singly(plan)),
        gathers(backward_gathers(plan)) {}

  template <formula::Number N>
  [[nodiscard]] N forward(const UnitTime& unit, double work) const {
    using formula::seconds;
    const N beside_it = seconds<N>(work, "F");
    const Call ahead = prefetches ? Call{unit.gather, unit.gather_copying} : Call{};
    return seconds<N>(prefetches ? 0 : unit.gather) +
           formula::count<N>(latest, "jitter sqrt(2 ln n)") * beside_it +
           beside(ahead, beside_it, contention, "C");
  }
  template <formula::Number N>
  [[nodiscard]] N backward(const UnitTime& unit, double work) const {
    using formula::seconds;
    const N beside_it = seconds<N>(work, "B");
    const Call ahead = prefetches ? Call{unit.regather, unit.regather_copying} : Call{};
    const Call reduced = overlaps_reduction ? Call{unit.reduce, unit.reduce_copying} : Call{};
    return formula::count<N>(gathers, "gathers") * seconds<N>(prefetches ? 0 : unit.regather, "C") +
           seconds<N>(overlaps_reduction ? 0 : unit.reduce, "R") +
           formula::count<N>(latest, "jitter sqrt(2 ln n)") * beside_it +
           beside(ahead + reduced, beside_it, contention, "(C + R)");
  }
};

// A unit of a stage: several layers of one kind and one recomputation, or an end.
struct StageUnit {
  const LayerCost& cost;
  const UnitTime& time;
  std::size_t how = 0;  // Recompute
  double times = 1;
  double slack = 0;  // part of a layer's forward that a gather of a later unit may use
  bool end = false;

  [[nodiscard]] double forward() const { return cost.forward.total() + slack; }
  [[nodiscard]] double backward() const {
    return cost.backward[how].total() + cost.again[how].total() + slack;
  }
};

// Calls visit(StageUnit) for the layers of a stage, then for the embedding and the head.
template <class Visit>
void each_unit(const CostContext& context, const DataEntry& data, const Plan& plan, Range range,
               bool first, bool last, Visit visit) {
  const Counts counts = count_layers(context, plan, range);
  double slack = 0;
  for (std::size_t k = 0; k < context.kinds.size(); ++k) {
    for (std::size_t how = 0; how < recompute_kind_count; ++how) {
      if (counts[k][how] == 0) continue;
      visit(StageUnit{context.kinds[k], data.kinds[k], how, static_cast<double>(counts[k][how])});
      slack = std::max(slack, context.kinds[k].forward.total() - data.kinds[k].gather);
    }
  }
  slack = std::max(0.0, slack) * static_cast<double>(plan.overlap.prefetch);
  if (first) visit(StageUnit{context.embedding, data.embedding, 0, 1, slack, true});
  if (last) visit(StageUnit{context.head[plan.pp > 1 ? 1 : 0], data.head, 0, 1, slack, true});
}

// The product that makes a weight's gradient reads the sum and writes it instead of the gradient.
double sum_in_product(const CostContext& context, const Precision& p) {
  const double bytes = 2.0 * p.accumulated_gradient_bytes - p.gradient_bytes;
  return memory_time(context.compute, std::max(0.0, bytes)).count() *
         of(context.compute, ComputeParameter::matmul_memory_share);
}

class StageBuilder {
 public:
  StageBuilder(const CostContext& context, const DataEntry& data, const OffloadRates& offload,
               const Plan& plan)
      : context_(context),
        data_(data),
        plan_(plan),
        calls_(context.compute, plan),
        shards_(shard_counts(plan)) {
    const Precision& p = plan.precision;
    const double sum_bytes = p.gradient_bytes + 2.0 * p.accumulated_gradient_bytes;
    const bool sums = plan.zero < 2 || micro_batches(plan) > 1;
    const bool casts = p.gradient_bytes != p.accumulated_gradient_bytes;
    sum_ = sums ? memory_time(context.compute, sum_bytes, casts ? sum_bytes : 0).count() : 0;
    sum_in_product_ =
        plan.zero < 2 && plan.kernels.fused_gradient_sum ? sum_in_product(context, p) : sum_;
    fetch_ = offload.fetch > 0 ? p.parameter_bytes / offload.fetch : 0;
  }

  void build(StageCost& stage, Range range, bool first, bool last) const {
    double of_layers = 0;
    each_unit(context_, data_, plan_, range, first, last, [&](const StageUnit& unit) {
      const bool embedding = &unit.cost == &context_.embedding;
      add(stage, unit, embedding ? sum_ : sum_in_product_);
      if (unit.end) {
        if (embedding) stage.first = stage.last = unit.time;
        return;
      }
      stage.layer_parameters =
          std::max(stage.layer_parameters, unit.cost.parameters + unit.cost.expert_parameters);
      stage.first = stage.last = unit.time;
      of_layers = stage.parameters;
    });
    stage.end_parameters = stage.parameters - of_layers;
    if (plan_.pp > 1) add_passes(stage);
  }

 private:
  void add(StageCost& stage, const StageUnit& unit, double sum) const {
    const LayerCost& layer = unit.cost;
    const std::size_t how = unit.how;
    const double times = unit.times;
    stage.forward.add(layer.forward, times);
    stage.backward.add(layer.backward[how], times);
    stage.again.add(layer.again[how], times);
    stage.weight_gradient += times * layer.weight_gradient;
    stage.hidden_forward += times * layer.hidden_forward;
    stage.hidden_backward += times * layer.hidden_backward[how];
    const double summed = plan_.zero >= 2 ? owned(layer.trained, layer.trained_experts)
                                          : layer.trained + layer.trained_experts;
    stage.backward[PassTerm::pointwise] += times * sum * summed;
    if (plan_.zero == 3) {
      stage.data_forward += times * calls_.forward<double>(unit.time, unit.forward());
      stage.data_backward += times * calls_.backward<double>(unit.time, unit.backward());
    }
    if (fetch_ > 0) add_fetch(stage, layer, times, unit.forward(), unit.backward());
    stage.parameters += times * layer.parameters;
    stage.expert_parameters += times * layer.expert_parameters;
    stage.trained += times * layer.trained;
    stage.trained_experts += times * layer.trained_experts;
    stage.unit_trained = std::max(stage.unit_trained, layer.trained + layer.trained_experts);
    if (layer.parameters + layer.expert_parameters >
        stage.unit_parameters + stage.unit_expert_parameters) {
      stage.unit_parameters = layer.parameters;
      stage.unit_expert_parameters = layer.expert_parameters;
    }
    stage.kept_bytes += times * (layer.kept_bytes[how] - layer.logits_kept);
    stage.workspace_bytes =
        std::max(stage.workspace_bytes, layer.recomputed_bytes[how] + layer.passing_bytes);
    stage.logits_bytes += times * layer.logits_bytes;
  }

  [[nodiscard]] double owned(double dense, double expert) const {
    return dense / static_cast<double>(shards_.dense) +
           expert / static_cast<double>(shards_.expert);
  }

  // Forwards and backwards of one chunk alternate with other chunks', so a send has one pass to
  // hide in (Narayanan et al. 2021, figure 4). With one chunk the schedule waits for the send
  // (pipeline.h).
  void add_passes(StageCost& stage) const {
    const Call send{data_.send, data_.send_copying};
    const auto pass = [&](double work) {
      const double start = of(context_.compute, ComputeParameter::pass_us) * 1e-6;
      return start +
             (plan_.pipeline.virtual_stages > 1 ? beside(send, work, calls_.contention) : 0);
    };
    stage.pass_forward = pass(stage.forward.total());
    stage.pass_backward = pass(stage.backward.total() + stage.again.total());
  }

  void add_fetch(StageCost& stage, const LayerCost& layer, double times, double forward,
                 double backward) const {
    const double whole = layer.parameters + layer.expert_parameters;
    const double fetched =
        fetch_ * (plan_.zero == 3 ? owned(layer.parameters, layer.expert_parameters) : whole);
    const bool ahead = plan_.overlap.prefetch > 0;
    stage.fetch_forward += times * (ahead ? std::max(0.0, fetched - forward) : fetched);
    stage.fetch_backward += times * (ahead ? std::max(0.0, fetched - backward) : fetched);
  }

  const CostContext& context_;
  const DataEntry& data_;
  const Plan& plan_;
  UnitCalls calls_;
  ShardCounts shards_;
  // Seconds to add one parameter's gradient to the sum over micro-batches: in a pass of its own,
  // and for weights of products.
  double sum_ = 0;
  double sum_in_product_ = 0;
  double fetch_ = 0;  // seconds to fetch one parameter from its place
};

// True if two ranges have the same kinds of layers in the same order.
bool alike(const CostContext& context, Range a, Range b) {
  if (a.count != b.count) return false;
  if (context.kinds.size() == 1) return true;
  const auto from = [&context](Range r) { return context.kind.begin() + r.begin; };
  return std::equal(from(a), from(a) + a.count, from(b));
}

void compare_devices(Stages& stages, const Plan& plan) {
  const auto devices = static_cast<std::size_t>(plan.pp);
  stages.as_before.assign(devices, 0);
  if (plan.pipeline.schedule == Schedule::dualpipe) return;  // each has another pair of stages
  for (std::size_t d = 1; d < devices; ++d) {
    bool same = true;
    for (std::size_t s = d; same && s < stages.cost_of.size(); s += devices) {
      same = stages.cost_of[s] == stages.cost_of[s - 1];
    }
    stages.as_before[d] = same ? 1 : 0;
  }
}

}  // namespace

Formula exposed_units(const CostContext& context, const DataEntry& data, const Plan& plan,
                      std::int64_t device, Direction direction) {
  const UnitCalls calls(context.compute, plan);
  const auto& layers = context.stages.layers;
  formula::Total<Formula> all("units");
  Range range;
  for (std::size_t s = 0; s < layers.size(); ++s) {
    range = {range.begin + range.count, layers[s]};
    const auto last = static_cast<std::int64_t>(layers.size()) - 1;
    const auto at = static_cast<std::int64_t>(s);
    const bool mirror = plan.pipeline.schedule == Schedule::dualpipe && last - at == device;
    if (at % plan.pp != device && !mirror) continue;
    each_unit(context, data, plan, range, s == 0, s + 1 == layers.size(), [&](const StageUnit& u) {
      all.add(formula::count<Formula>(static_cast<std::int64_t>(u.times), "layers") *
              (direction == Direction::forward ? calls.forward<Formula>(u.time, u.forward())
                                               : calls.backward<Formula>(u.time, u.backward())));
    });
  }
  return all.value();
}

StageKey stage_key(const Plan& p) {
  const auto number = [](auto e) { return static_cast<std::uint8_t>(e); };
  const int sharded = p.zero < 2 ? 0 : p.zero;  // parameters or the gradients' sum
  return {.numbers = {p.devices, p.pp, p.pipeline.virtual_stages, p.dp, p.batch.sequence,
                      p.batch.micro, p.batch.global, p.memory.recompute_every, p.overlap.prefetch,
                      p.overlap.bucket.value, sharded == 0 ? 0 : p.shard_group, p.secondary_group},
          .choices = {number(sharded), number(p.pipeline.schedule), number(p.memory.recompute),
                      number(p.memory.optimizer_at), number(p.memory.gradients_at),
                      number(p.memory.parameters_at), number(p.overlap.gradient_reduce),
                      number(p.overlap.parameter_gather), number(p.overlap.gather_singly)}};
}

bool has_stages(const CostContext& context, const Plan& plan) {
  const Stages& stages = context.stages;
  if (!stages.made_for || *stages.made_for != stage_key(plan)) return false;
  if (!plan.pipeline.stage_layers.empty()) return plan.pipeline.stage_layers == stages.layers;
  return std::ranges::adjacent_find(stages.layers, std::not_equal_to<>()) == stages.layers.end();
}

void make_stages(CostContext& context, const DataEntry& data, const OffloadRates& offload,
                 const Plan& plan) {
  Stages& stages = context.stages;
  const auto count = static_cast<std::size_t>(plan.pp * plan.pipeline.virtual_stages);
  const bool even = plan.pipeline.stage_layers.empty();
  const std::int64_t each = even ? context.model->layers / static_cast<std::int64_t>(count) : 0;
  stages.costs.clear();
  stages.cost_of.resize(count);
  stages.times.resize(count);
  stages.layers.resize(count);
  const StageBuilder builder(context, data, offload, plan);
  Range range{0, 0};
  for (std::size_t s = 0; s < count; ++s) {
    const Range before = range;
    range.begin += range.count;
    range.count = even ? each : plan.pipeline.stage_layers[s];
    const bool first = s == 0;
    const bool last = s + 1 == count;
    if (last || s < 2 || !alike(context, before, range)) {
      StageCost& cost = stages.costs.emplace_back();
      builder.build(cost, range, first, last);
      stages.times[s] = cost.time();
    } else {
      stages.times[s] = stages.times[s - 1];
    }
    stages.cost_of[s] = static_cast<std::uint32_t>(stages.costs.size() - 1);
    stages.layers[s] = range.count;
  }
  stages.boundary_bytes = plan.pp > 1 && plan.memory.torch_buffers ? context.input_bytes : 0;
  compare_devices(stages, plan);
  stages.made_for = stage_key(plan);
}

}  // namespace stepscope
