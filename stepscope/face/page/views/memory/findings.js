// SPDX-License-Identifier: Apache-2.0
// What to try.

import {h, note} from '../../draw/elements.js';
import {by_device} from './devices.js';

export const snapshot_findings = (report) => by_device(report, (d) => (d.findings.length ?
  h('ol', {class: 'findings'}, d.findings.map((f) => h('li', {'data-finding': f.id},
    h('p', null, h('b', null, f.sentence)), f.advice && h('p', null, f.advice)))) :
  note('Nothing stands out.')));
