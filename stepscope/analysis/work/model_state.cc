// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/model_state.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

bool within(const Trace& trace, SliceId row, const Step& step) {
  const Ns start = trace.slices.start[index(row)];
  return start >= step.host_start && start < step.host_end;
}

// Rows of host threads in the step.
template <class Visit>
void visit_host(const Trace& trace, const RankIndex& rank, const Step& step, Visit visit) {
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i)
      if (within(trace, SliceId{i}, step)) visit(SliceId{i});
  }
}

std::optional<OpInputs> inputs_of(const Trace& trace, SliceId row) {
  const std::uint32_t detail = trace.slices.detail[index(row)];
  if (trace.slices.category[index(row)] != Category::cpu_op || detail == no_row)
    return std::nullopt;
  const OpDetails& ops = trace.ops;
  return parse_inputs(trace.strings[ops.input_dims[detail]], trace.strings[ops.input_types[detail]],
                      trace.strings[ops.concrete_inputs[detail]]);
}

// The backwards of a step: stretches that a forward separates.
std::size_t backwards_in(std::span<const PhaseSpan> phases, const Step& step) {
  std::size_t count = 0;
  bool open = false;
  for (const PhaseSpan& span : phases) {
    if (span.start < step.host_start || span.start >= step.host_end) continue;
    const bool backward = span.phase == Phase::backward;
    if (backward && !open) ++count;
    if (backward || span.phase == Phase::forward) open = backward;
  }
  return count;
}

using Weight = std::pair<std::string, std::int64_t>;  // format, elements

// How many weights there are of each kind. Empty if a weight is of a tensor subclass: a DTensor's
// row has the shape of the whole, and the device keeps a part.
std::map<Weight, std::size_t> weights_of(const Trace& trace, const RankIndex& rank,
                                         const Step& step, std::size_t backwards) {
  std::map<Weight, std::size_t> calls;
  SliceId last = no_slice;  // AccumulateGrad
  bool subclass = false;
  visit_host(trace, rank, step, [&](SliceId row) {
    const auto& rows = trace.slices;
    if (trace.name(row) == "PythonSubclass" && last != no_slice &&
        rows.track[index(row)] == rows.track[index(last)] && rows.end(row) <= rows.end(last))
      subclass = true;
    if (trace.name(row) != "torch::autograd::AccumulateGrad") return;
    last = row;
    const auto inputs = inputs_of(trace, row);
    if (!inputs || inputs->args.empty() || !inputs->args.front().is_tensor()) return;
    if (const auto count = element_count(inputs->args.front().dims))
      ++calls[{inputs->args.front().type, *count}];
  });
  for (auto& [weight, count] : calls) {
    if (subclass || backwards == 0 || count % backwards != 0) return {};
    count /= backwards;
  }
  return calls;
}

// The element type of an optimizer's template: "FusedAdamMathFunctor<float, 4" or
// "PointwiseOpScalarListFunctor<c10::BFloat16, 3" (addcdiv). Norms and copies have other formats.
std::optional<std::int64_t> format_of_kernel(std::string_view kernel) {
  if (!contains(kernel, "multi_tensor_apply") || !contains_any(kernel, {"Adam", "PointwiseOp"}))
    return std::nullopt;
  const std::size_t functor = kernel.find("Functor<");
  if (functor == std::string_view::npos) return std::nullopt;
  const std::string_view type = kernel.substr(functor + 8);
  return element_bytes(type.substr(0, type.find_first_of(",>")));
}

struct Optimizer {
  bool of_adam = false;
  std::int64_t states = 2;               // of each weight; three with amsgrad
  std::optional<std::int64_t> format{};  // bytes of an element
  bool zeroes = false;                   // gradients stay allocated
};

Optimizer optimizer_of(const Trace& trace, const RankIndex& rank, const Step& step,
                       std::span<const PhaseSpan> phases) {
  Optimizer optimizer;
  visit_host(trace, rank, step, [&](SliceId row) {
    const std::string_view name = trace.name(row);
    if (name.starts_with("Optimizer.step#"))
      optimizer.of_adam = optimizer.of_adam || contains_any(name, {"Adam", "Lamb", "LAMB"});
    if (name.starts_with("aten::_fused_adam")) optimizer.of_adam = true;
    if (name == "aten::_foreach_zero_") optimizer.zeroes = true;
    if (name == "aten::_foreach_maximum_") optimizer.states = 3;
    if (name != "aten::addcdiv_") return;
    if (const auto inputs = inputs_of(trace, row); inputs && !inputs->args.empty())
      optimizer.format = element_bytes(inputs->args.front().type);
  });
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops) {
      const SliceId call = rank.launch(op);
      if (call == no_slice || !within(trace, call, step)) continue;
      if (phase_at(phases, trace.slices.start[index(call)]) != Phase::optimizer) continue;
      const std::string_view name = trace.name(op);
      if (contains(name, "FusedOptimizerTensorListMetadata<5>")) optimizer.states = 3;
      if (const auto bytes = format_of_kernel(name))
        optimizer.format = std::max(optimizer.format.value_or(0), *bytes);
    }
  return optimizer;
}

// Whether each device may keep a part of the model only: parameters are gathered or handed out, or
// gradients are scattered. Kernels count too, because files need not have rows of the calls.
bool shards(const Trace& trace, const RankIndex& rank) {
  for (const Collective& c : trace.collectives)
    if (contains_any(trace.strings[c.name], {"scatter", "gather", "broadcast"})) return true;
  for (const DeviceLane& lane : rank.devices)
    for (const SliceId op : lane.ops)
      if (!trace.is_compute(op) &&
          contains_any(trace.name(op), {"AllGather", "ReduceScatter", "Broadcast"}))
        return true;
  return false;
}

}  // namespace

std::vector<Bytes> weight_sizes(const Trace& trace, const RankIndex& rank,
                                std::span<const Step> steps, std::span<const PhaseSpan> phases) {
  if (steps.empty()) return {};
  std::vector<Bytes> sizes;
  for (const auto& [weight, count] :
       weights_of(trace, rank, steps.back(), backwards_in(phases, steps.back()))) {
    const auto bytes = element_bytes(weight.first);
    if (!bytes) return {};
    sizes.insert(sizes.end(), count, Bytes{weight.second * *bytes});
  }
  std::ranges::sort(sizes, std::ranges::greater{});
  return sizes;
}

std::optional<ModelState> model_state(const Trace& trace, const RankIndex& rank,
                                      std::span<const Step> steps,
                                      std::span<const PhaseSpan> phases) {
  if (steps.empty() || shards(trace, rank)) return std::nullopt;
  const Step& step = steps.back();
  const auto weights = weights_of(trace, rank, step, backwards_in(phases, step));
  if (weights.empty()) return std::nullopt;
  const Optimizer optimizer = optimizer_of(trace, rank, step, phases);
  ModelState state;
  for (const auto& [weight, count] : weights) {
    const auto bytes = element_bytes(weight.first);
    if (!bytes) return std::nullopt;
    const std::int64_t elements = weight.second * static_cast<std::int64_t>(count);
    state.elements += elements;
    state.weights += Bytes{elements * *bytes};
    if (!optimizer.format) continue;
    const Bytes each{elements * *optimizer.format};
    if (*optimizer.format > *bytes) state.masters += each;
    if (optimizer.of_adam) state.moments += Bytes{optimizer.states * each.value};
    if (optimizer.zeroes) state.gradients += each;
  }
  return state;
}

}  // namespace stepscope
