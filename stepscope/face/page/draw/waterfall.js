// SPDX-License-Identifier: Apache-2.0
// One row of a waterfall. It begins where the row above it ended and is as wide as its share.

import {h} from './elements.js';
import {money, ns, number, percent, signed} from '../format/numbers.js';

export function fall_row(row, from, kept, account) {
  const low = Math.min(from, from + row.share);
  const width = Math.abs(row.share);
  const t = row.term;
  const shown = row.shown || percent(row.share);
  return h(
      'div', {
        class: `fall-row${kept ? ' end' : ''}`,
        'data-term': row.name,
        'data-tip': `${row.label}: ${shown}, ${ns(row.ns)} a step\n${row.explanation}`
      },
      h('span', {class: 'what'}, row.label),
      h('span', {class: 'track', 'aria-hidden': 'true'}, h('span', {
          class: `fill ${row.pattern || ''}`,
          style: {left: `${100 * low}%`, width: `${100 * width}%`, '--c': `var(--${row.colour})`}
        })),
      h('span', {class: 'percent'}, shown), h('span', {class: 'amount'}, signed(row.ns)),
      account.priced &&
          h('span', {class: 'amount money'},
            account.money ? money(t.money_per_day) : number(t.gpu_hours_per_day)));
}
