// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>

#include "stepscope/base/byte_size.h"
#include "stepscope/cli/help/flag_values.h"
#include "stepscope/cli/help/flag_view.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/nn/network/presets.h"

namespace stepscope {
namespace {

void declare_model(CLI::App& app, TrainFlags& f) {
  const char* group = "Model and data";
  std::vector<std::string_view> presets;
  for (const nn::NamedPreset& preset : nn::network_presets()) presets.push_back(preset.name);
  app.add_option("--preset", f.preset,
                 fmt::format("Network to train: {}", fmt::join(presets, ", ")))
      ->capture_default_str()
      ->type_name("PRESET")
      ->group(group);
  app.add_option("--data", f.data, "Text or token files to train on")
      ->type_name("FILE")
      ->group(group);
  as_choice(app.add_option("--data-format", f.data_format,
                           "Format of the data, where the file's first bytes do not tell it"),
            {"text", "u16", "u32", "llmc"})
      ->group(group);
  as_share(app.add_option("--validation", f.validation,
                          "Share of the data that is kept for --evaluate-every"),
           0, 0.9)
      ->group(group);
  as_number(app.add_option("--dropout", f.dropout, "Dropout probability, instead of the preset's"),
            0, 0.95)
      ->group(group);
  app.add_option("--init-from", f.init_from,
                 "Weights to start from: a .safetensors file or an llm.c checkpoint (.bin)")
      ->type_name("FILE")
      ->group(group);
  as_count(app.add_option("--seed", f.seed, "Seed of initial values, data order and dropout"), 0)
      ->group(group);
}

void declare_job(CLI::App& app, TrainFlags& f) {
  const char* group = "Job";
  constexpr std::int64_t most = std::int64_t{1} << 20;
  as_count(app.add_option("--ranks", f.ranks, "Processes on this machine"), 1, 4096)
      ->default_str("the cores")
      ->group(group);
  as_choice(app.add_option("--transport", f.transport,
                           "Transport of the ranks: shm (processes of this machine, the default), "
                           "threads, or of ranks that mpirun or srun has started mpi (the default "
                           "there) or mpi-messages (no shared memory on one host)"),
            {"shm", "threads", "mpi", "mpi-messages"})
      ->group(group);
  as_count(app.add_option("--zero", f.zero, "ZeRO stage"), 0, 3)
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
  as_count(
      app.add_option("--micro-batch,--batch", f.batch, "Sequences of a micro-batch of one rank"), 1,
      most)
      ->group(group);
  as_count(app.add_option("--seq", f.sequence, "Tokens of a sequence"), 1, most)
      ->default_str("the model's context, at most 128")
      ->group(group);
  as_count(app.add_option("--grad-accum", f.accumulation, "Micro-batches of a step"), 1, most)
      ->group(group);
  as_choice(app.add_option("--accumulation", f.accumulation_policy,
                           "Reduction of gradients: after each micro-batch, or once a step"),
            {"reduce_each_microstep", "accumulate_then_reduce"})
      ->group(group);
  as_count(app.add_option("--steps", f.steps,
                          "Steps of the whole run, a resumed one's earlier steps included"),
           1, std::int64_t{1} << 40)
      ->group(group);
}

void declare_optimizer(CLI::App& app, TrainFlags& f) {
  const char* group = "AdamW";
  constexpr double most = 1e9;
  as_number(app.add_option("--lr", f.learning_rate, "Learning rate"), 0, most)->group(group);
  as_number(app.add_option("--min-lr", f.minimum_rate, "Learning rate at a falling schedule's end"),
            0, most)
      ->group(group);
  as_count(app.add_option("--lr-warmup,--warmup", f.warmup, "Steps of a linear rise of the rate"),
           0)
      ->group(group);
  as_choice(app.add_option("--lr-schedule,--schedule", f.schedule, "Schedule of the learning rate"),
            {"constant", "linear", "cosine"})
      ->group(group);
  as_number(app.add_option("--beta1", f.beta1, "Decay of the first moment"), 0, 0.999999)
      ->group(group);
  as_number(app.add_option("--beta2", f.beta2, "Decay of the second moment"), 0, 0.999999)
      ->group(group);
  as_number(app.add_option("--eps", f.epsilon, "Number that keeps the divisor from 0"), 0, most)
      ->group(group);
  as_number(app.add_option("--weight-decay", f.weight_decay, "Weight decay of matrices"), 0, most)
      ->group(group);
  as_number(app.add_option("--clip", f.clip, "Largest norm of all gradients together. 0 is none."),
            0, most)
      ->group(group);
  as_choice(app.add_option("--on-nan", f.on_nan,
                           "Action where a loss or gradient is not finite: skip the step, or stop"),
            {"skip", "stop"})
      ->group(group);
}

void declare_memory(CLI::App& app, TrainFlags& f) {
  const char* group = "Memory and overlap";
  as_size(app.add_option("--bucket", f.bucket, "Bytes of one reduction or gathering message"))
      ->group(group);
  as_count(app.add_option("--prefetch", f.prefetch, "Passes that parameters are gathered ahead"), 0,
           1 << 20)
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
  app.add_flag("--plan-only,--plan", f.plan_only,
               "Print the memory and communication plan and stop")
      ->group(group);
}

void declare_files(CLI::App& app, TrainFlags& f) {
  const char* group = "Evaluation and checkpoints";
  as_count(app.add_option("--evaluate-every", f.evaluate_every,
                          "Steps between evaluations. 0 is never."),
           0)
      ->group(group);
  as_count(app.add_option("--evaluate-batches", f.evaluate_batches,
                          "Micro-batches of one evaluation, of each rank"))
      ->group(group);
  app.add_option("--checkpoint", f.checkpoint, "Directory of checkpoints")
      ->type_name("DIR")
      ->group(group);
  as_count(app.add_option("--checkpoint-every", f.checkpoint_every, "Steps between checkpoints"), 0)
      ->default_str("at the end")
      ->group(group);
  as_count(app.add_option("--keep-checkpoints,--keep", f.keep, "Checkpoints that are kept"), 1,
           1000000)
      ->group(group);
  app.add_flag("--resume", f.resume,
               "Go on from the last committed checkpoint, at any --zero and --ranks")
      ->group(group);
  app.add_flag("--restarted", f.restarted, "")->group("");  // by the supervisor
  as_count(app.add_option("--restarts", f.restarts,
                          "Most restarts from the last checkpoint when a rank dies or hangs"),
           0, 1000000)
      ->group(group);
  app.add_option("--export", f.export_file,
                 "Write the trained weights: .safetensors, or .bin as llm.c")
      ->type_name("FILE")
      ->group(group);
  as_count(
      app.add_option("--generate", f.generate, "Tokens of text to write with the trained network"),
      0, std::int64_t{1} << 20)
      ->group(group);
  app.add_option("--prompt", f.prompt, "Text that the generated text goes on from")
      ->type_name("WORDS")
      ->group(group);
}

void declare_views(CLI::App& app, TrainFlags& f) {
  const char* group = "Outputs";
  const char* faults = "Faults and measurements";
  app.add_option("--trace", f.trace,
                 "Write a trace of each rank into this directory, for stepscope analyze")
      ->type_name("DIR")
      ->group(group);
  app.add_option("--trace-steps", f.trace_steps,
                 "Steps to record, as torch.profiler.schedule counts")
      ->default_str("2,1,5,1")
      ->type_name("WAIT,WARMUP,ACTIVE,REPEAT")
      ->group(group);
  app.add_option("--metrics", f.metrics, "Port of localhost, or file, for OpenMetrics")
      ->type_name("PORT|FILE")
      ->group(group);
  app.add_option("--inject", f.inject,
                 "Fault to show: slow:RANK:30%, sleep:RANK:5ms, data:RANK:20ms, "
                 "throttle:50us:1GB or sync[:RANK] (each message is waited for where it is "
                 "submitted), with @FROM-UNTIL behind it for some steps only. kill:RANK:PHASE@STEP "
                 "and stop:RANK:PHASE@STEP end or stop a rank.")
      ->type_name("FAULT")
      ->group(faults);
  app.add_flag("--isolate", f.isolate, "Measure compute alone, communication alone, and both")
      ->group(faults);
  as_number(app.add_option("--peak-tflops", f.peak_tflops,
                           "Peak of one core in TFLOP/s, instead of measuring it"),
            1e-6, 1e6)
      ->type_name("TFLOPS")
      ->group(faults);
  as_seconds(app.add_option("--deadline", f.deadline, "Time after which a collective fails"), 0.1,
             86400)
      ->group(faults);
  declare_json(app, f.json);
  declare_csv(app, f.csv);
  app.add_flag("--quiet", f.quiet, "Leave out the progress line and the lines of steps")
      ->group(group);
}

// A number, then what is left of the text. Absent where it begins with none, or with a negative
// one.
std::optional<double> leading_number(std::string_view& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Ns> parse_time(std::string_view text) {
  const auto number = leading_number(text);
  constexpr std::array<std::pair<std::string_view, double>, 4> units = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  const auto* unit = std::ranges::find(units, text, [](const auto& u) { return u.first; });
  constexpr double longest = 1e13;  // ns: hours
  if (!number || unit == units.end() || *number * unit->second > longest) return std::nullopt;
  return Ns{std::llround(*number * unit->second)};
}

std::optional<std::int64_t> parse_whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
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
bool parse_steps(std::string_view text, Fault& fault) {
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

bool parse_throttle(const std::vector<std::string_view>& parts, Fault& fault) {
  if (parts.size() != 3) return false;
  const auto latency = parse_time(parts[1]);
  const auto rate = parse_bytes(parts[2]);
  if (!latency || !rate || *rate <= 0) return false;
  fault.kind = FaultKind::throttle;
  fault.time = *latency;
  fault.rate = ByteRate{static_cast<double>(*rate)};
  return true;
}

bool parse_rank(std::string_view text, Fault& fault) {
  const auto rank = parse_whole(text);
  if (!rank || *rank > std::numeric_limits<int>::max()) return false;
  fault.rank = static_cast<int>(*rank);
  return true;
}

bool parse_sync(const std::vector<std::string_view>& parts, Fault& fault) {
  fault.kind = FaultKind::sync;
  return parts.size() == 1 || (parts.size() == 2 && parse_rank(parts[1], fault));
}

bool parse_of_rank(const std::vector<std::string_view>& parts, Fault& fault) {
  if (parts.size() != 3 || !parse_rank(parts[1], fault)) return false;
  if (parts[0] == "slow") {
    std::string_view share = parts[2];
    const auto percent = leading_number(share);
    constexpr double most = 1e6;
    if (!percent || share != "%" || *percent > most) return false;
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

}  // namespace

void declare(CLI::App& app, TrainFlags& f) {
  declare_model(app, f);
  declare_job(app, f);
  declare_optimizer(app, f);
  declare_memory(app, f);
  declare_files(app, f);
  declare_views(app, f);
  app.description(
      "Trains a GPT-2 or Llama style network with ZeRO on the cores of this machine, and accounts "
      "for every step: memory, communication, waits, faults.");
  mark_common(app, {"--preset", "--data", "--ranks", "--zero", "--micro-batch", "--seq", "--steps",
                    "--lr", "--trace", "--json"});
  app.footer(
      "stepscope train --zero 3 --ranks 2 --steps 30 --trace traces && stepscope analyze "
      "traces --html report.html");
}

bool TraceSchedule::records(std::int64_t step) const {
  const std::int64_t period = wait + warmup + active;
  if (period <= 0 || step < 0) return false;
  if (repeat > 0 && step >= repeat * period) return false;
  return step % period >= wait + warmup;
}

Result<TraceSchedule> parse_trace_schedule(std::string_view text) {
  if (text.empty()) return TraceSchedule{.wait = 2, .warmup = 1, .active = 5, .repeat = 1};
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

Result<Fault> parse_fault(std::string_view text) {
  Fault fault;
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
