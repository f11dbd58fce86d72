// SPDX-License-Identifier: Apache-2.0
// Puts the page together: the answer at once, the rest as the browser finds time, everything before
// it prints.

const sections = [
  ['account', 'Where the step goes', null, account_section],
  [
    'findings', 'What to try', 'Largest gain first: the recorded steps replayed without it.',
    findings_section
  ],
  [
    'budget', 'Time budget',
    'Every nanosecond of a step is in one category; the categories sum to the step.', budget_section
  ],
  [
    'expected', 'Expected beside measured',
    'What this machine should take for the same work, by the curves measured on it.',
    expected_section
  ],
  ['timeline', 'Timeline', null, timeline_section],
  ['path', 'Critical path', 'What nothing else can hide, over all ranks.', path_section],
  [
    'stragglers', 'Stragglers',
    'How far each rank arrives behind the median rank at its collectives.', stragglers_section
  ],
  [
    'pipeline', 'Pipeline', 'What each stage idles, and why.', pipeline_section
  ],
  [
    'collectives', 'Collectives',
    'What the network delivers for each message size, against what its link could.',
    collectives_section
  ],
  ['overlap', 'Overlap', null, overlap_section],
  ['gaps', 'Idle gaps', 'Why the device had nothing to do.', gaps_section],
  ['phases', 'Phases', null, phases_section],
  ['kernels', 'Kernels', null, kernels_section],
  ['operators', 'Operators', null, operators_section],
  [
    'ranges', 'Ranges', 'Host and device time by your own structure, kernel up to phase.',
    ranges_section
  ],
  ['host', 'Host', null, host_section],
  ['memory', 'Memory', null, memory_section],
  ['inputs', 'Inputs', null, inputs_section],
];

// The keys every section relies on, so that a report of an older or a broken run still opens.
function completed(report) {
  const lists = [
    'inputs', 'warnings', 'ranks', 'collectives', 'collective_mismatches', 'dimensions',
    'ddp_buckets', 'stragglers', 'findings'
  ];
  for (const key of lists)
    if (!Array.isArray(report[key])) report[key] = [];
  report.job = {
    ranks: report.ranks.length,
    steps: [],
    phases: [],
    missing_steps: [],
    budget_ns: {},
    spread: {},
    ...report.job
  };
  for (const key of ['steps', 'phases', 'missing_steps'])
    if (!Array.isArray(report.job[key])) report.job[key] = [];
  for (const r of report.ranks) r.steps = r.steps || [];
  return report;
}

// The pipeline's section only where there is a pipeline.
const with_pipeline = (all, of) => all.filter((x) => x[0] !== 'pipeline' || of.pipeline);

// What a report is drawn with, by its schema.
function view_of(report) {
  if (String(report.schema).startsWith('stepscope.predict/'))
    return {report, hero: predict_hero, sections: predict_sections(report)};
  if (String(report.schema).startsWith('stepscope.plan/'))
    return {report, hero: plan_hero, sections: plan_sections(report)};
  if (String(report.schema).startsWith('stepscope.stacks/'))
    return {report, hero: stacks_hero, sections: stacks_sections(report)};
  if (String(report.schema).startsWith('stepscope.memory/'))
    return {report, hero: snapshot_hero, sections: snapshot_sections(report)};
  const whole = completed(report);
  const inputs_only = sections.filter((x) => x[0] === 'inputs');
  if (whole.straggler_job)
    return {
      report: whole,
      hero: straggler_hero,
      sections: [...with_pipeline(straggler_job_sections, whole.straggler_job), ...inputs_only]
    };
  const shown = whole.ranks.length ? with_pipeline(sections, whole) : inputs_only;
  return {report: whole, hero, sections: shown};
}

function section_frame([id, title, lede]) {
  return h(
      'section', {id, 'aria-labelledby': `${id}-title`, 'data-state': 'pending'},
      h('h2', {id: `${id}-title`}, title), lede && h('p', {class: 'lede'}, lede),
      h('div', {class: 'content pending'}));
}

function fill(frame, draw, report, tips) {
  if (frame.dataset.state !== 'pending') return;
  const content = frame.querySelector('.content');
  content.classList.remove('pending');
  try {
    content.replaceChildren(...[draw(report, tips)].flat(Infinity).filter(Boolean));
    frame.dataset.state = 'drawn';
    frame.classList.toggle(
        'bare', content.childElementCount === 1 && content.firstElementChild.matches('.missing'));
  } catch (error) {
    content.replaceChildren(
        h('p', {class: 'missing broken'},
          `This part could not be drawn: ${
              error.message}. The figures are in the JSON of the same run.`));
    frame.dataset.state = 'failed';
    console.error(frame.id, error);
  }
}

function start_theme() {
  const button = document.getElementById('theme');
  const names = ['auto', 'light', 'dark'];
  let theme = 'auto';
  try {
    theme = localStorage.getItem('stepscope.theme') || 'auto';
  } catch (e) { /* storage is closed to local files in some browsers */
  }
  const apply = () => {
    if (theme === 'auto')
      delete document.documentElement.dataset.theme;
    else
      document.documentElement.dataset.theme = theme;
    button.textContent = {auto: 'Auto', light: 'Light', dark: 'Dark'}[theme];
    redraw_all();
  };
  button.addEventListener('click', () => {
    theme = names[(names.indexOf(theme) + 1) % 3];
    try {
      localStorage.setItem('stepscope.theme', theme);
    } catch (e) { /* as above: then it holds for this view only */
    }
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw_all);
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== width) {
      width = innerWidth;
      redraw_all();
    }
  });
  apply();
}

// Paper is white and shows everything.
function start_printing(draw_all) {
  let before = null;
  addEventListener('beforeprint', () => {
    draw_all();
    const root = document.documentElement;
    before = {
      theme: root.dataset.theme,
      shut: [...document.querySelectorAll('details:not([open])')]
    };
    for (const d of before.shut) d.open = true;
    root.dataset.theme = 'light';
    root.dataset.printing = '';
    redraw_all();
  });
  addEventListener('afterprint', () => {
    if (!before) return;
    const root = document.documentElement;
    delete root.dataset.printing;
    if (before.theme)
      root.dataset.theme = before.theme;
    else
      delete root.dataset.theme;
    for (const d of before.shut) d.open = false;
    before = null;
    redraw_all();
  });
}

function start_links(frames) {
  const links = new Map(
      frames.map((f) => [f.id, h('a', {href: `#${f.id}`}, f.querySelector('h2').textContent)]));
  document.getElementById('links').append(...links.values());
  const watcher = new IntersectionObserver((entries) => {
    for (const e of entries) {
      if (!e.isIntersecting) continue;
      for (const [id, a] of links)
        if (id === e.target.id)
          a.setAttribute('aria-current', 'true');
        else
          a.removeAttribute('aria-current');
    }
  }, {rootMargin: '-20% 0px -75% 0px'});
  for (const f of frames) watcher.observe(f);
}

function start() {
  const root = document.documentElement;
  const main = document.getElementById('top');
  let view = null;
  try {
    view = view_of(JSON.parse(document.getElementById('data').textContent));
  } catch (error) {
    main.append(
        h('p', {class: 'missing broken', role: 'alert'},
          `The data in this file cannot be read (${error.message}); was the file cut off?`));
    root.dataset.state = 'failed';
    return;
  }
  const tips = start_tooltips();
  const {report, sections: shown} = view;
  main.append(view.hero(report));
  const frames = shown.map(section_frame);
  main.append(...frames);
  document.title = `${
      report.answer && report.answer.sentence ? report.answer.sentence.split('. ')[0] :
                                                'stepscope report'} · stepscope`;
  document.getElementById('foot').append(
      `stepscope ${report.version || ''} · ${report.schema || ''}${
          report.origin_unix_ns && report.origin_unix_ns !== '0' ?
              ` · first event ${
                  new Date(Number(report.origin_unix_ns) / 1e6)
                      .toISOString()
                      .replace('T', ' ')
                      .slice(0, 19)} UTC` :
              ''}`);
  start_theme();
  start_links(frames);
  let next = 0;
  const draw_one = () => {
    fill(frames[next], shown[next][3], report, tips);
    next++;
  };
  const draw_all = () => {
    while (next < frames.length) draw_one();
  };
  const finish = () => {
    root.dataset.completeMs = Math.round(performance.now());
    root.dataset.state = 'complete';
  };
  start_printing(draw_all);
  draw_one();
  if (next < frames.length) draw_one();
  root.dataset.answeredMs = Math.round(performance.now());
  const go_on = () => {
    if (next < frames.length) draw_one();
    if (next < frames.length)
      setTimeout(go_on, 0);
    else
      finish();
  };
  addEventListener('hashchange', draw_all);
  if (location.hash.length > 1) {
    draw_all();
    const f = document.getElementById(location.hash.slice(1));
    if (f) f.scrollIntoView();
  }
  setTimeout(go_on, 0);
}
start();
