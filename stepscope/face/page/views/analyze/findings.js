// SPDX-License-Identifier: Apache-2.0
// What to try: faults, opportunities and bounds, each with its evidence and place.

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

const sorts = [
  {
    sort: 'fault',
    title: 'Faults',
    lede: 'Wrong compared with peers, sibling groups, other steps or the machine.'
  },
  {sort: 'opportunity', title: 'Opportunities', lede: 'What a known change would buy.'},
  {
    sort: 'bound',
    title: 'Bounds',
    lede: 'What free communication or a free host would buy: no change reaches it.'
  },
  {
    sort: 'no_gain',
    title: 'Without a gain of its own',
    lede: 'What the answer rests on, or what to watch.'
  }
];

// The part of the list that a finding stands in: an opportunity without a gain buys nothing.
const part_of = (f) => (f.sort && f.sort !== 'opportunity' ? f.sort :
  known(f.gain_ns) ? 'opportunity' : 'no_gain');

// `same`: the findings under it, which recover the same time.
function finding_item(f, same, step) {
  const places = f.places || [];
  const data = {'data-id': f.id, 'data-key': f.key, 'data-confidence': f.confidence};
  return h('li', {class: 'finding', id: `finding-${f.key}`, ...data},
    h('p', {class: 'finding-head'}, h('strong', null, f.what),
      known(f.gain_ns) && gain_bar(f, step)),
    f.evidence.length > 0 && h('ul', {class: 'evidence'},
      f.evidence.map((e, i) => h('li', null, e,
        i === 0 && f.place && f.place.ns > 0 &&
          [' ', timeline_link(f.place.rank, f.place.start_ns, f.place.ns)]))),
    !f.place && places.length > 0 && h('p', {class: 'evidence'}, 'On the timeline: ',
      timeline_link(places[0].rank, places[0].start_ns, places[0].ns)),
    h('p', {class: 'advice'}, '→ ', f.advice, '.'),
    same.map((u) => h('p', {class: 'same-time', id: `finding-${u.key}`}, 'The same time: ', u.what,
      known(u.gain_ns) && ` (${ns(u.gain_ns)})`, '.')));
}

function findings_list(of_sort, all, step) {
  return h('ol', {class: 'findings'}, of_sort.map((f) =>
    finding_item(f, all.filter((u) => u.under === f.key), step)));
}

export function findings_section(report) {
  const list = report.findings;
  if (!list.length)
    return missing(report.explanation && !report.explanation.refused ?
      'No finding has a gain of a hundredth of a step.' :
      'What a change would save is not known; the remarks on these traces say what to record.');
  const step = report.explanation ? report.explanation.baseline_ns : report.job.step_mean_ns;
  return h('div', null, sorts.map(({sort, title, lede}) => {
    const of_sort = list.filter((f) => part_of(f) === sort && !f.under);
    return of_sort.length > 0 && h('div', {class: 'findings-of-sort', 'data-sort': sort},
      h('h3', null, title, ' ', h('small', null, lede)), findings_list(of_sort, list, step));
  }));
}
