// SPDX-License-Identifier: Apache-2.0
// Numbers for people: three significant digits with the unit, and an en dash for unknown values.

export const none = '–';
export const known = (v) => typeof v === 'number' && Number.isFinite(v);

export function digits(v) {
  const size = Math.abs(v);
  if (size === 0) return '0';
  if (size >= 999.5) return Math.round(v).toLocaleString('en-US');
  return v.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

// The largest unit in which the value is at least 1; `units` are [factor, name], smallest first.
function in_units(v, units) {
  if (!known(v)) return none;
  let best = units[0];
  for (const unit of units)
    if (Math.abs(v) >= unit[0] * 0.9995) best = unit;
  return `${digits(v / best[0])}\u202f${best[1]}`;
}

export const time_units = [[1, 'ns'], [1e3, 'µs'], [1e6, 'ms'], [1e9, 's']];

// Round values on an axis need no decimals.
export const round = (text) => text.replace(/\.0+(?=\u202f|$)/, '');

export const ns = (v) => (v === 0 ? '0' : in_units(v, time_units));

export const bytes = (v) =>
    (v === 0 ? '0' : in_units(v, [[1, 'B'], [1e3, 'kB'], [1e6, 'MB'], [1e9, 'GB'], [1e12, 'TB']]));

export const flops = (v) => in_units(v, [
  [1, 'FLOP'], [1e3, 'kFLOP'], [1e6, 'MFLOP'], [1e9, 'GFLOP'], [1e12, 'TFLOP'], [1e15, 'PFLOP'],
  [1e18, 'EFLOP']
]);

export const count = (v) => (known(v) ? Math.round(v).toLocaleString('en-US') : none);
export const number = (v) => (known(v) ? digits(v) : none);
export const gb_per_s = (v) => (known(v) ? `${digits(v)}\u202fGB/s` : none);
export const money = (v) => (known(v) ? Math.round(v).toLocaleString('en-US') : none);
export const yes_no = (v) => (v === true ? 'yes' : v === false ? 'no' : none);

// A share of 1 as a percentage: rounded by itself, so that a figure reads alike everywhere.
export function percent(v) {
  if (!known(v)) return none;
  const p = v * 100;
  if (p === 0) return '0\u202f%';
  if (p !== 0 && Math.abs(p) < 0.05) return `${p < 0 ? '−' : ''}<\u202f0.1\u202f%`;
  return `${Math.abs(p) >= 99.95 ? p.toFixed(0) : p.toFixed(1)}\u202f%`;
}

// "+1.2 %"; what rounds to less than 0.1 % has no sign.
export function signed_percent(v) {
  if (!known(v)) return 'not known';
  const sign = Math.abs(v) < 5e-4 ? '' : v > 0 ? '+' : '−';
  return `${sign}${percent(Math.abs(v))}`;
}

export const part = (v, whole) => (whole > 0 ? percent(v / whole) : none);

// Round values that cut [0, top] into about `wanted` pieces.
export function ticks(low, high, wanted) {
  const rough = (high - low) / Math.max(1, wanted);
  if (!(rough > 0)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((m) => m * power >= rough) * power;
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-12) + step * 1e-9; i++)
    out.push(i * step || 0);  // never -0
  return out;
}

// The largest known value. Math.max(...values) would overflow the stack for long lists.
export const largest = (values, least = 0) =>
    values.reduce((a, b) => (known(b) && b > a ? b : a), least);

export const sum = (values) => values.reduce((a, b) => a + (known(b) ? b : 0), 0);

export const times = (ratio) => (
  !known(ratio) ? none : ratio > 1000 ? '> 1000\u202f×' : `${digits(ratio)}\u202f×`);

export const signed_ns = (v) => (v === 0 ? '0' : `${v > 0 ? '+' : '−'}${ns(Math.abs(v))}`);
export const signed = (t) => `${t < 0 ? '−' : ''}${ns(Math.abs(t))}`;
export const ratio = (v) => (known(v) ? `${v.toFixed(2)} ×` : none);
export const compact = (v) => in_units(v, [[1, ''], [1e3, 'k'], [1e6, 'M'], [1e9, 'G']]).trim();
export const some_flops = (v) => (v > 0 ? flops(v) : none);
export const between = ([low, high], show) => `${show(low)} – ${show(high)}`;
