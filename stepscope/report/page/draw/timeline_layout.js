// SPDX-License-Identifier: Apache-2.0
// The timeline as data: columns of a track, lanes of ranks and tracks, and their places.

import {sum} from '../format/numbers.js';

export const ruler_height = 42;

const lane_height = {
  head: 22,
  track: 18
};

const folded_height = {
  compute: 11,
  communication: 6,
  copy: 3
};

// A track's columns, sorted by start. `reach[i]` is the latest end of rows 0..i. Rows may overlap,
// so a search uses it to begin at the first row that can still be visible.
export function columns_of(track) {
  if (track.columns) return track.columns;
  const rows = [...track.rows].sort((a, b) => a[0] - b[0]);
  const n = rows.length;
  const c = {
    n,
    start: new Float64Array(n),
    dur: new Float64Array(n),
    reach: new Float64Array(n),
    kind: new Array(n),
    name: new Int32Array(n),
    step: new Int32Array(n)
  };
  let reach = -Infinity;
  rows.forEach((r, i) => {
    c.start[i] = r[0];
    c.dur[i] = r[1];
    c.kind[i] = r[2];
    c.name[i] = r[3] ?? -1;
    c.step[i] = r[4] ?? -1;
    c.reach[i] = reach = Math.max(reach, r[0] + r[1]);
  });
  track.columns = c;
  return c;
}

export function first_at_least(values, v) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (values[mid] < v)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

// Device work comes first, then the main thread, then the others. Equals keep their order.
const track_order = (t) =>
    (['compute', 'communication', 'copy'].indexOf(t.kind) + 1 || (/main/.test(t.label) ? 4 : 5));

export function timeline_model(timeline) {
  const groups = new Map();
  const group_of = (rank) => {
    if (!groups.has(rank)) groups.set(rank, {rank, tracks: [], steps: [], open: true});
    return groups.get(rank);
  };
  let [from, to] = [Infinity, -Infinity];
  for (const t of timeline.tracks) {
    group_of(t.rank).tracks.push({...t});
    for (const r of t.rows) {
      if (r[0] < from) from = r[0];
      if (r[0] + r[1] > to) to = r[0] + r[1];
    }
  }
  for (const x of timeline.steps || []) {
    group_of(x.rank).steps.push(x);
    from = Math.min(from, x.start_ns);
    to = Math.max(to, x.start_ns + x.wall_ns);
  }
  const list = [...groups.values()].sort((a, b) => a.rank - b.rank);
  for (const g of list) g.tracks.sort((a, b) => track_order(a) - track_order(b));
  const open = sum(list.map((g) => g.tracks.length)) <= 24;
  for (const g of list) g.open = open;
  return {groups: list, from, to, names: timeline.names || [], origin: timeline.origin_ns || 0};
}

// A folded rank's tracks are thin lines inside its head. A rank without other tracks keeps its host
// track.
function fold_in(lanes, group, head, top) {
  const device = group.tracks.filter((t) => t.kind !== 'host');
  let y = top + 2;
  const main = group.tracks.find((t) => /main/.test(t.label)) || group.tracks[0];
  for (const track of device.length ? device : [main]) {
    const height = folded_height[track.kind] || 8;
    lanes.push({kind: 'track', group, track, y, height});
    y += height + 1;
  }
  head.height = Math.max(lane_height.head, y - top + 1);
}

// The lanes from the top with their places: a head for every rank, then its tracks.
export function lay_out(groups) {
  const lanes = [];
  let y = 0;
  for (const group of groups) {
    const head = {kind: 'head', group, y, height: lane_height.head};
    lanes.push(head);
    if (!group.open) fold_in(lanes, group, head, y);
    y += head.height;
    if (!group.open) continue;
    for (const track of group.tracks) {
      lanes.push({kind: 'track', group, track, y, height: lane_height.track});
      y += lane_height.track + 2;
    }
    y += 4;
  }
  return {lanes, height: y};
}
