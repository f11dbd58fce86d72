// SPDX-License-Identifier: Apache-2.0
// The timeline as data: columns of a track, lanes of ranks and tracks, and their places. Ranks that
// behave alike share a lane, which shows one of them until it is unfolded.

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

// The ranks of a bundle as one group that shows the member with most steps.
function bundle_of(members, accused) {
  const shown = members.reduce((a, m) => (m.steps.length > a.steps.length ? m : a));
  return {
    rank: members[0].rank, ranks: members.map((m) => m.rank), accused, members, spread: false,
    tracks: shown.tracks, steps: shown.steps, marks: members.flatMap((m) => m.marks), open: false
  };
}

// `bundles`: [{ranks, accused}], the ranks that share a lane, in the order of the lanes; ranks that
// are in none follow. `marks`: [{rank, start_ns, ns, ...}], drawn above the rank.
export function timeline_model(timeline, bundles = [], marks = []) {
  const groups = new Map();
  const group_of = (rank) => {
    if (!groups.has(rank)) {
      groups.set(rank, {rank, ranks: [rank], accused: false, tracks: [], steps: [], marks: [],
        open: true});
    }
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
  for (const m of marks) if (groups.has(m.rank)) groups.get(m.rank).marks.push(m);
  for (const g of groups.values()) g.tracks.sort((a, b) => track_order(a) - track_order(b));
  const list = [];
  for (const {ranks, accused} of bundles) {
    const members = ranks.filter((rank) => groups.has(rank)).map((rank) => groups.get(rank));
    for (const m of members) groups.delete(m.rank);
    for (const m of members) m.accused = accused;
    if (members.length === 1) list.push(members[0]);
    else if (members.length) list.push(bundle_of(members, accused));
  }
  list.push(...[...groups.values()].sort((a, b) => a.rank - b.rank));
  const single = list.filter((g) => !g.members);
  const few = sum(single.map((g) => g.tracks.length)) <= 24;
  for (const g of list)
    for (const m of g.members || [g]) m.open = !g.members && few;
  return {groups: list, from, to, names: timeline.names || [], origin: timeline.origin_ns || 0};
}

// A folded rank's tracks are thin lines inside its head. A rank without other tracks keeps its host
// track.
function fold_in(lanes, group, head, top) {
  const device = group.tracks.filter((t) => t.kind !== 'host');
  let y = top + (group.marks.length ? 6 : 2);
  const main = group.tracks.find((t) => /main/.test(t.label)) || group.tracks[0];
  for (const track of device.length ? device : [main]) {
    const height = folded_height[track.kind] || 8;
    lanes.push({kind: 'track', group, track, y, height});
    y += height + 1;
  }
  head.height = Math.max(lane_height.head, y - top + 1);
}

// The lanes from the top with their places: a head for every rank or bundle, then its tracks, or
// the lanes of the ranks of an unfolded bundle.
export function lay_out(groups) {
  const lanes = [];
  let y = 0;
  for (const group of groups.flatMap((g) => (g.spread ? [g, ...g.members] : [g]))) {
    const head = {kind: 'head', group, y, height: lane_height.head};
    lanes.push(head);
    const tracks = group.open && !group.spread;
    if (!group.open && !group.spread) fold_in(lanes, group, head, y);
    y += head.height;
    if (!tracks) continue;
    for (const track of group.tracks) {
      lanes.push({kind: 'track', group, track, y, height: lane_height.track});
      y += lane_height.track + 2;
    }
    y += 4;
  }
  return {lanes, height: y};
}

// Unfolds what is folded, and the reverse: a bundle into its ranks, a rank into its tracks.
export function toggle(group) {
  if (group.members) group.spread = !group.spread;
  else group.open = !group.open;
}

export function fold_all(groups, open) {
  for (const g of groups) {
    if (g.members) g.spread = open;
    for (const m of g.members || [g]) m.open = open;
  }
}

// Unfolds the rank, and its bundle; null if the timeline lacks it.
export function unfold_rank(groups, rank) {
  const home = groups.find((g) => g.ranks.includes(rank));
  if (!home) return null;
  const group = (home.members || [home]).find((g) => g.rank === rank);
  if (home.members) home.spread = true;
  group.open = true;
  return group;
}

// The operations with one of these names in the lanes, by time: [{group, track, i, start}].
export function matches_in(lanes, names) {
  const out = [];
  for (const lane of lanes) {
    if (lane.kind !== 'track') continue;
    const c = columns_of(lane.track);
    for (let i = 0; i < c.n; i++) {
      if (names.has(c.name[i]))
        out.push({group: lane.group, track: lane.track, i, start: c.start[i]});
    }
  }
  return out.sort((a, b) => a.start - b.start);
}
