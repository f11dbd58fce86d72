// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/read_job_log.h"
#include "stepscope/read/log/time_unit.h"

namespace stepscope {
namespace {

// The last position of one rank.
struct RankPlace {
  std::int32_t launch = 0;  // launch of the record
  std::int64_t iteration = -1;
  std::int32_t epoch = -1;
  std::int32_t segment = 0;            // number of restarts of the numbering
  std::optional<double> instant_ns{};  // of the line
  bool any = false;
};

struct PlacedStep {
  LogStep step;
  std::int32_t segment = 0;
  std::int32_t epoch = -1;
  // The order of steps that several ranks print.
  [[nodiscard]] std::tuple<std::int32_t, std::int32_t, std::int64_t> place() const {
    return {segment, epoch, step.iteration};
  }
};

// Builds the steps of one tool.
class StepPlacing {
 public:
  StepPlacing(const JobLog& log, const LogDialect& dialect, StepsBy by)
      : log_(log), dialect_(dialect), by_(by) {}

  void take(std::size_t index) {
    const LogRecord& r = log_.records[index];
    RankPlace& place = places_[r.rank];
    if (too_soon(place, r)) {
      evaluated_ = evaluated_ || r.evaluated;
      saved_ = saved_ || r.saved;
      return;
    }
    const bool counted = place.any && r.iteration >= 0;
    const bool next_epoch =
        counted && place.epoch >= 0 && r.epoch > place.epoch && r.iteration <= place.iteration;
    const bool again = counted && !next_epoch &&
                       (r.iteration < place.iteration || (r.epoch >= 0 && r.epoch < place.epoch));
    const bool back = place.any && (r.launch != place.launch || again);
    if (back) ++place.segment;
    out.by_epoch = out.by_epoch || next_epoch;
    // The lines of a program do not say whether a launch or an epoch begins.
    if (back && r.launch == place.launch && !dialect_.is_tool) untold_.insert(place.segment);
    const RankPlace before = place;
    place.epoch = r.epoch;
    place.launch = r.launch;
    place.iteration =
        std::max<std::int64_t>(r.iteration, back || next_epoch ? -1 : place.iteration);
    place.instant_ns = instant_of(r);
    place.any = true;
    LogStep step{.iteration = r.iteration, .steps = 1, .wall_ns = 0, .record = index, .cause = {}};
    const bool follows = before.any && !back && !next_epoch;
    if (follows && r.iteration > before.iteration && before.iteration >= 0)
      step.steps = r.iteration - before.iteration;
    else if (of_two_lines() && !(follows && by_ == StepsBy::each_stamp))
      return;  // no earlier line, so its time is unknown
    if (of_two_lines()) {
      if (!place.instant_ns || !before.instant_ns) return;
      step.wall_ns = (*place.instant_ns - *before.instant_ns) / static_cast<double>(step.steps);
    } else {
      const double rate = r.tokens_per_s_device.value_or(0);
      step.wall_ns = by_ == StepsBy::lines ? r.wall_ns.value_or(0) : rate > 0 ? 1e9 / rate : 0;
      if (!follows) step.steps = 0;  // the usual number, set below
      if (!dialect_.means) step.steps = 1;
    }
    if (!is_step(step.wall_ns)) {
      ++out.left_out;
      return;
    }
    const bool first_again = place.segment > 0 && segment_begins(r.rank, place.segment);
    const bool saved = std::exchange(saved_, false) || r.saved;
    const bool evaluated = std::exchange(evaluated_, false) || r.evaluated;
    step.cause = first_again ? begin_of(place.segment)
                 : saved     ? "checkpoint"
                 : evaluated ? "eval"
                             : "";
    put(std::move(step), place.segment, r.epoch);
  }

  LogSteps finish() {
    for (const auto& [rank, place] : places_)
      if (rank >= 0) out.ranks.push_back(rank);
    const bool numbered =
        std::ranges::all_of(placed_, [](const PlacedStep& p) { return p.step.iteration >= 0; });
    if (numbered && places_.size() > 1) std::ranges::sort(placed_, {}, &PlacedStep::place);
    fill_usual();
    std::int32_t segment = -1;
    for (PlacedStep& p : placed_) {
      const bool untold = !out.steps.empty() && untold_.contains(p.segment);
      if (p.segment > segment && untold) ++out.numbered_anew;
      if (p.segment > segment && !untold) out.launches.push_back(out.steps.size());
      segment = std::max(segment, p.segment);
      out.steps.push_back(std::move(p.step));
    }
    out.tool = &dialect_.tool;
    return std::move(out);
  }

 private:
  [[nodiscard]] bool of_two_lines() const {
    return by_ == StepsBy::stamps || by_ == StepsBy::each_stamp || by_ == StepsBy::elapsed;
  }
  // Whole seconds of the lines of any program say little of less than 20 s: within 5 %.
  [[nodiscard]] bool too_soon(const RankPlace& before, const LogRecord& r) {
    constexpr double least_ns = 20e9;
    if (by_ != StepsBy::stamps || dialect_.is_tool || !before.any) return false;
    const auto now = instant_of(r);
    const bool goes_on = r.launch == before.launch && r.epoch == before.epoch &&
                         r.iteration > before.iteration && before.iteration >= 0;
    if (!goes_on || !now || !before.instant_ns) return false;
    const double between = *now - *before.instant_ns;
    return std::fmod(between, giga) == 0 && between >= 0 && between < least_ns;
  }

  // Since a begin that all lines of a launch share. Stamps are differences of whole nanoseconds.
  [[nodiscard]] std::optional<double> instant_of(const LogRecord& r) {
    if (by_ == StepsBy::elapsed && r.elapsed_s) return *r.elapsed_s * giga;
    if (by_ == StepsBy::elapsed || !r.stamp) return std::nullopt;
    if (!first_stamp_) first_stamp_ = r.stamp;
    return static_cast<double>((*r.stamp - *first_stamp_).count());
  }

  [[nodiscard]] const char* begin_of(std::int32_t segment) const {
    return untold_.contains(segment) ? numbered_anew_cause.data() : restart_cause.data();
  }

  bool segment_begins(std::int32_t rank, std::int32_t segment) {
    std::int32_t& told = told_[rank];
    if (told == segment) return false;
    told = segment;
    return true;
  }

  // Keeps the slowest of the ranks that report this step, also for repeated prints.
  void put(LogStep step, std::int32_t segment, std::int32_t epoch) {
    PlacedStep placed{.step = std::move(step), .segment = segment, .epoch = epoch};
    if (placed.step.iteration >= 0) {
      const auto [found, added] = index_.try_emplace(placed.place(), placed_.size());
      if (!added) {
        LogStep& there = placed_[found->second].step;
        if (there.wall_ns < placed.step.wall_ns) there = std::move(placed.step);
        return;
      }
    }
    placed_.push_back(std::move(placed));
  }

  // The first record is a mean over as many steps as the others, or over all steps up to it.
  void fill_usual() {
    std::map<std::int64_t, std::size_t> counts;
    for (const PlacedStep& p : placed_) ++counts[p.step.steps];
    counts.erase(0);
    std::int64_t usual = 1;
    std::size_t most = 0;
    for (const auto& [steps, count] : counts)
      if (count > most) {
        most = count;
        usual = steps;
      }
    // A block alone has all steps up to its end.
    const bool alone = counts.empty() && placed_.size() == 1 &&
                       log_.records[placed_.front().step.record].of_block &&
                       placed_.front().step.iteration > 0;
    if (alone) usual = placed_.front().step.iteration;
    for (PlacedStep& p : placed_)
      if (p.step.steps == 0)
        p.step.steps = p.step.iteration > 0 ? std::min(usual, p.step.iteration) : usual;
  }

  const JobLog& log_;
  const LogDialect& dialect_;
  StepsBy by_;
  std::optional<Ns> first_stamp_{};
  std::map<std::int32_t, RankPlace> places_;
  std::map<std::int32_t, std::int32_t> told_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::int64_t>, std::size_t> index_;
  bool evaluated_ = false;  // in lines that came too soon
  bool saved_ = false;
  std::set<std::int32_t> untold_;  // segments whose begin may be that of an epoch
  std::vector<PlacedStep> placed_;

 public:
  LogSteps out;
};

}  // namespace

std::span<const LogDialect* const> log_dialects() {
#define STEPSCOPE_ADDRESS(name) &(name),
  static constexpr std::array all = {STEPSCOPE_LOG_DIALECTS(STEPSCOPE_ADDRESS)};
#undef STEPSCOPE_ADDRESS
  static_assert(all.size() <= most_log_tools);
  return all;
}

LogSteps place_steps(const JobLog& log, const LogDialect& dialect, StepsBy by, std::string_view how,
                     bool (*wanted)(const LogRecord&)) {
  StepPlacing placing(log, dialect, by);
  for (std::size_t i = 0; i < log.records.size(); ++i)
    if (log.records[i].tool == &dialect.tool && wanted(log.records[i])) placing.take(i);
  LogSteps steps = placing.finish();
  steps.how = how;
  return steps;
}

namespace {

bool any_record(const LogRecord& /*record*/) { return true; }

// By what its lines print, else by two of its lines.
LogSteps timed_steps(const JobLog& log, const LogDialect& dialect) {
  if (dialect.steps != nullptr) return dialect.steps(log);
  LogSteps steps = place_steps(log, dialect, StepsBy::lines, dialect.how, any_record);
  if (!steps.steps.empty()) return steps;
  steps = place_steps(log, dialect, StepsBy::stamps, by_stamps, any_record);
  if (!steps.steps.empty()) return steps;
  return place_steps(log, dialect, StepsBy::elapsed, "differences of the time since its begin",
                     any_record);
}

// The steps that DeepSpeed's flops profiler measured.
LogSteps profiled_steps(const JobLog& log) {
  LogSteps steps{.tool = &deepspeed_log.tool, .how = "iter latency of the flops profiler"};
  for (const LogFlopsProfile& p : log.profiles)
    if (p.iteration_s && *p.iteration_s > 0)
      steps.steps.push_back({.iteration = p.step,
                             .wall_ns = *p.iteration_s * 1e9,
                             .record = log.records.size(),  // of no line
                             .cause = {}});
  if (!steps.steps.empty()) steps.launches = {0};
  return steps;
}

}  // namespace

namespace {

// Whether no line prints the time of a step.
bool of_blocks(const JobLog& log, const LogSteps& steps) {
  return std::ranges::all_of(steps.steps, [&](const LogStep& step) {
    return step.record < log.records.size() && log.records[step.record].of_block;
  });
}

}  // namespace

LogSteps steps_of(const JobLog& log) {
  LogSteps of_block;  // used if no other tool prints more times
  for (const LogDialect* dialect : log_dialects()) {
    LogSteps steps = timed_steps(log, *dialect);
    if (steps.steps.empty()) continue;
    if (of_block.steps.empty() && of_blocks(log, steps)) {
      of_block = std::move(steps);
      continue;
    }
    const bool more = dialect->is_tool && steps.steps.size() >= of_block.steps.size();
    if (of_block.steps.empty() || more) return steps;
  }
  if (!of_block.steps.empty()) return of_block;
  for (const LogDialect* dialect : log_dialects()) {
    LogSteps steps = place_steps(log, *dialect, StepsBy::rates,
                                 "1 / tokens/s of a device, the time of a token", any_record);
    steps.of_tokens = true;
    if (!steps.steps.empty()) return steps;
  }
  return profiled_steps(log);
}

}  // namespace stepscope
