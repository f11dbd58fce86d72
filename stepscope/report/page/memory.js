// SPDX-License-Identifier: Apache-2.0
// Device memory over time, what filled it at the peak, and copies.

const holdings = {
  parameters: 'compute',
  gradients: 'comm_exposed_transfer',
  optimizer: 'optimizer',
  activations: 'attention',
  temporary: 'idle_launch',
  unknown: 'idle_unexplained'
};

// When a stretch of a phase begins, where the report says so.
const phase_starts = (phases) => (phases.some((p) => known(p.start_ns)) ?
  [{label: 'Begins at', value: (p) => p.start_ns, show: (p) => ns(p.start_ns)}] : []);

// At most `wanted` points that keep each bucket's largest value, so no peak is lost.
function thinned(points, wanted) {
  if (points.length <= wanted) return points;
  const out = [];
  for (let i = 0; i < wanted; i++) {
    const from = Math.floor((i * points.length) / wanted);
    const to = Math.floor(((i + 1) * points.length) / wanted);
    let best = from;
    for (let j = from; j < to; j++)
      if (points[j].allocated_bytes > points[best].allocated_bytes) best = j;
    out.push(points[best]);
  }
  return out;
}

// Bytes over time of one device: the places of its points in a frame.
function memory_frame(device, points, width) {
  const height = width < 560 ? 200 : 260;
  const box = {left: 62, right: width - 8, top: 14, bottom: height - 26};
  const [from, to] = [points[0].time_ns, points[points.length - 1].time_ns];
  const most = largest(points.flatMap((p) => [p.allocated_bytes, p.reserved_bytes]));
  const top = 1.06 * Math.max(most, device.peak_allocated_bytes || 0) || 1;
  const x = (t) => box.left + ((t - from) / (to - from || 1)) * (box.right - box.left);
  const y = (v) => box.bottom - ((v || 0) / top) * (box.bottom - box.top);
  const line = (key) => points.map((p, i) => {
    const at = x(p.time_ns).toFixed(1);
    return (i ? `H${at}V` : `M${at},`) + y(p[key]).toFixed(1);
  }).join('');
  return {width, height, box, from, to, top, x, y, line};
}

function memory_steps(frame, steps) {
  const {box, x} = frame;
  const labelled = steps.length * 62 < frame.width;
  return steps.map((step) => {
    const [start, middle] = [x(step.start_ns), x(step.start_ns + step.wall_ns / 2)];
    const inside = (v) => v > box.left && v < box.right;
    const line = {class: 'grid', x1: start, x2: start, y1: box.top, y2: box.bottom};
    const label = {x: middle, y: frame.height - 8, 'text-anchor': 'middle'};
    return [inside(start) && s('line', {...line, 'stroke-dasharray': '2 3'}),
            labelled && inside(middle) && s('text', label, `step ${step.index}`)];
  });
}

function memory_peak(frame, device) {
  const [at, peak] = [device.peak_time_ns, device.peak_allocated_bytes];
  if (!known(at) || at < frame.from || at > frame.to) return null;
  const [x, y] = [frame.x(at), frame.y(peak)];
  const right = x > frame.width * 0.7;
  const place = {x: x + (right ? -8 : 8), y: y - 6, 'text-anchor': right ? 'end' : 'start'};
  return [s('circle', {cx: x, cy: y, r: 4, fill: 'var(--comm_exposed_wait)'}),
          s('text', {class: 'ink', ...place}, `peak ${bytes(peak)}`)];
}

function memory_chart(device, rank, width) {
  const points = thinned(device.timeline || [], 1600);
  if (points.length < 2) return note('Too few memory events to draw them over time.');
  const frame = memory_frame(device, points, width);
  const {box, line} = frame;
  const units = [[1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];
  const unit = units.find((u) => frame.top >= u[0]) || units[3];
  const marks = ticks(0, frame.top / unit[0], 5);
  const label = (t) => `${round(digits(t))} ${unit[1]}`;
  const area = `${line('allocated_bytes')}V${box.bottom}H${box.left}Z`;
  const allocated = {fill: 'none', stroke: 'var(--attention)', 'stroke-width': 1.3};
  const reserved = {fill: 'none', stroke: 'var(--soft)', 'stroke-dasharray': '5 3'};
  const with_reserved = points.some((p) => known(p.reserved_bytes));
  const spoken = `Memory over time, peak ${bytes(device.peak_allocated_bytes)}`;
  return h('figure', null,
    s('svg', {viewBox: `0 0 ${width} ${frame.height}`, role: 'img', 'aria-label': spoken},
      grid_lines(box, marks, (t) => frame.y(t * unit[0]), label),
      memory_steps(frame, rank.steps),
      s('path', {d: area, fill: 'var(--attention)', 'fill-opacity': 0.28}),
      s('path', {d: line('allocated_bytes'), ...allocated}),
      with_reserved && s('path', {d: line('reserved_bytes'), ...reserved}),
      memory_peak(frame, device)),
    h('figcaption', null, 'Filled: allocated.',
      with_reserved ? ' Dashed: reserved from the device.' : ''));
}

function composition(device) {
  const entries = Object.entries(device.composition_bytes || {}).filter(([, v]) => v > 0);
  const whole = sum(entries.map((e) => e[1]));
  if (!(whole > 0)) return null;
  return [
    h('h3', null, `At the peak${device.composition_inferred ? ' (inferred)' : ''}`),
    h('div', {
      class: 'stack tall',
      role: 'img',
      'aria-label': entries.map(([k, v]) => `${k} ${bytes(v)}`).join(', ')
    },
      entries.map(
          ([k, v]) => h('div', {
            class: `fill on-light ${k === 'unknown' ? 'dotted' : ''}`,
            style: {width: `${(100 * v) / whole}%`, '--c': `var(--${holdings[k] || 'other'})`},
            'data-tip': `${plain(k)}: ${bytes(v)}, ${part(v, whole)}`
          }))),
    h('div', {class: 'legend'},
      entries.map(
          ([k, v]) =>
              h('span', {class: 'plain'},
                swatch(holdings[k] || 'other', k === 'unknown' ? 'dotted' : ''), plain(k),
                h('span', {class: 'amount'}, bytes(v)))))
  ];
}

const device_name = (d) =>
    (d.device === -1 ? 'host memory' : /^\d+$/.test(d.device) ? `device ${d.device}` : d.device);

function device_part(device, rank) {
  return [
    facts([
      ['Peak allocated', bytes(device.peak_allocated_bytes), device_name(device)],
      known(device.peak_reserved_bytes) && ['Peak reserved', bytes(device.peak_reserved_bytes)],
      known(device.headroom_bytes) && ['Headroom', bytes(device.headroom_bytes), 'of the device'],
      device.running_at_peak &&
          ['Running at the peak', h('span', {class: 'mono'}, device.running_at_peak)]
    ]),
    fitted((width) => memory_chart(device, rank, width)), composition(device),
    (device.phases || []).length > 0 && data_table({
      label: 'Memory by phase',
      rows: device.phases,
      limit: 12,
      columns: [
        {label: 'Phase', text: true, value: (p) => plain(p.phase)},
        ...phase_starts(device.phases), {
          label: 'At its start',
          value: (p) => p.at_start_bytes,
          show: (p) => bytes(p.at_start_bytes)
        },
        {label: 'At its end', value: (p) => p.at_end_bytes, show: (p) => bytes(p.at_end_bytes)}, {
          label: 'Change',
          value: (p) => p.change_bytes,
          show: (p) => `${p.change_bytes > 0 ? '+' : ''}${bytes(p.change_bytes).replace('-', '−')}`
        }
      ]
    })
  ];
}

// The devices one after the other; the host's own memory is folded away behind them.
function devices_parts(rank) {
  const host = rank.memory.devices.filter((d) => d.device === -1);
  const devices = rank.memory.devices.filter((d) => d.device !== -1);
  if (!devices.length) return host.map((d) => device_part(d, rank));
  const folded = (d) => h('details', {class: 'notes'},
    h('summary', null, `Host memory, at most ${bytes(d.peak_allocated_bytes)}`),
    device_part(d, rank).flat(Infinity).filter(Boolean));
  return [devices.map((d) => device_part(d, rank)), host.map(folded)];
}

function memory_section(report) {
  const ranks = report.ranks.filter(
      (r) => r.memory && ((r.memory.devices || []).length || (r.memory.copies || []).length));
  if (!ranks.length) return missing(record.memory);
  return by_rank(
      ranks, null,
      ([rank]) =>
          [(rank.memory.devices || []).length ?
               devices_parts(rank) :
               missing(record.memory),
           (rank.memory.copies || []).length > 0 &&
               [
                 h('h3', null, 'Copies'), data_table({
                   label: 'Copies',
                   rows: rank.memory.copies,
                   sort: 3,
                   columns: [
                     {label: 'Direction', text: true, value: (c) => c.direction}, {
                       label: 'Host memory',
                       text: true,
                       value: (c) =>
                           (c.pinned === null || c.pinned === undefined ? null :
                                c.pinned                                ? 'pinned' :
                                                                          'pageable')
                     },
                     {label: 'Count', value: (c) => c.count, show: (c) => count(c.count)},
                     {label: 'Time', value: (c) => c.total_ns, show: (c) => ns(c.total_ns)},
                     {label: 'Bytes', value: (c) => c.bytes, show: (c) => bytes(c.bytes)},
                     {label: 'GB/s', value: (c) => c.gb_per_s, show: (c) => number(c.gb_per_s)}
                   ]
                 })
               ],
  ]);
}
