// SPDX-License-Identifier: Apache-2.0
// Ranks that behave alike, by how long they compute, communicate, copy and idle in a step: they
// share a row. The ranks that the answer accuses are never mixed with others, and a few of them are
// one by one.

import {categories} from '../../../draw/looks.js';
import {known, sum} from '../../../format/numbers.js';

const few_ranks = 4;    // each has a row
const one_by_one = 4;   // accused ranks
const most_rows = 24;   // of ranks that nobody accuses
// Share of a step by which alike ranks may differ in what they do, and whether a role stays apart.
// The first that leaves few enough rows counts.
const passes = [[0.02, true], [0.02, false], [0.05, false], [0.1, false], [0.2, false],
                [Infinity, false]];

export function middle(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted.length ? sorted[Math.floor((sorted.length - 1) / 2)] : 0;
}

const verdict_of = (report) => (report.answer && report.answer.verdict) || {};

// Ranks by what accuses them: the ranks of the verdict, then those of each alternative. Where no
// replay accuses, late ranks are.
function accused_ranks(report) {
  const verdict = verdict_of(report);
  if (verdict.kind) {
    const all = [verdict, ...(verdict.alternatives || [])].map((v) => v.ranks || []);
    return all.filter((ranks) => ranks.length > 0 && ranks.length < report.ranks.length);
  }
  const late = (report.stragglers || []).filter((r) => r.significant === true && r.late_ns > 0);
  return late.slice(0, one_by_one).map((r) => [r.rank]);
}

// Hidden communication runs during computing. Waiting and transferring are communicating.
const part_of = (key) => (key === 'comm_overlapped' ? 'compute' :
  key.startsWith('comm_exposed') ? 'comm_exposed' : key);

// {rank, role, means} of each rank with steps: what the rank does in a mean step, in ns.
function means_of(ranks) {
  const keys = categories().map((c) => c.key);
  const parts = [...new Set(keys.map(part_of))];
  return ranks.filter((r) => (r.steps || []).length).map((r) => ({
    rank: r.rank,
    role: r.role || '',
    means: parts.map((part) => sum(keys.filter((key) => part_of(key) === part).flatMap(
      (key) => r.steps.map((x) => (x.budget_ns || {})[key]))) / r.steps.length)
  }));
}

// Bundles of rows whose means differ from the middle one's by at most `tolerance` ns; null if they
// are more than `most`.
function bundles_of(rows, tolerance, most) {
  const out = [];
  let left = rows;
  while (left.length) {
    if (out.length === most) return null;
    const centre = left[0].means.map((_, c) => middle(left.map((r) => r.means[c])));
    const off = (r, of) => r.means.reduce((a, v, c) => Math.max(a, Math.abs(v - of[c])), 0);
    let leader = left[0];
    for (const r of left) if (off(r, centre) < off(leader, centre)) leader = r;
    const alike = (r) => r === leader || off(r, leader.means) <= tolerance;
    out.push(left.filter(alike));
    left = left.filter((r) => !alike(r));
  }
  return out;
}

function grouped(rows, key_of) {
  const out = new Map();
  for (const r of rows) {
    const key = key_of(r);
    if (out.has(key)) out.get(key).push(r);
    else out.set(key, [r]);
  }
  return [...out.values()];
}

// Bundles of each part, together at most `most`; null if they are more.
function bundles_of_parts(parts, tolerance, most) {
  const out = [];
  for (const part of parts) {
    const bundles = bundles_of(part, tolerance, most - out.length);
    if (!bundles) return null;
    out.push(...bundles);
  }
  return out;
}

// {tolerance, bundles: [{ranks, accused}]}: every rank with steps is in one bundle. Accused bundles
// come first, the others by their first rank. `tolerance` is the share of a step by which ranks of
// a bundle may differ in what they do.
export function alike_ranks(report) {
  const rows = means_of(report.ranks);
  const step = middle(rows.map((r) => sum(r.means)));
  const blame = new Map();  // rank → what keeps it apart
  accused_ranks(report).forEach((ranks, i) => {
    if (i > 0 && ranks.length > one_by_one) return;
    for (const rank of ranks)
      if (!blame.has(rank)) blame.set(rank, ranks.length > one_by_one ? `all ${i}` : `one ${rank}`);
  });
  const accused = rows.filter((r) => blame.has(r.rank));
  const others = rows.filter((r) => !blame.has(r.rank));
  let bundles = null;
  let tolerance = 0;
  for (const [share, by_role] of passes) {
    tolerance = share;
    const parts = by_role ? grouped(others, (r) => r.role) : [others];
    bundles = bundles_of_parts(parts, share * step, most_rows);
    if (bundles) break;
  }
  const first = grouped(accused, (r) => blame.get(r.rank)).flatMap(
      (part) => bundles_of(part, tolerance * step, Infinity));
  const listed = (list, is_accused) => list.map((part) => (
    {ranks: part.map((r) => r.rank).sort((a, b) => a - b), accused: is_accused}))
      .sort((a, b) => a.ranks[0] - b.ranks[0]);
  return {tolerance, bundles: [...listed(first, true), ...listed(bundles || [], false)]};
}

const known_bundles = new WeakMap();

// As alike_ranks, once for each report; of a few ranks each is alone.
export function bundles_of_report(report) {
  if (!known_bundles.has(report)) {
    known_bundles.set(report, report.ranks.length > few_ranks ? alike_ranks(report) : {
      tolerance: 0,
      bundles: report.ranks.map((r) => ({ranks: [r.rank], accused: false}))
    });
  }
  return known_bundles.get(report);
}

const is_object = (v) => Boolean(v) && typeof v === 'object' && !Array.isArray(v);

function mean_value(all) {
  const [first] = all;
  if (all.every(known)) return sum(all) / all.length;
  if (all.every(is_object)) return mean_row(all);
  if (all.every((v) => Array.isArray(v) && v.length === first.length))
    return first.map((_, i) => mean_value(all.map((v) => v[i])));
  return all.every((v) => v === first) ? first : null;
}

// The mean of objects of one shape: numbers are averaged, also inside; what differs is null.
export function mean_row(rows) {
  const out = {};
  for (const key of Object.keys(rows[0])) out[key] = mean_value(rows.map((r) => r[key]));
  return out;
}

// Rows of ranks as one row for each bundle: their mean, with `ranks` and `accused`. Rows of a
// bundle whose `key_of` differs stay apart. A row whose rank is in no bundle stays alone.
export function bundled_rows(rows, bundles, {key_of = () => '', mean = mean_row} = {}) {
  const place = new Map();
  bundles.forEach((b, i) => b.ranks.forEach((rank) => place.set(rank, i)));
  const parts = grouped(rows, (r) => (
    `${place.has(r.rank) ? place.get(r.rank) : `rank ${r.rank}`} ${key_of(r)}`));
  return parts.map((part) => ({
    ...(part.length > 1 ? mean(part) : part[0]), rank: part[0].rank,
    ranks: part.map((r) => r.rank),
    accused: bundles[place.get(part[0].rank)]?.accused === true
  }));
}

// Why the ranks of a row share it. Empty if no ranks share a row.
export function alike_note({tolerance, bundles}) {
  if (bundles.every((b) => b.ranks.length < 2)) return '';
  return tolerance === Infinity ?
      'Ranks that the answer does not name share a row. A row shows their mean.' :
      'Ranks share a row if they compute, communicate, copy and idle alike, to ' +
          `${Math.round(100 * tolerance)} % of a step. A row shows their mean.`;
}
