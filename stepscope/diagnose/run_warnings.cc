// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/run_warnings.h"

#include <fmt/format.h>

#include <cmath>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {
namespace {

void arm_warnings(const char* letter, const ComparedArm& arm, std::vector<std::string>& out) {
  for (const ComparedLaunch& l : arm.launches) {
    if (!l.changes.empty()) {
      const ChangePoint& c = l.changes.back();
      out.push_back(fmt::format(
          "{}: a step of {} takes {} from its step {} on and {} before, so one figure does not "
          "describe it; --warm-up {} compares what follows",
          letter, l.name, format_time(c.after), c.at + 1, format_time(c.before), c.at));
    }
    if (l.unsettled)
      out.push_back(
          fmt::format("{}: the step time of {} still moves in its second half; no end of "
                      "a warm-up is in sight and none was left out",
                      letter, l.name));
  }
  if (arm.steps == 1) out.push_back(fmt::format("{} has one step only", letter));
  if (arm.steps > 1 && arm.stdev_ns && *arm.stdev_ns == 0)
    out.push_back(fmt::format("all step times of {} are equal", letter));
}

}  // namespace

std::vector<std::string> compare_warnings(const RunComparison& runs) {
  std::vector<std::string> out;
  arm_warnings("A", runs.a, out);
  arm_warnings("B", runs.b, out);
  const auto single = [](const ComparedArm& arm) { return arm.launches.size() < 2; };
  if (single(runs.a) || single(runs.b))
    out.emplace_back(
        "one launch an arm: what differs from launch to launch (placement, clocks, other jobs) "
        "looks like a change; give three or more, interleaved, or use --run");
  if (runs.drift && runs.drift->p < 0.05)
    out.push_back(
        fmt::format("the step time drifts by {} from launch to launch (p = {:.3f}); in this order "
                    "that makes {} "
                    "of the difference",
                    format_signed_percent(std::expm1(runs.drift->slope)), runs.drift->p,
                    format_signed_percent(std::expm1(runs.drift->bias))));
  return out;
}

std::vector<std::string> log_warnings(const LogFacts& r) {
  std::vector<std::string> out;
  const auto notes = [&](const char* key, const char* what) {
    const auto found = r.log.notes.find(key);
    if (found != r.log.notes.end())
      out.push_back(fmt::format("{} {}", counted(found->second, "line"), what));
  };
  notes("records_cut", "that report on a step are cut by other output");
  notes("comm_lines_cut", "of the comms logger are cut");
  if (r.steps.left_out > 0)
    out.push_back(counted(r.steps.left_out, "record") + " without a positive time left out");
  for (const LogChange& c : r.account.changes)
    if (c.after_ns > c.before_ns) {
      out.push_back(fmt::format("the step became {:.1f} % longer at {}",
                                100 * (c.after_ns / c.before_ns - 1), step_name(c.iteration)));
      break;
    }
  if (r.account.drift && r.account.drift->last > r.account.drift->first)
    out.push_back(fmt::format("the step becomes {:.1f} % longer from one end to the other",
                              percent_longer(*r.account.drift)));
  if (r.log.truncated) out.emplace_back("the end of the file is damaged");
  return out;
}

}  // namespace stepscope
