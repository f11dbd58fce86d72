// SPDX-License-Identifier: Apache-2.0
// The interactive timeline. Wheel, drag, touch and keys move the window; a click picks an
// operation.

import {colour} from './colour.js';
import {h} from './elements.js';
import {
  columns_of, first_at_least, fold_all, lay_out, matches_in, ruler_height, timeline_model,
  unfold_rank
} from './timeline_layout.js';
import {draw_gutter, draw_head, draw_rows, draw_ruler, mark_height} from './timeline_paint.js';
import {plain, plural} from '../format/names.js';
import {count, ns} from '../format/numbers.js';

export class TimelineView {
  // `short` shortens a name to fit into a box. `bundles` and `marks` as in timeline_model; a mark
  // has a `text`, and a click on it calls open_mark(mark).
  constructor(timeline, {short, bundles, marks, open_mark}) {
    this.model = timeline_model(timeline, bundles, marks);
    this.open_mark = open_mark;
    this.matches = null;  // of the search, in the lanes
    this.match = -1;
    this.told = () => {};  // called when the search's state changes
    this.from = this.model.from;
    this.to = this.model.to;
    this.scroll = 0;
    this.picked = null;    // {track, i, group}
    this.measured = null;  // [from, to] in ns
    this.look = {
      name: -1,
      found: null,
      short: (n) => (n < 0 ? '' : short(this.model.names[n] || '')),
      text_on: (kind) =>
          (['elementwise', 'communication', 'loss', 'embedding'].includes(kind) ? '#14191f' :
                                                                                  colour('paper'))
    };
    this.canvas = h('canvas', {
      tabindex: 0,
      role: 'application',
      'aria-label':
          'Timeline of all ranks. W and S zoom, A and D pan, arrow up and down scroll, comma ' +
          'and full stop step through operations, F zooms to the picked one, 0 shows ' +
          'everything. N and P go to the next and the previous match of the search.'
    });
    this.spacer = h('div');
    this.rail = h('div', {class: 'rail', tabindex: -1}, this.spacer);
    this.box = h('div', {class: 'timeline'}, this.canvas, this.rail);
    this.info = h('p', {class: 'picked', role: 'status'});
    this.layout();
    this.say();
  }
  layout() {
    const {lanes, height} = lay_out(this.model.groups);
    this.lanes = lanes;
    this.total = height;
    if (this.matches) this.find_matches();
    this.height = Math.min(
        height + ruler_height + 4,
        this.printing ? 1100 : Math.max(280, Math.round(innerHeight * 0.62)));
    this.spacer.style.height = `${this.total}px`;
    this.rail.hidden = this.total <= this.height - ruler_height;
    this.scroll_to(this.scroll);
    this.draw_soon();
  }
  scroll_to(y) {
    this.scroll = Math.max(0, Math.min(y, this.total - (this.height - ruler_height)));
    if (this.scroll < 0 || this.rail.hidden) this.scroll = 0;
    this.rail.scrollTop = this.scroll;
  }
  geometry() {
    const width = this.printing ? 820 : this.canvas.clientWidth || 1000;
    const left = width < 560 ? 84 : 164;
    const right = width - (this.rail.hidden ? 2 : 12);
    return {
      width,
      left,
      right,
      top: ruler_height,
      from: this.from,
      scroll: this.scroll,
      origin: this.model.origin,
      scale: (right - left) / (this.to - this.from || 1)
    };
  }
  draw_soon() {
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
    });
  }
  draw() {
    const view = this.geometry();
    const ratio = Math.min(3, devicePixelRatio || 1);
    this.canvas.style.height = this.printing ? 'auto' : `${this.height}px`;
    this.canvas.width = Math.round(view.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    const g = this.canvas.getContext('2d');
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.fillStyle = colour('paper');
    g.fillRect(0, 0, view.width, this.height);
    g.font = '11px system-ui, sans-serif';
    g.textBaseline = 'middle';
    const shown =
        this.lanes.filter((l) => l.y + l.height >= this.scroll && l.y <= this.scroll + this.height);
    for (const lane of shown)
      if (lane.kind === 'head')
        draw_head(g, lane, view);
      else
        draw_rows(g, lane, view, this.look);
    this.draw_marks(g, view);
    for (const lane of shown) draw_gutter(g, lane, view);
    const top = shown.find(
        (l) => l.kind === 'head' && l.y + l.height > this.scroll && l.group.steps.length);
    draw_ruler(g, view, top ? top.group.steps : []);
    this.draw_measure(g, view);
  }
  draw_marks(g, view) {
    if (!this.picked) return;
    const lane = this.lanes.find((l) => l.track === this.picked.track);
    if (!lane) return;
    const c = columns_of(this.picked.track);
    const x = view.left + (c.start[this.picked.i] - this.from) * view.scale;
    g.strokeStyle = colour('ink');
    g.lineWidth = 2;
    g.strokeRect(
        x, view.top + lane.y - this.scroll, Math.max(2, c.dur[this.picked.i] * view.scale),
        lane.height + 1);
  }
  draw_measure(g, view) {
    if (!this.measured) return;
    const [a, b] = this.measured.map((t) => view.left + (t - this.from) * view.scale);
    g.globalAlpha = 0.16;
    g.fillStyle = colour('accent');
    g.fillRect(Math.min(a, b), 0, Math.abs(b - a), this.height);
    g.globalAlpha = 1;
    g.fillStyle = colour('accent');
    g.fillRect(a, 0, 1, this.height);
    g.fillRect(b, 0, 1, this.height);
  }
  time_at(x) {
    const v = this.geometry();
    return this.from + (x - v.left) / v.scale;
  }
  set_window(from, to) {
    const least = 50;
    const whole = (this.model.to - this.model.from) * 1.1 + least;
    const span = Math.max(least, Math.min(whole, to - from));
    const middle = (from + to) / 2;
    const margin = span * 0.5;
    const at = Math.max(
        this.model.from - margin, Math.min(this.model.to + margin - span, middle - span / 2));
    [this.from, this.to] = [at, at + span];
    this.draw_soon();
  }
  zoom(factor, at = (this.from + this.to) / 2) {
    this.set_window(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  pan(share) {
    const d = (this.to - this.from) * share;
    this.set_window(this.from + d, this.to + d);
  }
  fit() {
    this.measured = null;
    this.set_window(this.model.from, this.model.to);
    [this.from, this.to] = [this.model.from, this.model.to];
  }
  // The operation under a point, with a tolerance of a pixel or two.
  hit(x, y) {
    const view = this.geometry();
    if (x < view.left || y < ruler_height) return null;
    const lane = this.lanes.find(
        (l) => l.kind === 'track' && y >= view.top + l.y - this.scroll &&
            y <= view.top + l.y - this.scroll + l.height);
    if (!lane) return null;
    const c = columns_of(lane.track);
    const t = this.time_at(x);
    const slack = 2 / view.scale;
    let best = null;
    for (let i = first_at_least(c.reach, t - slack); i < c.n && c.start[i] <= t + slack; i++) {
      if (c.start[i] + c.dur[i] < t - slack) continue;
      const off = Math.max(0, c.start[i] - t, t - c.start[i] - c.dur[i]);
      if (!best || off < best.off || (off === best.off && c.dur[i] < c.dur[best.i]))
        best = {track: lane.track, group: lane.group, i, off};
    }
    return best;
  }
  head_at(y) {
    return this.lanes.find(
        (l) => l.kind === 'head' && y >= ruler_height + l.y - this.scroll &&
            y <= ruler_height + l.y - this.scroll + l.height);
  }
  describe(found) {
    const c = columns_of(found.track);
    const i = found.i;
    const step = c.step[i] >= 0 ? `, step ${c.step[i]}` : '';
    return [
      this.model.names[c.name[i]] || plain(c.kind[i]),
      `${ns(c.dur[i])} at ${ns(c.start[i] + this.model.origin)}\nrank ${found.group.rank}, ${
          found.track.label || found.track.kind}${step}, ${plain(c.kind[i])}`
    ];
  }
  pick(found) {
    this.picked = found;
    this.look.name = found ? columns_of(found.track).name[found.i] : -1;
    this.say();
    this.draw_soon();
  }
  say() {
    if (this.measured) {
      this.info.replaceChildren(`Measured: ${ns(Math.abs(this.measured[1] - this.measured[0]))}`);
      return;
    }
    if (!this.picked) {
      this.info.replaceChildren(h(
          'span', {class: 'note screen'},
          'Click an operation to see it here; then the wheel or W and S zoom, drag or A and D ' +
              'move. Shift and drag measures. Click a rank to fold it.'));
      return;
    }
    const c = columns_of(this.picked.track);
    let n = 0;
    let total = 0;
    for (let i = 0; i < c.n; i++)
      if (c.name[i] === this.look.name) {
        n++;
        total += c.dur[i];
      }
    const [name, rest] = this.describe(this.picked);
    this.info.replaceChildren(
        h('span', {class: 'mono'}, name), h('br'), rest.replace('\n', ' · '),
        ` · on this track ${count(n)} ×, ${ns(total)} in all`);
  }
  neighbour(by) {
    if (!this.picked) return;
    const c = columns_of(this.picked.track);
    const i = Math.max(0, Math.min(c.n - 1, this.picked.i + by));
    this.pick({...this.picked, i});
    if (c.start[i] < this.from || c.start[i] + c.dur[i] > this.to) {
      const half = (this.to - this.from) / 2;
      this.set_window(c.start[i] - half, c.start[i] + half);
    }
  }
  // The mark of a finding under a point, if any.
  mark_at(x, y) {
    const view = this.geometry();
    const head = x >= view.left && y >= ruler_height && this.head_at(y);
    if (!head || y > view.top + head.y - this.scroll + mark_height + 2) return null;
    const t = this.time_at(x);
    const slack = 3 / view.scale;
    const at = (m) => m.start_ns - this.model.origin;
    return head.group.marks.find((m) => t >= at(m) - slack && t <= at(m) + m.ns + slack) || null;
  }
  go(rank, start, wall) {
    const group = unfold_rank(this.model.groups, rank);
    this.layout();
    this.show_lane((l) => l.group === group);
    const at = start - this.model.origin;
    this.measured = [at, at + wall];
    this.set_window(at - wall * 1.5, at + wall * 2.5);
    this.say();
  }
  // Scrolls to the first such lane if it is out of sight.
  show_lane(is_wanted) {
    const lane = this.lanes.find(is_wanted);
    const room = this.height - ruler_height;
    if (lane && (lane.y < this.scroll || lane.y + lane.height > this.scroll + room))
      this.scroll_to(lane.y - 20);
  }
  fold(open) {
    fold_all(this.model.groups, open);
    this.layout();
  }
  find_matches() {
    this.matches = this.look.found ? matches_in(this.lanes, this.look.found) : null;
    this.match = -1;
    this.told();
  }
  search(text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.look.found = words.length ?
        new Set(this.model.names.flatMap(
            (n, i) => (words.every((w) => n.toLowerCase().includes(w)) ? [i] : []))) :
        null;
    this.find_matches();
    this.draw_soon();
  }
  // What the search found, and which of it is picked.
  found_text() {
    if (!this.matches) return '';
    const all = `${count(this.matches.length)}`;
    return this.match < 0 ? `${all} in ${plural(this.look.found.size, 'name')}` :
                            `${count(this.match + 1)} of ${all}`;
  }
  // Goes `by` matches on, or to the first one in view.
  step_match(by) {
    const n = this.matches ? this.matches.length : 0;
    if (!n) return;
    if (this.match < 0) {
      const seen = this.matches.findIndex((m) => m.start >= this.from);
      this.match = by > 0 ? Math.max(0, seen) : (seen > 0 ? seen : n) - 1;
    } else {
      this.match = (this.match + by + n) % n;
    }
    this.told();
    const found = this.matches[this.match];
    const dur = columns_of(found.track).dur[found.i];
    const {scale} = this.geometry();
    this.measured = null;
    this.pick(found);
    this.show_lane((l) => l.track === found.track);
    const seen = found.start >= this.from && found.start + dur <= this.to;
    if (seen && dur * scale >= 3) return;
    const span = Math.min(this.to - this.from, Math.max(60 * dur, 2000));
    this.set_window(found.start + dur / 2 - span / 2, found.start + dur / 2 + span / 2);
  }
}
