// SPDX-License-Identifier: Apache-2.0
// The ranks' GPUs by logs that were given with the traces: clocks, power, temperature, and what
// limits the clock.

import {note} from '../../../draw/elements.js';
import {data_table} from '../../../draw/table.js';
import {count, known, none, number, percent} from '../../../format/numbers.js';
import {rank_cell} from './bundle_choice.js';

const least_share = 0.005;

// "hw thermal slowdown 93 %": reasons by the time in which they are active. The hardware's slowdown
// says nothing more where one of its two causes is active.
export function reasons_text(reasons) {
  const caused = (reasons.hw_thermal_slowdown || 0) + (reasons.hw_power_brake || 0) >= least_share;
  const active = Object.entries(reasons)
      .filter(([name, share]) => share >= least_share && !(caused && name === 'hw_slowdown'))
      .sort(([, a], [, b]) => b - a)
      .map(([name, share]) => `${name.replaceAll('_', ' ')} ${percent(share)}`);
  if (active.length) return active.join(', ');
  return Object.values(reasons).some(known) ? 'none' : none;
}

const ghz = (mhz) => (known(mhz) ? number(mhz / 1000) : none);
const figure = (label, value, show = number, tip) =>
    ({label, value, show: (r) => (known(value(r)) ? show(value(r)) : none), tip});

const columns = [
  {label: 'Rank', value: (r) => r.rank, show: rank_cell},
  figure('SM clock, GHz', (r) => r.whole.sm_clock_mhz.mean, ghz, 'Mean over the steps'),
  figure('Least', (r) => r.whole.sm_clock_mhz.min, ghz, 'Of a single reading'),
  figure('Maximum', (r) => r.max_sm_clock_mhz, ghz, 'That the GPU allows'),
  figure('Power, W', (r) => r.whole.power_watts.mean),
  figure('Limit, W', (r) => r.power_limit_watts),
  figure('Temperature, °C', (r) => r.whole.temperature_celsius.mean),
  figure('Tensor cores', (r) => r.whole.tensor_active, percent, 'Share of cycles, by DCGM'),
  figure('DRAM', (r) => r.whole.dram_active, percent, 'Share of cycles, by DCGM'),
  figure('Readings', (r) => r.whole.readings, count),
  {label: 'What limits the clock', text: true, value: (r) => reasons_text(r.whole.reasons)}
];

export function gpus_section(report) {
  const {logs, ranks} = report.gpu_readings;
  const problems = logs.filter((log) => log.problem);
  return [
    ranks.length > 0 && data_table({label: 'GPU of every rank', rows: ranks, limit: 16, columns}),
    ranks.length > 0 &&
        note('Means over the steps, weighted with the time that readings stand for.'),
    problems.map((log) => note(`${log.path}: ${log.problem}`))
  ];
}
