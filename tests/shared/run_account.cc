// SPDX-License-Identifier: Apache-2.0
#include "tests/shared/run_account.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "tests/program/program.h"
#include "tests/shared/raw_window.h"

namespace stepscope::shared {
namespace {

using Json = nlohmann::json;

constexpr double most_unexplained = 5;  // percent

struct KnownReason {
  std::string_view run;
  std::string_view why;
};
// Runs with more unexplained idle time, and the information that their traces lack.
constexpr std::array known_reasons = {
    KnownReason{"hta-mtia_trace_single_rank",
                "MTIA: the dma_request rows that fill the gaps carry no correlation to a call"},
    KnownReason{"hta-cupti_profiler",
                "counters only: no device row and no launch row was recorded"}};

std::int64_t sum(const Json& values) {
  std::int64_t total = 0;
  for (const auto& [key, value] : values.items()) total += value.get<std::int64_t>();
  return total;
}

class RankCheck {
 public:
  // `counted`: steps of the job that count.
  RankCheck(const Json& rank, std::int64_t counted) : rank_(rank), counted_(counted) {}

  std::vector<std::string> problems() && {
    steps();
    for (const Json& window : windows()) gpu_window(window);
    kernels();
    return std::move(problems_);
  }

 private:
  void equal(std::int64_t left, std::int64_t right, const std::string& what) {
    if (left != right)
      problems_.push_back("rank " + rank_.at("rank").dump() + ": " + what + ": " +
                          std::to_string(left) + " is not " + std::to_string(right));
  }
  void hold(bool ok, const std::string& what) { equal(ok ? 1 : 0, 1, what); }

  void steps() {
    std::int64_t wall = 0;
    for (const Json& step : rank_.at("steps")) {
      const std::string name = "step " + step.at("index").dump();
      const std::int64_t own = step.at("wall_ns");
      equal(sum(step.at("budget_ns")), own, name + " budget");
      equal(sum(step.at("phases_ns")), own, name + " phases");
      for (const auto& [category, ns] : step.at("budget_ns").items())
        hold(ns >= 0, name + " has a negative " + category);
      wall += own;
    }
    hold(!rank_.at("steps").empty(), "has steps");
    equal(sum(rank_.at("budget_ns")), wall, "budget of all steps");
    equal(sum(rank_.at("phases_ns")), wall, "phases of all steps");
    communication();
    const std::int64_t start = rank_.at("window_start_ns");
    const std::int64_t end = rank_.at("window_end_ns");
    equal(wall + sum(rank_.at("outside_ns")), end - start, "steps and what lies outside them");
  }

  // The phases divide the exposed communication of a device.
  void communication() {
    double of_phases = 0;
    for (const Json& phase : rank_.at("phases")) {
      if (phase.at("communication_ns").is_null()) return;
      of_phases += phase.at("communication_ns").get<double>() * phase.at("steps").get<double>();
    }
    std::int64_t of_budget = 0;
    for (const auto& [category, ns] : rank_.at("budget_ns").items())
      if (category.starts_with("comm_exposed")) of_budget += ns.get<std::int64_t>();
    equal(std::llround(of_phases), of_budget, "exposed communication of the phases");
  }

  [[nodiscard]] Json windows() const {
    const Json& window = rank_.at("gpu_window");
    if (window.is_null()) return Json::array();
    return window.is_array() ? window : Json::array({window});
  }

  void gpu_window(const Json& w) {
    const auto ns = [&](const char* key) { return w.at(key).get<std::int64_t>(); };
    equal(ns("busy_ns") + ns("idle_ns"), ns("end_ns") - ns("start_ns"), "busy and idle");
    hold(ns("overlap_ns") <= std::min(ns("compute_ns"), ns("comm_ns")), "overlap within both");
    hold(ns("busy_ns") >=
             std::max({ns("compute_ns") + ns("comm_ns") - ns("overlap_ns"), ns("copy_ns")}),
         "busy holds what runs");
    hold(ns("busy_ns") <= ns("compute_ns") + ns("comm_ns") - ns("overlap_ns") + ns("copy_ns"),
         "busy is nothing else");
  }

  // Each row is within its extremes; rows and classes have the same sum. The table holds rows that
  // start inside the steps that count. Except for a row a step that starts before, it takes at
  // least the time in which something runs. A row without runs is a kernel that only hardware
  // counters mention.
  void kernels() {
    std::int64_t total = 0;
    std::int64_t longest = 0;
    for (const Json& k : rank_.at("kernels")) {
      const std::int64_t own = k.at("total_ns");
      const std::int64_t count = k.at("count");
      const std::int64_t least = k.at("min_ns");
      const std::int64_t most = k.at("max_ns");
      hold(count * least <= own && own <= count * most && (count > 0 || !k.at("counters").empty()),
           "extremes of " + k.at("name").get<std::string>().substr(0, 60));
      total += own;
      longest = std::max(longest, most);
    }
    std::int64_t classes = 0;
    for (const Json& c : rank_.at("kernel_classes"))
      classes += c.at("total_ns").get<std::int64_t>();
    equal(classes, total, "kernel classes");
    if (windows().empty()) return;
    std::int64_t running = 0;
    for (const auto& [category, ns] : rank_.at("mean_budget_ns").items())
      if (!category.starts_with("idle") && category != "not_recorded")
        running += counted_ * (ns.get<std::int64_t>() - 1);  // the mean is rounded
    hold(total + counted_ * longest >= running,
         "kernels and copies take the time in which any runs");
  }

  const Json& rank_;
  std::int64_t counted_;
  std::vector<std::string> problems_;
};

// Compares every file with its rank; these runs have one file per rank.
// The table of the job and what a change saves have one denominator.
void check_step(const Json& answer, std::vector<std::string>& problems) {
  const Json& explanation = answer.at("explanation");
  if (!answer.at("job").at("clocks_comparable") || explanation.is_null()) return;
  double table = 0;
  for (const Json& category : answer.at("job").at("spread"))
    table += category.at("mean_ns").get<double>();
  const auto step = explanation.at("baseline_ns").get<double>();
  if (std::abs(table - step) > 1e-6 * step)
    problems.push_back("the table adds up to " + std::to_string(table) + " ns, the step is " +
                       std::to_string(step));
}

void check_windows(const TracedRun& run, const Json& answer, std::vector<std::string>& problems) {
  const std::int64_t origin = std::stoll(answer.at("origin_unix_ns").get<std::string>());
  for (std::size_t f = 0; f < run.files.size(); ++f) {
    const Json& input = answer.at("inputs").at(f);
    for (const Json& rank : answer.at("ranks")) {
      if (rank.at("rank") != input.at("rank")) continue;
      const RawWindow raw = raw_window(run.files[f].string());
      const std::int64_t start = rank.at("window_start_ns");
      const std::int64_t length = rank.at("window_end_ns").get<std::int64_t>() - start;
      const std::string who = "rank " + rank.at("rank").dump();
      if (length != raw.last_ns - raw.first_ns)
        problems.push_back(who + ": window of " + std::to_string(length) + " ns, raw " +
                           std::to_string(raw.last_ns - raw.first_ns));
      if (origin != 0 && origin + start != raw.first_ns)
        problems.push_back(who + ": window starts " +
                           std::to_string(origin + start - raw.first_ns) +
                           " ns off the raw file's");
      if (raw.rows == 0 || raw.events != input.at("events").get<std::uint64_t>())
        problems.push_back(who + ": " + std::to_string(raw.events) + " raw events");
    }
  }
}

void measure_unexplained(const Json& answer, RunAccount& account) {
  account.launches_seen = true;
  for (const Json& rank : answer.at("ranks")) {
    const auto wall = static_cast<double>(sum(rank.at("budget_ns")));
    const double unexplained = rank.at("budget_ns").at("idle_unexplained");
    if (wall > 0)
      account.unexplained_percent = std::max(account.unexplained_percent, 100 * unexplained / wall);
    account.launches_seen &= !rank.at("gpu_window").is_null() && rank.at("host").at("launches") > 0;
  }
  if (account.unexplained_percent <= most_unexplained) return;
  for (const KnownReason& known : known_reasons)
    if (known.run == account.name) account.unexplained_why = known.why;
  if (account.unexplained_why.empty())
    account.problems.push_back("unexplained: " + std::to_string(account.unexplained_percent) +
                               " %");
}

}  // namespace

std::vector<std::string> rank_problems(const Json& rank, std::int64_t counted) {
  return RankCheck(rank, counted).problems();
}

RunAccount account_for(const TracedRun& run) {
  RunAccount account;
  account.name = run.name;
  const program::Analysis analysis = program::analyze(run.files);
  account.seconds = analysis.outcome.seconds;
  if (analysis.outcome.exit_code != 0 || analysis.json.is_null()) {
    account.problems.push_back("exit code " + std::to_string(analysis.outcome.exit_code) + ": " +
                               analysis.outcome.errors);
    return account;
  }
  const Json& answer = analysis.json;
  account.ranks = answer.at("ranks").size();
  if (account.ranks != run.files.size())
    account.problems.push_back(std::to_string(run.files.size()) + " files are not as many ranks");
  account.warnings = answer.at("warnings").size();
  for (const Json& input : answer.at("inputs"))
    account.events += input.at("events").get<std::uint64_t>();
  const std::int64_t counted = std::ranges::count_if(
      answer.at("job").at("steps"), [](const Json& s) { return !s.at("counted_ns").is_null(); });
  for (const Json& rank : answer.at("ranks")) {
    account.steps = std::max(account.steps, rank.at("steps").size());
    for (std::string& problem : rank_problems(rank, counted))
      account.problems.push_back(std::move(problem));
  }
  check_windows(run, answer, account.problems);
  check_step(answer, account.problems);
  measure_unexplained(answer, account);
  return account;
}

std::string runs_table(const std::vector<RunAccount>& accounts) {
  std::string out =
      "| run | ranks | events | steps | warnings | seconds | idle_unexplained | adds up |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const RunAccount& a : accounts) {
    std::array<char, 96> figures{};
    std::snprintf(figures.data(), figures.size(), " | %zu | %llu | %zu | %zu | %.2f | %.2f %%",
                  a.ranks, static_cast<unsigned long long>(a.events), a.steps, a.warnings,
                  a.seconds, a.unexplained_percent);
    out += "| " + a.name + figures.data();
    if (!a.unexplained_why.empty()) out += ": " + a.unexplained_why;
    if (!a.launches_seen) out += " (no launch rows)";
    out += a.problems.empty() ? " | yes |\n" : " | NO: " + a.problems.front() + " |\n";
  }
  return out;
}

}  // namespace stepscope::shared
