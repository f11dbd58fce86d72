// SPDX-License-Identifier: Apache-2.0
// Stacked bars of the budget's categories with their legend.

import {chosen} from './chosen.js';
import {h, swatch} from './elements.js';
import {categories} from './looks.js';
import {ns, part, percent, round, sum, ticks} from '../format/numbers.js';

export function mean_budget(budgets) {
  const out = {};
  for (const c of categories())
    out[c.key] = sum(budgets.map((b) => b[c.key])) / Math.max(1, budgets.length);
  return out;
}

export const total_of = (budget) => sum(categories().map((c) => budget[c.key] || 0));
export const visible = () => categories().filter((c) => !chosen.hidden.has(c.key));

export function spoken(budget, total) {
  return categories().filter((c) => budget[c.key] / total >= 0.005)
      .map((c) => `${c.label} ${percent(budget[c.key] / total)}`)
      .join(', ');
}

// A line that is left out where it does not fit, and is never cut (.fitting in charts.css).
const fitting = (tag, text) => h(tag, {class: 'fitting'}, h('span', null, text));

// One stacked bar; `full` nanoseconds fill the width.
export function stack(budget, full, name, tall) {
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
              `${name}\n${c.label}: ${ns(budget[c.key])}, ${part(budget[c.key], total)}\n` +
                  c.explanation,
        },
        tall && width > 5 &&
            h('span', null, fitting('b', part(budget[c.key], total)), fitting('i', c.brief)));
  });
  return h(
      'div', {
        class: `stack${tall ? ' tall' : ''}`,
        role: 'img',
        'aria-label': `${name}: ${ns(total)}; ${spoken(budget, total)}`
      },
      parts);
}

// The legend shows sums and filters: a click removes a category from every bar.
export function budget_legend(budget) {
  const there = categories().filter((c) => budget[c.key] > 0);
  const total = total_of(budget);
  const items = there.map(
                        (c) =>
                            h('button', {
                              type: 'button',
                              'aria-pressed': String(!chosen.hidden.has(c.key)),
                              'data-category': c.key,
                              'data-tip': `${c.explanation}\nClick to hide or show.`,
                              on: {click: () => toggle(c.key)},
                            },
                              swatch(c.key, c.pattern), c.label,
                              h('span', {class: 'amount'}, part(budget[c.key], total))));
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

export function axis(full) {
  const marks = ticks(0, full, 6).filter((t) => t < full * 0.97);
  return h(
      'div', {class: 'axis', 'aria-hidden': 'true'},
      marks.map(
          (t) => h('span', {style: {left: `${(100 * t) / full}%`}}, t === 0 ? '0' : round(ns(t)))));
}
