// SPDX-License-Identifier: Apache-2.0
// What each stage of the job's pipeline idles, and why.

import {bubble_row, bubble_view} from '../analyze/pipeline.js';

export function job_pipeline_section(report) {
  const pipeline = report.straggler_job.pipeline;
  return bubble_view(pipeline, pipeline.by_stage.map((r) => bubble_row(r, pipeline.steps)));
}
