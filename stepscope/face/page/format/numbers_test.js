// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {
  between, bytes, compact, count, digits, flops, gb_per_s, known, largest, none, ns, number, part,
  percent, ratio, round, signed, signed_ns, some_flops, sum, ticks, time_units,
  times, yes_no, signed_percent
} from './numbers.js';

// A narrow no-break space stands between number and unit.
const spaced = (text) => text.replaceAll('\u202f', ' ');

test('three significant digits', () => {
  const cases = [
    [0, '0'], [0.5, '0.50'], [1, '1.00'], [9.994, '9.99'], [9.995, '10.0'], [99.94, '99.9'],
    [99.95, '100'], [999.4, '999'], [999.5, '1,000'], [1234567, '1,234,567'], [-12.34, '-12.3']
  ];
  for (const [value, text] of cases) assert.equal(digits(value), text, String(value));
});

test('durations take the largest unit in which they are at least one', () => {
  const cases = [
    [0, '0'], [1, '1.00 ns'], [999, '999 ns'], [999.6, '1.00 µs'], [1500, '1.50 µs'],
    [412e6, '412 ms'], [6.15e9, '6.15 s'], [3600e9, '3,600 s'], [-2.5e6, '-2.50 ms']
  ];
  for (const [value, text] of cases) assert.equal(spaced(ns(value)), text, String(value));
});

test('sizes and work in decimal units', () => {
  assert.equal(spaced(bytes(0)), '0');
  assert.equal(spaced(bytes(16384)), '16.4 kB');
  assert.equal(spaced(bytes(85899345920)), '85.9 GB');
  assert.equal(spaced(flops(3.3e15)), '3.30 PFLOP');
  assert.equal(spaced(gb_per_s(450)), '450 GB/s');
  assert.equal(compact(12), '12.0');
  assert.equal(spaced(compact(175e9)), '175 G');
  assert.equal(some_flops(0), none);
  assert.equal(spaced(some_flops(2e9)), '2.00 GFLOP');
});

test('what is not known is a dash, never a zero', () => {
  for (const value of [null, undefined, NaN, Infinity, '7']) {
    assert.equal(known(value), false);
    for (const show of [ns, bytes, flops, count, number, gb_per_s, percent, times, ratio])
      assert.equal(show(value), none);
  }
  assert.equal(yes_no(null), none);
  assert.equal(yes_no(false), 'no');
  assert.equal(part(1, 0), none);
});

test('percentages keep what is small apart from nothing', () => {
  const cases = [
    [0, '0 %'], [0.0004, '< 0.1 %'], [-0.0004, '−< 0.1 %'], [0.0005, '0.1 %'], [0.352, '35.2 %'],
    [0.9994, '99.9 %'], [0.9995, '100 %'], [1.5, '150 %'], [-0.25, '-25.0 %']
  ];
  for (const [value, text] of cases) assert.equal(spaced(percent(value)), text, String(value));
  assert.equal(spaced(part(1, 8)), '12.5 %');
});

test('signs', () => {
  assert.equal(spaced(signed_ns(1500)), '+1.50 µs');
  assert.equal(spaced(signed_ns(-1500)), '−1.50 µs');
  assert.equal(signed_ns(0), '0');
  assert.equal(spaced(signed(-2e6)), '−2.00 ms');
  assert.equal(spaced(signed(2e6)), '2.00 ms');
  assert.equal(spaced(times(1.5)), '1.50 ×');
  assert.equal(spaced(times(4000)), '> 1000 ×');
  assert.equal(ratio(1.234), '1.23 ×');
  assert.equal(spaced(between([1000, 2000], ns)), '1.00 µs – 2.00 µs');
});

test('round values on an axis need no decimals', () => {
  assert.equal(spaced(round(ns(2e6))), '2 ms');
  assert.equal(spaced(round(ns(2.5e6))), '2.50 ms');
});

test('ticks are round and within the range', () => {
  assert.deepEqual(ticks(0, 10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(ticks(3, 27, 5), [5, 10, 15, 20, 25]);
  assert.deepEqual(ticks(0, 0, 5), []);
  assert.deepEqual(ticks(0, NaN, 5), []);
  for (const top of [1, 7, 123, 9e9]) {
    const marks = ticks(0, top, 6);
    assert.ok(marks.length >= 3 && marks.length <= 8, `${top}: ${marks}`);
    assert.ok(marks[marks.length - 1] <= top);
  }
});

test('lists may lack values', () => {
  assert.equal(largest([1, null, 5, NaN, 3]), 5);
  assert.equal(largest([], 2), 2);
  assert.equal(largest(Array(300000).fill(1)), 1);
  assert.equal(sum([1, undefined, 2, NaN]), 3);
  assert.equal(count(1234.6), '1,235');
  assert.deepEqual(time_units.map((u) => u[1]), ['ns', 'µs', 'ms', 's']);
});

test('deviations have a sign, and what is unknown says so', () => {
  assert.equal(signed_percent(0.0123), '+1.2\u202f%');
  assert.equal(signed_percent(-0.5), '−50.0\u202f%');
  assert.equal(signed_percent(0), '0\u202f%');
  assert.equal(signed_percent(-0.0001), '<\u202f0.1\u202f%');
  assert.equal(signed_percent(null), 'not known');
});
