// SPDX-License-Identifier: Apache-2.0
// The places of point labels in a chart. No label covers another label, a point or a line.

import {sum} from '../../format/numbers.js';

export const meet = (a, b) => a.x0 < b.x1 && b.x0 < a.x1 && a.y0 < b.y1 && b.y0 < a.y1;
const around = (x, y, r) => ({x0: x - r, x1: x + r, y0: y - r, y1: y + r});
export const text_width = (text) => 7.1 * text.length;  // an upper bound for most texts

// The possible places of a label: next to its point. The label of a large point may also be further
// away.
function label_places(p, large) {
  const width = text_width(p.label);
  const at = (x, y) => ({x0: x, x1: x + width, y0: y - 8, y1: y + 8});
  const places = [];
  for (const gap of large ? [5, 16, 30, 46, 64, 84] : [5]) {
    const far = p.r + gap;
    const aside = far * 0.7;
    places.push(...[
      at(p.px + far, p.py), at(p.px - far - width, p.py), at(p.px - width / 2, p.py - far - 5),
      at(p.px - width / 2, p.py + far + 6), at(p.px + aside, p.py + far),
      at(p.px - aside - width, p.py + far), at(p.px + aside, p.py - far),
      at(p.px - aside - width, p.py - far)
    ].map((place) => ({...place, led: gap > 5})));
  }
  return places;
}

// The ends of a line from a point to a distant label.
function leader(p, place) {
  const x2 = Math.max(place.x0, Math.min(p.px, place.x1));
  const y2 = Math.max(place.y0 + 2, Math.min(p.py, place.y1 - 2));
  const length = Math.hypot(x2 - p.px, y2 - p.py) || 1;
  return {
    x1: p.px + (x2 - p.px) * p.r / length,
    y1: p.py + (y2 - p.py) * p.r / length,
    x2,
    y2
  };
}

// Small boxes along a line that keep labels off it.
export function along({x1, y1, x2, y2}, r = 2) {
  const pieces = Math.max(1, Math.ceil(Math.hypot(x2 - x1, y2 - y1) / 8));
  return Array.from({length: pieces + 1}, (_, i) =>
    around(x1 + (x2 - x1) * i / pieces, y1 + (y2 - y1) * i / pieces, r));
}

// Places labels, those of the largest points first. A place must be free of points, other labels
// and the boxes in `taken`. A label without such a place appears only in the tooltip.
export function placed_labels(points, box, taken) {
  const blocked = [...taken, ...points.map((q) => ({...around(q.px, q.py, q.r * 0.8), of: q}))];
  const out = [];
  const whole = sum(points.map((p) => p.time));
  for (const p of [...points].sort((a, b) => b.time - a.time)) {
    const free = (b) => b.x0 >= box.left && b.x1 <= box.right && b.y0 >= box.top - 14 &&
        b.y1 <= box.bottom && !blocked.some((t) => t.of !== p && meet(b, t));
    const crosses = (b) => b.led && along(leader(p, b), 1).some((a) =>
      out.some((t) => meet(a, t.place)));
    const place = label_places(p, p.time > whole / 100).find((b) => free(b) && !crosses(b));
    if (!place) continue;
    blocked.push(place, ...(place.led ? along(leader(p, place), 1) : []));
    out.push({label: p.label, place, line: place.led && leader(p, place)});
  }
  return out;
}
