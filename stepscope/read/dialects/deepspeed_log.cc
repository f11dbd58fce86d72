// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;  // DeepSpeed prints it as "GB"

LogCommunication& row_of(JobLog& log, std::string_view operation, std::string_view size) {
  const auto found = std::ranges::find_if(log.communication, [&](const LogCommunication& c) {
    return c.operation == operation && c.size == size;
  });
  if (found != log.communication.end()) return *found;
  log.communication.push_back({.operation = std::string(operation), .size = std::string(size)});
  return log.communication.back();
}

bool is_operation(std::string_view name) {
  constexpr std::array<std::string_view, 12> known = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce",
      "send",       "recv",       "isend",          "irecv",      "barrier",   "inference_all"};
  return std::ranges::any_of(known, [&](std::string_view k) { return name.starts_with(k); });
}

// The blank-separated words of a line.
std::size_t words_of(std::string_view text, std::array<std::string_view, 12>& words) {
  std::size_t count = 0;
  while (count < words.size()) {
    const std::size_t begin = text.find_first_not_of(" \t|");
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t|"), text.size());
    words[count++] = text.substr(0, end);
    text.remove_prefix(end);
  }
  return count;
}

// The number of words in a size: "1.21 MB", "0B", "2.0 KB".
std::size_t size_words(std::span<const std::string_view> words) {
  const auto size = number_and_unit(words[0]);
  if (!size || size->number < 0) return 0;
  if (size->unit.ends_with('B')) return 1;
  return words.size() > 1 && size->unit.empty() && words[1].ends_with('B') ? 2 : 0;
}

// One message size of an operation: size, count, total and mean latency, algbw, busbw.
bool take_summary_row(std::string_view text, LogState& state) {
  std::array<std::string_view, 12> words{};
  const std::size_t count = words_of(text, words);
  if (count == 1 && is_operation(words[0])) {
    state.table_name = words[0];
    return true;
  }
  if (count < 6 || state.table_name.empty()) return count == 0;
  const std::size_t first = size_words(std::span(words).first(count));
  if (first == 0 || count < first + 5) return false;
  std::array<double, 5> values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = clean_number(words[first + i]);
    if (!value || !(*value >= 0 && *value <= most_amount)) return false;
    values[i] = *value;
  }
  const std::string size =
      first == 1 ? std::string(words[0]) : std::string(words[0]) + ' ' + std::string(words[1]);
  LogCommunication& row = row_of(state.log, state.table_name, size);
  // The table is cumulative: a later one contains the earlier ones.
  row.count = values[0] < 1e15 ? static_cast<std::int64_t>(values[0]) : 0;
  row.total_ms = values[1];
  row.calls_ms = values[2];
  row.printed_algbw_gbit = values[3];
  row.printed_busbw_gbit = values[4];
  return true;
}

// "1.24 B", "4.1 TMACs", "123.4 ms", "66 TFLOPS" in their base unit.
std::optional<double> scaled(std::string_view text) {
  const auto value = number_and_unit(text);
  if (!value || !(std::abs(value->number) <= most_amount)) return std::nullopt;
  const std::string_view unit = value->unit;
  double factor = 1;
  if (unit == "ms" || unit.starts_with("ms "))
    factor = 1e-3;
  else if (unit == "us" || unit.starts_with("us "))
    factor = 1e-6;
  else if (unit == "ns")
    factor = 1e-9;
  else if (!unit.empty()) {
    constexpr std::string_view letters = "KMGTPkB";
    constexpr std::array<double, 7> factors = {1e3, 1e6, 1e9, 1e12, 1e15, 1e3, 1e9};
    const std::size_t letter = letters.find(unit.front());
    if (letter != std::string_view::npos) factor = factors[letter];
  }
  return value->number * factor;
}

struct ProfileField {
  std::string_view title;  // the beginning of the line
  std::optional<double> LogFlopsProfile::* field;
};

constexpr std::array<ProfileField, 15> profile_fields = {{
    {"world size:", &LogFlopsProfile::world},
    {"data parallel size:", &LogFlopsProfile::data_parallel},
    {"model parallel size:", &LogFlopsProfile::model_parallel},
    {"batch size per GPU:", &LogFlopsProfile::micro_batch},
    {"params per GPU:", &LogFlopsProfile::parameters},
    {"params per gpu:", &LogFlopsProfile::parameters},
    {"fwd MACs per GPU:", &LogFlopsProfile::forward_macs},
    {"fwd flops per GPU:", &LogFlopsProfile::forward_flops},
    {"fwd latency:", &LogFlopsProfile::forward_s},
    {"fwd FLOPS per GPU =", &LogFlopsProfile::printed_forward_rate},
    {"bwd latency:", &LogFlopsProfile::backward_s},
    {"fwd+bwd FLOPS per GPU =", &LogFlopsProfile::printed_rate},
    {"step latency:", &LogFlopsProfile::step_s},
    {"iter latency:", &LogFlopsProfile::iteration_s},
    {"samples/second:", &LogFlopsProfile::printed_samples_per_s},
}};

bool take_profile_line(std::string_view text, LogState& state) {
  constexpr std::string_view summary = "Profile Summary at step ";
  text = trimmed(text);
  if (text.starts_with(summary)) {
    const std::string_view rest = text.substr(summary.size());
    state.log.profiles.back().step = clean_integer(rest.substr(0, rest.find(':'))).value_or(-1);
    return true;
  }
  if (text.find("Aggregated Profile") != std::string_view::npos) return false;
  for (const ProfileField& f : profile_fields) {
    if (!text.starts_with(f.title)) continue;
    const std::size_t colon = text.rfind(':');
    if (const auto value = scaled(text.substr(colon + 1)))
      state.log.profiles.back().*f.field = value;
    return true;
  }
  return true;
}

// "… global_step=10, RunningAvgSamplesPerSec=…, CurrSamplesPerSec=…, MaxMemAllocated=20.2GB", or in
// old versions "] 0/10, Running…".
constexpr std::array<LogField, 2> deepspeed_fields = {{
    {"CurrSamplesPerSec=", &LogRecord::samples_per_s},
    {"MaxMemAllocated=", &LogRecord::memory_bytes, gib},
}};
constexpr LogPattern deepspeed_pattern = {.word = "AvgSamplesPerSec=",
                                          .step = "global_step=",
                                          .fields = deepspeed_fields,
                                          .ends = " ,G",
                                          .stamped = true};

// "|E2E latency=3.87s |Gather latency=0.00s (0.00%) |Generate time=2.50s (64.47%) |Training
// time=1.15s (29.80%) |Others=0.22 (5.73%)|CurSamplesPerSec=16.52 |AvgSamplesPerSec=16.54" of
// DeepSpeed-Chat (dschat/utils/perf.py): the time of a step of RLHF, and its parts.
constexpr std::string_view chat_word = "|E2E latency=";

bool take_deepspeed_throughput(const LogLine& line, LogState& state) {
  if (contains(line.text, chat_word)) return false;  // another line, with another rate
  LogPattern pattern = deepspeed_pattern;
  if (!contains(line.text, pattern.step)) pattern.step = "/";
  return take_record(deepspeed_log.tool, pattern, line, state) != nullptr;
}

bool take_deepspeed_chat(const LogLine& line, LogState& state) {
  constexpr std::string_view ends = " s|";
  const std::string_view text = line.text.substr(line.text.find(chat_word));
  const auto whole = clean_number_behind(text, chat_word, ends);
  if (!whole || !(*whole > 0) || !std::isfinite(*whole)) return false;
  for (const std::string_view part : {"Gather latency", "Generate time", "Training time", "Others"})
    if (const auto s = clean_number_behind(text, '|' + std::string(part) + '=', ends);
        s && *s > 0 && std::isfinite(*s))
      state.time(deepspeed_log.tool, part, *s * 1e3);
  LogRecord& record = state.add(deepspeed_timers.tool, line);
  record.wall_ns = *whole * giga;
  count_line(state.log, deepspeed_log.tool);
  return true;
}

// "comm op: all_reduce | time (ms): 1.23 | msg size: 678.86 MB | algbw (Gbps): … | busbw (Gbps):
// …".
bool take_deepspeed_operation(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find("comm op: ");
  if (at == std::string_view::npos) return false;
  const std::string_view text = line.text.substr(at);
  const auto ms = clean_number_behind(text, "time (ms): ");
  const auto algbw = clean_number_behind(text, "algbw (Gbps): ");
  const auto busbw = clean_number_behind(text, "busbw (Gbps): ");
  constexpr std::string_view size_key = "msg size: ";
  const std::size_t size_at = text.find(size_key);
  const std::string_view operation =
      trimmed(text.substr(9, std::min(text.find('|'), text.size()) - 9));
  if (!ms || !algbw || !busbw || size_at == std::string_view::npos || !is_operation(operation) ||
      !(*ms >= 0) || !(*ms + *algbw + *busbw <= most_amount)) {
    state.note("comm_lines_cut");
    return false;
  }
  const std::string_view rest = text.substr(size_at + size_key.size());
  LogCommunication& row = row_of(state.log, operation, trimmed(rest.substr(0, rest.find('|'))));
  // Mean over the calls so far.
  ++row.count;
  row.total_ms += *ms;
  const double n = static_cast<double>(row.count);
  row.calls_ms += (*ms - row.calls_ms) / n;
  row.printed_algbw_gbit += (*algbw - row.printed_algbw_gbit) / n;
  row.printed_busbw_gbit += (*busbw - row.printed_busbw_gbit) / n;
  count_line(state.log, deepspeed_log.tool);
  return true;
}

bool follow_communication(const LogLine& line, LogState& state) {
  return take_summary_row(line.text, state);
}

bool follow_profile(const LogLine& line, LogState& state) {
  constexpr std::size_t longest = 60;
  return ++state.table_lines < longest && take_profile_line(line.text, state);
}

// The title of a table.
bool take_deepspeed_table(const LogLine& line, LogState& state) {
  const std::string_view text = line.text;
  if (text.find("Comm. Op ") != std::string_view::npos &&
      text.find("Message Size") != std::string_view::npos) {
    // The second table, of stragglers, has other columns.
    if (text.find("tput_avg") == std::string_view::npos) return false;
    state.follow = follow_communication;
  } else if (text.find("Flops Profiler --") != std::string_view::npos) {
    state.follow = follow_profile;
    state.log.profiles.emplace_back();
  }
  state.table_lines = 0;
  state.table_name.clear();
  return state.follow != nullptr;
}

// "[Rank 0] step=40, skipped=2, lr=[5e-05], mom=[[0.9, 0.999]]": _report_progress() of its engine.
bool take_deepspeed_progress(const LogLine& line, LogState& state) {
  const std::size_t end = line.text.find(", skipped=");
  const std::string_view before = line.text.substr(0, end);
  constexpr std::string_view key = "step=";
  const std::size_t at = before.rfind(key);
  if (at == std::string_view::npos || !contains(line.text, ", lr=")) return false;
  const auto step = clean_integer(before.substr(at + key.size()));
  if (!step || *step < 0) return false;
  LogRecord& record = state.add(deepspeed_log.tool, line);
  record.iteration = *step;
  record.stamp = stamp_of_line(line.text);
  count_line(state.log, deepspeed_log.tool);
  return true;
}

enum class TimerRole : std::uint8_t {
  other,
  part,    // forward, backward and step are the parts of a step, each once a step
  update,  // of the optimizer, once a step
};
enum class NameMatch : std::uint8_t { whole, begin, end };

// A timer of DeepSpeed, by its name or by what its name begins or ends with. Before 0.9 names were
// whole words.
struct TimerName {
  std::string_view text;
  NameMatch match = NameMatch::whole;
  TimerRole role = TimerRole::other;
  bool old_only = false;
};

// utils/timer.py, runtime/pipe/engine.py, runtime/zero and runtime/fp16. The first match counts.
constexpr std::array timer_names = {
    TimerName{"fwd", NameMatch::whole, TimerRole::part},
    TimerName{"bwd", NameMatch::whole, TimerRole::part},
    TimerName{"step", NameMatch::whole, TimerRole::part},
    TimerName{"forward", NameMatch::whole, TimerRole::part, true},
    TimerName{"backward", NameMatch::whole, TimerRole::part, true},
    TimerName{"update_fp16", NameMatch::whole, TimerRole::update},
    TimerName{"optimizer_step", NameMatch::whole, TimerRole::update},
    TimerName{"fwd", NameMatch::begin},
    TimerName{"bwd", NameMatch::begin},
    TimerName{"step", NameMatch::begin},
    TimerName{"forward", NameMatch::begin, TimerRole::other, true},
    TimerName{"backward", NameMatch::begin, TimerRole::other, true},
    TimerName{"optimizer_", NameMatch::begin},
    TimerName{"pipe_", NameMatch::begin},
    TimerName{"_microstep", NameMatch::end},
    TimerName{"train_batch"},
    TimerName{"batch_input"},
    TimerName{"compute_norm"},
    TimerName{"unscale_and_clip"},
    TimerName{"overflow_check"},
    TimerName{"basic_step"},
};

// The row of a timer; null for one of another program.
const TimerName* timer_named(std::string_view name, bool old) {
  const auto* const found = std::ranges::find_if(timer_names, [&](const TimerName& t) {
    if (t.old_only && !old) return false;
    return t.match == NameMatch::whole   ? name == t.text
           : t.match == NameMatch::begin ? name.starts_with(t.text)
                                         : name.ends_with(t.text);
  });
  return found == timer_names.end() ? nullptr : found;
}

// "time (ms) | fwd: 340.72 | …". Megatron-LM printed its timers in such lines, too. DeepSpeed
// prints them in step() of its engine, so no line is that of an evaluation.
bool take_timers(const LogLine& line, LogState& state) {
  constexpr std::string_view title = "time (ms) |";
  const std::size_t at = line.text.find(title);
  if (at == std::string_view::npos) return false;
  std::optional rest = line.text.substr(at + title.size());
  const bool old = contains(line.text, "rank=");  // "rank=0 time (ms)"
  double whole_step = 0;
  int parts = 0;
  bool updates = false;
  for (std::string_view field; take_field(rest, field);) {
    const auto [name, ms] = named_number(field);
    if (!ms || !std::isfinite(*ms)) {
      if (!field.empty()) state.note("fields_not_understood");
      continue;
    }
    const TimerName* const timer = timer_named(name, old);
    state.time(timer != nullptr ? deepspeed_log.tool : megatron_log.tool, name, *ms);
    if (timer == nullptr) continue;
    updates = updates || timer->role == TimerRole::update;
    if (timer->role == TimerRole::part) {
      whole_step += *ms;
      ++parts;
    }
  }
  if (parts == 3 || updates) {  // wall_clock_breakdown: one line of each kind per step
    LogRecord& record = state.add(deepspeed_timers.tool, line);
    if (parts == 3) record.wall_ns = whole_step * 1e6;
    record.stamp = stamp_of_line(line.text);
    count_line(state.log, deepspeed_log.tool);
  }
  return true;
}

bool has_parts(const LogRecord& r) { return r.wall_ns.has_value(); }

// Numbered lines, else those of the three parts, else those of an optimizer's parts. What passes
// between two stamps is more than the parts that have timers.
LogSteps deepspeed_steps(const JobLog& log) {
  LogSteps steps = place_steps(log, deepspeed_log, StepsBy::stamps, by_stamps,
                               [](const LogRecord& r) { return r.samples_per_s.has_value(); });
  if (!steps.steps.empty()) return steps;
  steps = place_steps(log, deepspeed_log, StepsBy::stamps, by_stamps,
                      [](const LogRecord& r) { return !r.samples_per_s.has_value(); });
  if (!steps.steps.empty()) return steps;
  steps = place_steps(log, deepspeed_timers, StepsBy::each_stamp, by_stamps, has_parts);
  if (!steps.steps.empty()) return steps;
  return place_steps(log, deepspeed_timers, StepsBy::each_stamp, by_stamps,
                     [](const LogRecord& r) { return !has_parts(r); });
}

LogSteps deepspeed_timer_steps(const JobLog& log) {
  return place_steps(log, deepspeed_timers, StepsBy::lines,
                     "its timers of a step, without what lies between steps", has_parts);
}

constexpr std::array deepspeed_words = {LogWord{deepspeed_pattern.word, take_deepspeed_throughput},
                                        LogWord{chat_word, take_deepspeed_chat},
                                        LogWord{"time (ms) |", take_timers},
                                        LogWord{", skipped=", take_deepspeed_progress},
                                        LogWord{"comm op: ", take_deepspeed_operation},
                                        LogWord{"Comm. Op ", take_deepspeed_table},
                                        LogWord{"Flops Profiler --", take_deepspeed_table}};

}  // namespace

const LogDialect deepspeed_log = {
    .tool = {.name = "deepspeed", .label = "DeepSpeed"},
    .words = deepspeed_words,
    .whole_step =
        "give the whole log: DeepSpeed prints \"step=…, skipped=…\" with a time stamp "
        "every steps_per_print steps",
    .steps = deepspeed_steps};

// Behind all others: its lines do not have the whole step.
const LogDialect deepspeed_timers = {.tool = {.name = "deepspeed", .label = "DeepSpeed's timers"},
                                     .is_tool = false,
                                     .steps = deepspeed_timer_steps};

}  // namespace stepscope
