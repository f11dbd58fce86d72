// SPDX-License-Identifier: Apache-2.0
// The page of a search for plans: the fastest, why it wins, what comes near, the time-memory front,
// what was left out, what a better machine would change, and how to launch it.

const plan_terms = (report, p) => Object.entries(p.terms_ns).map(([name, t]) => ({
  name,
  label: report.labels.terms[name],
  ns: t,
  share: t / p.step_time_ns
}));

// Every plan that has figures, once, with the name that the page calls it by.
function plans_to_compare(report) {
  const own = report.against.filter((p) => p.terms_ns).map((p) => [p.label, p]);
  const shapes = report.best.slice(1).map((p, i) => [`${i + 2}. ${p.brief}`, p]);
  return [...own, ...shapes];
}

function plan_figures(report) {
  const best = report.best[0];
  if (!best) return null;
  const spare = report.memory.capacity_bytes - best.memory_bytes.total;
  const rows = [
    ['Step', ns(best.step_time_ns)], ['MFU', percent(best.mfu)],
    [
      'Tokens a second', compact(best.tokens_per_second),
      `${compact(best.tokens_per_second / best.plan.devices)} a device`
    ],
    ['Memory', bytes(best.memory_bytes.total), `${bytes(spare)} to spare`],
    ['Plans', compact(report.candidates), `searched in ${ns(report.elapsed_ns)}`]
  ];
  return figures(rows);
}

function plan_hero(report) {
  const devices = report.devices.length > 1 ?
      `${count(report.devices[0])} to ${count(report.devices.at(-1))}` : count(report.devices[0]);
  const batch = `global batch ${count(report.global_batch)} × ${count(report.sequence)} tokens`;
  return h('header', {class: 'hero'},
    h('p', {class: 'kicker'}, `${report.model} · ${devices} × ${report.machine} · ${batch}`),
    h('h1', null, report.answer.sentence),
    report.answer.plan && h('p', {class: 'culprit plan'}, report.answer.plan),
    plan_figures(report), remarks(report.warnings, 'this search'));
}

function plan_account(report) {
  const best = report.best[0];
  return step_fall(plan_terms(report, best), best.step_time_ns);
}

// A plan of one's own is held against the fastest on as many devices.
const fastest_beside = (report, p) => (p.label &&
    report.by_devices.find((x) => x.plan.devices === p.plan.devices)) || report.best[0];

// From another plan's step to the fastest one's, a term at a time: what it saves, what it pays.
function difference_fall(report, other) {
  const best = fastest_beside(report, other);
  const gains = plan_terms(report, other)
      .map((t) => ({...t, gain: t.ns - best.terms_ns[t.name]}))
      .filter((t) => t.gain !== 0)
      .sort((a, b) => Math.abs(b.gain) - Math.abs(a.gain));
  // What is saved comes first, so that the bars go down before they come up.
  const ordered = [...gains.filter((t) => t.gain > 0), ...gains.filter((t) => t.gain < 0)];
  const full = Math.max(other.step_time_ns,
    best.step_time_ns + sum(ordered.filter((t) => t.gain > 0).map((t) => t.gain)));
  // Small differences are drawn large: then the bars begin where little of the step is left out.
  const least = Math.min(best.step_time_ns, ...ordered.map((t, i) =>
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
      return row(t.name, t.label, step_terms[t.name] || 'other', from, at,
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
      {label: 'MFU', value: (r) => r.mfu, show: (r) => percent(r.mfu)},
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

function plan_why(report) {
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

const plan_columns = [
  {label: 'GPUs', value: (r) => r.plan.devices},
  {label: 'Step', value: (r) => r.step_time_ns, show: (r) => ns(r.step_time_ns), share: true},
  {label: 'MFU', value: (r) => r.mfu, show: (r) => percent(r.mfu)},
  {label: 'Tokens/s', value: (r) => r.tokens_per_second, show: (r) => compact(r.tokens_per_second)},
  {label: 'Memory', value: (r) => r.memory_bytes.total, show: (r) => bytes(r.memory_bytes.total)},
  {label: '', value: (r) => (r.near_tie ? '≈' : ' '), text: true,
    tip: 'Within the model\'s error of the fastest'},
  {label: 'Plan', value: (r) => r.brief, text: true, show: (r) => h('span',
    {'data-tip': r.words}, r.brief)}
];

function plan_ranking(report) {
  const near = report.best.filter((p) => p.near_tie).length;
  return [
    data_table({label: 'The fastest of each shape', rows: report.best, columns: plan_columns}),
    near > 1 && note(`≈: within the model's error (${percent(report.model_error)}) of the fastest: ` +
        'a measurement decides between them.'),
    note('A plan is written micro-batch × count at its end: 2×16 is 16 micro-batches of 2 sequences.')
  ];
}

const plan_marker = {
  front: (x, y, p) => s('circle', {cx: x, cy: y, r: 4.5, class: 'front', ...p}),
  shape: (x, y, p) => s('circle', {cx: x, cy: y, r: 5.5, class: 'shape', ...p}),
  own: (x, y, p) => s('path', {d: `M${x - 7},${y}L${x},${y - 7}L${x + 7},${y}L${x},${y + 7}Z`,
    class: 'own', ...p})
};

function front_points(report) {
  const known_plans = new Set();
  const points = [];
  const add = (kind, p, name) => {
    const key = `${p.step_time_ns} ${p.memory_bytes.total}`;
    if (known_plans.has(key)) return;
    known_plans.add(key);
    points.push({kind, x: p.memory_bytes.total, y: p.step_time_ns, name, p});
  };
  for (const p of report.against) if (p.memory_bytes) add('own', p, p.label);
  for (const p of report.pareto) add('front', p, p.brief);
  for (const p of report.best) add('shape', p, p.brief);
  return points;
}

const front_tip = ({p, name}) =>
    `${name}\n${ns(p.step_time_ns)} a step, ${percent(p.mfu)} MFU, ` +
    `${bytes(p.memory_bytes.total)}\n${p.words}`;

function draw_front(report, width) {
  const points = front_points(report);
  const {capacity_bytes: capacity, allowed_bytes: allowed} = report.memory;
  const box = {left: 66, right: width - 18, top: 22, bottom: width < 600 ? 290 : 380};
  const high_x = Math.max(capacity, ...points.map((p) => p.x)) * 1.06;
  const steps = points.map((p) => p.y);
  const low_y = Math.min(...steps);
  const span = Math.max(Math.max(...steps) - low_y, low_y * 0.1);
  const from_y = Math.max(0, low_y - span * 0.08);
  const to_y = low_y + span * 1.08;
  const px = (v) => box.left + (box.right - box.left) * v / high_x;
  const py = (v) => box.bottom - (box.bottom - box.top) * (v - from_y) / (to_y - from_y);
  const front = report.pareto;
  const path = front.map((p, i) => {
    const [x, y] = [px(p.memory_bytes.total), py(p.step_time_ns)];
    return i === 0 ? `M${x},${y}` : `H${x}V${y}`;
  }).join('');
  const order = {shape: 0, front: 1, own: 2};
  const drawn = [...points].sort((a, b) => order[a.kind] - order[b.kind]);
  return s('svg', {viewBox: `0 0 ${width} ${box.bottom + 44}`, class: 'pareto', role: 'group',
    'aria-label': 'Step time against memory of the plans that no other beats in both'},
  grid_lines(box, ticks(from_y, to_y, 6), py, (v) => round(ns(v))),
  ticks(0, high_x, width < 600 ? 4 : 8).map((v) => [
    s('line', {class: 'grid', x1: px(v), x2: px(v), y1: box.top, y2: box.bottom}),
    s('text', {x: px(v), y: box.bottom + 18, 'text-anchor': 'middle'}, round(bytes(v)))
  ]),
  s('text', {x: box.right, y: box.bottom + 38, 'text-anchor': 'end'}, 'Memory of a device'),
  s('text', {x: box.left, y: box.top - 8}, 'Step'),
  s('line', {class: 'limit', x1: px(capacity), x2: px(capacity), y1: box.top, y2: box.bottom}),
  s('text', {x: px(capacity), y: box.top - 8, 'text-anchor': 'end'}, 'all there is'),
  allowed < capacity && s('line', {class: 'limit soft-limit', x1: px(allowed), x2: px(allowed),
    y1: box.top, y2: box.bottom}),
  s('path', {class: 'front-line', d: path}),
  drawn.map((p) => plan_marker[p.kind](px(p.x), py(p.y), {
    'data-tip': front_tip(p),
    'data-plan': p.kind,
    tabindex: drawn.length <= 80 ? 0 : null,
    role: 'img',
    'aria-label': front_tip(p).replaceAll('\n', ', ')
  })));
}

function plan_front(report) {
  const key = (kind, label) => h('span', {class: 'plain'}, s('svg', {viewBox: '0 0 16 16',
    class: 'pareto key', 'aria-hidden': 'true'}, plan_marker[kind](8, 8, {})), label);
  const own = report.against.some((p) => p.memory_bytes);
  return [
    h('div', {class: 'legend'}, key('front', 'no other is faster and smaller'),
      key('shape', 'fastest of a shape'), own && key('own', 'your own')),
    fitted((width) => draw_front(report, width)),
    report.memory.allowed_bytes < report.memory.capacity_bytes && note(
        `Dotted: what the search leaves to plans, ${bytes(report.memory.allowed_bytes)}.`),
    h('details', {class: 'notes'},
      h('summary', null, `${plural(report.pareto.length, 'plan')} of the front as a table`),
      data_table({label: 'The front', rows: report.pareto, columns: plan_columns}))
  ];
}

const plan_devices = (report) =>
    data_table({label: 'By devices', rows: report.by_devices, columns: plan_columns});

function plan_rejected(report) {
  const rows = [
    {what: 'evaluated completely, and fits', plans: report.feasible},
    ...Object.entries(report.rejected).map(([what, plans]) => ({what, plans}))
  ].filter((r) => r.plans > 0);
  const shown = percents_to_sum(rows.map((r) => r.plans / report.candidates));
  return [
    data_table({
      label: 'What became of the plans',
      rows: rows.map((r, i) => ({...r, shown: shown[i]})),
      columns: [
        {label: 'Plans that', value: (r) => r.what, text: true, class: 'wide'},
        {label: 'Count', value: (r) => r.plans, show: (r) => count(r.plans)},
        {label: 'Share', value: (r) => r.plans, show: (r) => r.shown, share: true}
      ]
    }),
    note(`${count(report.candidates)} in all; ${count(report.evaluated)} were timed completely, ` +
        'the others were left out by a rule or by a bound that proves that they cannot matter.')
  ];
}

function plan_sensitivity(report) {
  const step = report.best[0].step_time_ns;
  const factors = [...new Set(report.sensitivity.map((x) => x.factor))];
  const rows = [...new Set(report.sensitivity.map((x) => x.what))].map((what) => ({
    what,
    at: new Map(report.sensitivity.filter((x) => x.what === what).map((x) => [x.factor, x]))
  }));
  const change = (x) => {
    if (!known(x.step_time_ns)) return 'nothing fits';
    const p = (x.step_time_ns / step - 1) * 100;
    const text = Math.abs(p) < 0.05 ? '0' : `${p > 0 ? '+' : '−'}${Math.abs(p).toFixed(1)}`;
    return h('span', {'data-tip': `${ns(x.step_time_ns)} a step${
      x.other ? `, by another plan:\n${x.other}` : ''}`}, `${text}\u202f%${x.other ? '*' : ''}`);
  };
  const others = report.sensitivity.filter((x) => x.other);
  return [
    data_table({
      label: 'Change of the step',
      rows,
      columns: [
        {label: 'If it had', value: (r) => r.what, text: true},
        ...factors.map((f) => ({
          label: `× ${f}`,
          value: (r) => r.at.get(f).step_time_ns,
          show: (r) => change(r.at.get(f))
        }))
      ]
    }),
    others.length > 0 && note('* Another plan would win: ', others.map((x) =>
      `${x.what} × ${x.factor}: ${x.other}`).join('; '), '.')
  ];
}

function plan_launch(report) {
  return report.flags.map((f, i) => h('details', {class: 'launch', open: i === 0},
    h('summary', null, f.framework), h('pre', {tabindex: 0, 'aria-label': f.framework}, f.text),
    f.not_expressed.length > 0 && h('div', {class: 'notes'}, h('p', null, 'Not expressed there:'),
      h('ul', null, f.not_expressed.map((x) => h('li', null, x))))));
}

function plan_sections(report) {
  const any = report.best.length > 0;
  const why = report.against.length > 0 ? 'Your plan beside it' : 'Why it wins';
  return [
    any && ['account', 'Where the step goes', null, plan_account],
    (report.against.length > 0 || report.best.length > 1) && ['why', why,
      any && 'From the other plan\'s step to the fastest one\'s, term by term.', plan_why],
    any && ['ranking', 'Ranking', 'The fastest plan of each shape.', plan_ranking],
    any && ['front', 'Time and memory',
      'Plans that no other beats in both. Each point says its plan.', plan_front],
    report.by_devices.length > 1 && ['devices', 'By the number of devices', null, plan_devices],
    ['rejected', 'What was searched', null, plan_rejected],
    report.sensitivity.length > 0 && ['sensitivity', 'Another machine',
      'How the step of the fastest plan changes where one thing of the machine is so many times ' +
          'what it is; for memory, the fastest plan that then fits.', plan_sensitivity],
    report.flags.length > 0 && ['launch', 'Launch it',
      'The fastest plan as each framework takes it; model, data and learning rate are yours.',
      plan_launch]
  ].filter(Boolean);
}
