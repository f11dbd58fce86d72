// SPDX-License-Identifier: Apache-2.0
// The timeline with its buttons, its search and its legend.

import {redraws} from '../../draw/colour.js';
import {h, missing, note, select, swatch} from '../../draw/elements.js';
import {TimelineView} from '../../draw/timeline.js';
import {attend_keys, attend_pointer, attend_wheel} from '../../draw/timeline_input.js';
import {timeline_goto} from '../../draw/timeline_link.js';
import {kernel_name} from '../../format/names.js';
import {keys_of, label_of} from '../../terms.js';
import {alike_note, bundles_of_report} from './job/alike.js';
import {first_marks, marks_of_findings, show_finding} from './job/marks.js';

const shortened = (text, most) => (
  text.length > most ? `${text.slice(0, most - 1)}…` : text);

export function timeline_section(report, tips) {
  const {timeline} = report;
  const tracks = timeline && timeline.tracks ? timeline.tracks.filter((t) => t.rows.length) : [];
  if (!tracks.length)
    return missing(
        'This report carries no timeline: it was written without one, or no operation was found.');
  const alike = bundles_of_report(report);
  const marks = marks_of_findings(report);
  const view = new TimelineView({...timeline, tracks}, {
    short: (name) => kernel_name(report, name),
    bundles: alike.bundles,
    marks,
    open_mark: (mark) => show_finding(mark.key)
  });
  const status = h('span', {role: 'status'});
  view.told = () => {
    status.textContent = view.found_text();
  };
  attend_keys(view);
  attend_wheel(view);
  attend_pointer(view, tips);
  const search = h('input', {
    type: 'search',
    placeholder: 'Find operations by name',
    'aria-label': 'Find operations by name',
    on: {
      input: () => view.search(search.value),
      keydown: (e) => {
        if (e.key === 'Enter') view.step_match(e.shiftKey ? -1 : 1);
      }
    }
  });
  const button = (label, act, aria) =>
      h('button', {
        type: 'button',
        'aria-label': aria || label,
        on: {
          click: () => {
            act();
            view.draw_soon();
          }
        }
      },
        label);
  timeline_goto.go = (rank, start, wall) => view.go(rank, start, wall);
  redraws.add(() => {
    view.printing = document.documentElement.dataset.printing === '';
    view.layout();
    if (view.printing) view.draw();
  });
  const named = first_marks(marks);
  const kinds = keys_of('kernel_class').filter(
      (c) => tracks.some((t) => t.rows.slice(0, 4000).some((r) => r[2] === c)));
  return [
    h('div', {class: 'tools'}, button('−', () => view.zoom(1.6), 'Zoom out'),
      button('+', () => view.zoom(0.6), 'Zoom in'), button('Show everything', () => view.fit()),
      button('Unfold ranks', () => view.fold(true)), button('Fold ranks', () => view.fold(false)),
      search, button('Previous', () => view.step_match(-1), 'Previous match'),
      button('Next', () => view.step_match(1), 'Next match'), status),
    named.length > 0 && h('div', {class: 'tools'}, select('Findings on the timeline',
      [['', 'go to …'], ...named.map((f, i) => [i, shortened(f.what, 80)])], '', (i) => {
        if (i !== '') timeline_goto.go(named[i].rank, named[i].start_ns, named[i].ns);
      })),
    view.box,
    view.info,
    h('div', {class: 'legend'}, kinds.map((c) =>
      h('span', {class: 'plain'}, swatch(c), label_of('kernel_class', c))),
    named.length > 0 && h('span', {class: 'plain'}, h('i', {class: 'mark-key'}),
      'above a rank: named by a finding; click it to read')),
    alike_note(alike) && note('Ranks that behave alike share a lane, which shows one of them. ' +
      'A click on it shows all.'),
    timeline.truncated &&
        note(
            'Close neighbours were merged to keep this file small; every other figure counts ' +
            'all events.'),
    !report.job.clocks_comparable && report.ranks.length > 1 &&
        note('Clocks are not comparable: each rank begins at its own zero.'),
  ];
}
