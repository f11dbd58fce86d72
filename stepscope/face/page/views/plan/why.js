// SPDX-License-Identifier: Apache-2.0
// From another plan's step to the fastest one's, term by term.

import {h, note, select} from '../../draw/elements.js';
import {predicted_step_colours} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {bytes, compact, count, known, none, ns, percent, sum} from '../../format/numbers.js';
import {plan_terms} from './terms.js';

// Every plan with figures, once, with its name on the page.
function plans_to_compare(report) {
  const own = report.against.filter((p) => p.terms_ns).map((p) => [p.label, p]);
  const shapes = report.best.slice(1).map((p, i) => [`${i + 2}. ${p.brief}`, p]);
  return [...own, ...shapes];
}

// The reader's own plan is compared with the fastest plan on the same number of devices.
const fastest_rival = (report, p) => (p.label &&
    report.by_devices.find((x) => x.plan.devices === p.plan.devices)) || report.best[0];

// From another plan's step to the fastest one's, term by term: savings and costs.
function difference_fall(report, other) {
  const best = fastest_rival(report, other);
  const gains = plan_terms(other)
      .map((t) => ({...t, gain: t.ns - best.terms_ns[t.name]}))
      .filter((t) => t.gain !== 0)
      .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain));
  // Savings come first, so the bars go down before they go up.
  const ordered = [...gains.filter((t) => t.gain > 0), ...gains.filter((t) => t.gain < 0)];
  const full = Math.max(other.step_time_ns,
    best.step_time_ns + sum(ordered.filter((t) => t.gain > 0).map((t) => t.gain)));
  // Small differences are magnified: the bars then begin near the step's time instead of at 0.
  const least = Math.min(best.step_time_ns, ...ordered.map((_, i) =>
    other.step_time_ns - sum(ordered.slice(0, i + 1).map((x) => x.gain))));
  const cut = least - (full - least) / 2;
  const low = cut > 0.3 * full ? cut : 0;
  const place = (v) => 100 * (v - low) / (full - low);
  const row = (name, label, colour, from, to, tip, shown) =>
      h('div', {class: `fall-row${name === 'all' ? ' end' : ''}`, 'data-gain': name,
        'data-tip': tip},
      h('span', {class: 'what'}, label),
      h('span', {class: 'track', 'aria-hidden': 'true'}, h('span', {
        class: 'fill',
        style: {
          left: `${place(Math.min(from, to))}%`,
          width: `${place(Math.max(from, to)) - place(Math.min(from, to))}%`,
          '--c': `var(--${colour})`
        }
      })),
      h('span', {class: 'percent'}, shown), h('span', {class: 'amount'}, name === 'all' ? '' :
        `of ${ns(other.terms_ns[name])}`));
  let at = other.step_time_ns;
  const whole = (label, p, colour) => row('all', label, colour, low, p.step_time_ns,
    `${label}: ${ns(p.step_time_ns)}`, ns(p.step_time_ns));
  const fall = h('div', {class: 'fall', role: 'group',
    'aria-label': 'From the other plan to the fastest'},
    whole('the other plan', other, 'other'),
    ordered.map((t) => {
      const from = at;
      at -= t.gain;
      const verb = t.gain > 0 ? 'saved' : 'paid';
      return row(t.name, t.label, predicted_step_colours[t.name] || 'other', from, at,
        `${t.label}: ${ns(best.terms_ns[t.name])} instead of ${ns(t.ns)}\n` +
            `${ns(Math.abs(t.gain))} ${verb}`,
        `${t.gain > 0 ? '−' : '+'}${ns(Math.abs(t.gain))}`);
    }),
    whole(report.devices.length > 1 ? `the fastest on ${best.plan.devices}` : 'the fastest', best,
      'strong-rule'));
  return [fall, low > 0 && note(`The bars begin at ${ns(low)}.`)].filter(Boolean);
}

function plan_figures_table(report, rows) {
  const best = report.best[0];
  const name = (r) => r.label || 'the fastest';
  return data_table({
    label: 'Plans side by side',
    rows: [best, ...rows],
    columns: [
      {label: 'Plan', value: name, text: true, class: 'wide'},
      {label: 'Step', value: (r) => r.step_time_ns, show: (r) => ns(r.step_time_ns), share: true},
      figure_column('MFU', 'mfu', percent),
      {label: 'Tokens/s', value: (r) => r.tokens_per_second,
        show: (r) => (r.mfu ? compact(r.tokens_per_second) : none)},
      {label: 'Memory', value: (r) => r.memory_bytes && r.memory_bytes.total,
        show: (r) => (r.memory_bytes ? bytes(r.memory_bytes.total) : none)},
      {label: 'Fits', value: (r) => (r.error ? 'cannot run' : r.fits === false ? 'no' : 'yes'),
        text: true},
      {label: 'Faster plans', value: (r) => (r === best ? 0 : r.faster_plans),
        show: (r) => (r === best ? '0' : !known(r.faster_plans) ? none :
          `${r.faster_plans_complete ? '' : '> '}${count(r.faster_plans)}`),
        tip: 'Plans on as many devices that fit and take less time'}
    ]
  });
}

export function plan_why(report) {
  const plans = report.best.length > 0 ? plans_to_compare(report) : [];
  const own = report.against;
  const state = {plan: 0};
  const box = h('div');
  const draw = () => box.replaceChildren(...difference_fall(report, plans[state.plan][1]));
  const options = plans.map(([label], i) => [i, label]);
  if (plans.length) draw();
  return [
    own.map((p) => h('p', {class: 'own-plan'}, p.sentence)),
    own.length > 0 && report.best.length > 0 && plan_figures_table(report, own),
    plans.length > 0 && h('div', {class: 'tools'}, select('Against', options, 0, (v) => {
      state.plan = Number(v);
      draw();
    })),
    box
  ];
}
