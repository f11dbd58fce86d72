// SPDX-License-Identifier: Apache-2.0
// How the fastest plan's step changes on another machine.

import {h, note} from '../../draw/elements.js';
import {data_table} from '../../draw/table.js';
import {known, ns} from '../../format/numbers.js';

export function plan_sensitivity(report) {
  const step = report.best[0].step_time_ns;
  const factors = [...new Set(report.sensitivity.map((x) => x.factor))];
  const rows = [...new Set(report.sensitivity.map((x) => x.what))].map((what) => ({
    what,
    at: new Map(report.sensitivity.filter((x) => x.what === what).map((x) => [x.factor, x]))
  }));
  const change = (x) => {
    if (!known(x.step_time_ns)) return 'nothing fits';
    const p = (x.step_time_ns / step - 1) * 100;
    const text = Math.abs(p) < 0.05 ? '0' : `${p > 0 ? '+' : '−'}${Math.abs(p).toFixed(1)}`;
    return h('span', {'data-tip': `${ns(x.step_time_ns)} a step${
      x.other ? `, by another plan:\n${x.other}` : ''}`}, `${text}\u202f%${x.other ? '*' : ''}`);
  };
  const others = report.sensitivity.filter((x) => x.other);
  return [
    data_table({
      label: 'Change of the step',
      rows,
      columns: [
        {label: 'If it had', value: (r) => r.what, text: true},
        ...factors.map((f) => ({
          label: `× ${f}`,
          value: (r) => r.at.get(f).step_time_ns,
          show: (r) => change(r.at.get(f))
        }))
      ]
    }),
    others.length > 0 && note('* Another plan would win: ', others.map((x) =>
      `${x.what} × ${x.factor}: ${x.other}`).join('; '), '.')
  ];
}
