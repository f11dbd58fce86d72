// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/pipeline_schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace stepscope {

std::string_view words_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return "GPipe";
    case PipelineSchedule::one_f_one_b:
      return "1F1B";
    case PipelineSchedule::interleaved:
      return "interleaved";
    case PipelineSchedule::unknown:
      break;
  }
  return "unknown order";
}

PipelineSchedule recognise_schedule(int stages, int micro_batches, int chunks,
                                    std::span<const StageWarmUp> stages_seen) {
  if (stages_seen.empty()) return PipelineSchedule::unknown;
  int all_first = 0;  // distance from GPipe
  int in_turn = 0;    // distance from 1F1B, interleaved if there are chunks
  const int passes = micro_batches * chunks;
  for (const StageWarmUp& w : stages_seen) {
    const int behind = stages - 1 - w.stage;
    const int warm_up = chunks == 1 ? behind + 1 : 2 * behind + (chunks - 1) * stages + 1;
    all_first += std::abs(w.forwards - passes);
    in_turn += std::abs(w.forwards - std::min(passes, warm_up));
  }
  if (std::min(all_first, in_turn) > std::ssize(stages_seen)) return PipelineSchedule::unknown;
  if (all_first <= in_turn) return PipelineSchedule::gpipe;
  return chunks == 1 ? PipelineSchedule::one_f_one_b : PipelineSchedule::interleaved;
}

Ns bubble_by_schedule(int stages, int passes, Ns work) {
  const double share = static_cast<double>(stages - 1) / static_cast<double>(passes);
  return Ns{std::llround(share * static_cast<double>(work.count()))};
}

}  // namespace stepscope
