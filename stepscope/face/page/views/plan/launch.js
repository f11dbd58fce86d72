// SPDX-License-Identifier: Apache-2.0
// The fastest plan as each framework's flags.

import {h} from '../../draw/elements.js';

export function plan_launch(report) {
  return report.flags.map((f, i) => h('details', {class: 'launch', open: i === 0},
    h('summary', null, f.framework), h('pre', {tabindex: 0, 'aria-label': f.framework}, f.text),
    f.not_expressed.length > 0 && h('div', {class: 'notes'}, h('p', null, 'Not expressed there:'),
      h('ul', null, f.not_expressed.map((x) => h('li', null, x))))));
}
