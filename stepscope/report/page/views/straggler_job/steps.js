// SPDX-License-Identifier: Apache-2.0
// Every step of the job.

import {data_table} from '../../draw/table.js';
import {ns, ratio} from '../../format/numbers.js';

export function job_steps_section(report) {
  const time = (label, key) => ({label, value: (x) => x[key], show: (x) => ns(x[key])});
  return data_table({
    label: 'Steps',
    rows: report.straggler_job.steps,
    limit: 12,
    columns: [
      {label: 'Step', value: (x) => x.step, show: (x) => String(x.step)},
      time('Measured', 'measured_ns'), time('Without launch delays', 'replayed_ns'),
      time('Ideal', 'ideal_ns'), {label: 'S', value: (x) => x.s, show: (x) => ratio(x.s)}
    ]
  });
}
