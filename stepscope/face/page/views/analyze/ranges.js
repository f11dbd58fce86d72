// SPDX-License-Identifier: Apache-2.0
// Where time goes by the user's own structure: a tree from phases down to kernels.

import {by_rank} from '../../draw/chosen.js';
import {h, missing} from '../../draw/elements.js';
import {meter} from '../../draw/table.js';
import {kernel_name, plain} from '../../format/names.js';
import {count, ns, part, sum} from '../../format/numbers.js';
import {record} from './record.js';

const larger_first = (nodes) => [...(nodes || [])].sort(
    (a, b) => (b.device_ns || 0) - (a.device_ns || 0) || (b.host_ns || 0) - (a.host_ns || 0));

function range_cells(node, depth, twist, {full, key, short}) {
  const leaf = node.kind === 'kernel' || node.kind === 'operator';
  const name = node.kind === 'kernel' ? short(node.name) : node.name;
  return h('tr', {'aria-level': depth + 1},
    h('td', {style: {'--depth': depth}}, twist,
      h('span', {class: leaf && 'mono', 'data-tip': name !== node.name && node.name}, name)),
    h('td', {class: 'soft'}, plain(node.kind)), h('td', {class: 'number'}, count(node.count)),
    h('td', {class: 'number'}, ns(node.host_ns)),
    h('td', {class: 'number'}, ns(node.device_ns)),
    h('td', {class: 'number share'}, meter(full > 0 ? node[key] / full : 0),
      h('span', {class: 'beside'}, part(node[key], full))));
}

// A range's row. Its children's rows are made when it is first opened, and follow it while it is
// open.
function range_row(node, depth, scale) {
  const children = larger_first(node.children);
  const attributes = {class: 'twist', type: 'button', 'aria-label': `${node.name}: children`};
  const twist = children.length ? h('button', {...attributes, 'aria-expanded': 'false'}, '▸') :
                                  h('span', {class: 'leaf'});
  const row = range_cells(node, depth, twist, scale);
  const is_open = () => twist.getAttribute('aria-expanded') === 'true';
  let below = null;
  const rows_below = () => below.flatMap((b) => [b.row, ...b.shown()]);
  function toggle() {
    if (!below) below = children.map((c) => range_row(c, depth + 1, scale));
    if (is_open()) for (const r of rows_below()) r.remove();
    twist.setAttribute('aria-expanded', String(!is_open()));
    if (is_open()) row.after(...rows_below());
    twist.textContent = is_open() ? '▾' : '▸';
  }
  function on_key(e) {
    if (e.key !== (is_open() ? 'ArrowLeft' : 'ArrowRight')) return;
    e.preventDefault();
    toggle();
  }
  if (children.length) {
    twist.addEventListener('click', toggle);
    twist.addEventListener('keydown', on_key);
  }
  return {row, toggle, has_children: children.length > 0,
          shown: () => (below && is_open() ? rows_below() : [])};
}

function range_table(rank, short) {
  const on_device = rank.ranges.some((n) => n.device_ns > 0);
  const key = on_device ? 'device_ns' : 'host_ns';
  const full = sum(rank.ranges.map((n) => n[key]));
  const tops = larger_first(rank.ranges).map((n) => range_row(n, 0, {full, key, short}));
  const body = h('tbody', null, tops.map((t) => t.row));
  for (const t of tops.slice(0, 3)) if (t.has_children) t.toggle();
  const head = (label, number) => h('th', {scope: 'col', class: number && 'number'}, label);
  const heads = [head('Range'), head('Kind'), head('Count', true), head('Host', true),
                 head('Device', true), head(on_device ? 'Share of device' : 'Share of host', true)];
  return h('div', {class: 'scroll'},
    h('table', {class: 'tree', role: 'treegrid'}, h('thead', null, h('tr', null, heads)), body));
}

export function ranges_section(report) {
  const ranks = report.ranks.filter((r) => (r.ranges || []).length);
  if (!ranks.length) return missing(record.ranges);
  return by_rank(ranks, null, ([rank]) => range_table(rank, (name) => kernel_name(report, name)));
}
