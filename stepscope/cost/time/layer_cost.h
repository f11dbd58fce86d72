// SPDX-License-Identifier: Apache-2.0
// The cost of one layer (or the embedding, or the head) on one device for one micro-batch. Its
// operations are turned into seconds and summed once, so that a search over schedules, data
// parallelism and batches only adds numbers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/time/collective_cost.h"
#include "stepscope/cost/time/compute_time.h"

namespace stepscope {

// The time of a device in a pass; the terms exclude each other.
enum class PassTerm : std::uint8_t {
  matmul,
  attention,  // the core: scores, softmax, values
  pointwise,  // norms, activations, residuals, embedding, loss, summing of gradients
  tensor,     // exposed communication, by its dimension
  context,
  expert,
  host  // the device waits for the host's launches
};
inline constexpr std::size_t pass_term_count = 7;

struct PassTime {
  std::array<double, pass_term_count> seconds{};

  double& operator[](PassTerm t) { return seconds[static_cast<std::size_t>(t)]; }
  double operator[](PassTerm t) const { return seconds[static_cast<std::size_t>(t)]; }
  [[nodiscard]] double compute() const { return seconds[0] + seconds[1] + seconds[2]; }
  [[nodiscard]] double total() const {
    return compute() + seconds[3] + seconds[4] + seconds[5] + seconds[6];
  }
  void add(const PassTime& other, double times) {
    for (std::size_t i = 0; i < pass_term_count; ++i) seconds[i] += times * other.seconds[i];
  }
};

// One of none, selective, operations, full.
inline constexpr std::size_t recompute_kind_count = 4;

struct LayerCost {
  PassTime forward{};
  // By recomputation, because the host's wait depends on it. Without the repeated forward.
  std::array<PassTime, recompute_kind_count> backward{};
  double weight_gradient = 0;  // part of backward that a zero-bubble schedule may postpone
  // What plan.overlap.experts hides of a pass's all-to-alls: a pass that runs alone takes this much
  // longer.
  double hidden_forward = 0;
  std::array<double, recompute_kind_count> hidden_backward{};
  // By Recompute none to full: the forward that backward repeats, the bytes kept from forward to
  // backward, and the bytes that come back while the layer runs backward.
  std::array<PassTime, recompute_kind_count> again{};
  std::array<double, recompute_kind_count> kept_bytes{};
  std::array<double, recompute_kind_count> recomputed_bytes{};
  double passing_bytes = 0;  // between two operations: the largest operation's input and output
  double logits_bytes = 0;   // of the loss: scores and their gradient
  double logits_kept = 0;    // the part of these that kept_bytes also counts
  double parameters = 0;     // elements on this device, without experts
  double expert_parameters = 0;
  double trained = 0;          // the part of `parameters` that has gradients
  double trained_experts = 0;  // of `expert_parameters`
  // Matrices and vectors among the parameters, experts' too.
  double weights = 0;
  double vectors = 0;
  double vector_elements = 0;
};

// Adds `times` such layers to a sum.
void add(LayerCost& to, const LayerCost& layer, double times);

// The placement of the ranks of each dimension; a dimension of one rank is absent.
using Placements = std::array<std::optional<GroupPlacement>, parallel_dim_count>;

// The placements of dimensions that layers communicate over: tp and its grid, cp, ep. An error if a
// group leaves the domain and the machine has no network.
[[nodiscard]] Result<Placements> layer_placements(const Plan& plan, const Network& network);

// The rates that turn layers into seconds. All references must outlive it.
struct Rates {
  const ComputeModel& compute;
  const Network& network;
  const Placements& placements;
};

// A compiler's code needs this share of the host's time (fitted to runs of both).
inline constexpr double compiled_share = 0.6;
// The same for graphs of the layers without their experts; graphs of the step leave nothing. An
// assumption: no run with and without is published.
inline constexpr double graphed_share = 0.4;
// What the host launches forward: layers, mixtures whose sizes it must wait for, and products of
// single experts.
struct HostWork {
  double layers = 0;
  double mixtures = 0;
  double products = 0;
};
// A layer of one part is about half of a layer. With a capacity the host knows the experts' sizes.
// An expert has a product into its feed-forward and one out of it.
// Each adapter has four operations of its own: two products, the scale and the sum.
[[nodiscard]] inline HostWork host_work(const Transformer& m, const LayerKind& kind,
                                        const Plan& plan,
                                        LayerTraining training = LayerTraining::weights) {
  const bool one_part = kind.mixer == Mixer::none || kind.channel == Channel::none;
  HostWork work{.layers = one_part ? 0.5 : 1.0};
  if (training == LayerTraining::adapters) {
    for (const Adapter& a : adapters_of(m, kind, plan.trained)) {
      const bool singly = a.copies > 1 && !plan.kernels.grouped_experts;
      work.products += 4.0 * static_cast<double>(singly ? a.copies / plan.ep : 1);
    }
  }
  if (kind.channel != Channel::experts || m.experts->capacity_factor) return work;
  work.mixtures = 1;
  const std::int64_t experts = m.experts->count / plan.ep;  // of a device
  if (!plan.kernels.grouped_experts) work.products += 2.0 * static_cast<double>(experts);
  return work;
}
// A dropless mixture, eagerly. DeepSeek's training profile (deepseek-ai/profile-data, train.json)
// has 963 launches for four layers of DeepSeek-V3 forward and backward; gaps below 0.5 ms are 45 us
// in the mean. Beyond what a dense layer takes there (host_layer_us = 545 forward, 1.5 of it
// backward) these are 84 launches forward for a mixture, and 1.5 times that number backward:
// choice, dispatch, sorting, experts, combination.
inline constexpr double launch_interval_us = 45;
inline constexpr double mixture_launches = 84;
// The share of them that is left if graphs hold the layers with their routers: in that profile 34
// of the 69 launches of a mixture's forward choose the experts.
inline constexpr double graphed_mixture_share = 0.5;
// Each product of a single expert costs the host one operation more: it quantises the weight, and
// calls the hook of its gradient (Transformer Engine's GroupedLinear loops over the experts in
// Python; Megatron-Core's data parallelism has a hook for each weight).
// The host's time to launch this forward.
[[nodiscard]] double host_seconds(const ComputeModel& compute, const Kernels& kernels,
                                  const HostWork& work);

// Properties of the operations as a whole.
struct LayerRun {
  double input_bytes = 0;       // input from the previous layer (layer_input_bytes)
  bool full_precision = false;  // the head
  HostWork host{.layers = 1};
};

// The part of a call that is hidden: `share` of min(call, seconds).
struct CallWindow {
  double share = 0;
  double seconds = 0;  // of its operation's arithmetic
};
// `whole`: seconds of the operation; `left`: the part that hides no call yet.
[[nodiscard]] CallWindow call_window(const Communication& c, const Plan& plan,
                                     const Operation& operation, Direction direction, double whole,
                                     double left);
// The loss of arithmetic per second during a call of `call` seconds: contention, times the share of
// the call that its bytes take on the links of the domain (Lee et al. 2025 measured 0.19, at most
// 0.4, within a node).
[[nodiscard]] double call_slowdown(const ComputeModel& compute, const Network& network,
                                   const Communication& c, double call);

// The exposed rest of a call that runs during its operation's arithmetic, which takes `slowdown`
// longer.
template <formula::Number N>
[[nodiscard]] N exposed_call(const N& call, const CallWindow& open, double slowdown) {
  using formula::count;
  const N hidden = count<N>(open.share, "share") *
                   formula::min(call, formula::seconds<N>(open.seconds, "arithmetic"));
  return call - hidden + count<N>(slowdown, "slowdown") * hidden;
}

// Seconds of a communication's calls in its group. Forwarded copies of tokens cross the network
// once for each domain with chosen experts while they spread within the domains: the longer of
// both.
template <formula::Number N>
[[nodiscard]] N communication_seconds(const Network& network, const Communication& c,
                                      const GroupPlacement& group) {
  const auto call = [&](double bytes, const GroupPlacement& place) {
    const Bytes whole{static_cast<std::int64_t>(std::llround(bytes))};
    if constexpr (std::is_same_v<N, double>) {
      return collective_time(network, c.kind, whole, place).count();
    } else {
      return collective_formula(network, c.kind, whole, place);
    }
  };
  const N times = formula::count<N>(c.count, "calls");
  const Experts* experts = c.forwarded.experts;
  if (experts == nullptr || group.domains < 2) return times * call(c.bytes, group);
  const double crossing = parts_chosen(*experts, group.domains) * c.forwarded.one_copy;
  const N across = call(std::min(c.bytes, crossing), group);
  const auto within = place_in_domains(1, group.members, network);
  if (!within || group.members < 2) return times * across;
  return times * formula::max(across, call(c.bytes, *within));
}

// With plan.overlap.experts the all-to-alls of a layer's pass (`calls` seconds) run during the
// arithmetic of another micro-batch in the same layer, which is as long as this one's.
template <formula::Number N>
[[nodiscard]] N exposed_experts(const N& calls, double arithmetic, double slowdown) {
  return exposed_call(calls, {1, arithmetic}, slowdown);
}

// The bytes of the loss: its scores, the part it keeps, and their gradient. A loss in place keeps
// nothing, and its gradient takes the scores' place.
template <formula::Number N>
[[nodiscard]] N loss_bytes(const Operation& loss) {
  if (loss.kept_bytes <= 0) return formula::bytes<N>(loss.forward.input_bytes, "scores");
  return formula::bytes<N>(loss.forward.input_bytes, "scores") +
         formula::bytes<N>(loss.kept_bytes, "exponentials") +
         formula::bytes<N>(loss.backward.output_bytes, "gradient");
}

// Communication that can overlap is hidden as far as its own operation reaches. A ring of n ranks
// is hidden under the (n - 1)/n of attention that does not need the first block. With
// plan.overlap.tensor a tensor-parallel call divided into n parts is hidden under all parts but
// one. Under sequence parallelism the backward gather and scatter of a column-parallel product are
// hidden under half of it each (Korthikanti et al. 2022, 4.2.2; Megatron-LM). With
// plan.overlap.experts see exposed_experts.
[[nodiscard]] LayerCost layer_cost(std::span<const Operation> operations, const Rates& rates,
                                   const Plan& plan, const LayerRun& run);

}  // namespace stepscope
