// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/measuring_flags.h"

#include "stepscope/face/help/flag_values.h"

namespace stepscope {

void declare_launches(CLI::App& app, LaunchFlags& f, const char* what) {
  const char* group = "Launches";
  constexpr double week = 7 * 86400;
  as_count(app.add_option("--launches", f.launches, what), 1, 1000)->group(group);
  as_seconds(app.add_option("--timeout", f.timeout, "Time that a launch may take"), 0, week)
      ->default_str("none")
      ->group(group);
  app.add_option("--keep", f.keep, "Directory where files that the launches wrote stay")
      ->type_name("DIR")
      ->group(group);
}

void declare_unit(CLI::App& app, std::string& unit) {
  as_choice(app.add_option("--unit", unit, "Unit of lists of step times whose header names none"),
            {"ns", "us", "ms", "s"})
      ->default_str(std::string(name_of(usual_unit)))
      ->group("Inputs");
}

void declare_log_pattern(CLI::App& app, std::string& pattern) {
  app.add_option("--log-pattern", pattern,
                 "Text of the log's lines that report on a step, with {step} and {ms} or {s} for "
                 "its numbers and * for other text: 'iter {step}: * took {ms} ms'")
      ->type_name("PATTERN")
      ->group("Inputs");
}

StepReading reading_of(const std::string& unit, const std::string& pattern) {
  StepReading reading;
  reading.unit = time_unit(unit);
  reading.pattern = pattern;
  return reading;
}

void declare_statistics(CLI::App& app, StatisticsFlags& f) {
  const char* group = "Statistics";
  as_count(app.add_option("--warm-up", f.warm_up, "Steps of each launch to leave out"), 0)
      ->default_str("found from the times")
      ->group(group);
  as_share(app.add_option("--alpha", f.alpha, "Chance of a wrong call between equal runs"), 0.0001,
           0.5)
      ->group(group);
  as_share(app.add_option("--floor", f.floor, "Smallest difference that matters"), 0, 0.5, 0.01)
      ->group(group);
}

void declare_regression(CLI::App& app, std::optional<double>& max_regression,
                        std::string& inconclusive, const char* what) {
  const char* group = "Statistics";
  as_share(app.add_option("--max-regression", max_regression, what), 0, 1e4, 0.01)->group(group);
  as_choice(
      app.add_option("--inconclusive", inconclusive,
                     "With --max-regression: exit code 4 (fail) or 0 (ok) if the steps cannot "
                     "tell"),
      {"fail", "ok"})
      ->group(group);
}

LaunchLimits limits_of(const LaunchFlags& f) {
  LaunchLimits limits{.launches = f.launches, .keep = f.keep};
  if (f.timeout > 0) limits.seconds = f.timeout;
  return limits;
}

}  // namespace stepscope
