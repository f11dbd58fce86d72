// SPDX-License-Identifier: Apache-2.0
// The public JSON of `stepscope analyze` (docs/reference/json/analyze.md), built once for all
// faces that show it.
#pragma once

#include <span>
#include <string>

#include "stepscope/diagnose/analysis.h"
#include "stepscope/face/tree/json_values.h"

namespace stepscope {

// The whole object but `timeline`, whose hundreds of thousands of rows are no tree. Names are as in
// the trace and may hold bytes that are no UTF-8.
[[nodiscard]] Json analyze_tree(const Analysis& report);

// answer.verdict: the first, with the others as its alternatives; null without any.
[[nodiscard]] Json verdict_json(std::span<const Culprit> verdicts);

[[nodiscard]] Json inputs_json(std::span<const InputRow> inputs);

// The object that the page has: with `timeline` where the job has one, and without each fetch of a
// sharded unit, because large jobs have millions of them. `tree`: analyze_tree() of the report.
[[nodiscard]] std::string analyze_page_json(Json tree, const JobResult& job);

// Adds `timeline` to the text of an object, where the job has one.
void append_timeline(std::string& json, const JobResult& job);

}  // namespace stepscope
