// SPDX-License-Identifier: Apache-2.0
// DDP buckets of a rank and step: when each was ready, launched and done.

import {axis} from '../../draw/budget_bars.js';
import {h, note, select} from '../../draw/elements.js';
import {bytes, known, ns} from '../../format/numbers.js';

function bucket_chart(rows) {
  const first = Math.min(...rows.map((b) => b.ready_ns ?? b.launched_ns ?? b.done_ns));
  const full = Math.max(...rows.map((b) => b.done_ns ?? b.launched_ns ?? b.ready_ns)) - first || 1;
  const at = (v) => `${(100 * (v - first)) / full}%`;
  const span = (from, to, hue, what, b) =>
      known(from) && known(to) && to > from && h('i', {
        class: 'fill',
        style: {left: at(from), width: `${(100 * (to - from)) / full}%`, '--c': `var(--${hue})`},
        'data-tip': `bucket ${b.bucket}, ${bytes(b.bytes)}\n${what} ${ns(to - from)}\nexposed ${
            ns(b.exposed_ns)}`
      });
  return [
    h('div', {class: 'bars'},
      rows.map(
          (b) =>
              h('div', {class: 'bar-row'}, h('span', {class: 'label'}, `bucket ${b.bucket}`),
                h('div', {
                  class: 'phase',
                  role: 'img',
                  'aria-label': `bucket ${b.bucket}: exposed ${ns(b.exposed_ns)}`
                },
                  span(b.ready_ns, b.launched_ns, 'idle_sync', 'ready, not launched:', b),
                  span(b.launched_ns, b.done_ns, 'comm_exposed_transfer', 'all-reduce', b)),
                h('span', {class: 'value'}, `${bytes(b.bytes)}, exposed ${ns(b.exposed_ns)}`))),
      h('span'), axis(full), h('span')),
    note('Grey: gradients ready, all-reduce not launched. Orange: launched until done.')
  ];
}

export function buckets_part(report) {
  const all = report.ddp_buckets || [];
  if (!all.length) return null;
  const keys = [...new Set(all.map((b) => `${b.rank}/${b.step}`))];
  const box = h('div');
  const draw = (key) => box.replaceChildren(
      ...bucket_chart(
          all.filter((b) => `${b.rank}/${b.step}` === key).sort((a, b) => a.bucket - b.bucket))
          .filter(Boolean));
  draw(keys[0]);
  return [
    h('h3', null, 'DDP buckets'),
    h('div', {class: 'tools'},
      select(
          'Rank and step', keys.map((k) => [k, `rank ${k.split('/')[0]}, step ${k.split('/')[1]}`]),
          keys[0], draw)),
    box
  ];
}
