// SPDX-License-Identifier: Apache-2.0
// Names that the data uses, as words.

import {count, none} from './numbers.js';

export const plain = (name) => String(name ?? none).replace(/_/g, ' ');
export const hyphened = (name) => String(name ?? none).replace(/_/g, '-');
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

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

export const notes_text = (notes) =>
    Object.entries(notes || {}).map(([k, v]) => `${plain(k)}: ${count(v)}`).join(', ');

// The part of a kernel's name that tells it apart: without return type, namespaces, template and
// call arguments.
export function short_name(name) {
  let text = name.replace(/^void\s+/, '').replace(/\(anonymous namespace\)::/g, '');
  const cut = text.search(/[<(]/);
  if (cut > 0) text = text.slice(0, cut).trim();
  const parts = text.split('::');
  return /^(aten|c10d|prim|autograd)$/.test(parts[0]) ? text : parts[parts.length - 1];
}

// "c10::BFloat16" and the like in the words of the trade.
const short_types = {
  'c10::BFloat16': 'bf16', 'c10::Half': 'fp16', float: 'fp32', double: 'fp64', int: 'int32',
  'long int': 'int64', long: 'int64', bool: 'bool', 'c10::Float8_e4m3fn': 'fp8 e4m3',
  'c10::Float8_e5m2': 'fp8 e5m2',
};

// The recorded lists, as JSON, of dimensions and types: tensors only, each type once.
function listed(text) {
  if (!text || !text.trim().startsWith('[')) return null;
  try { return JSON.parse(text); } catch (e) { return null; /* cut off: shown as it is */ }
}

export function types_text(text) {
  const types = listed(text);
  if (!types) return text;
  const tensors = types.flat(Infinity).filter((t) => t && !/^Scalar/.test(t));
  const names = [...new Set(tensors.map((t) => short_types[t] || t.replace(/^c10::/, '')))];
  return names.slice(0, 2).join(', ') + (names.length > 2 ? ', …' : '');
}

export function shape_text(text) {
  const dims = listed(text);
  if (!dims) return text;
  const tensors = dims.filter((d) => Array.isArray(d) && d.length);
  return tensors.map((d) => JSON.stringify(d).replaceAll(',', ', ')).join(' ');
}
