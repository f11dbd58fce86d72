// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/comm/communicator/communicator.h"
#include "engine/nn/network/presets.h"
#include "stepscope/base/nearest_names.h"

namespace stepscope {
namespace {

Result<nn::NetworkConfig> network_of(const TrainRequest& r) {
  const auto preset = nn::network_preset(r.preset);
  if (!preset) {
    std::vector<std::string_view> names;
    for (const nn::NamedPreset& p : nn::network_presets()) names.push_back(p.name);
    return Error{.what = fmt::format("--preset {} is unknown", r.preset),
                 .hint = fmt::format("did you mean {}?", nearest_names(r.preset, names))};
  }
  nn::NetworkConfig network = *preset;
  if (r.dropout) network.dropout = static_cast<float>(*r.dropout);
  if (auto good = nn::check_network(network); !good) return good.error();
  return network;
}

zero::OptimizerConfig optimizer_of(const TrainRequest& r) {
  zero::OptimizerConfig o;
  o.beta1 = static_cast<float>(r.beta1);
  o.beta2 = static_cast<float>(r.beta2);
  o.eps = static_cast<float>(r.epsilon);
  o.weight_decay = static_cast<float>(r.weight_decay);
  o.clip_norm = r.clip;
  o.learning_rate = {.peak = r.learning_rate,
                     .floor = r.minimum_rate,
                     .warmup = r.warmup,
                     .total = r.steps,
                     .decay = r.decay};
  return o;
}

// What a command line has checked already, another caller may not have.
Result<Done> check_ranges(const TrainRequest& r) {
  struct Range {
    std::string_view flag;
    double value;
    double least;
    double most;
  };
  constexpr double many = 1 << 20;
  constexpr double most_steps = static_cast<double>(std::int64_t{1} << 40);
  constexpr double no_end = std::numeric_limits<double>::max();
  const auto real = [](auto value) { return static_cast<double>(value); };
  const Range ranges[] = {
      {"--zero", real(r.zero), 0, 3},
      {"--batch", real(r.batch), 1, many},
      {"--seq", real(r.sequence), 0, many},
      {"--grad-accum", real(r.accumulation), 1, many},
      {"--steps", real(r.steps), 1, most_steps},
      {"--validation", r.validation, 0, 0.9},
      {"--dropout", r.dropout.value_or(0), 0, 0.95},
      {"--lr", r.learning_rate, 0, 1e9},
      {"--min-lr", r.minimum_rate, 0, 1e9},
      {"--warmup", real(r.warmup), 0, no_end},
      {"--beta1", r.beta1, 0, 0.999999},
      {"--beta2", r.beta2, 0, 0.999999},
      {"--eps", r.epsilon, 0, 1e9},
      {"--weight-decay", r.weight_decay, 0, 1e9},
      {"--clip", r.clip, 0, 1e9},
      {"--bucket", real(r.bucket.value), 1, no_end},
      {"--prefetch", real(r.prefetch), 0, many},
      {"--evaluate-every", real(r.evaluate_every), 0, no_end},
      {"--evaluate-batches", real(r.evaluate_batches), 1, no_end},
      {"--checkpoint-every", real(r.checkpoint_every), 0, no_end},
      {"--keep", real(r.keep), 1, 1e6},
      {"--restarts", real(r.restarts), 0, 1e6},
      {"--generate", real(r.generate), 0, many},
      {"--peak-tflops", r.peak ? r.peak->value / 1e12 : 1, 1e-6, 1e6},
      {"--deadline", real(r.deadline.count()) / 1e9, 0.1, 86400},
  };
  for (const Range& range : ranges)
    if (!(range.value >= range.least && range.value <= range.most))
      return Error{.what = fmt::format("{} {} is out of its range", range.flag, range.value),
                   .hint = fmt::format("give {} to {}", range.least, range.most)};
  return Done{};
}

// `ranks` is the number that the run has. A launcher may have started ranks on several machines.
Result<Done> check_ranks(const TrainRequest& r, int ranks) {
  const bool shares = !r.plan_only && !r.transport.starts_with("mpi");
  const int most = shares ? most_sharing_ranks : most_planned_ranks;
  if (ranks < 1 || ranks > most)
    return Error{
        .what = fmt::format("--ranks {} is out of its range", ranks),
        .hint = fmt::format("give 1 to {}{}", most, shares ? "; --plan-only plans more" : "")};
  if (r.plan_rank && (*r.plan_rank < 0 || *r.plan_rank >= ranks))
    return Error{.what = fmt::format("--plan-rank {}: there are {} ranks", *r.plan_rank, ranks),
                 .hint = fmt::format("give 0 to {}", ranks - 1)};
  return Done{};
}

Result<zero::EngineConfig> engine_of(const TrainRequest& r) {
  zero::EngineConfig e;
  const auto network = network_of(r);
  if (!network) return network.error();
  e.network = *network;
  e.recompute = r.recompute;
  constexpr std::int64_t usual = 128;
  e.tokens = r.sequence > 0 ? r.sequence : std::min(usual, e.network.context);
  if (e.tokens > e.network.context)
    return Error{.what = fmt::format("--seq {} is longer than {}'s context of {}", e.tokens,
                                     r.preset, e.network.context),
                 .hint = "write a shorter one"};
  e.type = r.precision;
  e.batch = r.batch;
  e.stage = r.zero;
  e.micro_batches = static_cast<int>(r.accumulation);
  e.accumulation = r.accumulate;
  e.prefetch_distance = r.prefetch;
  e.bucket_bytes = r.bucket;
  e.seed = r.seed;
  e.optimizer = optimizer_of(r);
  e.offload = r.offload;
  e.non_finite = r.non_finite;
  return e;
}

Result<TrainSettings> settings_of(const TrainRequest& r, int ranks) {
  TrainSettings s;
  if (auto good = check_ranges(r); !good) return good.error();
  if (auto good = check_ranks(r, ranks); !good) return good.error();
  auto engine = engine_of(r);
  if (!engine) return engine.error();
  s.engine = *engine;
  s.data = {.paths = r.data,
            .format = r.data_format,
            .sample_tokens = s.engine.tokens,
            .vocabulary = s.engine.network.vocab,
            .validation = r.validation,
            .least_samples = s.engine.batch * s.engine.micro_batches * ranks,
            .seed = r.seed};
  if (r.evaluate_every > 0 && r.validation <= 0)
    return Error{.what = "--evaluate-every needs data to evaluate on",
                 .hint = "give --validation 10%"};
  s.trainer = {.steps = r.steps,
               .evaluate_every = r.evaluate_every,
               .evaluate_batches = r.evaluate_batches,
               .checkpoints = {.dir = r.checkpoint,
                               .every = r.checkpoint_every,
                               .keep = static_cast<std::size_t>(r.keep)}};
  if (r.checkpoint.empty() && (r.resume || r.checkpoint_every > 0 || r.restarts > 0))
    return Error{.what = "--resume, --restarts and --checkpoint-every need a place",
                 .hint = "give --checkpoint DIR"};
  if (r.isolate && ranks < 2)
    return Error{.what = "--isolate: one rank has no communication", .hint = "give --ranks 2"};
  for (const TrainFault& fault : r.faults)
    if (fault.rank >= ranks)
      return Error{.what = fmt::format("--inject {}: there are {} ranks", fault.text, ranks)};
  return s;
}

}  // namespace

Result<TrainSettings> train_settings(const TrainRequest& request, int ranks) {
  auto settings = settings_of(request, ranks);
  if (settings) return settings;
  Error error = settings.error();
  error.code = ErrorCode::refused;
  return error;
}

std::string recompute_words(const nn::RecomputePlan& plan) {
  switch (plan.kind) {
    case nn::Recompute::none:
      return "none";
    case nn::Recompute::selective:
      return "selective";
    case nn::Recompute::full:
      return "full";
    case nn::Recompute::every_k:
      return fmt::format("all but each {}th layer", plan.every);
  }
  return {};
}

}  // namespace stepscope
