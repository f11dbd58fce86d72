// SPDX-License-Identifier: Apache-2.0
// A tree in layers: the root at the top, each rank below its parent.

import {fitted} from '../../draw/chart.js';
import {h, note, s} from '../../draw/elements.js';
import {capitalised, plural} from '../../format/names.js';
import {count, largest} from '../../format/numbers.js';
import {
  channels_text, host_hues, host_legend, most_pictures, most_ranks, most_shapes, rank_words,
  shape_title
} from './shapes.js';

// Places of the ranks: {rank, up, down, logged, column, layer}. A rank whose process logged
// nothing stands where others name it. Leaves take a column each; a parent stands above the middle
// of its children. Ranks on a circle of parents have no place.
export function tree_places(ranks) {
  const nodes = new Map(ranks.map((r) => [r.rank, {...r, down: [...r.down], logged: true}]));
  for (const r of ranks) {
    for (const down of r.down)
      if (!nodes.has(down)) nodes.set(down, {rank: down, up: r.rank, down: [], logged: false});
    if (r.up === null) continue;
    if (!nodes.has(r.up)) nodes.set(r.up, {rank: r.up, up: null, down: [], logged: false});
    const up = nodes.get(r.up);
    if (!up.down.includes(r.rank)) up.down.push(r.rank);
  }
  let columns = 0;
  const placed = [];
  for (const root of [...nodes.values()].filter((n) => n.up === null)) {
    const open = [{node: root, layer: 0, next: 0}];
    while (open.length) {
      const top = open[open.length - 1];
      if (top.next < top.node.down.length) {
        open.push({node: nodes.get(top.node.down[top.next++]), layer: top.layer + 1, next: 0});
        continue;
      }
      open.pop();
      const under = top.node.down.map((d) => nodes.get(d).column);
      top.node.column = under.length ? (under[0] + under[under.length - 1]) / 2 : columns++;
      top.node.layer = top.layer;
      placed.push(top.node);
    }
  }
  return {places: placed, columns: Math.max(1, columns),
    layers: 1 + largest(placed.map((p) => p.layer))};
}

const two = (v) => v.toFixed(2);

function tree_tip(hosts, p) {
  const up = p.up === null ? p.logged ? 'the root' : 'parent not in the logs' :
    `up: rank ${p.up}`;
  const down = p.down.length ? `down: ${p.down.map((d) => `rank ${d}`).join(', ')}` :
    p.logged ? 'no children' : 'children not in the logs';
  return `${rank_words(hosts, p.rank)}\n${up}\n${down}`;
}

function tree_picture(shape, tree, hue, width) {
  const drawn = tree.ranks.slice(0, most_ranks);
  const {places, columns, layers} = tree_places(drawn);
  const wide = Math.min(width, Math.max(200, columns * 44));
  const gap = Math.max(3, Math.min(46, 1400 / layers));
  const dot = Math.max(1.2, Math.min(11, (wide / columns) * 0.38, gap * 0.36));
  const at = new Map(places.map((p) => [p.rank, {
    x: ((p.column + 0.5) / columns) * wide, y: 16 + p.layer * gap
  }]));
  const height = 32 + (layers - 1) * gap;
  const lines = places.filter((p) => p.up !== null).map((p) => {
    const [a, b] = [at.get(p.up), at.get(p.rank)];
    return `M${two(a.x)},${two(a.y)}L${two(b.x)},${two(b.y)}`;
  }).join('');
  const root = places.find((p) => p.up === null);
  return s('svg', {
    class: 'tree-shape', role: 'img', viewBox: `0 0 ${wide} ${two(height)}`,
    style: {width: `${wide}px`},
    'aria-label': `Tree of ${channels_text(tree.channels)}: ${plural(places.length, 'rank')} in ${
      plural(layers, 'layer')}${root ? `, rank ${root.rank} at the top` : ''}`
  },
  s('path', {class: 'hop', d: lines}),
  places.map((p) => s('circle', {
    cx: two(at.get(p.rank).x), cy: two(at.get(p.rank).y), r: two(dot), class: p.logged ? null :
      'unlogged', style: {'--c': `var(--${hue(p.rank)})`}, 'data-rank': p.rank,
    'data-tip': tree_tip(shape.hosts, p)
  })),
  dot >= 9 && places.map((p) => s('text', {
    class: p.logged ? 'within' : 'ink', x: two(at.get(p.rank).x), y: two(at.get(p.rank).y + 4),
    'text-anchor': 'middle'
  }, p.rank)));
}

function tree_remark(shape, tree) {
  const n = tree.ranks.length;
  if (n > most_ranks) return `The first ${count(most_ranks)} of ${count(n)} ranks are drawn.`;
  if (n < shape.ranks)
    return `The logs have the places of ${count(n)} of ${plural(shape.ranks, 'rank')}; ` +
      'hollow ranks are only named by others.';
  return tree.whole ? null : 'The lines of the ranks make no single tree.';
}

function trees_of(shape) {
  const {tree_shapes: all} = shape;
  const hues = host_hues(shape.hosts);
  return [
    h('h3', null, `${shape_title(shape)}: ${plural(all.length, 'distinct shape')}`),
    host_legend(hues, all.some((t) => t.ranks.some((r) =>
      [...r.down, r.up].some((x) => x !== null && !shape.hosts.has(x))))),
    h('div', {class: 'shapes'}, all.slice(0, most_pictures).map((tree) => {
      const remark = tree_remark(shape, tree);
      return h('figure', {class: 'shape'},
        fitted((width) => tree_picture(shape, tree, hues.hue, width)),
        h('figcaption', null, `${capitalised(channels_text(tree.channels))}.`,
          remark && ` ${remark}`));
    })),
    all.length > most_pictures && note(`The first ${most_pictures} of ${
      plural(all.length, 'shape')} are drawn; --json has all.`),
    shape.unclear_trees > 0 && note(`${plural(shape.unclear_trees, 'channel')} left out: lines ` +
      'are damaged or contradict each other.')];
}

export function trees_section(shapes) {
  const some = shapes.filter((x) => x.tree_shapes.length > 0);
  return [
    some.slice(0, most_shapes).map(trees_of),
    some.length > most_shapes && note(`The largest ${most_shapes} of ${
      count(some.length)} different communicators are drawn; --json has all.`)];
}
