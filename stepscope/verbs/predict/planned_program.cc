// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/planned_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "stepscope/cost/layer/layer_operations.h"
#include "stepscope/cost/layer/recompute.h"
#include "stepscope/cost/step/step_cost.h"
#include "stepscope/cost/time/collective_cost.h"

namespace stepscope {
namespace {

Ns in_ns(double seconds) { return Ns{std::llround(seconds * 1e9)}; }

// The dimensions whose collectives a step has; each has groups of its own.
enum class Over : std::uint8_t { tensor, context, expert, data };
constexpr std::size_t over_count = 4;

std::optional<Over> over(ParallelDim dim) {
  switch (dim) {
    case ParallelDim::tensor:
    case ParallelDim::sequence:
    case ParallelDim::sequence_copies:
      return Over::tensor;
    case ParallelDim::context:
      return Over::context;
    case ParallelDim::expert:
      return Over::expert;
    case ParallelDim::data:
    case ParallelDim::shard:
      return Over::data;
    default:
      return std::nullopt;
  }
}

// Order of ranks, fastest first: tp, cp, dp, pp.
struct DevicePlace {
  std::int64_t tp = 0;
  std::int64_t cp = 0;
  std::int64_t dp = 0;
  std::int64_t pp = 0;
};

class Planned {
 public:
  Planned(const Transformer& model, const Network& network, const Plan& plan,
          const CostContext& context, const StepCost& cost)
      : model_(model), network_(network), plan_(plan), context_(context), cost_(cost) {}

  JobProgram run() {
    for (std::int64_t r = 0; r < plan_.devices; ++r)
      program_.ranks.push_back({.rank = static_cast<int>(r), .nodes = {}});
    make_groups();
    for (std::int64_t r = 0; r < plan_.devices; ++r) device(r);
    return std::move(program_);
  }

 private:
  [[nodiscard]] DevicePlace place_of(std::int64_t rank) const {
    return {.tp = rank % plan_.tp,
            .cp = rank / plan_.tp % plan_.cp,
            .dp = rank / (plan_.tp * plan_.cp) % plan_.dp,
            .pp = rank / (plan_.tp * plan_.cp * plan_.dp)};
  }
  [[nodiscard]] std::int64_t rank_at(const DevicePlace& p) const {
    return ((p.pp * plan_.dp + p.dp) * plan_.cp + p.cp) * plan_.tp + p.tp;
  }

  void make_groups() {
    const std::int64_t devices = plan_.devices;
    group_of_.assign(over_count, std::vector<std::uint32_t>(static_cast<std::size_t>(devices)));
    const auto add = [&](Over o, const char* name, auto&& key_of) {
      std::vector<std::pair<std::int64_t, std::uint32_t>> known;
      for (std::int64_t r = 0; r < devices; ++r) {
        const std::int64_t key = key_of(place_of(r));
        auto found =
            std::ranges::lower_bound(known, key, {}, [](const auto& k) { return k.first; });
        if (found == known.end() || found->first != key) {
          const auto row = static_cast<std::uint32_t>(program_.groups.size());
          program_.groups.push_back({.name = fmt::format("{}{}", name, known.size()), .ranks = {}});
          found = known.insert(found, {key, row});
        }
        program_.groups[found->second].ranks.push_back(static_cast<std::uint32_t>(r));
        group_of_[static_cast<std::size_t>(o)][static_cast<std::size_t>(r)] = found->second;
      }
    };
    const auto key = [&](const DevicePlace& p) { return rank_at(p); };
    add(Over::tensor, "tp", [&](DevicePlace p) {
      p.tp = 0;
      return key(p);
    });
    add(Over::context, "cp", [&](DevicePlace p) {
      p.cp = 0;
      return key(p);
    });
    add(Over::expert, "ep", [&](DevicePlace p) {
      const std::int64_t shared = p.dp * plan_.cp + p.cp;  // experts are divided over these
      return (p.pp * plan_.tp + p.tp) * plan_.devices + shared / plan_.ep;
    });
    add(Over::data, "dp", [&](DevicePlace p) {
      p.dp = p.cp = 0;
      return key(p);
    });
  }

  // Nodes of the device that is being made.
  std::uint32_t put(ProgramNode node) {
    auto& nodes = program_.ranks[static_cast<std::size_t>(rank_)].nodes;
    std::ranges::sort(node.after);
    node.after.erase(std::ranges::unique(node.after).begin(), node.after.end());
    nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  // What comes next on the device waits for the last node.
  void kernel(std::string_view name, double seconds) {
    if (seconds <= 0) return;
    last_ = {put({.work = ProgramWork::kernel,
                  .name = std::string(name),
                  .duration = in_ns(seconds),
                  .after = last_})};
  }
  [[nodiscard]] Seconds time_of(CollectiveKind kind, double bytes, std::uint32_t group,
                                int stride) const {
    const auto size = static_cast<int>(program_.groups[group].ranks.size());
    const auto placed = place(size, stride, network_);
    return placed ? collective_time(network_, kind, Bytes{std::llround(bytes)}, *placed)
                  : Seconds{};
  }
  std::uint32_t collective(CollectiveKind kind, std::string_view name, double bytes, Over o,
                           std::vector<std::uint32_t> after) {
    const std::uint32_t group =
        group_of_[static_cast<std::size_t>(o)][static_cast<std::size_t>(rank_)];
    const auto& ranks = program_.groups[group].ranks;
    const int stride = ranks.size() > 1 ? static_cast<int>(ranks[1] - ranks[0]) : 1;
    const std::uint64_t number = numbers_[static_cast<std::size_t>(o)]++;
    return put({.work = ProgramWork::collective,
                .name = std::string(name),
                .duration = in_ns(time_of(kind, bytes, group, stride).count()),
                .after = std::move(after),
                .kind = kind,
                .group = group,
                .bytes = Bytes{std::llround(bytes)},
                .tag = std::uint64_t{group} << 32U | number});
  }
  void communicate(const Pass& pass) {
    for (const Communication& c : pass.communications) {
      const auto dim = over(c.dim);
      if (!dim || c.bytes <= 0) continue;
      const std::uint32_t group =
          group_of_[static_cast<std::size_t>(*dim)][static_cast<std::size_t>(rank_)];
      const std::size_t size = program_.groups[group].ranks.size();
      if (size < 2) continue;
      // A ring that passes a part on to everyone is an all-gather of all parts.
      const bool ring = c.kind == CollectiveKind::send_recv;
      const CollectiveKind kind = ring ? CollectiveKind::all_gather : c.kind;
      const double bytes = ring ? c.bytes * static_cast<double>(size) : c.bytes;
      for (std::int64_t i = 0; i < (ring ? 1 : c.count); ++i)
        last_ = {collective(kind, collective_kind_names[static_cast<std::size_t>(kind)], bytes,
                            *dim, last_)};
    }
  }
  void operations(const std::vector<Operation>& list, Direction direction, Recompute how,
                  bool full_precision) {
    const auto one = [&](const Operation& o) {
      const bool forward = direction == Direction::forward;
      const double again = forward ? 0 : share_again(o, how);
      if (again > 0) {
        kernel(fmt::format("{} again", o.name),
               again *
                   operation_time(context_.compute, o, Direction::forward, full_precision).count());
        communicate(o.forward);
      }
      kernel(o.name, operation_time(context_.compute, o, direction, full_precision).count());
      communicate(forward ? o.forward : o.backward);
    };
    if (direction == Direction::forward)
      for (const Operation& o : list) one(o);
    else
      for (std::size_t i = list.size(); i > 0; --i) one(list[i - 1]);
  }

  // Gathers a layer's parameters where they are sharded (ZeRO-3), during the layer before.
  void gather(std::int64_t layer_bytes_of, std::vector<std::uint32_t> after) {
    if (plan_.zero < 3 || shared() < 2) return;
    const std::uint32_t n =
        collective(CollectiveKind::all_gather, "gather parameters",
                   static_cast<double>(layer_bytes_of), Over::data, std::move(after));
    last_.push_back(n);
  }
  [[nodiscard]] std::int64_t shared() const { return plan_.dp * plan_.cp; }
  [[nodiscard]] static double parameters_of(const std::vector<Operation>& list) {
    double sum = 0;
    for (const Operation& o : list) sum += o.expert ? 0 : o.parameters;
    return sum;
  }
  [[nodiscard]] static double trained_of(const std::vector<Operation>& list) {
    double sum = 0;
    for (const Operation& o : list) sum += o.expert || !o.trained ? 0 : o.parameters;
    return sum;
  }

  struct StageLayers {
    std::int64_t first = 0;
    std::int64_t count = 0;
  };
  [[nodiscard]] StageLayers layers_of(std::int64_t stage) const {
    const auto& layers = context_.stages.layers;
    const auto at = static_cast<std::ptrdiff_t>(stage);
    return {std::accumulate(layers.begin(), layers.begin() + at, std::int64_t{0}),
            layers[static_cast<std::size_t>(stage)]};
  }

  void message(bool forward, std::int64_t batch, bool sends, std::int64_t stage) {
    DevicePlace other = place_of(rank_);
    other.pp += forward == sends ? 1 : -1;
    const std::int64_t boundary = forward == sends ? stage : stage - 1;
    const DevicePlace here = place_of(rank_);
    const std::int64_t column = rank_at({here.tp, here.cp, here.dp, 0});
    const double bytes = context_.input_bytes;
    const auto placed = place(2, static_cast<int>(plan_.tp * plan_.cp * plan_.dp), network_);
    const double seconds = placed ? collective_time(network_, CollectiveKind::send_recv,
                                                    Bytes{std::llround(bytes)}, *placed)
                                        .count()
                                  : 0;
    const std::int64_t columns = plan_.tp * plan_.cp * plan_.dp;
    const std::int64_t tag =
        ((boundary * columns + column) * 2 + (forward ? 0 : 1)) * micro_batches(plan_) + batch;
    const std::uint32_t n = put({.work = sends ? ProgramWork::send : ProgramWork::receive,
                                 .name = forward ? "activations" : "gradients",
                                 .duration = in_ns(seconds),
                                 .after = last_,
                                 .bytes = Bytes{std::llround(bytes)},
                                 .peer = static_cast<std::uint32_t>(rank_at(other)),
                                 .tag = static_cast<std::uint64_t>(tag)});
    if (!sends) last_ = {n};  // what was sent delays nothing
  }

  void forward(std::int64_t stage, std::int64_t batch) {
    if (stage > 0) message(true, batch, false, stage);
    if (stage == 0)
      operations(embedding_operations(model_, plan_), Direction::forward, Recompute::none, false);
    const auto [first, count] = layers_of(stage);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto list = layer_operations(model_, plan_, first + i);
      const std::vector<std::uint32_t> before = i == 0 ? last_ : before_layer_;
      before_layer_ = last_;
      gather(std::llround(parameters_of(list) * plan_.precision.parameter_bytes), before);
      operations(list, Direction::forward, Recompute::none, false);
    }
    if (stage + 1 == plan_.pp)
      operations(head_operations(model_, plan_), Direction::forward, Recompute::none,
                 !plan_.kernels.narrow_head);
    else
      message(true, batch, true, stage);
  }

  void backward(std::int64_t stage, std::int64_t batch) {
    const bool last_batch = batch + 1 == micro_batches(plan_);
    if (stage + 1 == plan_.pp)
      operations(head_operations(model_, plan_), Direction::backward, Recompute::none,
                 !plan_.kernels.narrow_head);
    else
      message(false, batch, false, stage);
    const auto [first, count] = layers_of(stage);
    for (std::int64_t i = count; i > 0; --i) {
      const auto list = layer_operations(model_, plan_, first + i - 1);
      const std::vector<std::uint32_t> before = i == count ? last_ : before_layer_;
      before_layer_ = last_;
      gather(std::llround(parameters_of(list) * plan_.precision.parameter_bytes), before);
      operations(list, Direction::backward, recompute_at(plan_, i - 1), false);
      if (last_batch || plan_.zero >= 2 || plan_.batch.reduce_each_micro)
        reduce(trained_of(list) * plan_.precision.gradient_bytes);
    }
    if (stage == 0) {
      const auto list = embedding_operations(model_, plan_);
      operations(list, Direction::backward, Recompute::none, false);
      if (last_batch) reduce(trained_of(list) * plan_.precision.gradient_bytes);
    }
    if (stage > 0) message(false, batch, true, stage);
  }

  // Gradients are reduced during the backward of the layers before, one after the other.
  void reduce(double bytes) {
    if (shared() < 2 || bytes <= 0) return;
    std::vector<std::uint32_t> after = last_;
    if (reduced_) after.push_back(*reduced_);
    const auto kind = plan_.zero == 0 ? CollectiveKind::all_reduce : CollectiveKind::reduce_scatter;
    reduced_ = collective(kind, "reduce gradients", bytes, Over::data, std::move(after));
  }

  void device(std::int64_t rank) {
    rank_ = rank;
    last_.clear();
    before_layer_.clear();
    reduced_.reset();
    numbers_.fill(0);
    last_ = {put({.work = ProgramWork::host, .name = "step"})};
    const std::int64_t stage = place_of(rank).pp;
    const std::int64_t batches = micro_batches(plan_);
    const bool gpipe = plan_.pipeline.schedule == Schedule::gpipe;
    const std::int64_t ahead = gpipe ? batches : std::min(plan_.pp - 1 - stage, batches);
    for (std::int64_t b = 0; b < ahead; ++b) forward(stage, b);
    for (std::int64_t b = 0; b < batches; ++b) {
      if (b + ahead < batches) forward(stage, b + ahead);
      backward(stage, b);
    }
    if (reduced_) last_.push_back(*reduced_);
    kernel("optimizer", cost_[StepTerm::optimizer]);
    if ((plan_.zero == 1 || plan_.zero == 2) && shared() > 1)
      collective(CollectiveKind::all_gather, "gather parameters",
                 context_.stages[static_cast<std::size_t>(stage)].trained *
                     plan_.precision.parameter_bytes,
                 Over::data, last_);
  }

  const Transformer& model_;
  const Network& network_;
  const Plan& plan_;
  const CostContext& context_;
  const StepCost& cost_;
  JobProgram program_;
  std::vector<std::vector<std::uint32_t>> group_of_;  // by Over and rank
  std::int64_t rank_ = 0;
  std::vector<std::uint32_t> last_;          // what the device's next operation waits for
  std::vector<std::uint32_t> before_layer_;  // the same before the layer that runs
  std::optional<std::uint32_t> reduced_;
  std::array<std::uint64_t, over_count> numbers_{};
};

}  // namespace

Result<JobProgram> planned_program(const Transformer& model, const Machine& machine,
                                   const Network& network, const Plan& plan) {
  const auto refused = [](std::string what, std::string hint) {
    return Error{.what = std::move(what), .hint = std::move(hint), .code = ErrorCode::refused};
  };
  if (plan.pipeline.schedule != Schedule::gpipe && plan.pipeline.schedule != Schedule::one_f_one_b)
    return refused("a program for simulators has the schedules gpipe and 1f1b",
                   "give --schedule 1f1b");
  if (plan.tensor.layout != TensorLayout::one_d ||
      (plan.tensor.sequence_degree != 0 && plan.tensor.sequence_degree != plan.tp))
    return refused("a program for simulators has the 1d tensor layout", "give --tensor-layout 1d");
  if (plan.devices > most_planned_devices)
    return refused(fmt::format("a program of {} devices has more than {} files", plan.devices,
                               most_planned_devices),
                   "give fewer GPUs");
  auto context = make_cost_context(model, machine, network, plan);
  if (!context) return context.error();
  const auto cost = evaluate(*context, plan);
  if (!cost) return cost.error();
  constexpr std::int64_t nodes_of_layer = 60;
  const std::int64_t nodes =
      plan.devices * micro_batches(plan) * (model.layers / plan.pp + 2) * nodes_of_layer;
  if (nodes > most_planned_nodes)
    return refused(fmt::format("the program would have about {} million nodes", nodes / 1'000'000),
                   "give fewer GPUs or micro-batches");
  return Planned(model, network, plan, *context, *cost).run();
}

}  // namespace stepscope
