// SPDX-License-Identifier: Apache-2.0
// A report by hand with all that its JSON needs.
#pragma once

#include "stepscope/diagnose/analysis_test_builder.h"

namespace stepscope {

namespace test {

inline void complete(TestReport& t) {
  for (RankResult& r : t.job.ranks) {
    r.phases.steps.resize(r.steps.size());
    r.work.executed.steps.resize(r.steps.size());
  }
  t.job.traffic.buckets.resize(t.job.ranks.size());
}

}  // namespace test

}  // namespace stepscope
