// SPDX-License-Identifier: Apache-2.0
// Rows of ranks, those of ranks that behave alike together or each on its own.

import {choice, h, note} from '../../../draw/elements.js';
import {ranks_text} from '../../../format/names.js';
import {alike_note, bundled_rows, bundles_of_report} from './alike.js';

// The cell of a row of one rank or of several.
export function rank_cell(r) {
  if (!r.ranks || r.ranks.length < 2) return String(r.rank);
  const text = ranks_text(r.ranks, 3).replace(/^ranks /, '');
  return h('span', {'data-tip': ranks_text(r.ranks, 60)}, text);
}

// draw(rows) with a choice between the two, if any ranks share a row. `how` as in bundled_rows.
export function bundles_or_ranks(report, rows, draw, how) {
  const alike = bundles_of_report(report);
  const together = bundled_rows(rows, alike.bundles, how);
  if (together.length === rows.length) return draw(rows);
  const box = h('div');
  const show = (key) => box.replaceChildren(
    ...[draw(key === 'each' ? rows : together)].flat(Infinity).filter(Boolean));
  show('alike');
  return [
    h('div', {class: 'tools'}, choice('Rows', [['alike', 'Alike ranks together'],
      ['each', 'Each rank']], 'alike', show)),
    box, note(alike_note(alike))];
}
