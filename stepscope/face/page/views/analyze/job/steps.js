// SPDX-License-Identifier: Apache-2.0
// The times of all steps: a line for each rank, or of many ranks the range and its middle. Ranks
// that the answer accuses have a line of their own, and outlying steps have their names.

import {fitted, grid_lines} from '../../../draw/chart.js';
import {choice, h, s, swatch} from '../../../draw/elements.js';
import {
  band_path, path_of, range_of, step_axis, step_columns, step_frame
} from '../../../draw/line_chart.js';
import {plural, ranks_text} from '../../../format/names.js';
import {known, ns, round, sum, ticks} from '../../../format/numbers.js';
import {middle} from './alike.js';

const most_lines = 8;
const long_step = 1.15;   // of the median step, and
const of_spread = 5;      // median deviations beyond it: as the verdict finds outlying steps
const communication = ['comm_exposed_wait', 'comm_exposed_transfer', 'comm_exposed_unsplit'];

const communicating = (x) => sum(communication.map((key) => (x.budget_ns || {})[key]));
const stage_of = (l) => (/pp(\d+)/.exec(l.role || '') || [])[1];

// The steps' numbers in order.
export const step_numbers = (report) => [...new Set(
    [...report.job.steps, ...report.ranks.flatMap((r) => r.steps)].map((x) => x.index))]
    .sort((a, b) => a - b);

// The times of each rank by step, in the order of `numbers`; null where it lacks a step. `own`: the
// time without exposed communication.
export function step_times(report, numbers, own) {
  return report.ranks.filter((r) => r.steps.length).map((r) => {
    const of_number = new Map(r.steps.map((x) => [x.index, x]));
    return {rank: r.rank, role: r.role, times: numbers.map((n) => {
      const x = of_number.get(n);
      return x ? x.wall_ns - (own ? communicating(x) : 0) : null;
    })};
  });
}

// The least, the middle and the largest time of each step; null where no rank has it.
export function band_of(lines) {
  return (lines.length ? lines[0].times : []).map((_, i) => {
    const all = lines.map((l) => l.times[i]).filter(known);
    return all.length ? {least: Math.min(...all), middle: middle(all), most: Math.max(...all)} :
                        null;
  });
}

// Steps much longer than the median step, unless they are many: [{index, ratio}].
export function long_steps(numbers, times) {
  const all = times.filter(known);
  if (all.length < 3) return [];
  const usual = middle(all);
  const spread = middle(all.map((t) => Math.abs(t - usual)));
  const out = numbers.map((index, i) => ({index, ratio: times[i] / usual, more: times[i] - usual}))
      .filter((x) => x.ratio > long_step && x.more > of_spread * spread);
  return out.length > Math.max(1, all.length / 4) ? [] : out;
}

const step_words = {
  outlier_step: () => 'an outlier',
  throttling: (v) => `slower from here: ${ranks_text(v.ranks)}`,
  pauses: () => 'a pause'
};

// The steps that the verdict and its alternatives name, then those that are much longer than the
// others: [{index, text, named}].
export function marked_steps(report, numbers, times) {
  const verdict = (report.answer && report.answer.verdict) || {};
  const marks = new Map();
  for (const v of [verdict, ...(verdict.alternatives || [])]) {
    const words = step_words[v.kind];
    if (!words) continue;
    for (const index of v.steps || []) {
      const text = words(v);
      if (numbers.includes(index) && !marks.has(index))
        marks.set(index, {index, text, named: v === verdict});
    }
  }
  for (const {index, ratio} of long_steps(numbers, times))
    if (!marks.has(index))
      marks.set(index, {index, text: `${ratio.toFixed(1)} × the median`, named: false});
  return [...marks.values()].sort((a, b) => a.index - b.index);
}

// The ranks whose lines stand out, and the others: of their stage where the stages' work is shown.
function cast(report, lines, own) {
  const verdict = (report.answer && report.answer.verdict) || {};
  const accused = (verdict.ranks || []).length <= 4 ? new Set(verdict.ranks || []) : new Set();
  const guilty = lines.filter((l) => accused.has(l.rank));
  let others = lines.filter((l) => !accused.has(l.rank));
  const stages = new Set(guilty.map(stage_of));
  const peers = others.filter((l) => stages.has(stage_of(l)));
  const of_stage = own && peers.length > 0 && peers.length < others.length;
  if (of_stage) others = peers;
  return {guilty, others, of_stage};
}

// A mark stands over its step. Texts that would overlap are left out; the tip has them.
function marks_of(frame, marks, numbers, times) {
  const {box, x, y} = frame;
  let free = -Infinity;
  return marks.map((m) => {
    const i = numbers.indexOf(m.index);
    const at = x(i);
    const text = `step ${m.index}: ${m.text}`;
    const half = 3.1 * text.length;
    const middle_x = Math.max(box.left + half, Math.min(box.right - half, at));
    const fits = middle_x - half > free;
    if (fits) free = middle_x + half + 8;
    return s('g', {class: 'step-mark', 'data-step': m.index, 'data-tip': text},
      s('line', {x1: at, x2: at, y1: box.top - 6, y2: box.bottom, 'stroke-dasharray': '2 3',
        stroke: 'var(--comm_exposed_wait)'}),
      s('circle', {cx: at, cy: y(times[i] || 0), r: 4.5, fill: 'var(--comm_exposed_wait)',
        stroke: 'var(--paper)', 'stroke-width': 1.5}),
      fits && s('text', {class: m.named ? 'ink strong' : 'ink', x: middle_x, y: box.top - 10,
        'text-anchor': 'middle'}, text));
  });
}

function curve(report, own, width) {
  const numbers = step_numbers(report);
  const all = step_times(report, numbers, own);
  const {guilty, others, of_stage} = cast(report, all, own);
  const shown = [...others, ...guilty];
  const range_shown = range_of(shown.flatMap((l) => l.times), true);
  const frame = step_frame(numbers.length, range_shown, width, {tail: guilty.length ? 50 : 0});
  const {box, x, y} = frame;
  const band = band_of(shown);
  const job = new Map(report.job.steps.map((step) =>
    [step.index, step.counted_ns || step.wall_ns]));
  const whole = numbers.map((n, i) => (job.has(n) ? job.get(n) : band[i] && band[i].most));
  const marks = marked_steps(report, numbers, own ? band.map((b) => b && b.most) : whole);
  const many = others.length > most_lines;
  const range = band_of(others);
  const line = (l, look) => s('path', {d: path_of(l.times, frame), fill: 'none',
    'data-rank': l.rank, 'stroke-linejoin': 'round', ...look});
  const plain_line = {stroke: 'var(--compute)', 'stroke-width': 1.4};
  const end = (l) => {
    const last = l.times.map(known).lastIndexOf(true);
    return last >= 0 && s('text', {class: 'guilty', x: x(last) + 8, y: y(l.times[last]) + 4},
      `rank ${l.rank}`);
  };
  const spoken = `Times of ${plural(numbers.length, 'step')}; ` + (marks.length ?
    marks.map((m) => `step ${m.index}: ${m.text}`).join(', ') : 'no step stands out');
  const name = many ? `${plural(others.length, 'rank')}${of_stage ? ' of its stage' : ''}: ` +
      'median, and minimum to maximum' :
    `${ranks_text(others.map((l) => l.rank))}${of_stage ? ', of its stage' : ''}`;
  const step_tip = (i) => band[i] && [
    `step ${numbers[i]}`, `median rank ${ns(band[i].middle)}`,
    band[i].least < band[i].most && `${ns(band[i].least)} to ${ns(band[i].most)}`,
    ...guilty.map((l) => `rank ${l.rank}: ${ns(l.times[i])}`)].filter(Boolean).join('\n');
  const tops = band.map((b) => (b ? b.most : null));
  return h('figure', {class: 'steps'},
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img', 'aria-label': spoken},
      grid_lines(box, ticks(0, frame.high / 1.08, 4), y, (t) => (t === 0 ? '0' : round(ns(t)))),
      step_axis(frame, numbers),
      many && s('path', {d: band_path(range, frame), class: 'band'}),
      many ? line({times: range.map((b) => b && b.middle)}, plain_line) :
        others.map((l) => line(l, plain_line)),
      guilty.map((l) => line(l, {stroke: 'var(--comm_exposed_wait)', 'stroke-width': 2.4})),
      step_columns(frame, numbers, step_tip),
      marks_of(frame, marks, numbers, tops), guilty.map(end)),
    h('div', {class: 'legend'},
      others.length > 0 && h('span', {class: 'plain'}, swatch('compute'), name),
      guilty.length > 0 && h('span', {class: 'plain'}, swatch('comm_exposed_wait'),
        `${ranks_text(guilty.map((l) => l.rank))}, named by the answer`)));
}

export function steps_section(report) {
  const verdict = (report.answer && report.answer.verdict) || {};
  const several = report.ranks.length > 1;
  const splits = several && report.ranks.some((r) => r.steps.some((x) => communicating(x) > 0));
  const accused = (verdict.ranks || []).length;
  let own = splits && accused > 0 && accused <= 4;
  const box = h('div');
  const draw = () => box.replaceChildren(fitted((width) => curve(report, own, width)));
  draw();
  return [
    splits && h('div', {class: 'tools'}, choice('Time of a step',
      [['wall', 'Whole step'], ['own', 'Without exposed communication']], own ? 'own' : 'wall',
      (v) => {
        own = v === 'own';
        draw();
      })),
    box];
}
