// SPDX-License-Identifier: Apache-2.0
// What to try first, with its evidence and place.

import {h, missing} from '../../draw/elements.js';
import {timeline_link} from '../../draw/timeline_link.js';
import {known, ns, percent} from '../../format/numbers.js';
import {label_of} from '../../terms.js';

// The gain as a part of the step.
function gain_bar(f, step) {
  const share = step > 0 ? f.gain_ns / step : 0;
  return h('span', {class: 'gain', 'data-tip': `From: ${f.gain_from || 'no time of its own'}`},
    h('b', null, ns(f.gain_ns)),
    ` ${percent(share)} of a step, ${label_of('confidence', f.confidence)}`,
    h('span', {class: 'gain-track', 'aria-hidden': 'true'},
      h('span', {class: 'gain-fill', style: {width: `${Math.min(100, 100 * share)}%`}})));
}

function finding_item(f, step) {
  return h('li', {class: 'finding', 'data-id': f.id, 'data-confidence': f.confidence},
    h('p', {class: 'finding-head'}, h('strong', null, f.what),
      known(f.gain_ns) && gain_bar(f, step)),
    f.evidence.length > 0 && h('ul', {class: 'evidence'},
      f.evidence.map((e, i) => h('li', null, e,
        i === 0 && f.place && f.place.ns > 0 &&
          [' ', timeline_link(f.place.rank, f.place.start_ns, f.place.ns)]))),
    h('p', {class: 'advice'}, '→ ', f.advice, '.'));
}

export function findings_section(report) {
  const list = report.findings;
  if (!list.length)
    return missing('Nothing that was looked for costs a hundredth of a step.');
  const step = report.explanation ? report.explanation.baseline_ns : report.job.step_mean_ns;
  return h('ol', {class: 'findings'}, list.map((f) => finding_item(f, step)));
}
