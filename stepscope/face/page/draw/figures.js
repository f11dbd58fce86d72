// SPDX-License-Identifier: Apache-2.0
// The head of a page: key figures and remarks.

import {h} from './elements.js';
import {plural} from '../format/names.js';
import {ns} from '../format/numbers.js';

export const figures = (rows) => h('dl', {class: 'figures'},
  rows.map(([label, value, remark]) => h('div', null, h('dt', null, label),
    h('dd', null, value, remark && h('small', null, remark)))));

// "80 %: 478 ms to 658 ms", of a predicted time with its interval.
export const interval_words = (i) => i &&
    `${Math.round(100 * i.coverage)}\u202f%: ${ns(i.low)} to ${ns(i.high)}`;

export const remarks = (warnings, on) => warnings.length > 0 &&
    h('details', {class: 'notes', open: warnings.length <= 3},
      h('summary', null, `${plural(warnings.length, 'remark')} on ${on}`),
      h('ul', null, warnings.map((w) => h('li', null, w))));
