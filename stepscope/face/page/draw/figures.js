// SPDX-License-Identifier: Apache-2.0
// The head of a page: key figures and remarks.

import {h} from './elements.js';
import {plural} from '../format/names.js';

export const figures = (rows) => h('dl', {class: 'figures'},
  rows.map(([label, value, remark]) => h('div', null, h('dt', null, label),
    h('dd', null, value, remark && h('small', null, remark)))));

export const remarks = (warnings, on) => warnings.length > 0 &&
    h('details', {class: 'notes', open: warnings.length <= 3},
      h('summary', null, `${plural(warnings.length, 'remark')} on ${on}`),
      h('ul', null, warnings.map((w) => h('li', null, w))));
