// SPDX-License-Identifier: Apache-2.0
// A run with expected times, for tests.
#pragma once

#include "stepscope/diagnose/judged_test_results.h"
#include "stepscope/fit/expectation.h"

namespace stepscope::test {

struct ExpectedRun {
  ExpectedRun() : made({{{BudgetCategory::compute, 80}, {BudgetCategory::idle_host, 20}}}) {
    made.rank(0).phases.steps.resize(1);
    Expectation& e = made.report.expected.emplace();
    e.machine = "H100-80GB SXM";
    StepComparison& step = e.step.emplace();
    step.model = "gpt";
    step.machine = e.machine;
    step.expected = 0.06;
    step.measured = 0.1;
    step.classes = {
        {.kind = StepClass::host, .expected = 1e-9, .recompute = 0, .measured = 0.02},
        {.kind = StepClass::matmul, .expected = 0.04, .recompute = 0.01, .measured = 0.055},
        {.kind = StepClass::norm, .expected = 0.001, .recompute = 0, .measured = 0.008},
        {.kind = StepClass::wait, .expected = 0, .recompute = 0, .measured = 0.002},
        {.kind = StepClass::elementwise, .expected = 0.009, .recompute = 0, .measured = 0.006},
        {.kind = StepClass::attention, .expected = 0.01, .recompute = 0, .measured = 0.009}};
    step.ranks = {{.rank = 0, .measured = {}}};
    OperatorRow row;
    row.name = made.name("aten::mm");
    row.dims = made.name("[[32, 64], [64, 128], []]");
    row.kind = NameClass::matmul;
    row.device_calls = 3;
    made.rank(0).work.operators.push_back(row);
    ExpectedOperators& operators = e.ranks.emplace_back();
    operators.classes = {
        {.kind = NameClass::matmul, .expected = 0.02, .measured = 0.03, .unknown = 0.001},
        {.kind = NameClass::attention, .expected = 0, .measured = 0, .unknown = 0.004}};
    operators.operators = {{made.rank(0).work.operators.data(), 0.02, 0.03}};
    collective.kind = CollectiveKind::all_reduce;
    collective.dimension = Dimension::dp;
    collective.group_size = 8;
    collective.bytes = Bytes{1'000'000};
    e.collectives = {
        {.row = &collective, .expected = 0.001, .measured = 0.0025, .calls = 7, .with_wait = true}};
    e.assumptions = {"compute.units = 132, as its peak"};
  }

  TestReport made;
  CollectiveRow collective;
};

}  // namespace stepscope::test
