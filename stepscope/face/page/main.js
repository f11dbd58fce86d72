// SPDX-License-Identifier: Apache-2.0
// Builds the page. The answer is drawn at once, the rest when the browser is idle. Everything is
// drawn before the page prints.

import {h} from './draw/elements.js';
import {start_tooltips} from './draw/tooltip.js';
import {start_printing} from './printing.js';
import {use_terms} from './terms.js';
import {start_theme} from './theme.js';
import {analyze_page} from './views/analyze/page.js';
import {calibrate_page} from './views/calibrate/page.js';
import {check_page} from './views/check/page.js';
import {compare_page} from './views/compare/page.js';
import {hang_page} from './views/hang/page.js';
import {memory_page} from './views/memory/page.js';
import {plan_page} from './views/plan/page.js';
import {predict_page} from './views/predict/page.js';
import {stacks_page} from './views/stacks/page.js';
import {sweep_page} from './views/sweep/page.js';
import {train_page} from './views/train/page.js';

const pages = {
  analyze: analyze_page,
  predict: predict_page,
  plan: plan_page,
  stacks: stacks_page,
  memory: memory_page,
  hang: hang_page,
  train: train_page,
  compare: compare_page,
  sweep: sweep_page,
  check: check_page,
  calibrate: calibrate_page
};

// {report, hero, sections} for a command's report, by its schema ("stepscope.plan/1").
function page_of(report) {
  const [, command] = /^stepscope\.(\w+)\//.exec(report.schema) || [];
  return (Object.hasOwn(pages, command) ? pages[command] : analyze_page)(report);
}

function section_frame({id, title, lede}) {
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
  let page = null;
  try {
    const report = JSON.parse(document.getElementById('data').textContent);
    use_terms(report.terms);
    page = page_of(report);
  } catch (error) {
    main.append(
        h('p', {class: 'missing broken', role: 'alert'},
          `The data in this file cannot be read (${error.message}); was the file cut off?`));
    root.dataset.state = 'failed';
    return;
  }
  const tips = start_tooltips();
  const {report, hero, sections} = page;
  main.append(hero(report));
  const frames = sections.map(section_frame);
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
    fill(frames[next], sections[next].draw, report, tips);
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
