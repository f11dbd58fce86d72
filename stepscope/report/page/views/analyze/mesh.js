// SPDX-License-Identifier: Apache-2.0
// All ranks at a glance: a square for each, pipeline stages down, replicas and tensor-parallel ranks
// across. The colour is what a rank does longer than its role; the verdict's ranks have a frame.

import {h, missing, s} from '../../draw/elements.js';
import {plural} from '../../format/names.js';
import {largest, ns, percent, sum} from '../../format/numbers.js';
import {record} from './record.js';

const waits = ['comm_exposed_wait', 'comm_exposed_unsplit'];
const least_shade = 0.01;  // of a step: less is chance

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

// Of each rank its place, what it does a step beside waiting, and how much longer that is than the
// median of its role.
export function mesh_of(report) {
  const replicas = new Map();
  const cells = report.ranks.map((r) => {
    const {tp, pp} = coordinates(r.role || '');
    const replica = replicas.get(r.role) || 0;
    replicas.set(r.role, replica + 1);
    const steps = Math.max(1, r.steps.length);
    const wall = sum(r.steps.map((x) => x.wall_ns)) / steps;
    const waiting = sum(waits.map((k) => (r.budget_ns && r.budget_ns[k]) || 0)) / steps;
    return {rank: r.rank, role: r.role, tp, pp, replica, wall, own: wall - waiting};
  });
  const of_role = new Map();
  for (const c of cells) of_role.has(c.role) ? of_role.get(c.role).push(c.own) : of_role.set(c.role, [c.own]);
  for (const [role, own] of of_role) of_role.set(role, median(own));
  for (const c of cells) c.more = c.own - of_role.get(c.role);
  return cells;
}

// Columns of one stage: the tensor-parallel ranks of a replica stand together. A job without stages
// is wrapped.
function placed(cells, room) {
  const tps = 1 + largest(cells.map((c) => c.tp));
  const replicas = 1 + largest(cells.map((c) => c.replica));
  const stages = 1 + largest(cells.map((c) => c.pp));
  const size = Math.max(7, Math.min(26, Math.floor(room / (tps * replicas)) || 7));
  const across = Math.max(tps, Math.floor(room / size / tps) * tps);
  const lines = Math.ceil((tps * replicas) / across);
  for (const c of cells) {
    const column = c.replica * tps + c.tp;
    c.x = (column % across) * size;
    c.y = (c.pp * lines + Math.floor(column / across)) * size + c.pp * (stages > 1 ? 6 : 0);
  }
  return {size, stages, lines, tps};
}

function square(c, size, most, step, named) {
  const shade = c.more > least_shade * step ? 0.15 + 0.85 * Math.min(1, c.more / most) : 0;
  const tip = `rank ${c.rank}${c.role && c.role !== 'all' ? `, ${c.role}` : ''}\n` +
      `${ns(c.own)} a step beside waiting, ${ns(Math.abs(c.more))} ` +
      `${c.more < 0 ? 'less' : 'more'} than the median of its role`;
  return [
    s('rect', {
      class: 'cell', x: c.x + 1, y: c.y + 1, width: size - 2, height: size - 2, rx: 2,
      fill: shade ? 'var(--comm_exposed_wait)' : 'var(--rule)',
      'fill-opacity': shade ? shade.toFixed(3) : 1, 'data-rank': c.rank, 'data-tip': tip,
      ...(named ? {stroke: 'var(--ink)', 'stroke-width': 2.5, 'data-named': ''} : {})
    }),
    size >= 18 && s('text', {
      x: c.x + size / 2, y: c.y + size / 2 + 4, 'text-anchor': 'middle', 'font-size': 10,
      class: shade > 0.5 ? 'on-dark' : 'ink', 'pointer-events': 'none'
    }, c.rank)];
}

export function mesh_section(report) {
  const cells = mesh_of(report);
  if (!cells.some((c) => c.wall > 0)) return missing(record.steps);
  const left = 64;
  const {size, stages, lines} = placed(cells, 860);
  const step = median(cells.map((c) => c.wall)) || 1;
  const most = Math.max(largest(cells.map((c) => c.more)), least_shade * step);
  const verdict = (report.answer && report.answer.verdict) || {};
  const named = new Set(verdict.ranks || []);
  const width = left + largest(cells.map((c) => c.x)) + size;
  const height = largest(cells.map((c) => c.y)) + size + 2;
  const names = stages > 1 && [...Array(stages).keys()].map((stage) => {
    const of_stage = cells.find((c) => c.pp === stage);
    return of_stage && s('text', {x: left - 8, 'text-anchor': 'end',
      y: stage * lines * size + stage * 6 + (lines * size) / 2 + 4}, `stage ${stage}`);
  });
  const spoken = `${plural(cells.length, 'rank')}; ` + (named.size ?
    `the verdict names ${[...named].slice(0, 8).join(', ')}` : 'the verdict names none');
  return h('figure', {class: 'mesh'},
    s('svg', {viewBox: `0 0 ${width} ${height}`, style: {width: `${width}px`}, role: 'img',
      'aria-label': spoken},
    names, s('g', {transform: `translate(${left} 0)`},
      cells.map((c) => square(c, size, most, step, named.has(c.rank))))),
    h('figcaption', null, 'Time beside waiting, above the median of the role', h('span', {class: 'scale'}),
      `${ns(most)} (${percent(most / step)} of a step). `,
      named.size > 0 && 'A frame marks the ranks that the answer names.'));
}
