// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/step/data_parallel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "stepscope/cost/plan/tensor_grid.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

double share(std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  return (n - 1) / n;
}

// For weights that `replicas` ranks share; `shards` of these shard their states.
template <formula::Number N>
struct Volume {
  N reduced = formula::bytes<N>(0);
  N averaged = formula::bytes<N>(0);
  N gathered = formula::bytes<N>(0);
};

template <formula::Number N>
Volume<N> volume(const Plan& plan, double parameters, double trained, std::int64_t replicas,
                 std::int64_t shards, std::int64_t secondary) {
  using formula::bytes;
  using formula::count;
  // Below ZeRO-3 only what the optimizer changed is gathered.
  const double used = plan.zero == 3 ? parameters : trained;
  if (used <= 0) return {};
  const bool some = trained < parameters;
  const N all = count<N>(used, some && plan.zero < 3 ? "trained weights" : "weights");
  const N m = count<N>(micro_batches(plan), "m");
  N gradients = count<N>(trained, some ? "trained weights" : "weights") *
                bytes<N>(plan.precision.gradient_bytes, "G");
  const N averaged = averages_each_micro_batch(plan) ? gradients * m : gradients;
  if (reduces_each_micro_batch(plan)) gradients = gradients * m;
  const N weights = all * bytes<N>(plan.precision.parameter_bytes, "P");
  if (plan.zero == 0) {
    return {.reduced = count<N>(2 * share(replicas), "2 (n - 1) / n") * gradients,
            .averaged = bytes<N>(0),
            .gathered = bytes<N>(0)};
  }
  const N part = count<N>(share(shards), "(k - 1) / k");
  return {.reduced = part * gradients,
          .averaged = count<N>(2 * share(replicas / shards), "2 (n / k - 1) / (n / k)") * averaged /
                      count<N>(shards, "k"),
          .gathered = plan.zero != 3 ? part * weights
                      : secondary == shards
                          ? part * weights * (static_cast<double>(1 + backward_gathers(plan)) * m)
                          : (part + count<N>(share(secondary), "(j - 1) / j")) * weights * m};
}

template <formula::Number N>
std::array<Volume<N>, 2> volumes(const Plan& plan, const HeldWeights& held) {
  const ShardCounts shards = shard_counts(plan);
  const ShardCounts again = secondary_counts(plan);
  const std::int64_t replicas = plan.dp * plan.cp;
  return {volume<N>(plan, held.dense, held.trained, replicas, shards.dense, again.dense),
          volume<N>(plan, held.experts, held.trained_experts, expert_replicas(plan), shards.expert,
                    again.expert)};
}

// Two sizes a little apart give the time per byte near a piece. The rest is the start.
PieceTime piece_time(const Network& network, CollectiveKind kind,
                     const std::optional<GroupPlacement>& group, double piece) {
  if (!group) return {};
  const auto at = [&](double bytes) {
    const Bytes whole{static_cast<std::int64_t>(std::llround(bytes))};
    return collective_time(network, kind, whole, *group).count();
  };
  const double time = at(piece);
  const double per_byte = std::max(0.0, (at(2 * piece) - time) / piece);
  const double rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
  const double on_links = network.up.value > 0 ? rounds / network.up.value : per_byte;
  return {.start = std::max(0.0, time - per_byte * piece),
          .per_byte = per_byte,
          .piece = piece,
          .busy = std::min(per_byte, on_links)};
}

class Groups {
 public:
  explicit Groups(const Network& network) : network_(network) {}

  std::optional<GroupPlacement> operator()(std::string_view what, std::int64_t size,
                                           std::int64_t stride) {
    if (size < 2 || error_) return std::nullopt;
    const auto group = place(static_cast<int>(size), static_cast<int>(stride), network_);
    if (!group) {
      error_ = Error{.what = std::string(what) + " over " + std::to_string(size) +
                             " ranks leaves a domain of " + std::to_string(network_.domain) +
                             " devices, and the machine has no scale_out.gb_per_s_per_direction",
                     .hint = "give the network between domains in a file for --machine"};
    }
    return group;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  const Network& network_;
  std::optional<Error> error_;
};

StateTimes state_times(const Plan& plan, const Network& network, Groups& groups,
                       std::int64_t replicas, std::int64_t shards, std::int64_t secondary,
                       std::int64_t stride) {
  const auto bucket = static_cast<double>(plan.overlap.bucket.value);
  StateTimes times;
  if (plan.zero == 0) {
    times.reduce = piece_time(network, CollectiveKind::all_reduce,
                              groups("data parallelism", replicas, stride), bucket);
    return times;
  }
  const auto shard = groups("sharding", shards, stride);
  const auto between = groups("data parallelism", replicas / shards, stride * shards);
  times.reduce = piece_time(network, CollectiveKind::reduce_scatter, shard, bucket);
  times.gather = piece_time(network, CollectiveKind::all_gather, shard, bucket);
  times.regather = secondary == shards
                       ? times.gather
                       : piece_time(network, CollectiveKind::all_gather,
                                    groups("the second copy", secondary, stride), bucket);
  const auto k = static_cast<double>(shards);
  times.average =
      piece_time(network, CollectiveKind::all_reduce, between, std::max(1.0, bucket / k));
  times.average.per_byte /= k;
  times.average.busy /= k;
  times.average.piece *= k;
  return times;
}

}  // namespace

DataVolume data_volume(const Plan& plan, const HeldWeights& held) {
  const auto [dense, expert] = volumes<double>(plan, held);
  return {.reduced = dense.reduced + expert.reduced,
          .averaged = dense.averaged + expert.averaged,
          .gathered = dense.gathered + expert.gathered};
}

Formula data_sent(const Plan& plan, const HeldWeights& held) {
  const auto [dense, expert] = volumes<Formula>(plan, held);
  return dense.reduced + dense.averaged + dense.gathered + expert.reduced + expert.averaged +
         expert.gathered;
}

Result<DataTimes> data_times(const Plan& plan, const Network& network) {
  const ShardCounts shards = shard_counts(plan);
  const std::int64_t replicas = plan.dp * plan.cp;
  const std::int64_t tensor = tensor_ranks(plan);
  Groups groups(network);
  DataTimes times;
  const ShardCounts again = secondary_counts(plan);
  times.dense = state_times(plan, network, groups, replicas, shards.dense, again.dense, tensor);
  const std::int64_t apart = (whole_experts(plan) ? 1 : tensor) * plan.ep;
  times.expert =
      state_times(plan, network, groups, expert_replicas(plan), shards.expert, again.expert, apart);
  const std::int64_t stage = tensor * replicas;
  constexpr double activation = 16e6;  // size in bytes near which sends are timed
  if (plan.pp > 1) {
    times.send = piece_time(network, CollectiveKind::send_recv, groups("the pipeline", 2, stage),
                            activation);
    times.tie = piece_time(network, CollectiveKind::all_reduce,
                           groups("tied embeddings", 2, stage * (plan.pp - 1)), activation);
  }
  if (groups.error()) return *groups.error();
  return times;
}

}  // namespace stepscope
