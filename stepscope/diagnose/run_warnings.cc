// SPDX-License-Identifier: Apache-2.0
#include "stepscope/diagnose/run_warnings.h"

#include <cmath>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

void arm_warnings(const char* letter, const ComparedArm& arm, Messages& out) {
  for (const ComparedLaunch& l : arm.launches) {
    if (!l.changes.empty()) {
      const ChangePoint& c = l.changes.back();
      out.push_back(msg::level_changes(letter, l.name, Nanoseconds(c.after), c.at + 1,
                                       Nanoseconds(c.before), c.at));
    }
    if (l.unsettled) out.push_back(msg::no_end_of_warm_up(letter, l.name));
  }
  if (arm.steps == 1) out.push_back(msg::one_step_only(letter));
  if (arm.steps > 1 && arm.stdev_ns && *arm.stdev_ns == 0) out.push_back(msg::equal_steps(letter));
}

}  // namespace

Messages compare_warnings(const RunComparison& runs) {
  Messages out;
  arm_warnings("A", runs.a, out);
  arm_warnings("B", runs.b, out);
  const auto single = [](const ComparedArm& arm) { return arm.launches.size() < 2; };
  if (single(runs.a) || single(runs.b)) out.push_back(msg::single_launch());
  if (runs.drift && runs.drift->p < 0.05)
    out.push_back(msg::launches_drift(format_signed_percent(std::expm1(runs.drift->slope)),
                                      Digits{runs.drift->p},
                                      format_signed_percent(std::expm1(runs.drift->bias))));
  return out;
}

Messages log_warnings(const LogFacts& r) {
  Messages out;
  const auto notes = [&](const char* key, MessageMaker<1> cut) {
    const auto found = r.log.notes.find(key);
    if (found != r.log.notes.end()) out.push_back(cut(found->second));
  };
  notes("records_cut", msg::step_lines_cut);
  notes("comm_lines_cut", msg::comm_lines_cut);
  if (r.steps.left_out > 0) out.push_back(msg::records_without_time(r.steps.left_out));
  for (const LogChange& c : r.account.changes)
    if (c.after_ns > c.before_ns) {
      out.push_back(msg::step_became_longer(Digits{100 * (c.after_ns / c.before_ns - 1)},
                                            step_name(c.iteration)));
      break;
    }
  if (r.account.drift && r.account.drift->last > r.account.drift->first)
    out.push_back(msg::step_becomes_longer(Digits{percent_longer(*r.account.drift)}));
  if (r.log.truncated) out.push_back(msg::end_damaged());
  return out;
}

}  // namespace stepscope
