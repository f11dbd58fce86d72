// SPDX-License-Identifier: Apache-2.0
// The idle time of each pipeline stage, and its causes.

import {bubble_row, bubble_view} from '../analyze/pipeline.js';

export function job_pipeline_section(report) {
  const pipeline = report.straggler_job.pipeline;
  return bubble_view(pipeline, pipeline.by_stage.map((r) => bubble_row(r, pipeline.steps)));
}
