// SPDX-License-Identifier: Apache-2.0
// Paints the visible part of the timeline: rows, heads, names at the left, and the ruler.

import {colour} from './colour.js';
import {columns_of, first_at_least, ruler_height} from './timeline_layout.js';
import {ranks_text} from '../format/names.js';
import {ns, ticks, time_units} from '../format/numbers.js';

export const mark_height = 4;

// Rows narrower than a pixel share it. The pixel's shade is its busy share; its colour is that of
// the longest row.
export function draw_rows(g, lane, view, look) {
  const c = columns_of(lane.track);
  const {from, scale, left, right, top} = view;
  const y = top + lane.y - view.scroll + 1;
  const height = lane.height - 1;
  let pixel = -1;
  let busy = 0;
  let longest = 0;
  let kind = '';
  const flush = () => {
    if (pixel < 0) return;
    g.globalAlpha = Math.min(1, 0.35 + 0.65 * busy);
    g.fillStyle = colour(kind);
    g.fillRect(pixel, y, 1, height);
    g.globalAlpha = 1;
    pixel = -1;
    busy = 0;
    longest = 0;
  };
  const last = first_at_least(c.start, from + (right - left) / scale);
  for (let i = first_at_least(c.reach, from); i < last; i++) {
    const x = left + (c.start[i] - from) * scale;
    const width = c.dur[i] * scale;
    if (x + width < left) continue;
    if (width < 1 && !look.found) {
      const at = Math.max(left, Math.floor(x));
      if (at !== pixel) {
        flush();
        pixel = at;
        kind = c.kind[i];
      }
      busy += width;
      if (width > longest) {
        longest = width;
        kind = c.kind[i];
      }
      continue;
    }
    flush();
    draw_row(g, c, i, Math.max(left, x), Math.min(right, x + Math.max(1, width)), y, height, look);
  }
  flush();
}

function draw_row(g, c, i, x0, x1, y, height, look) {
  const wide = x1 - x0;
  g.globalAlpha = look.found && !look.found.has(c.name[i]) ? 0.16 : 1;
  g.fillStyle = colour(c.kind[i]);
  g.fillRect(x0, y, wide > 3 ? wide - 0.6 : wide, height);
  if (look.name === c.name[i] && look.name >= 0 && wide > 2) {
    g.strokeStyle = colour('ink');
    g.lineWidth = 1;
    g.strokeRect(x0 + 0.5, y + 0.5, Math.max(1, wide - 1.6), height - 1);
  }
  if (wide > 44 && height > 12) {
    const text = look.short(c.name[i]);
    const room = Math.floor((wide - 8) / 6.1);
    if (room > 3) {
      g.fillStyle = look.text_on(c.kind[i]);
      g.fillText(
          text.length > room ? `${text.slice(0, room - 1)}…` : text, x0 + 4, y + height / 2 + 0.5);
    }
  }
  g.globalAlpha = 1;
}

export function draw_head(g, lane, view) {
  const {from, scale, left, right, top, width} = view;
  const y = top + lane.y - view.scroll;
  const unfolded = lane.group.open || lane.group.spread;
  g.fillStyle = colour(unfolded ? 'raised' : 'rule');
  if (unfolded)
    g.fillRect(0, y, width, lane.height - 2);
  else
    g.fillRect(0, y + lane.height - 1, width, 1);
  for (const x of lane.group.steps) {
    const x0 = left + (x.start_ns - from) * scale;
    const x1 = x0 + x.wall_ns * scale;
    if (x1 < left || x0 > right) continue;
    g.fillStyle = colour('strong-rule');
    if (x0 >= left) g.fillRect(x0, y, 1, lane.height - 2);
    if (x1 <= right) g.fillRect(x1 - 1, y, 1, lane.height - 2);
    if (unfolded) step_label(g, x, Math.max(x0, left), Math.min(x1, right), y + 11);
  }
  for (const m of lane.group.marks) draw_mark(g, m, view, y);
}

// A bar above the rank: what a finding names.
function draw_mark(g, mark, {from, scale, left, right, origin}, y) {
  const x0 = left + (mark.start_ns - origin - from) * scale;
  const x1 = x0 + Math.max(3, mark.ns * scale);
  if (x1 < left || x0 > right) return;
  g.fillStyle = colour(mark.fault ? 'comm_exposed_wait' : 'accent');
  const [a, b] = [Math.max(x0, left), Math.min(x1, right)];
  g.fillRect(a, y, Math.max(1, b - a - (b - a > 4 ? 1 : 0)), mark_height);
}

function step_label(g, step, x0, x1, y) {
  if (x1 - x0 < 30) return;
  g.fillStyle = colour('soft');
  g.fillText(
      x1 - x0 > 112 ? `step ${step.index} · ${ns(step.wall_ns)}` : `${step.index}`, x0 + 5, y);
}

// The text, cut to this number of pixels.
function fitting(text, pixels) {
  const room = Math.floor(pixels / 6);
  return text.length > room ? `${text.slice(0, room - 1)}…` : text;
}

export function draw_gutter(g, lane, view) {
  const y = view.top + lane.y - view.scroll;
  if (lane.kind === 'track' && !lane.group.open) return;
  const unfolded = lane.group.open || lane.group.spread;
  g.fillStyle = colour(lane.kind === 'head' && unfolded ? 'raised' : 'paper');
  g.fillRect(0, y, view.left - 1, lane.height + (lane.kind === 'head' ? -2 : 2));
  if (lane.kind === 'head') {
    g.fillStyle = colour(lane.group.accused ? 'comm_exposed_wait' : 'ink');
    const text = `${unfolded ? '▾' : '▸'} ${ranks_text(lane.group.ranks, 2)}`;
    g.fillText(fitting(text, view.left - 14), 8, y + lane.height / 2);
  } else if (lane.group.open) {
    g.fillStyle = colour('soft');
    g.fillText(fitting(lane.track.label || lane.track.kind, view.left - 24), 20,
      y + lane.height / 2 + 1);
  }
}

// Ticks above; below them the steps of the topmost visible rank.
export function draw_ruler(g, view, steps) {
  const {from, scale, left, right, width} = view;
  g.fillStyle = colour('paper');
  g.fillRect(0, 0, width, ruler_height);
  g.fillStyle = colour('rule');
  g.fillRect(0, ruler_height - 1, width, 1);
  const span = (right - left) / scale;
  const marks = ticks(from, from + span, Math.max(2, (right - left) / 110));
  const step = marks.length > 1 ? marks[1] - marks[0] : span;
  const unit = [...time_units].reverse().find((u) => step >= u[0] * 0.0999) || time_units[0];
  for (const t of marks) {
    const x = left + (t - from) * scale;
    g.fillStyle = colour('strong-rule');
    g.fillRect(x, 17, 1, 7);
    g.fillStyle = colour('soft');
    const value = t / unit[0];
    if (x < right - 46)
      g.fillText(
          value === 0 ? '0' :
                        `${
                            Math.abs(value) >= 1e4 ? Math.round(value).toLocaleString('en-US') :
                                                     +value.toFixed(3)} ${unit[1]}`,
          x + 4, 12);
  }
  for (const x of steps) {
    const x0 = left + (x.start_ns - from) * scale;
    const x1 = x0 + x.wall_ns * scale;
    if (x1 < left || x0 > right) continue;
    g.fillStyle = colour('strong-rule');
    if (x0 >= left) g.fillRect(x0, 25, 1, ruler_height - 26);
    if (x1 <= right) g.fillRect(x1 - 1, 25, 1, ruler_height - 26);
    step_label(g, x, Math.max(x0, left), Math.min(x1, right), 33);
  }
  g.fillStyle = colour('ink');
  g.fillText(ns(span), 8, 12);
  g.fillStyle = colour('soft');
  g.fillText('steps', 8, 33);
}
