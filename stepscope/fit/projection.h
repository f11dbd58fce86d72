// SPDX-License-Identifier: Apache-2.0
// The step of a job at another scale or under another plan, from its traces. The recorded steps are
// replayed with what the change makes of them, one after the other:
//
//   ranks      more data-parallel ranks: the recorded ranks are copied (copied_replay.h), so a
//              collective waits for the latest of more ranks
//   transfers  messages of other sizes or groups: their time on the links × (time in the new job /
//              time in the recorded job), both by the machine's links; without a machine the whole
//              duration, by the latency and the rate that the traces' own messages show
//   kernels    work of other shapes: duration × (expected in the new plan / expected in the
//   recorded
//              plan), by class of operation. The ratio is the model's, the duration the trace's.
//   passes     more or fewer micro-batches: what belongs to passes takes as much longer as the
//              schedule has more passes, (m + (p - 1) / v) of p stages with v chunks
//   model      what the recorded program does not do at all (other pipeline stages, recomputation,
//              sharding, collectives of a dimension that had one rank): the difference of the two
//              expected steps, class by class, each times measured / expected of the recording
//
// Host time and launches stay as they were recorded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/ranks/job_shape.h"
#include "stepscope/analysis/runs/job.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/base/result.h"
#include "stepscope/fit/replayed_change.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class ProjectedPart : std::uint8_t { ranks, transfers, kernels, passes, model };
inline constexpr auto projected_part_names = enum_names<ProjectedPart::model>;
inline constexpr std::size_t projected_part_count = projected_part_names.size();

// A change of the step and how sure it is.
struct ProjectedChange {
  ProjectedPart part = ProjectedPart::ranks;
  double seconds = 0;    // of a step; negative: it becomes shorter
  double deviation = 0;  // standard deviation of `seconds`
  Message source;        // of the figure
};

// A reason why the step is not known more exactly.
struct ProjectedWidth {
  Message what;
  double seconds = 0;  // standard deviation of the step
};

struct Projection {
  JobShape recorded_shape;
  JobShape shape;
  double recorded = 0;  // seconds of the recorded step, measured
  double step = 0;      // projected
  double low = 0;       // 80 % interval
  double high = 0;
  std::vector<ProjectedChange>
      changes;                        // in the order of ProjectedPart; those that change anything
  std::vector<ProjectedWidth> width;  // largest first
  Messages notes;
};

// The whole answer. `job` has an explanation.
[[nodiscard]] Result<Projection> project_step(const JobResult& job, const JobShape& recorded,
                                              const ProjectionQuestion& question,
                                              const ReplayedChange& replayed);

}  // namespace stepscope
