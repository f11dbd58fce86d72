// SPDX-License-Identifier: Apache-2.0
// The timeline with its buttons, its search and its legend.

import {redraws} from '../../draw/colour.js';
import {h, missing, note, swatch} from '../../draw/elements.js';
import {TimelineView} from '../../draw/timeline.js';
import {attend_keys, attend_pointer, attend_wheel} from '../../draw/timeline_input.js';
import {timeline_goto} from '../../draw/timeline_link.js';
import {kernel_name} from '../../format/names.js';
import {keys_of, label_of} from '../../terms.js';

export function timeline_section(report, tips) {
  const {timeline} = report;
  const tracks = timeline && timeline.tracks ? timeline.tracks.filter((t) => t.rows.length) : [];
  if (!tracks.length)
    return missing(
        'This report carries no timeline: it was written without one, or no operation was found.');
  const view = new TimelineView({...timeline, tracks}, (name) => kernel_name(report, name));
  attend_keys(view);
  attend_wheel(view);
  attend_pointer(view, tips);
  const status = h('span', {role: 'status'});
  const search = h('input', {
    type: 'search',
    placeholder: 'Highlight operations by name',
    'aria-label': 'Highlight operations by name',
    on: {
      input: () => {
        status.textContent = view.search(search.value);
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
  const kinds = keys_of('kernel_class').filter(
      (c) => tracks.some((t) => t.rows.slice(0, 4000).some((r) => r[2] === c)));
  return [
    h('div', {class: 'tools'}, button('−', () => view.zoom(1.6), 'Zoom out'),
      button('+', () => view.zoom(0.6), 'Zoom in'), button('Show everything', () => view.fit()),
      button('Unfold ranks', () => view.fold(true)), button('Fold ranks', () => view.fold(false)),
      search, status),
    view.box,
    view.info,
    h('div', {class: 'legend'}, kinds.map((c) =>
      h('span', {class: 'plain'}, swatch(c), label_of('kernel_class', c)))),
    timeline.truncated &&
        note(
            'Close neighbours were merged to keep this file small; every other figure counts ' +
            'all events.'),
    !report.job.clocks_comparable && report.ranks.length > 1 &&
        note('Clocks are not comparable: each rank begins at its own zero.'),
  ];
}
