// SPDX-License-Identifier: Apache-2.0
// What the recorded steps of a job take with the changes of a projection (projection.h), by replay.
// The time of a message is divided into that of the links and what disturbed it
// (docs/explanation/projection.md).
#pragma once

#include <string>
#include <vector>

#include "stepscope/analysis/ranks/job_shape.h"
#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/fit/step_class.h"
#include "stepscope/say/message.h"

namespace stepscope {

// The expected steps of a model by class, where there is one.
struct ExpectedPlans {
  StepSeconds recorded{};  // of the recorded plan
  StepSeconds replayed{};  // of the plan with the recorded program: other sizes of what there is
  StepSeconds passed{};    // of that plan with as many micro-batches as asked
  StepSeconds asked{};
};

struct ProjectionQuestion {
  JobShape shape{};                   // the job asked about
  const Network* recorded = nullptr;  // links of the recorded job; null: no machine
  const Network* asked = nullptr;     // of the job asked about; null as `recorded` is
  // Without a machine: latencies of the links that the traces' GPUs usually have; may be empty.
  MessageModel usual_latency{};
  std::string usual_machine{};  // their machine
  // The bytes of a data-parallel message in the new job over its bytes in the recorded job.
  double data_bytes = 1;
  double boundary_bytes = 1;  // of a message between stages
  const ExpectedPlans* plans = nullptr;
};

// Results that only the replay has, in seconds of a step.
struct ReplayedChange {
  double recorded = 0;
  double ranks = 0;      // with copies of ranks
  double transfers = 0;  // and other transfers
  double kernels = 0;    // and other kernels
  double passes = 0;     // and another number of micro-batches
  double draws = 0;      // standard deviation over draws of copies
  bool passes_replayed = false;
  // The additional time of the transfers with twice the usual latency, or with a tenth of them as
  // latency where no latency is usual; 0 if the messages show theirs.
  double latency_unknown = 0;
  double beside_unknown = 0;  // and if disturbances never pass during the transfers
  bool links_of_machine = false;
  bool joined_data = false;  // data-parallel collectives are joined over ranks
  StepSeconds busy{};        // recorded kernels by class, of the mean rank
  double expected_data = 0;  // data-parallel transfers on the recorded machine's links; 0: none
  double links_data = 0;     // of the recorded time of these transfers, what is the links'
  Messages notes{};
};

// Uses `in` as long as it runs. `recorded`: the recorded job's degrees. Errors: what the traces
// lack, and what to record or give.
[[nodiscard]] Result<ReplayedChange> replay_change(const WhatIfInputs& in, const JobShape& recorded,
                                                   const ProjectionQuestion& question);

}  // namespace stepscope
