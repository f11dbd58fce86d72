// SPDX-License-Identifier: Apache-2.0
// Stacked bars of the budget's categories with their legend, and the rank that all sections look
// at.

// What the reader has chosen; sections that depend on it watch it.
const chosen = {
  rank: 'all',
  hidden: new Set(),
  watchers: new Set(),
  set(change) {
    Object.assign(chosen, change);
    for (const f of chosen.watchers) f();
  },
};

// A block that is drawn again whenever the choice changes.
function live(draw) {
  const box = h('div');
  const again = () => box.replaceChildren(...[draw()].flat(Infinity).filter(Boolean));
  chosen.watchers.add(again);
  again();
  return box;
}

const rank_label = (r) => `rank ${r.rank}`;
const rank_of_choice = (ranks) => ranks.find((r) => String(r.rank) === String(chosen.rank));

// A block about one rank or, where `all` names how, about all of them: draw(ranks, is_all).
function by_rank(ranks, all, draw) {
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

function mean_budget(budgets) {
  const out = {};
  for (const c of categories)
    out[c.key] = sum(budgets.map((b) => b[c.key])) / Math.max(1, budgets.length);
  return out;
}
const total_of = (budget) => sum(categories.map((c) => budget[c.key] || 0));
const visible = () => categories.filter((c) => !chosen.hidden.has(c.key));

function spoken(budget, total) {
  return categories.filter((c) => budget[c.key] / total >= 0.005)
      .map((c) => `${c.label} ${percent(budget[c.key] / total)}`)
      .join(', ');
}

// One stacked bar on a scale where `full` nanoseconds fill the width.
function stack(budget, full, name, tall) {
  const total = total_of(budget);
  const parts = visible().filter((c) => budget[c.key] > 0).map((c) => {
    const width = (100 * budget[c.key]) / full;
    return h(
        'div', {
          class: `fill ${c.pattern || ''} ${c.light ? 'on-light' : ''}`,
          style: {width: `${width}%`, '--c': `var(--${c.key})`},
          'data-category': c.key,
          'data-ns': Math.round(budget[c.key]),
          'data-tip':
              `${name}\n${c.label}: ${ns(budget[c.key])}, ${part(budget[c.key], total)}\n${c.what}`,
        },
        tall && width > 5 &&
            h('span', null, h('b', null, percent(budget[c.key] / total)), c.short));
  });
  return h(
      'div', {
        class: `stack${tall ? ' tall' : ''}`,
        role: 'img',
        'aria-label': `${name}: ${ns(total)}; ${spoken(budget, total)}`
      },
      parts);
}

// The legend counts and filters: a click leaves a category out of every bar.
function budget_legend(budget) {
  const total = total_of(budget);
  const items = categories.filter((c) => budget[c.key] > 0)
                    .map(
                        (c) =>
                            h('button', {
                              type: 'button',
                              'aria-pressed': String(!chosen.hidden.has(c.key)),
                              'data-category': c.key,
                              'data-tip': `${c.what}\nClick to hide or show.`,
                              on: {click: () => toggle(c.key)},
                            },
                              swatch(c.key, c.pattern), c.label,
                              h('span', {class: 'amount'}, percent(budget[c.key] / total))));
  if (chosen.hidden.size) {
    items.push(
        h('button', {
          type: 'button',
          on: {
            click: () => {
              chosen.hidden.clear();
              chosen.set({});
            }
          }
        },
          'Show all'));
  }
  return h('div', {class: 'legend', role: 'group', 'aria-label': 'Categories'}, items);
}
function toggle(key) {
  if (!chosen.hidden.delete(key)) chosen.hidden.add(key);
  chosen.set({});
  const button = document.querySelector(`.legend button[data-category="${key}"]`);
  if (button) button.focus({preventScroll: true});
}

function axis(full) {
  const marks = ticks(0, full, 6).filter((t) => t < full * 0.97);
  return h(
      'div', {class: 'axis', 'aria-hidden': 'true'},
      marks.map(
          (t) => h('span', {style: {left: `${(100 * t) / full}%`}}, t === 0 ? '0' : round(ns(t)))));
}
