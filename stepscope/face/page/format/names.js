// SPDX-License-Identifier: Apache-2.0
// The data's names as words.

import {count, none} from './numbers.js';

export const plain = (name) => String(name ?? none).replace(/_/g, ' ');
export const hyphened = (name) => String(name ?? none).replace(/_/g, '-');
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

export const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// "0–7, 9" for a list of whole numbers.
export function runs(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const out = [];
  for (let i = 0; i < sorted.length;) {
    let j = i;
    while (j + 1 < sorted.length && sorted[j + 1] === sorted[j] + 1) j++;
    out.push(i === j ? `${sorted[i]}` : `${sorted[i]}–${sorted[j]}`);
    i = j + 1;
  }
  return out.join(', ');
}

// "rank 5", "ranks 0–3, 8 (5)"; of many runs the first `most`.
export function ranks_text(ranks, most = 4) {
  if (ranks.length === 1) return `rank ${ranks[0]}`;
  const all = runs(ranks).split(', ');
  return `ranks ${all.slice(0, most).join(', ')}${all.length > most ? ', …' : ''} (${
      count(ranks.length)})`;
}

export const notes_text = (notes) =>
    Object.entries(notes || {}).map(([k, v]) => `${plain(k)}: ${count(v)}`).join(', ');

// A kernel's name without its long, uninformative parts. The report has the short names.
export const kernel_name = (report, name) => {
  const short = report.short_names;
  return short && Object.hasOwn(short, name) ? short[name] : name;
};
