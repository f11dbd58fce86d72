// SPDX-License-Identifier: Apache-2.0
// Where the step goes: the account from 100 % down.

import {total_of} from '../../draw/budget_bars.js';
import {h, missing, note} from '../../draw/elements.js';
import {categories, look_of_term} from '../../draw/looks.js';
import {fall_row} from '../../draw/waterfall.js';
import {capitalised} from '../../format/names.js';
import {flops, known, ns, percent, sum} from '../../format/numbers.js';
import {record} from './record.js';

// Rows of the account: {label, colour, pattern, what, ns, share, term}.
export function account_of(report) {
  const {mfu, job} = report;
  if (mfu && mfu.terms && mfu.terms.length) {
    const rows = mfu.terms.map(
        (t) => ({
          ...look_of_term(t.name), name: t.name, ns: t.ns, share: t.percent / 100, term: t
        }));
    const end = ['mfu', 'executed_at_peak', 'compute_unattributed']
                    .map((name) => rows.find((r) => r.name === name))
                    .find(Boolean);
    return {
      top: mfu.mfu === null || mfu.mfu === undefined ? 'the mean step' : 'the peak of the device',
      whole: mfu.step_ns,
      rows,
      kept: [end].filter(Boolean),
      // A day of one step is no day of this job.
      priced: rows.some((r) => known(r.term.money_per_day)) ||
          (job.steps || []).length > 1 && rows.some((r) => known(r.term.gpu_hours_per_day)),
      money: rows.some((r) => known(r.term.money_per_day))
    };
  }
  const whole = total_of(job.budget_ns || {});
  if (!(whole > 0)) return null;
  const a_day = job.budget_per_day || {};
  const rows = categories().map((c) => ({
                                label: c.label,
                                colour: c.key,
                                pattern: c.pattern,
                                explanation: c.explanation,
                                name: c.key,
                                ns: job.budget_ns[c.key] || 0,
                                share: (job.budget_ns[c.key] || 0) / whole,
                                term: a_day[c.key] || {}
                              }));
  return {
    top: 'the mean step',
    whole,
    rows,
    kept: [rows[1], rows[0]].filter((r) => r.ns > 0),
    priced: rows.some((r) => known(r.term.gpu_hours_per_day)),
    money: rows.some((r) => known(r.term.money_per_day))
  };
}

function waterfall(report) {
  const account = account_of(report);
  if (!account)
    return missing(
        'No step or window could be measured, so there is nothing to account for. ', record.steps);
  const unexplained = (r) => (['idle_unexplained', 'not_recorded'].includes(r.name) ? 1 : 0);
  const losses = account.rows.filter((r) => !account.kept.includes(r) && r.ns !== 0)
                     .sort((a, b) => unexplained(a) - unexplained(b) || b.ns - a.ns);
  let at = 1;
  const ends = new Set(account.kept);
  const order = [...losses, ...account.kept];
  const rows = order.map((row) => fall_row(row, (at -= row.share), ends.has(row), account));
  const head = account.priced &&
      h('div', {class: 'fall-row'}, h('span', {class: 'fall-head'}), h('span'), h('span'),
        h('span', {class: 'fall-head amount'}, 'a step'),
        h('span', {class: 'fall-head amount money'},
          account.money ? 'money a day' : 'GPU-hours a day'));
  const top = fall_row(
      {
        name: 'all',
        label: `${account.top}`,
        explanation: 'All of it.',
        colour: 'strong-rule',
        ns: account.whole,
        share: 1,
        term: {
          gpu_hours_per_day: sum(account.rows.map((r) => r.term && r.term.gpu_hours_per_day)),
          money_per_day: sum(account.rows.map((r) => r.term && r.term.money_per_day))
        }
      },
      0, false, account);
  return h(
      'div', {
        class: `fall${account.priced ? ' priced' : ''}`,
        role: 'group',
        'aria-label': 'From 100 % down'
      },
      head, top, rows);
}

// The reason for an absent MFU: the report's reason, else the inputs that it needs.
function without_mfu(report) {
  const said = report.warnings.find((w) => w.startsWith('no MFU'));
  return note(said ? capitalised(said) : record.model);
}

function mfu_facts(mfu) {
  const others = (mfu.conventions || []).filter((c) => c.name !== mfu.convention);
  const source = mfu.peak_source ? ` (${mfu.peak_source})` : '';
  const model =
      known(mfu.model_flops_per_step) ? `Model ${flops(mfu.model_flops_per_step)} a step` : '';
  const executed =
      known(mfu.executed_flops_per_step) &&
      `Executed ${flops(mfu.executed_flops_per_step)} a step`;
  return note([
    mfu.convention && `Counted: ${mfu.convention}.`,
    known(mfu.peak_flops) && `Peak ${flops(mfu.peak_flops)}/s${source}.`,
    model && `${model}.`,
    executed && `${executed}.`,
    !model && record.model,
    mfu.contention_ns > 0 && `Of the loss below peak, ${ns(mfu.contention_ns)} a step is ` +
        'communication slowing matrix products down.',
    ...others.map((c) => `${c.name}: MFU ${percent(c.mfu)}.`),
  ].filter(Boolean).join(' '));
}

export function account_section(report) {
  return [waterfall(report), report.mfu ? mfu_facts(report.mfu) : without_mfu(report)];
}
