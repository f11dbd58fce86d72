// SPDX-License-Identifier: Apache-2.0
// The chosen rank of all sections, and the blocks that follow the choice.

import {h, select} from './elements.js';

// The reader's choice. Sections that depend on it watch it.
export const chosen = {
  rank: 'all',
  hidden: new Set(),
  watchers: new Set(),
  set(change) {
    Object.assign(chosen, change);
    for (const f of chosen.watchers) f();
  },
};

// A block that is redrawn whenever the choice changes.
export function live(draw) {
  const box = h('div');
  const again = () => box.replaceChildren(...[draw()].flat(Infinity).filter(Boolean));
  chosen.watchers.add(again);
  again();
  return box;
}

export const rank_label = (r) => `rank ${r.rank}`;
export const rank_of_choice = (ranks) => ranks.find((r) => String(r.rank) === String(chosen.rank));

// A block about one rank, or about all ranks if `all` names that choice: draw(ranks, is_all).
export function by_rank(ranks, all, draw) {
  if (!ranks.length) return null;
  return live(() => {
    const one = rank_of_choice(ranks) || (all && ranks.length > 1 ? null : ranks[0]);
    const options = ranks.map((r) => [r.rank, `${r.rank}`]);
    if (all) options.unshift(['all', all]);
    const tools = ranks.length > 1 &&
        h('div', {class: 'tools'},
          select('Rank', options, one ? one.rank : 'all', (v) => chosen.set({rank: v})));
    return [tools, draw(one ? [one] : ranks, !one)];
  });
}
