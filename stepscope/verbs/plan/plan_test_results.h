// SPDX-License-Identifier: Apache-2.0
// Searches and plans, for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "stepscope/verbs/plan/plan.h"

namespace stepscope::test {

inline FoundPlan found_plan(std::int64_t tp, double matmul, double bubble) {
  FoundPlan p;
  p.plan.devices = 64;
  p.plan.tp = tp;
  p.plan.dp = 64 / tp;
  p.plan.batch.global = 64;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::matmul)] = matmul;
  p.cost.seconds[static_cast<std::size_t>(StepTerm::bubble)] = bubble;
  p.cost.mfu[0] = 0.4;
  p.cost.memory.bytes[0] = 40e9;
  return p;
}

struct Searched {
  PlanResult report;
  Searched() {
    report.model.name = std::string("model");
    report.machine.name = std::string("machine");
    report.request.devices = {64};
    report.request.base.batch.global = 64;
    report.found.candidates = 1'234'567;
    report.found.feasible = 1'000'000;
    report.found.rejected[static_cast<std::size_t>(Rejected::memory)] = 234'567;
  }
};

inline AgainstPlan own_plan(std::int64_t tp, double matmul, double bubble) {
  const FoundPlan p = found_plan(tp, matmul, bubble);
  AgainstPlan own;
  own.label = "tp=4";
  own.plan = p.plan;
  own.cost = p.cost;
  own.rank.faster = 12'345;
  return own;
}

inline AgainstPlan cannot_run() {
  AgainstPlan own;
  own.label = "tp=7";
  own.why_not = "7 does not divide 64";
  return own;
}

}  // namespace stepscope::test
