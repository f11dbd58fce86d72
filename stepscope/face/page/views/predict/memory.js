// SPDX-License-Identifier: Apache-2.0
// The contents of the fullest device's memory.

import {h, note} from '../../draw/elements.js';
import {predicted_memory_colours} from '../../draw/looks.js';
import {bytes, known, part} from '../../format/numbers.js';
import {keys_of, label_of} from '../../terms.js';

function memory_row({label, name, colour, value, from, what, shown}, full) {
  const place = {left: `${100 * from / full}%`, width: `${100 * value / full}%`};
  return h('div', {class: 'fall-row', 'data-memory': name,
    'data-tip': `${label}: ${bytes(value)}, ${shown}\n${what || ''}`},
  h('span', {class: 'what'}, label),
  h('span', {class: 'track', 'aria-hidden': 'true'},
    h('span', {class: 'fill', style: {...place, '--c': `var(--${colour})`}})),
  h('span', {class: 'percent'}, shown), h('span', {class: 'amount'}, bytes(value)));
}

export function predict_memory(report) {
  const {memory} = report;
  const total = report.memory_bytes.total;
  const capacity = memory.capacity_bytes;
  const full = Math.max(total, capacity || 0);
  let at = 0;
  const rows = [];
  const add = (label, name, colour, value, what) => {
    rows.push({label, name, colour, value, from: at, what, shown: part(value, full)});
    at += value;
  };
  for (const name of keys_of('predicted_memory')) {
    const value = report.memory_bytes[name];
    const colour = predicted_memory_colours[name];
    if (value > 0)
      add(label_of('predicted_memory', name), name, colour, value, memory.formulas[name]);
  }
  if (known(capacity) && capacity > total) add('to spare', 'spare', 'rule', capacity - total);
  if (known(capacity) && capacity < total)
    rows.push({
      label: 'more than there is',
      name: 'lacking',
      colour: 'alarm',
      value: total - capacity,
      from: capacity,
      shown: part(total - capacity, full)
    });
  const elsewhere = [['host memory', memory.host_bytes], ['NVMe', memory.nvme_bytes]]
      .filter(([, v]) => v > 0).map(([where, v]) => `${bytes(v)} in ${where}`);
  const fullest = `Pipeline device ${memory.peak_stage}, the fullest, at its fullest moment` +
      (known(capacity) ? `; a device has ${bytes(capacity)}.` : '.');
  return [h('div', {class: 'fall', role: 'group', 'aria-label': 'Memory of the fullest device'},
    rows.map((r) => memory_row(r, full))),
  note([fullest, ...elsewhere.map((e) => `${e}.`)].join(' '))];
}
