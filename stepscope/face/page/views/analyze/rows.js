// SPDX-License-Identifier: Apache-2.0
// Adds up rows of several ranks with the same key, and defines the shared columns of their tables.

import {known, ns, number, percent, sum} from '../../format/numbers.js';
import {label_of} from '../../terms.js';

const added = ['count', 'calls', 'total_ns', 'device_ns', 'host_self_ns', 'flops', 'bytes'];
const weighted = ['tflops', 'gb_per_s', 'peak_share', 'bandwidth_share'];

// Adds row `r` to `m`. Rates are means weighted by time; `time` is the sum of the rows added so
// far.
function merge_row(m, r, time, so_far) {
  for (const name of weighted) {
    const both = known(m[name]) && known(r[name]);
    if (both) m[name] = (m[name] * so_far + r[name] * r[time]) / (so_far + r[time] || 1);
    else m[name] = m[name] ?? r[name];
  }
  for (const name of added) if (known(m[name]) && known(r[name])) m[name] += r[name];
  if (known(r.min_ns)) m.min_ns = Math.min(m.min_ns ?? r.min_ns, r.min_ns);
  if (known(r.max_ns)) m.max_ns = Math.max(m.max_ns ?? r.max_ns, r.max_ns);
}

// Adds up rows of several ranks with the same key.
export function merged(rows, key_of, time) {
  const out = new Map();
  for (const r of rows) {
    const key = key_of(r);
    const m = out.get(key);
    if (m) merge_row(m, r, time, m[time] || 0);
    else out.set(key, {...r});
  }
  const list = [...out.values()];
  const whole = sum(list.map((m) => m[time]));
  for (const m of list) {
    m.share = whole > 0 ? (m[time] || 0) / whole : 0;
    m.mean_ns = (m[time] || 0) / (m.count || m.calls || 1);
  }
  return list;
}

export function over(ranks, key, key_of, time) {
  return ranks.length === 1 ? ranks[0][key] || [] :
      merged(ranks.flatMap((r) => r[key] || []), key_of, time);
}

export const class_hue = (r) => r.class;
export const class_label = (r) => label_of('kernel_class', r.class);

export const time_column = (label, key) =>
    ({label, value: (r) => r[key], show: (r) => ns(r[key])});

export const rate_columns = [
  {label: 'TFLOP/s', optional: true, value: (r) => r.tflops, show: (r) => number(r.tflops)},
  {label: 'GB/s', optional: true, value: (r) => r.gb_per_s, show: (r) => number(r.gb_per_s)},
];

export const share_column = {
  label: 'Share', share: true, hue: class_hue, value: (r) => r.share, show: (r) => percent(r.share),
};
