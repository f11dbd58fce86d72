// SPDX-License-Identifier: Apache-2.0
// Frames of charts with logarithmic axes, in whole decades.

import {largest} from '../format/numbers.js';

// The powers of ten in [low, high].
export function decades(low, high) {
  const out = [];
  for (let p = Math.ceil(Math.log10(low) - 1e-9); p <= Math.log10(high) + 1e-9; p++)
    out.push(10 ** p);
  return out;
}

// The exponents of the decades around positive values: [low, high], at least one decade.
export function decades_around(values) {
  const logs = values.filter((v) => v > 0).map((v) => Math.log10(v));
  if (!logs.length) return [0, 1];
  const low = Math.floor(-largest(logs.map((v) => -v), -Infinity) + 1e-9);
  return [low, Math.max(low + 1, Math.ceil(largest(logs, -Infinity) - 1e-9))];
}

// The places of positive values in a box {left, right, top, bottom}: low and high are the exponents
// of x, short and long those of y.
export function log_frame(xs, ys, box) {
  const [low, high] = decades_around(xs);
  const [short, long] = decades_around(ys);
  const x = (v) => box.left + ((Math.log10(v) - low) / (high - low)) * (box.right - box.left);
  const y = (v) =>
    box.bottom - ((Math.log10(v) - short) / (long - short)) * (box.bottom - box.top);
  return {box, low, high, short, long, x, y};
}

// The lines of the y axis; in a tall range every second or third decade.
export function powers_of(frame, most = 8) {
  const every = Math.max(1, Math.ceil((frame.long - frame.short) / most));
  const out = [];
  for (let p = frame.short; p <= frame.long; p += every) out.push(10 ** p);
  return out;
}
