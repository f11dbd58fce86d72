// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "stepscope/base/byte_size.h"
#include "stepscope/cli/plan_source.h"
#include "stepscope/cost/model/nearest_names.h"
#include "stepscope/nn/network/presets.h"

namespace stepscope {
namespace {

Result<nn::NetworkConfig> network_of(const TrainFlags& f) {
  const auto preset = nn::network_preset(f.preset);
  if (!preset) {
    std::vector<std::string_view> names;
    for (const nn::NamedPreset& p : nn::network_presets()) names.push_back(p.name);
    return Error{.what = fmt::format("--preset {} is unknown", f.preset),
                 .hint = fmt::format("did you mean {}?", nearest_names(f.preset, names))};
  }
  nn::NetworkConfig network = *preset;
  if (f.dropout) network.dropout = static_cast<float>(*f.dropout);
  if (auto good = nn::check_network(network); !good) return good.error();
  return network;
}

Result<nn::RecomputePlan> recompute_of(const std::string& text) {
  if (text == "none") return nn::RecomputePlan{};
  if (text == "selective") return nn::RecomputePlan{.kind = nn::Recompute::selective};
  if (text == "full") return nn::RecomputePlan{.kind = nn::Recompute::full};
  constexpr std::string_view head = "every:";
  int every = 0;
  if (text.starts_with(head)) {
    const char* end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + head.size(), end, every);
    if (read.ec == std::errc() && read.ptr == end && every > 0)
      return nn::RecomputePlan{.kind = nn::Recompute::every_k, .every = every};
  }
  return Error{.what = fmt::format("--recompute {} is unknown", text),
               .hint = "write none, selective, full or every:K"};
}

zero::OptimizerConfig optimizer_of(const TrainFlags& f) {
  zero::OptimizerConfig o;
  o.beta1 = static_cast<float>(f.beta1);
  o.beta2 = static_cast<float>(f.beta2);
  o.eps = static_cast<float>(f.epsilon);
  o.weight_decay = static_cast<float>(f.weight_decay);
  o.clip_norm = f.clip;
  o.learning_rate = {.peak = f.learning_rate,
                     .floor = f.minimum_rate,
                     .warmup = f.warmup,
                     .total = f.steps,
                     .decay = f.schedule == "cosine"   ? zero::Decay::cosine
                              : f.schedule == "linear" ? zero::Decay::linear
                                                       : zero::Decay::constant};
  return o;
}

// "optimizer,gradients:/mnt/nvme", as often as wanted; each part has one place.
Result<zero::OffloadDirs> offload_of(const std::vector<std::string>& texts) {
  zero::OffloadDirs dirs;
  for (const std::string& text : texts) {
    const auto wrong = [&](std::string_view why) {
      return Error{.what = fmt::format("--offload {}: {}", text, why),
                   .hint =
                       "write optimizer, gradients, parameters or several of them with commas, "
                       "then : and a directory, such as optimizer:/mnt/nvme"};
    };
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon + 1 == text.size()) return wrong("names no directory");
    const std::string dir = text.substr(colon + 1);
    for (std::size_t from = 0; from <= colon;) {
      const std::size_t to = std::min(text.find(',', from), colon);
      const std::string_view part = std::string_view(text).substr(from, to - from);
      std::string* const place = part == "optimizer"    ? &dirs.optimizer
                                 : part == "gradients"  ? &dirs.gradients
                                 : part == "parameters" ? &dirs.parameters
                                                        : nullptr;
      if (place == nullptr) return wrong(fmt::format("\"{}\" is none of its parts", part));
      if (!place->empty()) return wrong(fmt::format("\"{}\" has two places", part));
      *place = dir;
      from = to + 1;
    }
  }
  return dirs;
}

Result<zero::EngineConfig> engine_of(const TrainFlags& f) {
  zero::EngineConfig e;
  const auto network = network_of(f);
  if (!network) return network.error();
  e.network = *network;
  const auto recompute = recompute_of(f.recompute);
  if (!recompute) return recompute.error();
  e.recompute = *recompute;
  constexpr std::int64_t usual = 128;
  e.tokens = f.sequence > 0 ? f.sequence : std::min(usual, e.network.context);
  if (e.tokens > e.network.context)
    return Error{.what = fmt::format("--seq {} is longer than {}'s context of {}", e.tokens,
                                     f.preset, e.network.context),
                 .hint = "write a shorter one"};
  const auto bucket = parse_bytes(f.bucket);
  if (!bucket || *bucket <= 0)
    return Error{.what = fmt::format("--bucket {} is no size", f.bucket), .hint = "write 16MiB"};
  e.type = f.precision == "bf16" ? ElementType::bf16 : ElementType::f32;
  e.batch = f.batch;
  e.stage = f.zero;
  e.micro_batches = static_cast<int>(f.accumulation);
  e.accumulation = f.accumulation_policy == "accumulate_then_reduce"
                       ? zero::Accumulation::accumulate_then_reduce
                       : zero::Accumulation::reduce_each_microstep;
  e.prefetch_depth = f.prefetch;
  e.bucket_bytes = Bytes{*bucket};
  e.seed = f.seed;
  e.optimizer = optimizer_of(f);
  auto offload = offload_of(f.offload);
  if (!offload) return offload.error();
  e.offload = *std::move(offload);
  e.non_finite = f.on_nan == "skip" ? zero::NonFinite::skip : zero::NonFinite::stop;
  return e;
}

}  // namespace

Result<TrainSettings> train_settings(const TrainFlags& f, int ranks) {
  TrainSettings s;
  auto engine = engine_of(f);
  if (!engine) return engine.error();
  s.engine = *engine;
  if (f.data.empty() && !f.plan_only)
    return Error{.what = "there is nothing to train on",
                 .hint = "give --data FILE: a text, or a file of tokens"};
  s.data = {.paths = f.data,
            .format = f.data_format.empty() ? std::nullopt : zero::token_format(f.data_format),
            .sample_tokens = s.engine.tokens,
            .vocabulary = s.engine.network.vocab,
            .validation = f.validation,
            .least_samples = s.engine.batch * s.engine.micro_batches * ranks,
            .seed = f.seed};
  if (f.evaluate_every > 0 && f.validation <= 0)
    return Error{.what = "--evaluate-every needs data to evaluate on",
                 .hint = "give --validation 0.1"};
  s.trainer = {.steps = f.steps,
               .evaluate_every = f.evaluate_every,
               .evaluate_batches = f.evaluate_batches,
               .checkpoints = {.dir = f.checkpoint,
                               .every = f.checkpoint_every,
                               .keep = static_cast<std::size_t>(f.keep)}};
  if (f.checkpoint.empty() && (f.resume || f.checkpoint_every > 0 || f.restarts > 0))
    return Error{.what = "--resume, --restarts and --checkpoint-every need a place",
                 .hint = "give --checkpoint DIR"};
  if (f.isolate && ranks < 2)
    return Error{.what = "--isolate: one rank has no communication", .hint = "give --ranks 2"};
  auto schedule = parse_trace_schedule(f.trace_steps);
  if (!schedule) return schedule.error();
  s.trace = *schedule;
  for (const std::string& text : f.inject) {
    auto fault = parse_fault(text);
    if (!fault) return fault.error();
    if (fault->rank >= ranks)
      return Error{.what = fmt::format("--inject {}: there are {} ranks", text, ranks)};
    const bool once = fault->kind == FaultKind::kill || fault->kind == FaultKind::stop;
    if (!once || !f.restarted) s.faults.push_back(*fault);
  }
  return s;
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
