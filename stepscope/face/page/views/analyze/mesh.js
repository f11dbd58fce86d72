// SPDX-License-Identifier: Apache-2.0
// All ranks at a glance: a square for each, pipeline stages and in each the tensor-parallel ranks
// down, replicas across. The colour is what a rank does longer than its role, or how much slower
// its process groups are than their siblings; the verdict's ranks have a frame.

import {choice, h, missing, s} from '../../draw/elements.js';
import {plural} from '../../format/names.js';
import {largest, ns, percent, sum, times} from '../../format/numbers.js';
import {group_title, share_of_siblings} from './job/group_rates.js';
import {record} from './record.js';

const communication = ['comm_exposed_wait', 'comm_exposed_transfer', 'comm_exposed_unsplit'];
// Shares of a step: what is less than the first is chance, the second has the full colour. The same
// of the time of sibling groups.
const least_shade = 0.01;
const full_shade = 0.1;
const least_slower = 0.05;
const full_slower = 0.5;

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] : 0;
}

// "tp1.pp0" → {tp: 1, pp: 0}.
export function coordinates(role) {
  const at = {tp: 0, pp: 0};
  for (const [, key, n] of role.matchAll(/(tp|pp)(\d+)/g)) at[key] = Number(n);
  return at;
}

// The groups of consecutive ranks that communicate most, if all ranks are in one: the index of each
// rank in its group, and `size`. The column of a rank where no role names its tensor-parallel rank.
export function blocks_of(report) {
  const sizes = new Map();
  for (const {ranks, size, rates} of report.groups || []) {
    const consecutive = ranks.length > 1 && ranks.length === size && ranks[0] % size === 0 &&
        ranks.every((rank, i) => rank === ranks[0] + i);
    if (!consecutive || size >= report.ranks.length) continue;
    if (!sizes.has(size)) sizes.set(size, {size, calls: 0, index: new Map()});
    const block = sizes.get(size);
    block.calls += sum(rates.map((r) => r.count));
    ranks.forEach((rank, i) => block.index.set(rank, i));
  }
  const whole = [...sizes.values()].filter((b) => report.ranks.every((r) => b.index.has(r.rank)));
  return whole.sort((a, b) => b.calls - a.calls)[0] || {size: 1, index: new Map()};
}

// The place of each rank, the time of its step without exposed communication, and how much longer
// that is than the median of its role.
export function mesh_of(report) {
  const of_role = report.ranks.map((r) => coordinates(r.role || ''));
  const named = of_role.some((at) => at.tp > 0);
  const blocks = named ? null : blocks_of(report);
  const replicas = new Map();
  const cells = report.ranks.map((r, i) => {
    const {pp} = of_role[i];
    const tp = named ? of_role[i].tp : blocks.index.get(r.rank) || 0;
    const replica = replicas.get(`${tp} ${pp}`) || 0;
    replicas.set(`${tp} ${pp}`, replica + 1);
    const steps = Math.max(1, r.steps.length);
    const wall = sum(r.steps.map((x) => x.wall_ns)) / steps;
    const others = sum(communication.map((k) => (r.budget_ns && r.budget_ns[k]) || 0)) / steps;
    return {rank: r.rank, role: r.role, tp, pp, replica, wall, own: wall - others};
  });
  const medians = new Map();
  for (const {role} of cells)
    if (!medians.has(role))
      medians.set(role, median(cells.filter((c) => c.role === role).map((c) => c.own)));
  for (const c of cells) c.more = c.own - medians.get(c.role);
  return cells;
}

// A stage is a block of lines: its tensor-parallel ranks down, its replicas across, wrapped where
// they do not fit.
function placed(cells, room) {
  const tps = 1 + largest(cells.map((c) => c.tp));
  const replicas = 1 + largest(cells.map((c) => c.replica));
  const stages = 1 + largest(cells.map((c) => c.pp));
  const size = Math.max(9, Math.min(30, Math.floor(room.width / replicas),
    Math.floor(room.height / (tps * stages))));
  const across = Math.min(replicas, Math.floor(room.width / size));
  const folds = Math.ceil(replicas / across);
  const gap = 6;
  const lines = tps * folds;
  const tall = lines * size + (tps > 1 ? gap * (folds - 1) : 0);
  for (const c of cells) {
    const fold = Math.floor(c.replica / across);
    c.x = (c.replica % across) * size;
    c.y = c.pp * (tall + gap) + (fold * tps + c.tp) * size + (tps > 1 ? fold * gap : 0);
  }
  return {size, stages, tall: tall + gap, tps};
}

// The slowest process group of each rank compared with its siblings: {slower, group} by rank.
// `slower` is the share of the siblings' time that it takes more.
export function slowest_groups(groups) {
  const out = new Map();
  for (const group of groups) {
    const share = share_of_siblings(group);
    if (!share) continue;
    const slower = 1 / share - 1;
    for (const rank of group.ranks)
      if (!out.has(rank) || slower > out.get(rank).slower) out.set(rank, {slower, group});
  }
  return out;
}

// What shades a square: {of(cell): a value of at least 0, least, most, tip(cell), words}.
function by_lateness(cells, whole) {
  const step = whole || median(cells.map((c) => c.wall)) || 1;
  const most = Math.max(largest(cells.map((c) => c.more)), full_shade * step);
  return {
    of: (c) => c.more, least: least_shade * step, most,
    tip: (c) => `${ns(c.own)} a step without exposed communication, ${ns(Math.abs(c.more))} ${
      c.more < 0 ? 'less' : 'more'} than the median of its role`,
    words: ['A rank\'s step without exposed communication, less the median of its role',
            `${ns(most)} (${percent(most / step)} of a step). `]
  };
}

function by_bandwidth(cells, slowest) {
  const of = (c) => (slowest.has(c.rank) ? slowest.get(c.rank).slower : 0);
  const most = Math.max(largest(cells.map(of)), full_slower);
  return {
    of, least: least_slower, most,
    tip: (c) => (slowest.has(c.rank) ?
      `transfers of its slowest group, ${group_title(slowest.get(c.rank).group)}, take ${
        times(1 + slowest.get(c.rank).slower)} as long as its siblings'` :
      'no group with siblings'),
    words: ['Transfer time of its slowest group, over the median of its siblings',
            `${times(1 + most)}. `]
  };
}

// Only what the answer accuses is red.
const hue_of = (named) => (named ? 'comm_exposed_wait' : 'idle_host');

function square(c, size, look, named) {
  const shade = look.of(c) > look.least ? 0.15 + 0.85 * Math.min(1, look.of(c) / look.most) : 0;
  const tip = `rank ${c.rank}${c.role && c.role !== 'all' ? `, ${c.role}` : ''}\n${look.tip(c)}`;
  return [
    s('rect', {
      class: 'cell', x: c.x + 1, y: c.y + 1, width: size - 2, height: size - 2, rx: 2,
      fill: shade ? `var(--${hue_of(named)})` : 'var(--rule)',
      'fill-opacity': shade ? shade.toFixed(3) : 1, 'data-rank': c.rank, 'data-tip': tip,
      ...(named ? {'data-named': ''} : {})
    }),
    size >= 18 && s('text', {
      x: c.x + size / 2, y: c.y + size / 2 + 4, 'text-anchor': 'middle', 'font-size': 10,
      class: 'rank-number', 'pointer-events': 'none'
    }, c.rank)];
}

function mesh_figure(cells, look, verdict) {
  const left = cells.some((c) => c.pp > 0) ? 64 : 2;
  const {size, stages, tall, tps} = placed(cells, {width: 1060, height: 400});
  const named = new Set(verdict.ranks || []);
  const width = left + largest(cells.map((c) => c.x)) + size + 2;
  const height = largest(cells.map((c) => c.y)) + size + 2;
  const names = stages > 1 && [...Array(stages).keys()].map((stage) => {
    const of_stage = cells.find((c) => c.pp === stage);
    return of_stage && s('text', {x: left - 8, 'text-anchor': 'end',
      y: (stage + 0.5) * tall + 1}, `stage ${stage}`);
  });
  const spoken = `${plural(cells.length, 'rank')}; ` + (named.size ?
    `the verdict names ${[...named].slice(0, 8).join(', ')}` : 'the verdict names none');
  return h('figure', {class: 'mesh'},
    s('svg', {viewBox: `0 0 ${width} ${height}`, style: {width: `${width}px`}, role: 'img',
      'aria-label': spoken},
    names, s('g', {transform: `translate(${left} 0)`},
      cells.map((c) => square(c, size, look, named.has(c.rank))))),
    h('figcaption', null, look.words[0],
      h('span', {class: 'scale', style: {'--c': `var(--${hue_of(named.size > 0)})`}}),
      look.words[1],
      named.size > 0 && 'Ranks that the answer names are red and framed. ',
      tps > 1 && `Ranks of a ${cells.some((c) => /tp/.test(c.role)) ? 'tensor-parallel ' : ''}` +
        'group stand below one another.'));
}

export function mesh_section(report) {
  const cells = mesh_of(report);
  if (!cells.some((c) => c.wall > 0)) return missing(record.steps);
  const verdict = (report.answer && report.answer.verdict) || {};
  const slowest = slowest_groups(report.groups || []);
  const looks = {
    late: () => by_lateness(cells, report.job && report.job.step_mean_ns),
    busbw: () => by_bandwidth(cells, slowest)
  };
  const box = h('div');
  const show = (key) => box.replaceChildren(mesh_figure(cells, looks[key](), verdict));
  const first = slowest.size && verdict.kind === 'slow_group' ? 'busbw' : 'late';
  show(first);
  return [
    slowest.size > 0 && h('div', {class: 'tools'}, choice(
      'Colour', [['late', 'Own time'], ['busbw', 'Bandwidth of its groups']], first, show)),
    box];
}
