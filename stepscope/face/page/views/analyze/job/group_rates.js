// SPDX-License-Identifier: Apache-2.0
// Each process group with its siblings: the groups of its dimension and size that send the same
// messages. A bar is a group; its height is its bus bandwidth.

import {fitted} from '../../../draw/chart.js';
import {h, note, s} from '../../../draw/elements.js';
import {hyphened, plural, ranks_text} from '../../../format/names.js';
import {
  bytes, count, gb_per_s, known, largest, ns, number, percent, sum
} from '../../../format/numbers.js';
import {middle} from './alike.js';

const slow_share = 0.8;  // of its siblings' rate: below it a group is coloured
const most_families = 6;
const least_bytes = 1024;  // of a message: a smaller one shows latency, not bandwidth

// The process groups that the verdict and its alternatives name: [{name, rank}].
export function accused_groups(report) {
  const verdict = (report.answer && report.answer.verdict) || {};
  return [verdict, ...(verdict.alternatives || [])].filter((v) => v.kind === 'slow_group')
      .map((v) => ({name: v.group, rank: (v.ranks || [])[0]}));
}

export const is_accused = (group, accused) => accused.some((a) => a.name === group.name &&
  (!known(a.rank) || !group.ranks.length || group.ranks.includes(a.rank)));

// "84 (ranks 3, 7, 11, …)"; a hash by its beginning.
export function group_title(group) {
  const name = /^\S{32,}$/.test(group.name) ? `${group.name.slice(0, 8)}…` : group.name;
  const said = group.description && group.description !== 'undefined' &&
      !group.name.includes(group.description) ? ` ${group.description}` : '';
  return `${name}${said}${group.ranks.length ? `, ${ranks_text(group.ranks)}` : ''}`;
}

const tells = (rate) => known(rate.of_siblings) && rate.of_siblings > 0 &&
    rate.bytes >= least_bytes;

// Siblings that send the same messages: [{kind, bytes, dimension, size, bars: [{group, ...rate}],
// time}], most transfer time first; bars by the groups' first ranks.
export function families(groups) {
  const out = new Map();
  for (const group of groups) {
    for (const rate of group.rates) {
      if (!tells(rate) || !known(rate.busbw_gb_per_s)) continue;
      const key = [group.dimension, group.size, rate.name, rate.bytes].join(' ');
      if (!out.has(key)) {
        out.set(key, {kind: rate.name, bytes: rate.bytes, dimension: group.dimension,
          size: group.size, bars: []});
      }
      out.get(key).bars.push({group, ...rate});
    }
  }
  const list = [...out.values()].filter((f) => f.bars.length > 1);
  for (const f of list) {
    f.bars.sort((a, b) => (a.group.ranks[0] ?? 0) - (b.group.ranks[0] ?? 0));
    f.time = sum(f.bars.map((b) => b.transfer_ns * b.count));
  }
  return list.sort((a, b) => b.time - a.time);
}

// The group's rate over its siblings' by all its messages, weighted by time. Null without messages.
export function share_of_siblings(group) {
  const some = group.rates.filter(tells);
  const time = sum(some.map((r) => r.transfer_ns * r.count));
  const reference = sum(some.map((r) => r.transfer_ns * r.count * r.of_siblings));
  return time > 0 ? reference / time : null;
}

const colour_of = (bar, accused) => (is_accused(bar.group, accused) ? 'comm_exposed_wait' :
  bar.of_siblings < slow_share ? 'comm_exposed_transfer' : 'compute');

function bar_tip(bar) {
  return [group_title(bar.group), `bus bandwidth ${gb_per_s(bar.busbw_gb_per_s)}, ${
      percent(bar.of_siblings)} of its siblings'`,
  `${count(bar.count)} × ${ns(bar.transfer_ns)}`].join('\n');
}

function strip(family, accused, width) {
  const height = 46;
  const top = largest(family.bars.map((b) => b.busbw_gb_per_s)) || 1;
  const wide = Math.min(26, width / family.bars.length);
  const gap = wide > 4 ? 2 : wide > 2 ? 0.5 : 0;
  return s('svg', {class: 'group-strip', viewBox: `0 0 ${width} ${height}`, role: 'img',
    'aria-label': family.bars.map((b) => `${b.group.name} ${number(b.busbw_gb_per_s)} GB/s`)
        .slice(0, 64).join(', ')},
    s('line', {class: 'grid', x1: 0, x2: wide * family.bars.length, y1: height - 0.5,
      y2: height - 0.5}),
    family.bars.map((b, i) => {
      const tall = Math.max(1, (b.busbw_gb_per_s / top) * (height - 2));
      return [
        s('rect', {x: i * wide, y: height - tall, width: wide - gap, height: tall,
          fill: `var(--${colour_of(b, accused)})`, 'data-group': b.group.name}),
        s('rect', {x: i * wide, y: 0, width: wide, height, fill: 'transparent',
          'data-tip': bar_tip(b)})];
    }));
}

// The words next to a strip: the middle rate, and the group that the answer names or the slowest.
function strip_words(family, accused) {
  const rates = family.bars.map((b) => b.busbw_gb_per_s);
  const named = family.bars.filter((b) => is_accused(b.group, accused));
  const slowest = family.bars.reduce((a, b) => (b.busbw_gb_per_s < a.busbw_gb_per_s ? b : a));
  const shown = named.length ? named : slowest.of_siblings < slow_share ? [slowest] : [];
  return h('div', {class: 'group-words'},
    h('div', null, `median ${gb_per_s(middle(rates))}`),
    shown.slice(0, 2).map((b) => h('div', {class: named.length ? 'guilty' : 'slow'},
      h('b', null, b.group.name.slice(0, 12)),
      ` ${gb_per_s(b.busbw_gb_per_s)}, ${percent(b.of_siblings)} of its siblings'`)));
}

function family_row(family, accused, width) {
  return h('div', {class: 'group-row'},
    h('div', {class: 'group-what'}, `${hyphened(family.kind)} ${bytes(family.bytes)}`,
      h('small', null, `${family.dimension === 'unknown' ? '' : `${family.dimension}, `}${
          plural(family.bars.length, 'group')} of ${family.size} ranks`)),
    strip(family, accused, width), strip_words(family, accused));
}

export function group_rates_part(report) {
  const all = families(report.groups || []);
  if (!all.length) return null;
  const accused = accused_groups(report);
  const has_accused = (f) => f.bars.some((b) => is_accused(b.group, accused));
  const slow = (f) => f.bars.some((b) => b.of_siblings < slow_share);
  const order = [...all.filter(has_accused), ...all.filter((f) => !has_accused(f) && slow(f)),
                 ...all.filter((f) => !has_accused(f) && !slow(f))];
  const few = order.slice(0, most_families);
  const box = h('div');
  const draw = (list) => box.replaceChildren(fitted((width) => h('div', {class: 'group-rows'},
    list.map((f) => family_row(f, accused, Math.max(120, Math.min(620, width - 440)))))));
  draw(few);
  const more = order.length > few.length && h('p', {class: 'more'}, h('button', {
    type: 'button', class: 'link', on: {click: (e) => {
      draw(order);
      e.target.remove();
    }}}, `Show all ${count(order.length)}`));
  const orange = order.some(
    (f) => f.bars.some((b) => colour_of(b, accused) === 'comm_exposed_transfer'));
  return [h('h3', null, 'Process groups and their siblings'), box, more,
    note('A bar is a process group; its height is its bus bandwidth for this message. ',
      accused.length > 0 && 'Red: named by the answer. ',
      orange && `Orange: below ${percent(slow_share)} of its siblings.`)];
}
