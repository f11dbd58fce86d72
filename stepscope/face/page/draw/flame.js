// SPDX-License-Identifier: Apache-2.0
// A flame graph on a canvas. A node's width is its share; its callees are below it. A click makes a
// node as wide as the graph. The search marks matching nodes.

import {colour, redraws} from './colour.js';
import {h} from './elements.js';
import {flame_layout, mixed, name_noise} from './flame_layout.js';
import {part} from '../format/numbers.js';

const flame_row = 19;

export class Flame {
  constructor(columns, options) {
    this.options = options;
    this.zoom = 0;
    this.words = [];
    this.canvas = h('canvas', {
      tabindex: 0,
      role: 'img',
      'aria-label': options.label,
      on: {
        pointermove: (e) => this.hover(e),
        pointerleave: () => options.tips.at(null),
        click: (e) => this.click(e),
        keydown: (e) => e.key === 'Escape' && this.show(0),
      }
    });
    this.said = h('p', {class: 'picked', role: 'status'});
    this.box = h('div', {class: 'flame'}, this.canvas);
    this.take(columns);
    redraws.add(() => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.box);
  }
  take(columns) {
    this.model = columns;
    this.show(0);
  }
  show(i) {
    this.zoom = i;
    this.draw();
  }
  search(text) {
    this.words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.draw();
  }
  matches(text) {
    const low = text.toLowerCase();
    return this.words.length > 0 && this.words.every((w) => low.includes(w));
  }
  fill_of(i) {
    const m = this.model;
    const paper = colour('paper');
    if (i === 0 || m.depth[i] === 1) return colour('raised');
    if (m.before) {
      const change = (m.total[i] - m.before[i]) / (m.total[0] || 1);
      const strength = Math.min(1, Math.sqrt(Math.abs(change) / 0.15));
      const hue = colour(change > 0 ? 'comm_exposed_wait' : 'compute');
      return mixed(colour('rule'), hue, strength);
    }
    const hue = colour(m.hue ? m.hue(i) : 'compute');
    return mixed(hue, paper, 0.36 * name_noise(m.words[i]));
  }
  // The weight of the nodes that match the search; each stack counts once.
  found() {
    const m = this.model;
    let sum = 0;
    for (let i = 1; i < m.n;) {
      if (m.depth[i] > 1 && this.matches(m.words[i])) {
        sum += m.total[i];
        i = m.end[i];
      } else {
        i++;
      }
    }
    return sum;
  }
  draw() {
    const width = this.box.clientWidth ||
        (document.documentElement.dataset.printing === '' ? 820 : 1100);
    const m = this.model;
    this.boxes = flame_layout(m, this.zoom);
    this.width = width;
    const rows = Math.max(...this.boxes.map((b) => m.depth[b.i])) + 1;
    const height = rows * flame_row + 1;
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.height = `${height}px`;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const g = this.canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, height);
    g.font = '12px system-ui, sans-serif';
    g.textBaseline = 'middle';
    for (const b of this.boxes) this.draw_box(g, b);
    this.say();
  }
  draw_box(g, {i, x, w}) {
    const m = this.model;
    const left = x * this.width;
    const wide = w * this.width;
    if (wide < 0.4) return;
    const top = m.depth[i] * flame_row;
    const faint = this.words.length > 0 && !this.matches(m.words[i]);
    const fill = this.fill_of(i);
    g.fillStyle = faint ? mixed(fill, colour('paper'), 0.72) : fill;
    g.fillRect(left, top, Math.max(wide - 1, 0.6), flame_row - 1);
    if (wide < 26) return;
    g.fillStyle = this.ink_on(g.fillStyle);
    const text = fitting(g, m.words[i], wide - 9);
    if (text) g.fillText(text, left + 4, top + flame_row / 2);
  }
  ink_on(fill) {
    const hex = /^#(..)(..)(..)/.exec(fill);
    const [r, gr, b] = hex ? hex.slice(1).map((v) => parseInt(v, 16)) : [128, 128, 128];
    return 0.299 * r + 0.587 * gr + 0.114 * b > 140 ? '#14191f' : '#ffffff';
  }
  say() {
    const m = this.model;
    const at = this.zoom;
    const parts = [];
    if (this.words.length)
      parts.push(`matching stacks: ${part(this.found(), m.total[0])} of all. `);
    if (at > 0)
      parts.push(h('button', {type: 'button', class: 'link', on: {click: () => this.show(0)}},
        'Show all'), ` · ${m.words[at]} · ${part(m.total[at], m.total[0])} of all`);
    this.said.replaceChildren(...parts);
  }
  at(e) {
    const box = this.canvas.getBoundingClientRect();
    const x = (e.clientX - box.left) / this.width;
    const depth = Math.floor((e.clientY - box.top) / flame_row);
    return this.boxes.find((b) => this.model.depth[b.i] === depth && x >= b.x && x < b.x + b.w);
  }
  hover(e) {
    const b = this.at(e);
    this.canvas.style.cursor = b ? 'pointer' : 'default';
    this.options.tips.at(b ? this.options.tip(this.model, b.i) : null, e.clientX, e.clientY);
  }
  click(e) {
    const b = this.at(e);
    if (b) this.show(b.i === this.zoom ? this.model.parent[b.i] : b.i);
  }
}

// The part of a text that fits, with an ellipsis; nothing if only the ellipsis would fit.
function fitting(g, text, room) {
  if (g.measureText(text).width <= room) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if (g.measureText(`${text.slice(0, mid)}…`).width <= room) low = mid;
    else high = mid - 1;
  }
  return low > 1 ? `${text.slice(0, low)}…` : '';
}
