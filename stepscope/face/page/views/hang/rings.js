// SPDX-License-Identifier: Apache-2.0
// A ring as a circle: the ranks in their order, each sending to the next.

import {fitted} from '../../draw/chart.js';
import {h, note, s} from '../../draw/elements.js';
import {capitalised, plural} from '../../format/names.js';
import {count} from '../../format/numbers.js';
import {
  channels_text, host_hues, host_legend, most_pictures, most_ranks, most_shapes, rank_words,
  shape_title
} from './shapes.js';

// Where `n` ranks stand: clockwise from the top; of a part of a ring along an open arc. `named` is
// the distance between ranks that are named.
export function ring_places(n, whole, radius) {
  const turn = whole ? 2 * Math.PI : 2 * Math.PI * 0.9;
  const gaps = whole ? n : Math.max(1, n - 1);
  const at = (i) => (turn * i) / gaps - Math.PI / 2;
  const places = Array.from({length: n}, (_, i) => ({
    x: radius * Math.cos(at(i)), y: radius * Math.sin(at(i)), angle: at(i)
  }));
  const apart = (turn * radius) / gaps;
  return {places, dot: Math.max(1.2, Math.min(11, apart * 0.36)),
    named: Math.max(1, Math.ceil(24 / apart))};
}

const two = (v) => v.toFixed(2);

// Hops from rank to rank. Where they are long enough they have arrow heads.
function hops(places, whole, dot) {
  const ends = whole ? [...places, places[0]] : places;
  return ends.slice(1).map((to, i) => {
    const from = ends[i];
    const length = Math.hypot(to.x - from.x, to.y - from.y);
    if (length <= 2 * dot) return null;
    const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length];
    const [x1, y1] = [from.x + ux * dot, from.y + uy * dot];
    const [x2, y2] = [to.x - ux * (dot + 1), to.y - uy * (dot + 1)];
    const line = `M${two(x1)},${two(y1)}L${two(x2)},${two(y2)}`;
    if (length - 2 * dot < 9) return line;
    const head = (side) => `L${two(x2 - ux * 6 - uy * 3.5 * side)},${
      two(y2 - uy * 6 + ux * 3.5 * side)}M${two(x2)},${two(y2)}`;
    return `${line}${head(1)}${head(-1)}`;
  }).filter(Boolean).join('');
}

function rank_label(place, radius, dot, rank) {
  const far = radius + dot + 12;
  const [x, y] = [far * Math.cos(place.angle), far * Math.sin(place.angle)];
  const side = Math.abs(x) < far * 0.2 ? 'middle' : x > 0 ? 'start' : 'end';
  return s('text', {x: two(x), y: two(y + 4), 'text-anchor': side}, rank);
}

function ring_picture(shape, ring, hue, width) {
  const drawn = ring.ranks.slice(0, most_ranks);
  const whole = ring.whole && drawn.length === ring.ranks.length;
  const size = Math.min(width, drawn.length > 64 ? 640 : 360);
  const radius = size / 2 - 44;
  const {places, dot, named} = ring_places(drawn.length, whole, radius);
  const inside = dot >= 9;
  const spoken = `Ring of ${channels_text(ring.channels)}: ${drawn.slice(0, 20).join(', ')}${
    drawn.length > 20 ? ` and ${drawn.length - 20} more` : ''}`;
  return s('svg', {
    class: 'ring', role: 'img', 'aria-label': spoken,
    viewBox: `${-size / 2} ${-size / 2} ${size} ${size}`, style: {width: `${size}px`}
  },
  s('path', {class: 'hop', d: hops(places, whole, dot)}),
  places.map((p, i) => s('circle', {
    cx: two(p.x), cy: two(p.y), r: two(dot), style: {'--c': `var(--${hue(drawn[i])})`},
    'data-rank': drawn[i],
    'data-tip': `${rank_words(shape.hosts, drawn[i])}\nsends to ${
      i + 1 < drawn.length ? `rank ${drawn[i + 1]}` : whole ? `rank ${drawn[0]}` :
        'a rank that is not shown'}`
  })),
  places.map((p, i) => (i % named ? null : inside ? s('text', {
    class: 'within', x: two(p.x), y: two(p.y + 4), 'text-anchor': 'middle'
  }, drawn[i]) : rank_label(p, radius, dot, drawn[i]))));
}

function ring_remark(shape, ring) {
  const n = ring.ranks.length;
  if (n > most_ranks) return `The first ${count(most_ranks)} of ${count(n)} ranks are drawn.`;
  if (ring.whole) return null;
  return `The log has ${count(n)} of ${count(shape.ranks)} ranks of this ring. ` +
    'NCCL_DEBUG_SUBSYS=INIT,GRAPH logs the neighbours of every rank.';
}

function ring_figure(shape, ring, hue) {
  const {channels} = ring;
  const remark = ring_remark(shape, ring);
  return h('figure', {class: 'shape'},
    fitted((width) => ring_picture(shape, ring, hue, width)),
    h('figcaption', null, `${capitalised(channels_text(channels))}.`, remark && ` ${remark}`));
}

function rings_of(shape) {
  const {ring_orders: all} = shape;
  const hues = host_hues(shape.hosts);
  const unknown = all.some((r) => r.ranks.some((rank) => !shape.hosts.has(rank)));
  return [
    h('h3', null, `${shape_title(shape)}: ${plural(all.length, 'distinct order')}`),
    host_legend(hues, unknown),
    h('div', {class: 'shapes'}, all.slice(0, most_pictures).map((r) =>
      ring_figure(shape, r, hues.hue))),
    all.length > most_pictures && note(`The first ${most_pictures} of ${
      plural(all.length, 'order')} are drawn; --json has all.`),
    shape.unclear_rings > 0 && note(`${plural(shape.unclear_rings, 'channel')} left out: lines ` +
      'are damaged or contradict each other.')];
}

export function rings_section(shapes) {
  const some = shapes.filter((x) => x.ring_orders.length > 0);
  return [
    some.slice(0, most_shapes).map(rings_of),
    some.length > most_shapes && note(`The largest ${most_shapes} of ${
      count(some.length)} different communicators are drawn; --json has all.`)];
}
