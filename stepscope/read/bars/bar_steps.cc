// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/bars/bar_steps.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace stepscope {
namespace {

// The lines of one bar. Several processes may mix theirs.
struct OneBar {
  std::vector<std::size_t> lines{};  // records
  std::vector<std::size_t> ahead{};  // records that count more than all before them
  std::int32_t epoch = -1;
  std::int64_t most_done = 0;
  double longest_s = 0;
  bool launch = false;  // a launch begins here, not an epoch
  bool anew = false;    // the count begins anew, and no line says why
  bool shared = false;  // the count goes back while its time goes on
};

bool is_complete(const OneBar& bar, const LogRecord& of) {
  return of.of_steps > 0 && bar.most_done == of.of_steps;
}

// Whether a line continues a bar. Bars of several processes begin up to some seconds apart.
bool continues(const OneBar& bar, const LogRecord& last, const LogRecord& line) {
  if (line.launch != last.launch) return false;
  const double elapsed = *line.elapsed_s;
  if (line.epoch < 0 && is_complete(bar, last))
    return line.iteration < bar.most_done ? elapsed >= bar.longest_s
                                          : std::fabs(elapsed - bar.longest_s) <= 1;
  return elapsed + std::clamp(bar.longest_s / 2, 2.0, 10.0) >= bar.longest_s;
}

// The rank with the most lines. Each rank shows the same steps.
std::int32_t telling_rank(const JobLog& log, std::span<const std::size_t> lines) {
  std::map<std::int32_t, std::size_t> counts;
  for (const std::size_t i : lines) ++counts[log.records[i].rank];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; });
  return most == counts.end() ? -1 : most->first;
}

// Whether two bars show the same counts at the same times and rates: processes of one job print the
// same bar, and a log may hold them one after the other.
bool is_same_bar(const JobLog& log, const OneBar& a, const OneBar& b) {
  constexpr std::size_t least_lines = 3;
  constexpr double least_s = 20;  // whole seconds of less are equal by chance
  constexpr double rounding = 0.005;
  return !b.launch && a.ahead.size() >= least_lines && a.longest_s >= least_s &&
         std::ranges::equal(a.ahead, b.ahead, [&](std::size_t left, std::size_t right) {
           const LogRecord& l = log.records[left];
           const LogRecord& r = log.records[right];
           const double rate = l.wall_ns.value_or(0);
           return l.epoch == r.epoch && l.iteration == r.iteration &&
                  *l.elapsed_s == *r.elapsed_s &&
                  std::fabs(rate - r.wall_ns.value_or(0)) <= rounding * rate;
         });
}

std::vector<OneBar> all_bars(const JobLog& log, std::span<const std::size_t> lines) {
  const std::int32_t rank = telling_rank(log, lines);
  std::vector<OneBar> bars;
  std::map<std::int32_t, std::size_t> of_epoch;  // the last bar of each
  for (const std::size_t i : lines) {
    const LogRecord& r = log.records[i];
    if (r.rank != rank) continue;
    const auto [found, first] = of_epoch.try_emplace(r.epoch, bars.size());
    if (!first) {
      const OneBar& last = bars[found->second];
      const LogRecord& of = log.records[last.lines.back()];
      if (!continues(last, of, r)) found->second = bars.size();
    }
    if (found->second == bars.size()) {
      OneBar bar{.epoch = r.epoch};
      if (!bars.empty()) {
        const LogRecord& before = log.records[bars.back().lines.back()];
        bar.launch = r.launch != before.launch;
        bar.anew = !bar.launch && (!first || r.epoch < before.epoch);
      }
      bars.push_back(std::move(bar));
    }
    OneBar& bar = bars[found->second];
    const std::int64_t done = r.iteration;
    bar.lines.push_back(i);
    bar.longest_s = std::max(bar.longest_s, *r.elapsed_s);
    if (done > bar.most_done) {
      bar.ahead.push_back(i);
      bar.most_done = done;
    } else if (done < bar.most_done) {
      bar.shared = true;
    }
  }
  return bars;
}

// Each bar once, whichever processes print it.
std::vector<OneBar> bars_of(const JobLog& log, std::span<const std::size_t> lines) {
  std::vector<OneBar> bars = all_bars(log, lines);
  const auto again = std::ranges::unique(
      bars, [&](const OneBar& a, const OneBar& b) { return is_same_bar(log, a, b); });
  bars.erase(again.begin(), again.end());
  return bars;
}

// levanter prints three digits of a count: "1.23kit".
double count_resolution(const LogRecord& r) {
  const double done = static_cast<double>(r.iteration);
  if (r.tool != &levanter_log.tool || done < 1000) return 0;
  return std::pow(10, std::floor(std::log10(done)) - 2);
}

const char* cause_between(const JobLog& log, const OneBar& bar, std::size_t from, std::size_t to) {
  bool saved = false;
  bool evaluated = false;
  for (auto at = std::ranges::upper_bound(bar.lines, from); at != bar.lines.end() && *at <= to;
       ++at) {
    saved = saved || log.records[*at].saved;
    evaluated = evaluated || log.records[*at].evaluated;
  }
  return saved ? "checkpoint" : evaluated ? "eval" : "";
}

// The steps between pairs of lines that are far enough apart for their whole seconds: 20 s give
// 5 %. A short bar has fewer seconds; of less than five it says nothing.
std::vector<LogStep> windows_of(const JobLog& log, const OneBar& bar) {
  std::vector<LogStep> steps;
  if (bar.ahead.size() < 2) return steps;
  const auto elapsed = [&](std::size_t record) { return *log.records[record].elapsed_s; };
  const double whole_s = elapsed(bar.ahead.back()) - elapsed(bar.ahead.front());
  const double least_s = std::clamp(whole_s / 10, 5.0, 20.0);
  constexpr double least_counts = 10;
  const auto window = [&](std::size_t from, std::size_t to) {
    const LogRecord& end = log.records[to];
    const std::int64_t count = end.iteration - log.records[from].iteration;
    return LogStep{.iteration = end.iteration,
                   .steps = count,
                   .wall_ns = (elapsed(to) - elapsed(from)) * giga / static_cast<double>(count),
                   .record = to,
                   .cause = cause_between(log, bar, from, to)};
  };
  std::size_t from = bar.ahead.front();
  std::size_t last_from = from;
  for (const std::size_t to : bar.ahead) {
    const LogRecord& end = log.records[to];
    const auto count = static_cast<double>(end.iteration - log.records[from].iteration);
    if (count < 1 || elapsed(to) - elapsed(from) < least_s ||
        count < least_counts * count_resolution(end))
      continue;
    steps.push_back(window(from, to));
    last_from = std::exchange(from, to);
  }
  // The rest, which is shorter, belongs to the last.
  if (!steps.empty() && from != bar.ahead.back())
    steps.back() = window(last_from, bar.ahead.back());
  return steps;
}

// How exact the elapsed times of bars are: whole seconds, cut off. Newer versions of Ultralytics
// round those of less than a minute to tenths.
struct BarClock {
  bool tenths = false;

  [[nodiscard]] bool in_tenths(double elapsed_s) const { return tenths && elapsed_s < 60; }
  [[nodiscard]] double error_s(double elapsed_s) const { return in_tenths(elapsed_s) ? 0.05 : 0.5; }
  [[nodiscard]] double middle_s(double elapsed_s) const {
    return in_tenths(elapsed_s) ? elapsed_s : elapsed_s + 0.5;
  }
};

BarClock clock_of(const JobLog& log, std::span<const std::size_t> lines) {
  return {std::ranges::any_of(
      lines, [&](std::size_t i) { return std::fmod(*log.records[i].elapsed_s, 1) != 0; })};
}

// The mean that a closed bar prints; absent if its rate does not give its time.
std::optional<LogStep> mean_of_closed(const JobLog& log, const OneBar& bar, BarClock clock) {
  const std::size_t record = bar.lines.back();
  const LogRecord& r = log.records[record];
  if (!is_complete(bar, r) || r.iteration != r.of_steps) return std::nullopt;
  const auto count = static_cast<double>(r.of_steps);
  LogStep step{.iteration = r.iteration, .steps = r.of_steps, .record = record, .cause = {}};
  const double error_s = clock.error_s(*r.elapsed_s);
  const double middle_s = clock.middle_s(*r.elapsed_s);
  const double error = error_s / std::max(*r.elapsed_s, error_s);
  if (r.wall_ns) {
    const double wall_s = *r.wall_ns / giga;
    const double rate_error = 0.005 / std::max(wall_s, 1 / wall_s);  // it has two decimals
    const double off_s = std::fabs(count * wall_s - middle_s);
    if (off_s > error_s + count * wall_s * rate_error) return std::nullopt;
    step.wall_ns = *r.wall_ns;
    if (rate_error <= error) return step;
  }
  constexpr double most_error = 0.05;
  if (error > most_error) return std::nullopt;
  step.wall_ns = middle_s * giga / count;
  return step;
}

// The mean since the begin of a bar that shows no rate.
std::optional<LogStep> mean_so_far(const JobLog& log, const OneBar& bar) {
  constexpr double least_s = 10;  // whole seconds give 5 %
  const std::size_t record = bar.lines.back();
  const LogRecord& r = log.records[record];
  if (r.wall_ns || *r.elapsed_s < least_s) return std::nullopt;
  return LogStep{.iteration = r.iteration,
                 .steps = r.iteration,
                 .wall_ns = *r.elapsed_s * giga / static_cast<double>(r.iteration),
                 .record = record,
                 .cause = {}};
}

// Appends the steps of bars in turn.
class BarSteps {
 public:
  explicit BarSteps(const LogDialect& dialect) { out_.tool = &dialect.tool; }

  // With the steps of each bar in turn.
  void put(const OneBar& bar, std::vector<LogStep> steps) {
    out_.by_epoch = out_.by_epoch || (epoch_ && *epoch_ != bar.epoch);
    epoch_ = bar.epoch;
    launch_ = launch_ || bar.launch;
    anew_ = anew_ || bar.anew;
    shared_ = shared_ || bar.shared;
    for (LogStep& step : steps) {
      if (!is_step(step.wall_ns)) {
        ++out_.left_out;
        continue;
      }
      if (out_.steps.empty() || launch_) {
        out_.launches.push_back(out_.steps.size());
        if (!out_.steps.empty()) step.cause = restart_cause;
      } else if (anew_) {
        ++out_.numbered_anew;
        step.cause = numbered_anew_cause;
      }
      launch_ = anew_ = false;
      out_.steps.push_back(std::move(step));
    }
  }

  // `how` without its end: "the elapsed time of".
  LogSteps finish(std::string_view how, std::string_view behind) {
    // Numbers that begin anew name no step.
    if (out_.numbered_anew > 0)
      for (LogStep& step : out_.steps) step.iteration = -1;
    out_.how = std::string(how) +
               (shared_ ? " several bars whose lines are mixed" : " its progress bar") +
               std::string(behind);
    return std::move(out_);
  }

 private:
  LogSteps out_;
  std::optional<std::int32_t> epoch_{};  // of the bar before
  bool launch_ = false;
  bool anew_ = false;
  bool shared_ = false;
};

std::vector<std::size_t> bar_lines(const JobLog& log, const LogDialect& dialect,
                                   bool (*wanted)(const LogRecord&)) {
  std::vector<std::size_t> lines;
  for (std::size_t i = 0; i < log.records.size(); ++i) {
    const LogRecord& r = log.records[i];
    if (r.tool == &dialect.tool && r.iteration > 0 && r.elapsed_s && wanted(r)) lines.push_back(i);
  }
  return lines;
}

void name_ranks(const JobLog& log, std::span<const std::size_t> lines, LogSteps& steps) {
  for (const std::size_t i : lines)
    if (log.records[i].rank >= 0) steps.ranks.push_back(log.records[i].rank);
  std::ranges::sort(steps.ranks);
  const auto again = std::ranges::unique(steps.ranks);
  steps.ranks.erase(again.begin(), again.end());
}

// The first step weighs more than 1 % in the mean of lines that counted fewer steps than this.
constexpr std::int64_t first_step_weighs = 10;

// The moving means of a bar: one a count, the largest if several processes print it.
std::vector<LogStep> moving_means(const JobLog& log, const OneBar& bar, std::int64_t least_done) {
  std::map<std::int64_t, LogStep> by_count;
  for (const std::size_t i : bar.lines) {
    const LogRecord& r = log.records[i];
    if (!r.wall_ns || r.iteration < least_done) continue;
    LogStep& step = by_count[r.iteration];
    if (step.wall_ns >= *r.wall_ns) continue;
    step = {.iteration = r.iteration,
            .steps = 1,
            .wall_ns = *r.wall_ns,
            .record = i,
            .cause = r.saved       ? "checkpoint"
                     : r.evaluated ? "eval"
                                   : ""};
  }
  std::vector<LogStep> steps;
  for (auto& [count, step] : by_count) steps.push_back(std::move(step));
  return steps;
}

bool any_bar_line(const LogRecord& /*record*/) { return true; }

bool is_bar_line(const LogRecord& record) { return record.of_steps > 0; }

}  // namespace

LogSteps steps_between_lines(const JobLog& log, const LogDialect& dialect,
                             bool (*wanted)(const LogRecord&)) {
  const std::vector<std::size_t> lines = bar_lines(log, dialect, wanted);
  const BarClock clock = clock_of(log, lines);
  BarSteps placed(dialect);
  bool closed_only = true;
  const std::vector<OneBar> bars = bars_of(log, lines);
  if (bars.size() == 1 && bars.front().longest_s < 1) return {};  // no training of a second
  for (const OneBar& bar : bars) {
    std::vector<LogStep> steps = windows_of(log, bar);
    closed_only = closed_only && steps.empty();
    if (steps.empty())
      for (auto mean : {mean_of_closed(log, bar, clock), mean_so_far(log, bar)})
        if (mean && steps.empty()) steps.push_back(*std::move(mean));
    placed.put(bar, std::move(steps));
  }
  LogSteps out =
      placed.finish(closed_only ? "the mean since the begin of" : "the elapsed time of", "");
  name_ranks(log, lines, out);
  return out;
}

LogSteps steps_of_bars(const JobLog& log, const LogDialect& dialect) {
  const bool of_trainer = &dialect == &hugging_face_log;  // its dicts are no bars
  bool (*const wanted)(const LogRecord&) = of_trainer ? is_bar_line : any_bar_line;
  LogSteps timed = steps_between_lines(log, dialect, wanted);
  if (!timed.steps.empty()) return timed;
  const std::vector<std::size_t> lines = bar_lines(log, dialect, wanted);
  const std::vector<OneBar> bars = bars_of(log, lines);
  if (bars.size() == 1 && bars.front().longest_s < 1) return {};
  const bool settled = std::ranges::any_of(lines, [&](std::size_t i) {
    const LogRecord& r = log.records[i];
    return r.wall_ns && r.iteration >= first_step_weighs;
  });
  BarSteps placed(dialect);
  for (const OneBar& bar : bars)
    placed.put(bar, moving_means(log, bar, settled ? first_step_weighs : 0));
  LogSteps out =
      placed.finish("the moving mean of", settled ? "" : ", in which its first step still weighs");
  name_ranks(log, lines, out);
  return out;
}

}  // namespace stepscope
