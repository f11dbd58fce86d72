// SPDX-License-Identifier: Apache-2.0
// The answer first: the sentence, the key figures, what the traces lack, and the account from 100 %
// down.

function devices_of(ranks) {
  const names = new Map();
  for (const r of ranks) {
    const name = r.gpu_name || (r.device === 'cpu' ? 'CPU' : plain(r.device).toUpperCase());
    names.set(name, (names.get(name) || 0) + 1);
  }
  return [...names].map(([name, n]) => (names.size > 1 ? `${n} × ${name}` : name)).join(', ');
}

function kicker(report) {
  const {job, inputs} = report;
  const parts =
      [plural(job.ranks, 'rank') +
       (job.world_size > job.ranks ? ` of ${count(job.world_size)}` : '')];
  if (report.ranks.length) parts.push(devices_of(report.ranks));
  const steps = job.steps.map((x) => x.index);
  if (one_window(report.ranks)) parts.push('one window, no steps marked');
  else if (steps.length) parts.push(`${steps.length === 1 ? 'step' : 'steps'} ${runs(steps)}`);
  else parts.push('no steps');
  parts.push(`${plural(inputs.length, 'file')}, ${bytes(sum(inputs.map((i) => i.bytes)))}`);
  return parts.join(' · ');
}

function key_figures(report) {
  const {job, mfu} = report;
  const rows = [];
  const total = total_of(job.budget_ns || {});
  const share = (...keys) => percent(sum(keys.map((k) => job.budget_ns[k])) / total);
  if (known(job.step_mean_ns)) {
    const several = job.steps.length > 1;
    const apart = total > 0 && job.step_mean_ns > 1.01 * total;
    const notes = [];
    if (apart) notes.push(`first to last rank; of each ${ns(total)}`);
    if (several)
      notes.push(`${ns(job.step_min_ns)} to ${ns(job.step_max_ns)}, σ ${ns(job.step_stdev_ns)}`);
    rows.push([
      one_window(report.ranks) ? 'Window' : 'Step', ns(job.step_mean_ns), notes.join('; ')
    ]);
  }
  if (mfu && known(mfu.mfu))
    rows.push(['MFU', percent(mfu.mfu), known(mfu.hfu) && `HFU ${percent(mfu.hfu)}`]);
  else if (mfu && known(mfu.hfu))
    rows.push(['HFU', percent(mfu.hfu), 'of the peak executed']);
  if (total > 0) {
    const compute = sum([job.budget_ns.compute, job.budget_ns.comm_overlapped]);
    rows.push(['Computing', percent(compute / total), 'of the step']);
    const exposed = categories.filter((c) => c.key.startsWith('comm_exposed')).map((c) => c.key);
    const communicates = job.budget_ns.comm_overlapped > 0 ||
        exposed.some((k) => job.budget_ns[k] > 0);
    if (communicates) rows.push([
      'Exposed communication', share(...exposed),
      job.budget_ns.comm_exposed_wait > 0 && `${share('comm_exposed_wait')} waiting`
    ]);
    rows.push([
      'Idle', share(...categories.filter((c) => c.key.startsWith('idle')).map((c) => c.key)),
      'nothing runs'
    ]);
  }
  const worst = report.stragglers.find((r) => r.late_ns > 0 && r.significant !== false);
  if (worst) {
    rows.push(['Latest rank', String(worst.rank), `at most ${ns(worst.upper_bound_ns)} a step`]);
  }
  return h(
      'dl', {class: 'figures'},
      rows.map(
          ([label, value, remark]) =>
              h('div', null, h('dt', null, label),
                h('dd', null, value, remark && h('small', null, remark)))));
}

function headline(report) {
  if (report.answer && report.answer.sentence) return report.answer.sentence;
  if (!report.ranks.length) return 'No file could be analysed.';
  return 'These traces hold no answer to where a step goes.';
}

function hero(report) {
  const broken = report.inputs.filter((i) => i.error);
  const said = [...new Set([...report.warnings, ...((report.mfu && report.mfu.warnings) || [])])];
  return h(
      'header', {class: 'hero'}, h('p', {class: 'kicker'}, kicker(report)),
      h('h1', null, headline(report)),
      report.answer && report.answer.culprit && h('p', {class: 'culprit'}, report.answer.culprit),
      key_figures(report),
      broken.length > 0 &&
          h('div', {class: 'notes broken', role: 'alert'},
            h('strong', null, `${plural(broken.length, 'file')} could not be read`),
            h('ul', null, broken.slice(0, 20).map((i) => h('li', null, i.error)))),
      said.length > 0 &&
          h('details', {class: 'notes', open: said.length <= 3},
            h('summary', null,
              said.length === 1 ? 'One remark on these traces' :
                                  `${count(said.length)} remarks on these traces`),
            h('ul', null, said.map((w) => h('li', null, w)))));
}

// Rows of the account: {label, colour, pattern, what, ns, share, term}.
function account_of(report) {
  const {mfu, job} = report;
  if (mfu && mfu.terms && mfu.terms.length) {
    const rows = mfu.terms.map(
        (t) => ({...term_of(t.name), name: t.name, ns: t.ns, share: t.percent / 100, term: t}));
    const end =
        rows.find((r) => r.name === 'mfu') || rows.find((r) => r.name === 'compute_unattributed');
    return {
      top: mfu.mfu === null || mfu.mfu === undefined ? 'the mean step' : 'the peak of the device',
      whole: mfu.step_ns,
      rows,
      kept: [end].filter(Boolean),
      priced: rows.some((r) => known(r.term.gpu_hours_per_day)),
      money: rows.some((r) => known(r.term.money_per_day))
    };
  }
  const whole = total_of(job.budget_ns || {});
  if (!(whole > 0)) return null;
  const rows = categories.map((c) => ({
                                label: c.label,
                                colour: c.key,
                                pattern: c.pattern,
                                what: c.what,
                                name: c.key,
                                ns: job.budget_ns[c.key] || 0,
                                share: (job.budget_ns[c.key] || 0) / whole
                              }));
  return {top: 'the mean step', whole, rows, kept: [rows[1], rows[0]].filter((r) => r.ns > 0)};
}

// The percentages of these rows sum to 100 where their shares do.
function rounded_together(rows) {
  const shown = percents_to_sum(rows.map((r) => r.share));
  return rows.map((r, i) => ({...r, shown: shown[i]}));
}

function fall_row(row, from, kept, account) {
  const low = Math.min(from, from + row.share);
  const width = Math.abs(row.share);
  const t = row.term;
  const shown = row.shown || percent(row.share);
  return h(
      'div', {
        class: `fall-row${kept ? ' end' : ''}`,
        'data-term': row.name,
        'data-tip': `${row.label}: ${shown}, ${ns(row.ns)} a step\n${row.what}`
      },
      h('span', {class: 'what'}, row.label),
      h('span', {class: 'track', 'aria-hidden': 'true'}, h('span', {
          class: `fill ${row.pattern || ''}`,
          style: {left: `${100 * low}%`, width: `${100 * width}%`, '--c': `var(--${row.colour})`}
        })),
      h('span', {class: 'percent'}, shown), h('span', {class: 'amount'}, ns(row.ns)),
      account.priced &&
          h('span', {class: 'amount money'},
            account.money ? money(t.money_per_day) : number(t.gpu_hours_per_day)));
}

function waterfall(report) {
  const account = account_of(report);
  if (!account)
    return missing(
        'No step or window could be measured, so there is nothing to account for. ', record.steps);
  const unexplained = (r) => (r.name === 'idle_unexplained' ? 1 : 0);
  const losses = account.rows.filter((r) => !account.kept.includes(r) && r.ns !== 0)
                     .sort((a, b) => unexplained(a) - unexplained(b) || b.ns - a.ns);
  let at = 1;
  const ends = new Set(account.kept);
  const order = [...losses, ...account.kept];
  const rows = rounded_together(order).map(
      (row, i) => fall_row(row, (at -= row.share), ends.has(order[i]), account));
  const head = account.priced &&
      h('div', {class: 'fall-row'}, h('span', {class: 'fall-head'}), h('span'), h('span'),
        h('span', {class: 'fall-head amount'}, 'a step'),
        h('span', {class: 'fall-head amount money'},
          account.money ? 'money a day' : 'GPU-hours a day'));
  const top = fall_row(
      {
        name: 'all',
        label: `${account.top}`,
        what: 'All of it.',
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

// Why there is no MFU: what the run said of it, else what it needs.
function without_mfu(report) {
  const said = report.warnings.find((w) => w.startsWith('no MFU'));
  return note(said ? `${said[0].toUpperCase()}${said.slice(1)}` : record.model);
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

function account_section(report) {
  return [waterfall(report), report.mfu ? mfu_facts(report.mfu) : without_mfu(report)];
}
