// SPDX-License-Identifier: Apache-2.0
// The timeline as data and as pixels: lanes of ranks and tracks, what is visible of them, and how
// it is drawn. Rows become typed arrays when a track is first drawn; drawing touches only what the
// window shows.

const ruler_height = 42;
const lane_height = {
  head: 22,
  track: 18
};
const folded_height = {
  compute: 11,
  communication: 6,
  copy: 3
};

// A track's columns, sorted by start. `reach[i]` is the latest end of rows 0..i, so a search may
// begin at the first row that can still be visible although rows overlap.
function columns_of(track) {
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
    c.kind[i] = class_name(r[2]);
    c.name[i] = r[3] ?? -1;
    c.step[i] = r[4] ?? -1;
    c.reach[i] = reach = Math.max(reach, r[0] + r[1]);
  });
  track.columns = c;
  return c;
}

function first_at_least(values, v) {
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

// Device work first, then the main thread, then the others; stable among equals.
const track_order = (t) =>
    (['compute', 'communication', 'copy'].indexOf(t.kind) + 1 || (/main/.test(t.label) ? 4 : 5));

function timeline_model(timeline) {
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

// A folded rank's tracks lie thin inside its head; a rank that shows nothing else keeps its host
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

// Lanes from the top, with their place: a head for every rank, then its tracks.
function lay_out(groups) {
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

// Rows narrower than a pixel share it: its shade is how much of it is busy, its colour the longest
// row's.
function draw_rows(g, lane, view, look) {
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

function draw_head(g, lane, view) {
  const {from, scale, left, right, top, width} = view;
  const y = top + lane.y - view.scroll;
  g.fillStyle = colour(lane.group.open ? 'raised' : 'rule');
  if (lane.group.open)
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
    if (lane.group.open) step_label(g, x, Math.max(x0, left), Math.min(x1, right), y + 11);
  }
}

function step_label(g, step, x0, x1, y) {
  if (x1 - x0 < 30) return;
  g.fillStyle = colour('soft');
  g.fillText(
      x1 - x0 > 112 ? `step ${step.index} · ${ns(step.wall_ns)}` : `${step.index}`, x0 + 5, y);
}

function draw_gutter(g, lane, view) {
  const y = view.top + lane.y - view.scroll;
  if (lane.kind === 'track' && !lane.group.open) return;
  g.fillStyle = colour(lane.kind === 'head' && lane.group.open ? 'raised' : 'paper');
  g.fillRect(0, y, view.left - 1, lane.height + (lane.kind === 'head' ? -2 : 2));
  if (lane.kind === 'head') {
    g.fillStyle = colour('ink');
    g.fillText(`${lane.group.open ? '▾' : '▸'} rank ${lane.group.rank}`, 8, y + lane.height / 2);
  } else if (lane.group.open) {
    g.fillStyle = colour('soft');
    const room = Math.floor((view.left - 24) / 6);
    const label = lane.track.label || lane.track.kind;
    g.fillText(
        label.length > room ? `${label.slice(0, room - 1)}…` : label, 20, y + lane.height / 2 + 1);
  }
}

// Ticks above; below them the steps of the topmost visible rank.
function draw_ruler(g, view, steps) {
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
