// SPDX-License-Identifier: Apache-2.0
// The recorded steps as a program for simulators: the nodes of the step graph (step_graph.h) and
// what they wait for. Delays, which the graph does not explain, are nodes of the host, so a replay
// takes as long as the recorded steps.
#pragma once

#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

// Collectives without all of their members in the traces, and messages without their peer, are
// kernels of their recorded time. Their waiting cannot be distinguished from their transfer; a note
// counts them.
[[nodiscard]] JobProgram recorded_program(const WhatIfInputs& in);

}  // namespace stepscope
