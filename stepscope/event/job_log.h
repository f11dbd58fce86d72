// SPDX-License-Identifier: Apache-2.0
// The steps of a training job as its log reports them (read/log/read_job_log.h). There is one
// record for each line that reports on steps, and also the tools' timers and tables. Values that a
// line does not give are absent. Units are SI; if a tool misuses a unit, its reader corrects it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"

namespace stepscope {

// The value of a log's setting "rate_field" where its FLOP rate counts 8 FLOPs of a parameter and
// token: with recomputation.
inline constexpr std::string_view effective_rate = "Effective Tera Flops per GPU";

// A tool's method of counting the FLOPs of a token (fit/log_rates.h).
enum class FlopCounting : std::uint8_t {
  none,
  causal_halved,  // as this project counts
  half_or_all,    // half of attention in current versions, all of it in older ones
  megatron,       // as above; Megatron-DeepSpeed counts what the hardware does
  torchtitan,
  llm_c,
  nanogpt
};

// A tool whose logs are read. log_dialect.h in read/log lists the reader of each.
struct LogTool {
  std::string_view name;   // name in JSON: "hugging_face"
  std::string_view label;  // "Hugging Face Trainer"
  FlopCounting counting = FlopCounting::none;
  std::string_view rate_name = "TFLOP/s of a device";  // the name of its FLOP rate
};
// Any program that prints its step time ("step_time_ms=…").
inline constexpr LogTool program_lines = {.name = "named", .label = "lines of the program"};

// A double that may be absent, in eight bytes. std::optional<double> takes sixteen, which matters
// when millions of records hold a dozen. One NaN that no arithmetic produces means absent; all
// other NaNs, nan("") among them, are values.
class OptionalReal {
 public:
  constexpr OptionalReal() = default;
  constexpr OptionalReal(std::nullopt_t /*none*/) {}
  constexpr OptionalReal(double value) : bits_(std::bit_cast<std::uint64_t>(value)) {}
  constexpr OptionalReal(const std::optional<double>& value) {
    if (value) *this = *value;
  }

  [[nodiscard]] constexpr bool has_value() const { return bits_ != absent; }
  constexpr explicit operator bool() const { return has_value(); }
  // REQUIRES: the value is present.
  constexpr double operator*() const { return std::bit_cast<double>(bits_); }
  [[nodiscard]] constexpr double value_or(double other) const {
    return has_value() ? **this : other;
  }
  constexpr operator std::optional<double>() const {
    return has_value() ? std::optional(**this) : std::nullopt;
  }

 private:
  static constexpr std::uint64_t absent = 0xFFF8'0000'5EED'0A65;
  std::uint64_t bits_ = absent;
};

struct LogToolLines {
  const LogTool* tool = nullptr;
  std::uint64_t lines = 0;
};

// Readers of logs and of lists of step times refuse more: about 2 GB of memory.
inline constexpr std::size_t most_log_steps = 5'000'000;

struct LogRecord {
  const LogTool* tool = nullptr;
  bool evaluated = false;       // since the previous record
  bool saved = false;           // a checkpoint was saved since the previous record
  bool unit_assumed = false;    // the line names no unit of its time
  bool of_block = false;        // the mean of a block of steps, which no line prints
  std::int32_t rank = -1;       // rank in the line; -1: none
  std::int32_t launch = 0;      // number of job starts in the log before this record
  std::int32_t skipped = 0;     // steps that were not applied
  std::int32_t not_finite = 0;  // steps with a loss that is not finite
  std::int32_t epoch = -1;      // -1: none in the line
  std::int64_t iteration = -1;  // -1: none in the line
  std::int64_t of_steps = 0;    // last step of a progress bar
  std::optional<Ns> stamp{};    // time stamp of the line, on the calendar of its writer
  OptionalReal wall_ns{};
  OptionalReal elapsed_s{};  // of a progress bar: time since it began
  OptionalReal loss{};
  OptionalReal samples_per_s{};        // of the whole job
  OptionalReal tokens_per_s{};         // of the whole job
  OptionalReal step_tokens{};          // tokens of a step, of the whole job
  OptionalReal tokens_per_s_device{};  // of one device
  OptionalReal flops_per_s{};          // of one device, by the tool's convention
  OptionalReal mfu{};                  // a share of 1, by the tool's convention
  OptionalReal memory_bytes{};         // peak on the device
  OptionalReal memory_share{};         // of the device's memory
  OptionalReal batch{};                // sequences per step
  OptionalReal work{};                 // size of what the step works on, if lines differ in it
};

// A tool's timer within a step, in the order of the log.
struct LogTimer {
  std::string name;
  const LogTool* tool = nullptr;
  std::vector<double> ms{};              // the largest over ranks if a line gives several
  std::vector<std::uint32_t> records{};  // parallel: how many records were before that time
};

// DeepSpeed's comms logger: one operation and message size.
struct LogCommunication {
  std::string operation;
  std::string size;  // as printed: "1.21 MB" of 1024^2
  std::int64_t count = 0;
  double total_ms = 0;
  double printed_algbw_gbit = 0;  // as printed: Gbit/s, mean over calls
  double printed_busbw_gbit = 0;
  double calls_ms = 0;  // typical time of a call
};

// DeepSpeed's flops profiler, in FLOPs, seconds and parameters.
struct LogFlopsProfile {
  std::int64_t step = -1;
  std::optional<double> world{};
  std::optional<double> data_parallel{};
  std::optional<double> model_parallel{};
  std::optional<double> micro_batch{};
  std::optional<double> parameters{};
  std::optional<double> forward_macs{};
  std::optional<double> forward_flops{};
  std::optional<double> forward_s{};
  std::optional<double> backward_s{};
  std::optional<double> step_s{};
  std::optional<double> iteration_s{};
  std::optional<double> printed_forward_rate{};
  std::optional<double> printed_rate{};  // forward and backward
  std::optional<double> printed_samples_per_s{};
};

// Milestones of a benchmark's run (MLPerf). Figures of the last launch in the log.
struct LogRun {
  const LogTool* tool = nullptr;
  std::string status{};            // "success", "aborted"; empty: the log ends before its end
  std::optional<double> init_s{};  // before the run
  std::optional<double> run_s{};   // of the run, with its evaluations
  std::int64_t evaluations = 0;
  double evaluation_s = 0;  // of those that ended
  std::optional<double> first_accuracy{};
  std::optional<double> last_accuracy{};
  std::optional<double> target_accuracy{};
  std::optional<double> last_samples{};  // trained on before the last accuracy
};

struct JobLog {
  std::deque<LogRecord> records{};  // a deque never moves them; they are most of a log
  std::vector<LogTimer> timers{};
  std::vector<LogCommunication> communication{};
  std::vector<LogFlopsProfile> profiles{};
  std::map<std::string, std::string, std::less<>> settings{};  // keys as Megatron's arguments
  // Means over the whole run, as `run_tool` prints them.
  const LogTool* run_tool = nullptr;
  std::optional<double> run_s{};
  std::optional<std::int64_t> run_steps{};  // the steps that run_s is the time of
  std::optional<double> run_samples_per_s{};
  std::optional<double> run_steps_per_s{};
  std::optional<double> run_tokens_per_s{};
  std::optional<double> run_flops{};             // "total_flos"
  std::optional<LogRun> run{};                   // absent: no milestones
  std::vector<LogToolLines> tools{};             // all tools found, most trusted first
  std::map<std::string, std::uint64_t> notes{};  // lines not understood, by reason
  std::uint64_t text_bytes = 0;
  bool truncated = false;
  bool unit_by_stamps = false;  // times without a unit have the one that fits their time stamps
};

// A step of the job, or the mean of several, from the most trusted tool in the log.
struct LogStep {
  std::int64_t iteration = -1;
  std::int64_t steps = 1;  // number of steps that `wall_ns` is the mean of
  double wall_ns = 0;      // of the slowest rank; of one token if LogSteps says so
  std::size_t record = 0;  // index in JobLog::records
  std::string cause{};     // "restart", "checkpoint", "eval": the log's note on the step
};

// Causes of a step whose number goes back: a launch begins, or no line says what.
inline constexpr std::string_view restart_cause = "restart";
inline constexpr std::string_view numbered_anew_cause = "numbered anew";

struct LogSteps {
  std::vector<LogStep> steps{};  // in the order they ran
  const LogTool* tool = &program_lines;
  std::string how{};                    // source of the tool's times
  std::vector<std::size_t> launches{};  // the first step of each launch, beginning with 0
  std::vector<std::int32_t> ranks{};    // ranks that lines name
  std::uint64_t left_out = 0;           // records without a positive time
  // How often the numbers of the steps go back where no line names a launch or an epoch that
  // begins. The steps before and behind are of one launch.
  std::uint64_t numbered_anew = 0;
  bool by_epoch = false;       // each epoch counts its steps anew (LogRecord::epoch)
  bool steps_rounded = false;  // the numbers of steps that times are means of are approximate
  // The log gives rates and no time of a step: each `wall_ns` is the time of one token of a device.
  bool of_tokens = false;
  bool unit_assumed = false;  // the times have no unit in the log
};

}  // namespace stepscope
