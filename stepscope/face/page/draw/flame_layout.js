// SPDX-License-Identifier: Apache-2.0
// A flame graph as data: the tree from its columns, and each node's place.

// The depth, the end of the subtree and the width of each node, from columns in preorder.
export function flame_model(columns, phases) {
  const n = columns.label.length;
  const depth = new Int32Array(n);
  const end = new Int32Array(n).fill(0);
  for (let i = 1; i < n; i++) depth[i] = depth[columns.parent[i]] + 1;
  for (let i = n - 1; i >= 0; i--) {
    end[i] = Math.max(end[i], i + 1);
    if (i > 0) end[columns.parent[i]] = Math.max(end[columns.parent[i]], end[i]);
  }
  // The nodes' widths: the larger of the present and the earlier weight, and never less than the
  // callees' width.
  const wide = Float64Array.from(columns.total);
  if (columns.before) {
    const below = new Float64Array(n);
    for (let i = n - 1; i >= 0; i--) {
      wide[i] = Math.max(columns.total[i], columns.before[i], below[i]);
      if (i > 0) below[columns.parent[i]] += wide[i];
    }
  }
  const words = columns.label.map((l) => columns.labels[l]);
  return {...columns, n, depth, end, phases, wide, words};
}

// The place of each visible node, in shares of the width, if `zoom` fills the width.
export function flame_layout(m, zoom) {
  const boxes = [];
  const chain = [];
  for (let i = zoom; i > 0; i = m.parent[i]) chain.unshift(i);
  if (zoom > 0) chain.unshift(0);
  else chain.push(0);
  for (const i of chain) boxes.push({i, x: 0, w: 1});
  const whole = m.wide[zoom] || 1;
  const at = new Map([[zoom, 0]]);
  for (let i = zoom + 1; i < m.end[zoom]; i++) {
    const p = m.parent[i];
    const x = at.get(p);
    if (x === undefined) continue;
    const w = m.wide[i] / whole;
    at.set(p, x + w);
    if (w < 2e-4) continue;
    at.set(i, x);
    boxes.push({i, x, w: Math.min(w, 1 - x)});
  }
  return boxes;
}

// A colour between two colours, both as the browser resolved them.
export function mixed(a, b, share) {
  const parts = (text) => (text.match(/[\d.]+/g) || [0, 0, 0]).slice(0, 3).map(Number);
  const [x, y] = [parts(a), parts(b)];
  return `rgb(${x.map((v, k) => Math.round(v + (y[k] - v) * share)).join(' ')})`;
}

export const name_noise = (text) => {
  let hash = 7;
  for (let k = 0; k < text.length; k++) hash = (hash * 31 + text.charCodeAt(k)) | 0;
  return ((hash >>> 8) % 100) / 100;
};
