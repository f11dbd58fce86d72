// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/cost_context.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

auto shape_of(const Plan& p) {
  return std::tie(p.tp, p.cp, p.context_exchange, p.ep, p.tensor, p.experts, p.batch.sequence,
                  p.batch.micro, p.batch.images, p.batch.image_patches, p.memory.recompute_modules,
                  p.memory.narrow_swiglu, p.memory.narrow_attention_output, p.memory.torch_buffers,
                  p.kernels, p.overlap.tensor, p.overlap.experts, p.trained, p.precision);
}

void count_layers(CostContext& context, const Rates& rates, const LayerRun& run) {
  const Transformer& model = *context.model;
  std::vector<std::pair<LayerKind, LayerTraining>> seen;
  context.kind.reserve(static_cast<std::size_t>(model.layers));
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerKind kind = layer_kind(model, layer);
    const LayerTraining training = layer_training(context.shape.trained, layer);
    const auto at = std::ranges::find(seen, std::pair(kind, training)) - seen.begin();
    if (at == std::ssize(seen)) {
      seen.emplace_back(kind, training);
      LayerRun one = run;
      one.host = host_work(model, kind, context.shape, training);
      context.kinds.push_back(
          layer_cost(layer_operations(model, context.shape, layer), rates, context.shape, one));
    }
    context.kind.push_back(static_cast<std::uint8_t>(at));
  }
  check(context.kinds.size() <= most_layer_kinds, "more kinds of layers than there are letters");
}

// Modules of multi-token prediction run after the last layer, on the device of the head.
void add_prediction(const CostContext& context, const Rates& rates, const LayerRun& run,
                    const LayerRun& head, const Plan& ends, LayerCost& to) {
  const Transformer& model = *context.model;
  if (!model.prediction) return;
  LayerRun body = run;
  body.host = {};
  for (const LayerKind& kind : prediction_kinds(model)) {
    const HostWork one =
        host_work(model, kind, context.shape, layer_training(context.shape.trained, model.layers));
    body.host.layers += one.layers;
    body.host.mixtures += one.mixtures;
    body.host.products += one.products;
  }
  const auto modules = static_cast<double>(model.prediction->modules);
  for (const bool end : {false, true}) {
    LayerCost part = end ? layer_cost(prediction_head_operations(model, ends), rates, ends, head)
                         : layer_cost(prediction_operations(model, ends), rates, ends, body);
    if (model.prediction->one_module) {
      part.parameters /= modules;
      part.expert_parameters /= modules;
      part.trained /= modules;
      part.trained_experts /= modules;
    }
    add(to, part, modules);
  }
}

// The encoder of images is on the device of the embedding. Without images only its parameters are.
void add_tower(const CostContext& context, const Rates& rates, LayerCost& to) {
  const Transformer& model = *context.model;
  if (!model.tower) return;
  const Plan& plan = context.shape;
  for (const bool ends : {false, true}) {
    const std::vector<Operation> operations =
        ends ? tower_end_operations(model, plan) : tower_layer_operations(model, plan);
    LayerCost part = layer_cost(operations, rates, plan, {.host = {.layers = ends ? 0.0 : 1.0}});
    if (plan.batch.images == 0) {
      part = {.parameters = part.parameters,
              .trained = part.trained,
              .weights = part.weights,
              .vectors = part.vectors,
              .vector_elements = part.vector_elements};
    }
    add(to, part, ends ? 1 : static_cast<double>(model.tower->layers));
  }
}

void count_ends(CostContext& context, const Rates& rates, const LayerRun& run) {
  const Transformer& model = *context.model;
  LayerRun embedding = run;
  embedding.host = {};
  const std::vector<Operation> first = embedding_operations(model, context.shape);
  context.embedding = layer_cost(first, rates, context.shape, embedding);
  add_tower(context, rates, context.embedding);
  if (model.tied_embeddings) {
    for (const Operation& op : first)
      if (op.name == "token_embedding" && op.trained) context.tied_parameters = op.parameters;
  }
  LayerRun head = run;
  head.full_precision = !context.shape.kernels.narrow_head;
  head.host = {.layers = model.head ? of(context.compute, ComputeParameter::host_head_layers) : 0};
  Plan ends = context.shape;
  for (std::size_t own_stage = 0; own_stage < 2; ++own_stage) {
    ends.pp = own_stage == 0 ? 1 : 2;
    context.head[own_stage] = layer_cost(head_operations(model, ends), rates, ends, head);
    add_prediction(context, rates, run, head, ends, context.head[own_stage]);
  }
}

double passes_of(const Plan& plan) {
  return static_cast<double>(std::max<std::int64_t>(micro_batches(plan), 1));
}

// Times of a unit that is gathered and reduced by itself, in one call each. The average between
// shard groups follows the last micro-batch; its time is spread over all of them.
UnitTime unit_time(const DataTimes& times, const Plan& plan, const LayerCost& cost) {
  const double dense = cost.parameters;
  const double expert = cost.expert_parameters;
  const auto& precision = plan.precision;
  const auto gather = [&](const PieceTime& t, double parameters) {
    return t.once(parameters * precision.parameter_bytes);
  };
  const auto reduce = [&](const StateTimes& t, double parameters) {
    const double bytes = parameters * precision.gradient_bytes;
    return t.reduce.once(bytes) + t.average.once(bytes) / passes_of(plan);
  };
  const auto copying = [](const PieceTime& t, double parameters, int width) {
    return t.copying(parameters * width);
  };
  const auto reduce_copying = [&](const StateTimes& t, double parameters) {
    return copying(t.reduce, parameters, precision.gradient_bytes) +
           copying(t.average, parameters, precision.gradient_bytes) / passes_of(plan);
  };
  return {.gather = gather(times.dense.gather, dense) + gather(times.expert.gather, expert),
          .regather = gather(times.dense.regather, dense) + gather(times.expert.regather, expert),
          .reduce = reduce(times.dense, cost.trained) + reduce(times.expert, cost.trained_experts),
          .gather_copying = copying(times.dense.gather, dense, precision.parameter_bytes) +
                            copying(times.expert.gather, expert, precision.parameter_bytes),
          .regather_copying = copying(times.dense.regather, dense, precision.parameter_bytes) +
                              copying(times.expert.regather, expert, precision.parameter_bytes),
          .reduce_copying = reduce_copying(times.dense, cost.trained) +
                            reduce_copying(times.expert, cost.trained_experts)};
}

// A unit's weights one by one. A call's result is set to zero, gathered, and copied piece by piece
// to its place, each of the n pieces by a kernel of its own (PyTorch's all-gather and
// reduce-scatter of lists). DeepSpeed keeps vectors whole and only reduces their gradients.
Result<UnitTime> time_singly(const CostContext& context, const Plan& plan, const LayerCost& cost) {
  const auto& precision = plan.precision;
  const double elements = cost.parameters + cost.expert_parameters - cost.vector_elements;
  const double pieces = static_cast<double>(shard_counts(plan).dense) *
                        of(context.compute, ComputeParameter::launch_us) * 1e-6;
  UnitTime time;
  const auto add = [&](double calls, double all, bool gathered) -> Result<Done> {
    if (calls <= 0 || all <= 0) return Done{};
    Plan sized = plan;
    const double one = all / calls;
    sized.overlap.bucket =
        Bytes{std::max<std::int64_t>(1, std::llround(one * precision.parameter_bytes))};
    const Result<DataTimes> times = data_times(sized, *context.network);
    if (!times) return times.error();
    const double sent = one * precision.parameter_bytes;
    const double made = one * precision.gradient_bytes;
    if (gathered)
      time.gather += calls * (times->dense.gather.once(sent) + pieces +
                              memory_time(context.compute, 3 * sent).count());
    time.reduce += calls * (times->dense.reduce.once(made) +
                            times->dense.average.once(made) / passes_of(plan) + pieces +
                            memory_time(context.compute, 2 * made).count());
    return Done{};
  };
  const Result<Done> weights = add(cost.weights, elements, true);
  const Result<Done> vectors = add(cost.vectors, cost.vector_elements, false);
  if (!weights || !vectors) return (weights ? vectors : weights).error();
  time.regather = time.gather;
  return time;
}

// Timed at its own size: the bucket's time says little about calls that are many times larger.
Result<UnitTime> unit_time(const CostContext& context, const Plan& plan, const LayerCost& cost) {
  if (gathers_singly(plan)) return time_singly(context, plan, cost);
  Plan sized = plan;
  const double parameters = std::max(cost.parameters, cost.expert_parameters);
  sized.overlap.bucket = Bytes{std::max<std::int64_t>(
      1, std::llround(parameters * static_cast<double>(plan.precision.parameter_bytes)))};
  const Result<DataTimes> times = data_times(sized, *context.network);
  if (!times) return times.error();
  return unit_time(*times, plan, cost);
}

// The faster of two ways: sending the whole tensor, or a part from each tp rank, completed by the
// receiver. Under sequence parallelism (and on grids) there are only parts.
template <formula::Number N>
N send_time(const CostContext& context, const DataTimes& times, const Plan& plan) {
  const N bytes = formula::bytes<N>(context.input_bytes, "bytes");
  N whole = times.send.once(bytes);
  const bool replicated =
      plan.tp > 1 && plan.tensor.layout == TensorLayout::one_d && sequence_parts(plan) == 1;
  if (!replicated) return whole;
  return formula::min(whole, times.send.once(bytes / formula::count<N>(plan.tp, "tp")) +
                                 formula::seconds<N>(context.gather_input, "gather"));
}

}  // namespace

bool same_shape(const Plan& a, const Plan& b) { return shape_of(a) == shape_of(b); }

Result<CostContext> make_cost_context(const Transformer& model, const Machine& machine,
                                      const Network& network, const Plan& plan) {
  CostContext context;
  context.model = &model;
  context.machine = &machine;
  context.network = &network;
  context.shape = plan;
  Result<ComputeModel> compute =
      make_compute_model(machine, plan.precision.matmul, plan.kernels.vendor_attention);
  if (!compute) return compute.error();
  context.compute = *std::move(compute);
  if (plan.kernels.fp8_rowwise) context.compute.matmul.efficiency *= rowwise_rate;
  if (plan.kernels.narrow_attention && below_16_bits(plan.precision.matmul))
    context.compute.narrow_attention = narrow_attention_gain;
  if (plan.overlap.experts && plan.ep > 1 && plan.experts.sms > 0) {
    if (plan.experts.sms >= context.compute.units) {
      return Error{.what = "expert_sms = " + std::to_string(plan.experts.sms) + ", but " +
                           machine.name + " has " +
                           std::to_string(std::llround(context.compute.units)) + " of them",
                   .hint = "leave some for arithmetic"};
    }
    keep_units(context.compute, plan.experts.sms);
  }
  if (plan.kernels.cuda_graphs != CudaGraphs::none) shorten_launches(context.compute);
  if (plan.kernels.compiled) pad_products(context.compute);
  const Result<Placements> placements = layer_placements(plan, network);
  if (!placements) return placements.error();
  context.placements = *placements;
  context.input_bytes = layer_input_bytes(model, plan);
  const Rates rates{context.compute, network, context.placements};
  const LayerRun run{.input_bytes = context.input_bytes};
  count_layers(context, rates, run);
  count_ends(context, rates, run);
  if (const auto& tensor = context.placements[static_cast<std::size_t>(ParallelDim::tensor)]) {
    const Bytes bytes{static_cast<std::int64_t>(std::llround(context.input_bytes))};
    context.gather_input =
        collective_time(network, CollectiveKind::all_gather, bytes, *tensor).count();
  }
  for (std::size_t c = 0; c < flops_convention_count; ++c) {
    context.sequence_flops[c] = sequence_flops(
        model, plan.batch.sequence, static_cast<FlopsConvention>(c), plan.trained, images_of(plan));
  }
  return context;
}

Formula send_formula(const CostContext& context, const DataEntry& data, const Plan& plan) {
  if (plan.pp == 1) return formula::seconds<Formula>(0, "none: one stage");
  return send_time<Formula>(context, data.times, plan);
}

Result<const DataEntry*> data_entry(CostContext& context, const Plan& plan) {
  const bool sharded = plan.zero > 0;
  for (const DataEntry& entry : context.data) {
    if (entry.dp == plan.dp && entry.pp == plan.pp && entry.shard_group == plan.shard_group &&
        entry.secondary_group == plan.secondary_group && entry.sharded == sharded &&
        entry.bucket == plan.overlap.bucket.value &&
        (plan.shard_group == 0 || entry.passes == micro_batches(plan)) &&
        entry.singly == gathers_singly(plan)) {
      return &entry;
    }
  }
  Result<DataTimes> times = data_times(plan, *context.network);
  if (!times) return times.error();
  DataEntry entry;
  entry.dp = plan.dp;
  entry.pp = plan.pp;
  entry.shard_group = plan.shard_group;
  entry.secondary_group = plan.secondary_group;
  entry.passes = micro_batches(plan);
  entry.bucket = plan.overlap.bucket.value;
  entry.sharded = sharded;
  entry.singly = gathers_singly(plan);
  entry.times = *times;
  const LayerCost& head = context.head[plan.pp > 1 ? 1 : 0];
  for (const LayerCost& kind : context.kinds) {
    const Result<UnitTime> unit = unit_time(context, plan, kind);
    if (!unit) return unit.error();
    entry.kinds.push_back(*unit);
  }
  const Result<UnitTime> first = unit_time(context, plan, context.embedding);
  const Result<UnitTime> last = unit_time(context, plan, head);
  if (!first || !last) return (first ? last : first).error();
  entry.embedding = *first;
  entry.head = *last;
  entry.send = send_time<double>(context, *times, plan);
  entry.send_copying = std::min(entry.send, times->send.copying(context.input_bytes));
  if (context.tied_parameters > 0 && plan.pp > 1) {
    entry.tie = times->tie.once(context.tied_parameters * plan.precision.gradient_bytes);
  }
  context.data.push_back(std::move(entry));
  return &context.data.back();
}

}  // namespace stepscope
