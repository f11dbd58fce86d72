// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/runs/log_account.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <span>

#include "stepscope/base/number_text.h"
#include "stepscope/stats/change_points.h"
#include "stepscope/stats/hampel.h"
#include "stepscope/stats/summary.h"
#include "stepscope/stats/warm_up.h"

namespace stepscope {
namespace {

std::vector<double> walls_of(const LogSteps& steps) {
  std::vector<double> walls;
  walls.reserve(steps.steps.size());
  for (const LogStep& s : steps.steps) walls.push_back(s.wall_ns);
  return walls;
}

// The times as if each step worked on the same size: those of a size have the median of all.
// Without two sizes of enough steps they stay as they are.
std::vector<double> at_equal_work(const JobLog& log, const LogSteps& steps,
                                  std::span<const double> walls, LogAccount& a) {
  std::vector<double> equal(walls.begin(), walls.end());
  std::map<double, std::vector<std::size_t>> by_work;
  for (std::size_t i = 0; i < walls.size(); ++i) {
    const std::size_t record = steps.steps[i].record;
    const double work = record < log.records.size() ? log.records[record].work.value_or(0) : 0;
    if (!(work > 0)) return equal;
    by_work[work].push_back(i);
  }
  std::erase_if(by_work,
                [](const auto& group) { return group.second.size() < fewest_with_outliers; });
  if (by_work.size() < 2) return equal;
  a.works = {{by_work.begin()->first, by_work.rbegin()->first}};
  const double usual = *median(walls);
  for (const auto& [work, members] : by_work) {
    std::vector<double> times;
    for (const std::size_t i : members) times.push_back(walls[i]);
    const double of_work = *median(times);
    for (const std::size_t i : members) equal[i] = walls[i] * usual / of_work;
  }
  return equal;
}

bool differs(double a, double b, double share) { return std::fabs(a - b) > share * std::fabs(b); }

void take_launches(const LogSteps& steps, std::span<const double> walls, LogAccount& account) {
  for (std::size_t i = 0; i < steps.launches.size(); ++i) {
    const std::size_t from = steps.launches[i];
    const std::size_t to =
        i + 1 < steps.launches.size() ? steps.launches[i + 1] : steps.steps.size();
    if (from == to) continue;
    account.launches.push_back({.first_iteration = steps.steps[from].iteration,
                                .last_iteration = steps.steps[to - 1].iteration,
                                .records = to - from,
                                .median_ns = *median(walls.subspan(from, to - from))});
  }
}

constexpr double most_tokens_per_s = 1e13;  // a counter ran over

// Whether a printed rate and the rate from the time are not the same.
bool contradict(double printed, double by_time) {
  constexpr double far = 1.5;
  return printed > far * by_time || by_time > far * printed;
}

bool begins_anew(const LogStep& step) {
  return step.cause == restart_cause || step.cause == numbered_anew_cause;
}

// Whether no usual time of one part is a usual time of the other.
bool apart(std::span<const double> a, std::span<const double> b) {
  constexpr double least_apart = 0.05;
  if (a.size() < fewest_with_outliers || b.size() < fewest_with_outliers) return false;
  const HampelLimits of_a = *hampel_limits(a);
  const HampelLimits of_b = *hampel_limits(b);
  return (of_a.high < of_b.low || of_b.high < of_a.low) &&
         differs(of_a.median, of_b.median, least_apart);
}

// The lasting changes behind the warm-up. Where the numbers go back, another program or another
// work may begin: if its times are apart from those before, the level changes there.
void take_changes(const JobLog& log, const LogSteps& steps, std::span<const double> walls,
                  LogAccount& a) {
  std::vector<std::size_t> begins;
  for (std::size_t i = a.warm_up + 1; i < walls.size(); ++i)
    if (begins_anew(steps.steps[i])) begins.push_back(i);
  begins.push_back(walls.size());
  std::vector<std::size_t> cuts;
  std::size_t from = a.warm_up;    // of the parts that are not apart
  std::size_t before = a.warm_up;  // of the last of them
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t to = begins[i];
    const bool last = i + 1 == begins.size();
    if (!last &&
        !apart(walls.subspan(before, to - before), walls.subspan(to, begins[i + 1] - to))) {
      before = to;
      continue;
    }
    for (const ChangePoint& c : find_changes(walls.subspan(from, to - from)))
      cuts.push_back(from + c.at);
    if (!last) cuts.push_back(to);
    from = before = to;
  }
  const auto level = [&](std::size_t begin, std::size_t end) {
    return *median(walls.subspan(begin, end - begin));
  };
  for (std::size_t i = 0; i < cuts.size(); ++i)
    a.changes.push_back(
        {.iteration = steps.steps[cuts[i]].iteration,
         .place = step_place(log, steps, cuts[i]),
         .record = cuts[i],
         .before_ns = level(i == 0 ? a.warm_up : cuts[i - 1], cuts[i]),
         .after_ns = level(cuts[i], i + 1 < cuts.size() ? cuts[i + 1] : walls.size())});
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    LogChange& change = a.changes[i];
    const double half = (change.before_ns + change.after_ns) / 2;
    const bool rises = change.after_ns > change.before_ns;
    const auto end = std::find_if(
        a.changes.begin() + static_cast<std::ptrdiff_t>(i) + 1, a.changes.end(),
        [&](const LogChange& c) { return rises ? c.after_ns <= half : c.after_ns >= half; });
    if (end != a.changes.end()) change.until = end->place;
  }
}

// The most common number of steps per record.
std::int64_t usual_steps(const LogSteps& steps) {
  std::map<std::int64_t, std::size_t> counts;
  for (const LogStep& s : steps.steps) ++counts[s.steps];
  return most_frequent(counts).value_or(1);
}

void take_throughput(const JobLog& log, const LogSteps& steps, LogAccount& a) {
  const auto figure = [&](OptionalReal LogRecord::* f) {
    return typical(log, steps, a.settled, f);
  };
  a.batch = figure(&LogRecord::batch);
  if (!a.batch) a.batch = setting_of(log, "global_batch_size");
  if (!a.batch) a.batch = setting_of(log, "train_batch_size");
  a.sequence = setting_of(log, "seq_length");
  a.devices = setting_of(log, "world_size");
  if (a.batch && a.median_ns > 0) a.samples_per_s = *a.batch / (a.median_ns / giga);
  const auto possible = [](std::optional<double> rate) {
    return rate <= most_tokens_per_s ? rate : std::nullopt;
  };
  const auto printed = possible(figure(&LogRecord::tokens_per_s));
  const auto tokens = figure(&LogRecord::step_tokens);
  const auto by_time = possible(
      tokens && a.median_ns > 0 ? std::optional(*tokens / (a.median_ns / giga)) : std::nullopt);
  const auto per_device = figure(&LogRecord::tokens_per_s_device);
  if (printed && by_time && contradict(*printed, *by_time)) {
    a.printed_tokens_per_s = printed;
    a.tokens_per_s = by_time;
    a.throughput_from = "tokens of a step / step time";
  } else if (printed) {
    a.tokens_per_s = printed;
    a.throughput_from = "as printed";
  } else if (a.samples_per_s && a.sequence) {
    a.tokens_per_s = *a.samples_per_s * *a.sequence;
    a.throughput_from = "batch x sequence / step time";
  } else if (per_device && a.devices) {
    a.tokens_per_s = *per_device * *a.devices;
    a.throughput_from = "printed for one device x devices";
  } else if (log.run_tokens_per_s) {
    a.tokens_per_s = log.run_tokens_per_s;
    a.throughput_from = "of the whole run";
  }
  // The last batch of a run may be smaller, so its own rate is nearer than that of its mean step.
  const bool of_run = steps.steps.size() == 1 && steps.steps[0].record == log.records.size();
  if ((!a.samples_per_s || of_run) && log.run_samples_per_s)
    a.samples_per_s = log.run_samples_per_s;
  // A sequence has a token: where there are more, the batch counts tokens.
  if (a.tokens_per_s && a.samples_per_s && *a.samples_per_s > *a.tokens_per_s) {
    a.samples_per_s.reset();
    a.batch.reset();
  }
  // DeepSpeed divides the batch by the time its timers measured in one step.
  std::vector<double> said;
  for (const LogRecord& r : log.records)
    if (r.samples_per_s && *r.samples_per_s > 0) {
      said.push_back(*r.samples_per_s);
      a.printed_by = r.tool;
    }
  if (!said.empty()) {
    const double typical_said = *median(said);
    if (!a.samples_per_s || differs(typical_said, *a.samples_per_s, 0.02))
      a.printed_samples_per_s = typical_said;
  }
}

// Whether losses rise in the end. Losses of a policy are about 0, have any sign and say nothing.
bool rises(std::span<const double> losses) {
  constexpr std::size_t fewest = 4;
  constexpr double least = 0.1;
  if (losses.size() < fewest || std::ranges::any_of(losses, [](double l) { return l <= 0; }))
    return false;
  const std::size_t quarter = losses.size() / 4;
  const auto level = [&](std::size_t n) { return *median(losses.subspan(n * quarter, quarter)); };
  const double before = std::min({level(0), level(1), level(2)});
  const double factor = quarter < 2 ? 4 : quarter < 8 ? 2 : 1.3;  // few losses differ by chance
  return before >= least && *median(losses.last(quarter)) >= factor * before;
}

void take_loss(const JobLog& log, bool by_epoch, LogAccount& a) {
  LogLoss loss;
  std::vector<double> losses;
  bool any = false;
  for (const LogRecord& r : log.records) {
    a.skipped += r.skipped;
    const std::int32_t epoch = by_epoch ? r.epoch : -1;
    if (loss.not_finite == 0 && r.not_finite > 0) {
      loss.first_not_finite = r.iteration;
      loss.first_not_finite_epoch = epoch;
    }
    loss.not_finite += r.not_finite;
    if (!r.loss || !std::isfinite(*r.loss)) continue;
    losses.push_back(*r.loss);
    if (!any) loss.first = loss.least = *r.loss;
    loss.last = *r.loss;
    if (!any || *r.loss < loss.least) {
      loss.least = *r.loss;
      loss.least_iteration = r.iteration;
      loss.least_epoch = epoch;
    }
    any = true;
  }
  loss.finite = any;
  loss.rises = rises(losses);
  if (any || loss.not_finite > 0) a.loss = loss;
}

void take_memory(const JobLog& log, LogAccount& a) {
  for (const LogRecord& r : log.records) {
    if (r.memory_bytes) a.memory_bytes = std::max(a.memory_bytes.value_or(0), *r.memory_bytes);
    if (r.memory_share) a.memory_share = std::max(a.memory_share.value_or(0), *r.memory_share);
  }
}

// The times of a timer in steps whose records have these indices.
std::vector<double> times_between(const LogTimer& timer, std::size_t first, std::size_t last) {
  std::vector<double> ms;
  for (std::size_t i = 0; i < std::min(timer.ms.size(), timer.records.size()); ++i)
    if (timer.records[i] > first && timer.records[i] <= last) ms.push_back(timer.ms[i]);
  return ms;
}

std::size_t record_of(const LogSteps& steps, std::size_t step) {
  return step < steps.steps.size() ? steps.steps[step].record : SIZE_MAX;
}

// A tool prints its timers before or behind the line of their step, so those next to the change
// itself are left out.
void take_causes(const JobLog& log, const LogSteps& steps, LogAccount& a) {
  constexpr std::size_t least_times = 3;
  for (std::size_t i = 0; i < a.changes.size(); ++i) {
    LogChange& change = a.changes[i];
    const std::size_t from = record_of(steps, i == 0 ? a.warm_up : a.changes[i - 1].record);
    const std::size_t at = record_of(steps, change.record);
    const std::size_t to =
        i + 1 < a.changes.size() ? record_of(steps, a.changes[i + 1].record) : SIZE_MAX;
    double most = 1;
    for (const LogTimer& timer : log.timers) {
      std::vector<double> before = times_between(timer, from, at);
      std::vector<double> after = times_between(timer, at + 1, to);
      if (before.size() < least_times || after.size() < least_times) continue;
      const double was = lower_median(before) * 1e6;
      const double is = lower_median(after) * 1e6;
      const double of_step = (is - was) / (change.after_ns - change.before_ns);
      const double factor = is > was ? is / std::max(was, 1.0) : was / std::max(is, 1.0);
      if (!(of_step >= 0.5 && of_step <= 1.5) || factor <= most) continue;
      most = factor;
      change.cause = LogCause{.timer = timer.name, .before_ns = was, .after_ns = is};
    }
  }
}

void take_timers(const JobLog& log, const LogSteps& steps, LogAccount& a) {
  const std::size_t since = a.changes.empty() ? 0 : record_of(steps, a.changes.back().record) + 1;
  for (const LogTimer& timer : log.timers) {
    LogTimerRow row{.name = timer.name, .tool = timer.tool, .count = timer.ms.size()};
    std::vector<double> now = since == 0 ? timer.ms : times_between(timer, since, SIZE_MAX);
    if (std::vector<double> before = times_between(timer, 0, since == 0 ? 0 : since - 1);
        !before.empty() && !now.empty())
      row.before_ns = lower_median(before) * 1e6;
    if (now.empty()) now = timer.ms;
    row.median_ns = lower_median(now) * 1e6;
    // Work done once per run is not part of a step.
    if (a.median_ns > 0 && row.count > 1) row.share = row.median_ns / a.median_ns;
    a.timers.push_back(std::move(row));
  }
  std::ranges::stable_sort(a.timers, std::ranges::greater{},
                           [](const LogTimerRow& r) { return r.share.value_or(0); });
}

// "1.21 MB" in units of 1024^2.
std::optional<double> size_of(std::string_view text) {
  const auto number = take_number<double>(text);
  const std::size_t letter = text.find_first_not_of(' ');
  if (!number || !(*number >= 0) || letter == std::string_view::npos) return std::nullopt;
  const std::size_t power = std::string_view("BKMGTP").find(text[letter]);
  if (power == std::string_view::npos) return std::nullopt;
  return *number * std::pow(1024.0, static_cast<double>(power));
}

void take_communication(const JobLog& log, LogAccount& a) {
  for (const LogCommunication& c : log.communication) {
    LogCommunicationRow row{.printed = c, .bytes = size_of(c.size)};
    const double twice = c.operation.starts_with("all_reduce") ? 2 : 1;
    if (c.printed_algbw_gbit > 0) row.algbw = c.printed_algbw_gbit / twice / 8 * giga;
    if (c.printed_busbw_gbit > 0) row.busbw = c.printed_busbw_gbit / 8 * giga;
    a.communication.push_back(std::move(row));
  }
  std::ranges::stable_sort(a.communication, std::ranges::greater{},
                           [](const LogCommunicationRow& r) { return r.printed.total_ms; });
}

// Compares two figures that should be equal and names a wrong unit that would explain a difference.
void hold(std::optional<double> printed, std::optional<double> right, const char* what,
          std::vector<std::string>& faults) {
  if (!printed || !right || !(*printed > 0) || !(*right > 0)) return;
  const double ratio = *printed / *right;
  if (std::fabs(ratio - 1) <= 0.02) return;
  for (const double unit : {1e3, 1e6})
    if (!differs(ratio, unit, 0.02) || !differs(ratio, 1 / unit, 0.02)) {
      faults.push_back(std::string(what) + " is wrong by a unit: a factor of " +
                       std::to_string(static_cast<int>(unit)));
      return;
    }
  faults.push_back(std::string(what) + " does not follow from its own figures");
}

void take_profiles(const JobLog& log, LogAccount& a) {
  for (const LogFlopsProfile& p : log.profiles) {
    LogProfileRow row{.printed = p};
    if (p.forward_flops && p.forward_s && *p.forward_s > 0)
      row.forward_rate = *p.forward_flops / *p.forward_s;
    if (p.forward_flops && p.iteration_s && *p.iteration_s > 0)
      row.rate = 3 * *p.forward_flops / *p.iteration_s;
    if (p.micro_batch && p.data_parallel && p.iteration_s && *p.iteration_s > 0)
      row.samples_per_s = *p.micro_batch * *p.data_parallel / *p.iteration_s;
    hold(p.printed_forward_rate, row.forward_rate, "the rate of the forward pass", row.faults);
    hold(p.printed_samples_per_s, row.samples_per_s, "samples/second", row.faults);
    if (p.forward_macs && p.forward_flops && *p.forward_flops < 1.5 * *p.forward_macs)
      row.faults.emplace_back("FLOPs are counted as MACs: half of them");
    a.profiles.push_back(std::move(row));
  }
}

}  // namespace

std::optional<double> setting_of(const JobLog& log, std::string_view name) {
  const auto found = log.settings.find(name);
  if (found == log.settings.end()) return std::nullopt;
  const auto value = number_of<std::int64_t>(found->second);
  return value && *value > 0 ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

std::optional<double> typical(const JobLog& log, const LogSteps& steps, std::size_t first,
                              OptionalReal LogRecord::* figure) {
  std::vector<double> values;
  for (std::size_t i = std::min(first, steps.steps.size()); i < steps.steps.size(); ++i) {
    const std::size_t at = steps.steps[i].record;
    if (at >= log.records.size()) continue;
    const OptionalReal value = log.records[at].*figure;
    if (value && std::isfinite(*value)) values.push_back(*value);
  }
  return median(values);
}

LogAccount account_of(const JobLog& log, const LogSteps& steps) {
  LogAccount a;
  const std::vector<double> walls = walls_of(steps);
  if (!walls.empty()) {
    const std::vector<double> equal = at_equal_work(log, steps, walls, a);
    a.warm_up = find_warm_up(equal).count;
    const std::span<const double> settled = std::span(walls).subspan(a.warm_up);
    a.first_iteration = steps.steps.front().iteration;
    a.last_iteration = steps.steps.back().iteration;
    a.steps_per_record = usual_steps(steps);
    take_launches(steps, walls, a);
    take_changes(log, steps, equal, a);
    if (a.changes.empty()) a.drift = find_drift(std::span(equal).subspan(a.warm_up));
    const auto slowest = std::ranges::max_element(settled) - settled.begin();
    a.slowest = a.warm_up + static_cast<std::size_t>(slowest);
    a.settled = a.changes.empty() ? a.warm_up : a.changes.back().record;
    if (!steps.of_tokens) a.median_ns = *median(std::span(walls).subspan(a.settled));
  }
  take_throughput(log, steps, a);
  take_loss(log, steps.by_epoch, a);
  take_memory(log, a);
  take_causes(log, steps, a);
  take_timers(log, steps, a);
  take_communication(log, a);
  take_profiles(log, a);
  return a;
}

std::string step_name(std::int64_t iteration, std::int32_t epoch) {
  if (iteration < 0) return "an unnumbered step";
  return "step " + std::to_string(iteration) +
         (epoch < 0 ? "" : " of epoch " + std::to_string(epoch));
}

namespace {

// "21st", "12th".
std::string ordinal(std::size_t n) {
  constexpr std::array<const char*, 4> ends = {"th", "st", "nd", "rd"};
  const bool teen = n / 10 % 10 == 1;
  return std::to_string(n) + ends[!teen && n % 10 < ends.size() ? n % 10 : 0];
}

}  // namespace

std::string step_place(const JobLog& log, const LogSteps& steps, std::size_t at) {
  const LogStep& step = steps.steps[at];
  if (step.iteration < 0) return "the " + ordinal(at + 1) + (step.steps > 1 ? " mean" : " step");
  const bool of_epoch = steps.by_epoch && step.record < log.records.size();
  const std::string name =
      step_name(step.iteration, of_epoch ? log.records[step.record].epoch : -1);
  const auto part = std::count_if(
      steps.steps.begin(), steps.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1, begins_anew);
  return part > 0 ? name + " of part " + std::to_string(part + 1) : name;
}

double percent_longer(const Drift& drift) { return 100 * (drift.last / drift.first - 1); }

}  // namespace stepscope
