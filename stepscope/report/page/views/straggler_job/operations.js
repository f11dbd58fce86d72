// SPDX-License-Identifier: Apache-2.0
// The slowdown caused by each group of operations alone.

import {note} from '../../draw/elements.js';
import {data_table, facts} from '../../draw/table.js';
import {known, ns} from '../../format/numbers.js';

function job_groups(label, rows) {
  return data_table({
    label,
    rows,
    limit: 12,
    columns: [
      {label, text: true, value: (g) => g.name},
      {label: 'Slowdown alone', value: (g) => g.s, show: (g) => `${g.s.toFixed(4)} ×`,
        tip: 'The step over the ideal where only these operations last as recorded'}
    ]
  });
}

export function job_operations_section(report) {
  const job = report.straggler_job;
  const r = job.fwd_bwd_correlation;
  return [
    job_groups('Operation', job.by_operation),
    job_groups('Stage', job.by_stage),
    job_groups('DP rank', job.by_dp_rank),
    known(r) && note(`Forward and backward of a microbatch correlate with r = ${r.toFixed(2)}; ` +
      'from 0.9 on sequence lengths differ.'),
    facts(job.without_communication.map((c) =>
      [`Free ${c.kind} communication`, `${c.speedup.toFixed(3)} × faster`, ns(c.step_ns)]))];
}
