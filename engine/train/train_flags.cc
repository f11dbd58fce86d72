// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "engine/nn/network/presets.h"
#include "stepscope/base/byte_size.h"
#include "stepscope/base/number_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/output_flags.h"

namespace stepscope {
namespace {

void declare_model(CLI::App& app, TrainFlags& f) {
  const char* group = "Model and data";
  std::vector<std::string_view> presets;
  for (const nn::NamedPreset& preset : nn::network_presets()) presets.push_back(preset.name);
  app.add_option("--preset", f.request.preset,
                 fmt::format("Network to train: {}", fmt::join(presets, ", ")))
      ->capture_default_str()
      ->type_name("PRESET")
      ->group(group);
  app.add_option("--data", f.request.data,
                 "Text or token files to train on; without any, pages of stepscope's own")
      ->type_name("FILE")
      ->group(group);
  as_choice(app.add_option("--data-format", f.data_format,
                           "Format of the data, where the file's first bytes do not tell it"),
            {"text", "u16", "u32", "llmc"})
      ->group(group);
  as_share(app.add_option("--validation", f.request.validation,
                          "Share of the data that is kept for --evaluate-every"),
           0, 0.9)
      ->group(group);
  as_number(app.add_option("--dropout", f.request.dropout,
                           "Dropout probability, instead of the preset's"),
            0, 0.95)
      ->group(group);
  app.add_option("--init-from", f.request.init_from,
                 "Weights to start from: a .safetensors file or an llm.c checkpoint (.bin)")
      ->type_name("FILE")
      ->group(group);
  as_count(
      app.add_option("--seed", f.request.seed, "Seed of initial values, data order and dropout"), 0)
      ->group(group);
}

void declare_job(CLI::App& app, TrainFlags& f) {
  const char* group = "Job";
  constexpr std::int64_t most = std::int64_t{1} << 20;
  as_count(app.add_option("--ranks", f.ranks,
                          "Processes on this machine; with --plan-only ranks of any machines"))
      ->default_str("the cores")
      ->group(group);
  as_choice(app.add_option("--transport", f.request.transport,
                           "Transport of the ranks: shm (processes of this machine, the default), "
                           "threads, or of ranks that mpirun or srun has started mpi (the default "
                           "there) or mpi-messages (no shared memory on one host)"),
            {"shm", "threads", "mpi", "mpi-messages"})
      ->group(group);
  as_count(app.add_option("--zero", f.request.zero, "ZeRO stage"), 0, 3)
      ->type_name("0|1|2|3")
      ->group(group);
  app.add_option("--dtype,--precision", f.precision,
                 "Number format of the computation. With bf16, master weights are fp32.")
      ->transform(CLI::CheckedTransformer(
                      std::map<std::string, std::string>{{"fp32", "f32"}, {"bf16", "bf16"}})
                      .description(""))
      ->default_str("fp32")
      ->type_name("fp32|bf16")
      ->group(group);
  as_count(app.add_option("--micro-batch,--batch", f.request.batch,
                          "Sequences of a micro-batch of one rank"),
           1, most)
      ->group(group);
  as_count(app.add_option("--seq", f.request.sequence, "Tokens of a sequence"), 1, most)
      ->default_str("the model's context, at most 128")
      ->group(group);
  as_count(app.add_option("--grad-accum", f.request.accumulation, "Micro-batches of a step"), 1,
           most)
      ->group(group);
  as_choice(app.add_option("--accumulation", f.accumulation_policy,
                           "Reduction of gradients: after each micro-batch, or once a step"),
            {"reduce_each_microstep", "accumulate_then_reduce"})
      ->group(group);
  as_count(app.add_option("--steps", f.request.steps,
                          "Steps of the whole run, a resumed one's earlier steps included"),
           1, std::int64_t{1} << 40)
      ->group(group);
}

void declare_optimizer(CLI::App& app, TrainFlags& f) {
  const char* group = "AdamW";
  constexpr double max_rate = 1e9;
  as_number(app.add_option("--lr", f.request.learning_rate, "Learning rate"), 0, max_rate)
      ->group(group);
  as_number(app.add_option("--min-lr", f.request.minimum_rate,
                           "Learning rate at a falling schedule's end"),
            0, max_rate)
      ->group(group);
  as_count(app.add_option("--lr-warmup,--warmup", f.request.warmup,
                          "Steps of a linear rise of the rate"),
           0)
      ->group(group);
  as_choice(app.add_option("--lr-schedule,--schedule", f.schedule, "Schedule of the learning rate"),
            {"constant", "linear", "cosine"})
      ->group(group);
  as_number(app.add_option("--beta1", f.request.beta1, "Decay of the first moment"), 0, 0.999999)
      ->group(group);
  as_number(app.add_option("--beta2", f.request.beta2, "Decay of the second moment"), 0, 0.999999)
      ->group(group);
  as_number(app.add_option("--eps", f.request.epsilon, "Number that keeps the divisor from 0"), 0,
            max_rate)
      ->group(group);
  as_number(app.add_option("--weight-decay", f.request.weight_decay, "Weight decay of matrices"), 0,
            max_rate)
      ->group(group);
  as_number(app.add_option("--clip", f.request.clip,
                           "Largest norm of all gradients together. 0 is none."),
            0, max_rate)
      ->group(group);
  as_choice(app.add_option("--on-nan", f.on_nan,
                           "Action where a loss or gradient is not finite: skip the step, or stop"),
            {"skip", "stop"})
      ->group(group);
}

void declare_memory_of_ranks(CLI::App& app, TrainFlags& f) {
  const char* group = "Memory and overlap";
  as_size(app.add_option("--bucket", f.bucket, "Bytes of one reduction or gathering message"))
      ->group(group);
  as_count(
      app.add_option("--prefetch", f.request.prefetch, "Passes that parameters are gathered ahead"),
      0, 1 << 20)
      ->group(group);
  app.add_option("--recompute", f.recompute,
                 "Recomputation in backward. With every:K the first of each K layers stays whole.")
      ->capture_default_str()
      ->type_name("none|selective|full|every:K")
      ->group(group);
  app.add_option("--offload", f.offload,
                 "Keep optimizer, gradients or parameters (several with commas) in nameless files "
                 "on the drive of DIR instead of memory")
      ->type_name("PARTS:DIR")
      ->group(group);
  app.add_flag("--plan-only,--plan", f.request.plan_only,
               "Print the plan of memory, communication and optimizer shards. Nothing is started.")
      ->group(group);
  as_count(
      app.add_option("--plan-rank", f.plan_rank, "Rank whose plan and shards --plan-only shows"), 0)
      ->default_str("rank 0, with the shards of all ranks")
      ->type_name("R")
      ->group(group);
}

void declare_files(CLI::App& app, TrainFlags& f) {
  const char* group = "Evaluation and checkpoints";
  as_count(app.add_option("--evaluate-every", f.request.evaluate_every,
                          "Steps between evaluations. 0 is never."),
           0)
      ->group(group);
  as_count(app.add_option("--evaluate-batches", f.request.evaluate_batches,
                          "Micro-batches of one evaluation, of each rank"))
      ->group(group);
  app.add_option("--checkpoint", f.request.checkpoint, "Directory of checkpoints")
      ->type_name("DIR")
      ->group(group);
  as_count(
      app.add_option("--checkpoint-every", f.request.checkpoint_every, "Steps between checkpoints"),
      0)
      ->default_str("at the end")
      ->group(group);
  as_count(app.add_option("--keep-checkpoints,--keep", f.request.keep, "Checkpoints that are kept"),
           1, 1000000)
      ->group(group);
  app.add_flag("--resume", f.request.resume,
               "Go on from the last committed checkpoint, at any --zero and --ranks")
      ->group(group);
  as_count(app.add_option("--restarts", f.request.restarts,
                          "Most restarts from the last checkpoint when a rank dies or hangs"),
           0, 1000000)
      ->group(group);
  app.add_option("--export", f.request.export_file,
                 "Write the trained weights: .safetensors, or .bin as llm.c")
      ->type_name("FILE")
      ->group(group);
  as_count(app.add_option("--generate", f.request.generate,
                          "Tokens of text to write with the trained network"),
           0, std::int64_t{1} << 20)
      ->group(group);
  app.add_option("--prompt", f.request.prompt, "Text that the generated text goes on from")
      ->type_name("WORDS")
      ->group(group);
}

void declare_views(CLI::App& app, TrainFlags& f) {
  const char* group = "Outputs";
  const char* faults = "Faults and measurements";
  app.add_option("--trace", f.request.trace,
                 "Write a trace of each rank into this directory, for stepscope analyze")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--trace-steps", f.trace_steps,
                 "Steps to record, as torch.profiler.schedule counts")
      ->default_str("2,1,5,1")
      ->type_name("WAIT,WARMUP,ACTIVE,REPEAT")
      ->group(group);
  app.add_option("--metrics", f.request.metrics,
                 "Port of localhost, or of the address before it, or file, for OpenMetrics")
      ->type_name("[ADDRESS:]PORT|FILE")
      ->group(group);
  app.add_option("--token-file", f.request.token_file,
                 "The first line of this file is asked of clients of --metrics (Authorization: "
                 "Bearer, or ?token=); required for addresses other than 127.0.0.1")
      ->type_name("FILE")
      ->group(group);
  app.add_option("--live", f.request.live,
                 "Append a line per rank and step to files in this directory, for stepscope live")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--inject", f.inject,
                 "Fault to show: slow:RANK:30%, sleep:RANK:5ms, data:RANK:20ms, "
                 "throttle:50us:1GB or sync[:RANK] (each message is waited for where it is "
                 "submitted), with @FROM-UNTIL behind it for some steps only. kill:RANK:PHASE@STEP "
                 "and stop:RANK:PHASE@STEP end or stop a rank.")
      ->type_name("FAULT")
      ->group(faults);
  app.add_flag("--isolate", f.request.isolate,
               "Measure compute alone, communication alone, and both")
      ->group(faults);
  as_number(app.add_option("--peak-tflops", f.peak_tflops,
                           "Peak of one core in TFLOP/s, instead of measuring it"),
            1e-6, 1e6)
      ->type_name("TFLOPS")
      ->group(faults);
  as_seconds(app.add_option("--deadline", f.deadline, "Time after which a collective fails"), 0.1,
             86400)
      ->group(faults);
  declare_json(app, f.out.json);
  declare_html(app, f.out.html);
  declare_csv(app, f.out.csv);
}

// A number, then what is left of the text. Absent where it begins with none, or with a negative
// one.
std::optional<double> take_amount(std::string_view& text) {
  const auto value = take_number<double>(text);
  return value && std::isfinite(*value) && *value >= 0 ? value : std::nullopt;
}

std::optional<Ns> parse_time(std::string_view text) {
  const auto number = take_amount(text);
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const auto* unit = std::ranges::find(units, text, [](const auto& u) { return u.first; });
  constexpr double longest = 1e13;  // ns: hours
  if (!number || unit == units.end() || *number * unit->second > longest) return std::nullopt;
  return Ns{std::llround(*number * unit->second)};
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  const auto value = number_of<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

std::vector<std::string_view> parts_between(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = text.find(at, from);
    parts.push_back(text.substr(from, to - from));
    if (to == std::string_view::npos) return parts;
    from = to + 1;
  }
}

// "@from-until" behind a fault.
bool parse_steps(std::string_view text, TrainFault& fault) {
  const std::vector<std::string_view> ends = parts_between(text, '-');
  const auto from = parse_whole(ends.front());
  if (!from || ends.size() > 2) return false;
  fault.from = *from;
  fault.until = *from + 1;
  if (ends.size() == 1) return true;
  if (ends[1].empty()) {
    fault.until = -1;
    return true;
  }
  const auto until = parse_whole(ends[1]);
  if (!until || *until <= *from) return false;
  fault.until = *until;
  return true;
}

bool parse_throttle(const std::vector<std::string_view>& parts, TrainFault& fault) {
  if (parts.size() != 3) return false;
  const auto latency = parse_time(parts[1]);
  const auto rate = parse_bytes(parts[2]);
  if (!latency || !rate || *rate <= 0) return false;
  fault.kind = FaultKind::throttle;
  fault.time = *latency;
  fault.rate = ByteRate{static_cast<double>(*rate)};
  return true;
}

bool parse_rank(std::string_view text, TrainFault& fault) {
  const auto rank = parse_whole(text);
  if (!rank || *rank > std::numeric_limits<int>::max()) return false;
  fault.rank = static_cast<int>(*rank);
  return true;
}

bool parse_sync(const std::vector<std::string_view>& parts, TrainFault& fault) {
  fault.kind = FaultKind::sync;
  return parts.size() == 1 || (parts.size() == 2 && parse_rank(parts[1], fault));
}

bool parse_of_rank(const std::vector<std::string_view>& parts, TrainFault& fault) {
  if (parts.size() != 3 || !parse_rank(parts[1], fault)) return false;
  if (parts[0] == "slow") {
    std::string_view share = parts[2];
    const auto percent = take_amount(share);
    constexpr double max_percent = 1e6;
    if (!percent || share != "%" || *percent > max_percent) return false;
    fault.kind = FaultKind::slow;
    fault.percent = *percent;
    return true;
  }
  if (parts[0] == "kill" || parts[0] == "stop") {
    const auto* phase = std::ranges::find(fault_phase_names, parts[2]);
    if (phase == fault_phase_names.end()) return false;
    fault.kind = parts[0] == "kill" ? FaultKind::kill : FaultKind::stop;
    fault.phase = static_cast<FaultPhase>(phase - fault_phase_names.begin());
    return true;
  }
  const auto time = parse_time(parts[2]);
  if (!time || (parts[0] != "sleep" && parts[0] != "data")) return false;
  fault.kind = parts[0] == "sleep" ? FaultKind::sleep : FaultKind::data;
  fault.time = *time;
  return true;
}

Result<nn::RecomputePlan> recompute_of(const std::string& text) {
  if (text == "none") return nn::RecomputePlan{};
  if (text == "selective") return nn::RecomputePlan{.kind = nn::Recompute::selective};
  if (text == "full") return nn::RecomputePlan{.kind = nn::Recompute::full};
  constexpr std::string_view head = "every:";
  if (text.starts_with(head))
    if (const auto every = number_of<int>(text.substr(head.size())); every && *every > 0)
      return nn::RecomputePlan{.kind = nn::Recompute::every_k, .every = *every};
  return Error{.what = fmt::format("--recompute {} is unknown", text),
               .hint = "write none, selective, full or every:K"};
}

// "optimizer,gradients:/mnt/nvme", as often as wanted; each part has one place.
Result<Done> add_offload_files(const std::vector<std::string>& texts, zero::OffloadPlaces& places) {
  for (const std::string& text : texts) {
    const auto wrong = [&](std::string_view why) {
      return Error{.what = fmt::format("--offload {}: {}", text, why),
                   .hint =
                       "write optimizer, gradients, parameters or several of them with commas, "
                       "then : and a directory, such as optimizer:/mnt/nvme"};
    };
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || colon + 1 == text.size()) return wrong("names no directory");
    for (std::size_t from = 0; from <= colon;) {
      const std::size_t to = std::min(text.find(',', from), colon);
      const std::string_view part = std::string_view(text).substr(from, to - from);
      std::string* const place = part == "optimizer"    ? &places.optimizer
                                 : part == "gradients"  ? &places.gradients
                                 : part == "parameters" ? &places.parameters
                                                        : nullptr;
      if (place == nullptr) return wrong(fmt::format("\"{}\" is none of its parts", part));
      if (!place->empty()) return wrong(fmt::format("\"{}\" has two places", part));
      *place = text.substr(colon + 1);
      from = to + 1;
    }
  }
  return Done{};
}

}  // namespace

void declare(CLI::App& app, TrainFlags& f) {
  declare_model(app, f);
  declare_job(app, f);
  declare_optimizer(app, f);
  declare_memory_of_ranks(app, f);
  declare_files(app, f);
  declare_views(app, f);
  app.description(
      "Trains a GPT-2 or Llama style network with ZeRO on the cores of this machine, and accounts "
      "for every step: memory, communication, waits, faults.");
  mark_common(app, {"--preset", "--data", "--ranks", "--zero", "--micro-batch", "--seq", "--steps",
                    "--trace", "--json", "--html"});
  app.footer(
      "stepscope train --data examples/train_tiny/record.py --zero 3 --ranks 2 --steps 10 --trace "
      "traces && stepscope analyze traces --html report.html\n"
      "stepscope train --plan-only --zero 3 --ranks 1024 --plan-rank 1");
}

Result<TrainRequest> request_of(const TrainFlags& f) {
  TrainRequest r = f.request;
  if (!f.data_format.empty()) r.data_format = zero::token_format(f.data_format);
  r.precision = f.precision == "bf16" ? ElementType::bf16 : ElementType::f32;
  r.accumulate = f.accumulation_policy == "accumulate_then_reduce"
                     ? zero::Accumulation::accumulate_then_reduce
                     : zero::Accumulation::reduce_each_microstep;
  r.decay = f.schedule == "cosine"   ? zero::Decay::cosine
            : f.schedule == "linear" ? zero::Decay::linear
                                     : zero::Decay::constant;
  r.non_finite = f.on_nan == "skip" ? zero::NonFinite::skip : zero::NonFinite::stop;
  const auto recompute = recompute_of(f.recompute);
  if (!recompute) return recompute.error();
  r.recompute = *recompute;
  const auto bucket = parse_bytes(f.bucket);
  if (!bucket || *bucket <= 0)
    return Error{.what = fmt::format("--bucket {} is no size", f.bucket), .hint = "write 16MiB"};
  r.bucket = Bytes{*bucket};
  if (auto done = add_offload_files(f.offload, r.offload); !done) return done.error();
  const auto schedule = parse_trace_schedule(f.trace_steps);
  if (!schedule) return schedule.error();
  r.trace_steps = *schedule;
  for (const std::string& text : f.inject) {
    auto fault = parse_fault(text);
    if (!fault) return fault.error();
    r.faults.push_back(*std::move(fault));
  }
  if (f.peak_tflops > 0) r.peak = FlopRate{f.peak_tflops * 1e12};
  r.deadline = Ns{static_cast<std::int64_t>(f.deadline * 1e9)};
  for (const auto& [flag, path] : {std::pair("--html", f.out.html), std::pair("--trace", r.trace),
                                   std::pair("--export", r.export_file)})
    if (r.plan_only && !path.empty())
      return Error{.what = fmt::format("{} with --plan-only, which trains nothing", flag),
                   .hint = "leave one of them out"};
  if (!r.plan_only && f.plan_rank >= 0)
    return Error{.what = "--plan-rank without --plan-only", .hint = "add --plan-only"};
  constexpr std::int64_t most = std::numeric_limits<int>::max();  // checked with the others
  r.ranks = static_cast<int>(std::min(f.ranks, most));
  if (f.plan_rank >= 0) r.plan_rank = static_cast<int>(std::min(f.plan_rank, most));
  for (const std::string& path : {f.out.json, f.out.html})
    if (!path.empty() && path != "-") r.outputs.push_back(path);
  return r;
}

Result<TraceSchedule> parse_trace_schedule(std::string_view text) {
  if (text.empty()) return TraceSchedule{};
  const std::vector<std::string_view> parts = parts_between(text, ',');
  std::array<std::int64_t, 4> numbers = {0, 0, 0, 1};
  constexpr std::int64_t most = 1 << 30;
  bool good = parts.size() == 3 || parts.size() == 4;
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const auto number = parse_whole(parts[i]);
    good = number && *number < most;
    if (good) numbers[i] = *number;
  }
  if (!good || numbers[2] == 0)
    return Error{.what = fmt::format("--trace-steps {} is no schedule", text),
                 .hint = "write wait,warmup,active,repeat, such as 2,1,5,1"};
  return TraceSchedule{numbers[0], numbers[1], numbers[2], numbers[3]};
}

Result<TrainFault> parse_fault(std::string_view text) {
  TrainFault fault{.text = std::string(text)};
  const std::size_t at = text.find('@');
  const std::vector<std::string_view> parts = parts_between(text.substr(0, at), ':');
  const bool known = parts[0] == "throttle" ? parse_throttle(parts, fault)
                     : parts[0] == "sync"   ? parse_sync(parts, fault)
                                            : parse_of_rank(parts, fault);
  const bool steps = at == std::string_view::npos || parse_steps(text.substr(at + 1), fault);
  if (!known || !steps)
    return Error{
        .what = fmt::format("--inject {} is no fault", text),
        .hint =
            "write slow:RANK:30%, sleep:RANK:5ms, data:RANK:20ms, "
            "throttle:50us:1GB, sync or sync:RANK, with @FROM-UNTIL behind it for some steps "
            "only; or kill:RANK:PHASE@STEP, stop:RANK:PHASE@STEP (start, data, forward, "
            "backward, exchange, optimizer, checkpoint)"};
  return fault;
}

}  // namespace stepscope
