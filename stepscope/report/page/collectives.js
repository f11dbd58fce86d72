// SPDX-License-Identifier: Apache-2.0
// Collectives by message size against their link, then dimensions, DDP buckets and mismatches.

const collective_looks = [
  ['all_reduce', 'compute', 'circle'], ['all_gather', 'comm_exposed_transfer', 'square'],
  ['reduce_scatter', 'comm_exposed_wait', 'triangle'], ['all_to_all', 'copy_exposed', 'diamond'],
  ['broadcast', 'idle_data', 'cross'], ['send_recv', 'idle_dependency', 'triangle'],
  ['reduce', 'idle_launch', 'square']
];
const look_of = (name) =>
    collective_looks.find((l) => l[0] === name) || [name, 'idle_host', 'circle'];

function marker(shape, x, y, r, props) {
  const d = {
    circle: `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${- 2 * r},0`,
    square: `M${x - r},${y - r}h${2 * r}v${2 * r}h${- 2 * r}z`,
    triangle: `M${x},${y - 1.15 * r}L${x + 1.1 * r},${y + 0.85 * r}H${x - 1.1 * r}z`,
    diamond: `M${x},${y - 1.3 * r}L${x + 1.3 * r},${y}L${x},${y + 1.3 * r}L${x - 1.3 * r},${y}z`,
    cross: `M${x - r},${y - r / 2.5}h${r * 0.6}v${- r * 0.6}h${r * 0.8}v${r * 0.6}h${r * 0.6}v${
        r * 0.8}h${- r * 0.6}v${r * 0.6}h${- r * 0.8}v${- r * 0.6}h${- r * 0.6}z`,
  }[shape];
  return s('path', {d, ...props});
}

// Link speeds that the rows imply: [GB/s, dimensions].
function links_of(rows) {
  const links = new Map();
  for (const r of rows) {
    if (!(r.link_share > 0)) continue;
    const speed = Math.round((r.busbw_gb_per_s / r.link_share) * 10) / 10;
    links.set(speed, (links.get(speed) || new Set()).add(r.dimension));
  }
  return [...links].slice(0, 6);
}

// Where a message size and a bandwidth lie in the chart.
function scatter_frame(rows, links, width) {
  const height = width < 560 ? 260 : 330;
  const box = {left: 56, right: width - 12, top: 26, bottom: height - 40};
  const sizes = rows.map((r) => Math.log10(r.bytes));
  const low = Math.floor(-largest(sizes.map((v) => -v), -Infinity));
  const high = Math.max(low + 1, Math.ceil(largest(sizes)));
  const fastest = largest([...rows.map((r) => r.busbw_gb_per_s), ...links.map((l) => l[0])]);
  const top = 1.06 * fastest || 1;
  const x = (v) => box.left + ((Math.log10(v) - low) / (high - low)) * (box.right - box.left);
  const y = (v) => box.bottom - (v / top) * (box.bottom - box.top);
  return {width, height, box, low, high, top, x, y};
}

function size_axis({box, low, high, x}) {
  const parts = [];
  const every = Math.ceil(((high - low) * 62) / (box.right - box.left));
  for (let p = low; p <= high; p += every) {
    const at = x(10 ** p);
    const anchor = p === high ? 'end' : 'middle';
    parts.push(
      s('line', {class: 'grid', x1: at, x2: at, y1: box.top, y2: box.bottom}),
      s('text', {x: at, y: box.bottom + 17, 'text-anchor': anchor}, round(bytes(10 ** p))));
  }
  return parts;
}

function link_line({box, y}, [speed, dimensions]) {
  const line = {x1: box.left, x2: box.right, y1: y(speed), y2: y(speed), stroke: 'var(--ink)'};
  return [s('line', {...line, 'stroke-dasharray': '5 4'}),
          s('text', {class: 'ink', x: box.left + 6, y: y(speed) - 5},
            `link of ${[...dimensions].join(', ')}: ${digits(speed)} GB/s`)];
}

function point_tip(r) {
  const of_link = known(r.link_share) ? `, ${percent(r.link_share)} of the link` : '';
  return [`${hyphened(r.name)}, group ${r.group} (${r.dimension}, ${r.group_size ?? '?'} ranks)`,
          `${bytes(r.bytes)} × ${count(r.count)}`,
          `busbw ${gb_per_s(r.busbw_gb_per_s)}${of_link}`,
          `transfer ${ns(r.transfer_ns)}, wait ${ns(r.wait_ns)}`].join('\n');
}

function scatter_point(frame, r, longest) {
  const [, hue, shape] = look_of(r.name);
  const radius = 4 + 9 * Math.sqrt((r.transfer_ns || 0) / longest);
  const spoken = `${hyphened(r.name)} ${bytes(r.bytes)}: ${gb_per_s(r.busbw_gb_per_s)}`;
  return marker(shape, frame.x(r.bytes), frame.y(r.busbw_gb_per_s), radius, {
    fill: `var(--${hue})`, 'fill-opacity': 0.8, stroke: 'var(--paper)', tabindex: 0, role: 'img',
    'data-point': r.name, 'aria-label': spoken, 'data-tip': point_tip(r),
  });
}

function scatter_legend(names) {
  const size = {width: '14px', height: '14px'};
  return h('div', {class: 'legend'}, names.map((name) => {
    const [, hue, shape] = look_of(name);
    const drawn = marker(shape, 7, 7, 4.6, {fill: `var(--${hue})`});
    return h('span', {class: 'plain'},
      s('svg', {viewBox: '0 0 14 14', style: size, 'aria-hidden': 'true'}, drawn), hyphened(name));
  }));
}

function scatter(rows, width) {
  const links = links_of(rows);
  const frame = scatter_frame(rows, links, width);
  const {box, height} = frame;
  const longest = largest(rows.map((r) => r.transfer_ns)) || 1;
  const large_first = [...rows].sort((a, b) => (b.transfer_ns || 0) - (a.transfer_ns || 0));
  const spoken = {role: 'group', 'aria-label': 'Bus bandwidth by message size'};
  return h('figure', null, scatter_legend([...new Set(rows.map((r) => r.name))]),
    s('svg', {viewBox: `0 0 ${width} ${height}`, ...spoken},
      size_axis(frame), grid_lines(box, ticks(0, frame.top, 5), frame.y, digits),
      s('text', {x: 0, y: 12}, 'bus bandwidth, GB/s'),
      s('text', {x: box.right, y: height - 4, 'text-anchor': 'end'}, 'message size'),
      links.map((link) => link_line(frame, link)),
      large_first.map((r) => scatter_point(frame, r, longest))),
    h('figcaption', null, 'One point for each collective, group and message size; its area is ' +
      'the time spent transferring.'));
}

const collective_columns = [
  {label: 'Collective', text: true, value: (r) => hyphened(r.name)},
  {
    label: 'Group',
    text: true,
    value: (r) => r.group,
    show: (r) => `${r.group}${known(r.group_size) ? ` (${r.group_size})` : ''}`
  },
  {
    label: 'Dim.',
    text: true,
    value: (r) => r.dimension,
    tip: 'Parallel dimension: dp, tp, sp, pp, cp, ep, world or unknown'
  },
  {label: 'Type', text: true, value: (r) => r.dtype},
  {
    label: 'Size',
    value: (r) => r.bytes,
    show: (r) => bytes(r.bytes),
    tip: 'The total buffer of one call'
  },
  {
    label: 'Count',
    value: (r) => r.count,
    show: (r) => (
        r.matched === r.count ? count(r.count) : `${count(r.matched)} of ${count(r.count)} matched`)
  },
  {
    label: 'Exposed',
    value: (r) => r.exposed_ns,
    show: (r) => ns(r.exposed_ns),
    tip: 'Sum over instances of the mean over ranks'
  },
  {
    label: 'Wait',
    value: (r) => r.wait_ns,
    show: (r) => ns(r.wait_ns),
    tip: 'Summed over ranks and instances'
  },
  {
    label: 'Transfer',
    value: (r) => r.transfer_ns,
    show: (r) => ns(r.transfer_ns),
    tip: 'Median over ranks, summed over instances'
  },
  {
    label: 'Duration',
    value: (r) => r.duration_ns,
    show: (r) => ns(r.duration_ns),
    tip: 'Median over ranks, summed over instances: waiting included'
  },
  {label: 'Bus GB/s', value: (r) => r.busbw_gb_per_s, show: (r) => number(r.busbw_gb_per_s)},
  {label: 'of link', value: (r) => r.link_share, show: (r) => percent(r.link_share)},
  {
    label: 'Skew',
    value: (r) => r.skew_ns,
    show: (r) => ns(r.skew_ns),
    tip: 'Median of last minus first arrival'
  },
  {
    label: 'Last rank',
    value: (r) => r.last_rank,
    show: (r) => (known(r.last_rank) ? `${r.last_rank} (${percent(r.last_rank_share)})` : none)
  },
];

function collectives_table(rows) {
  if (!rows.length) return null;
  const filled = (c) => rows.some((r) => c.value(r) !== null && c.value(r) !== undefined);
  const columns = collective_columns.filter(filled);
  const place = (label) => columns.findIndex((c) => c.label === label);
  const sort = place('Exposed') >= 0 ? place('Exposed') : place('Duration');
  return data_table({label: 'Collectives', rows, sort, limit: 15, columns,
                     filter: rows.length > 8 && 'Filter by collective, group, type'});
}

function dimensions_table(report) {
  const rows = report.dimensions || [];
  if (!rows.length) return null;
  return [
    h('h3', null, 'By parallel dimension'), data_table({
      label: 'Parallel dimensions',
      rows,
      sort: 5,
      columns: [
        {label: 'Dimension', text: true, value: (r) => r.dimension},
        {label: 'Collectives', value: (r) => r.count, show: (r) => count(r.count)},
        {label: 'Bytes', value: (r) => r.bytes, show: (r) => bytes(r.bytes)},
        {label: 'Wait', value: (r) => r.wait_ns, show: (r) => ns(r.wait_ns)},
        {label: 'Transfer', value: (r) => r.transfer_ns, show: (r) => ns(r.transfer_ns)},
        {label: 'Exposed', value: (r) => r.exposed_ns, show: (r) => ns(r.exposed_ns)}
      ]
    }),
    rows.some((r) => r.dimension === 'unknown') &&
        note(
            'Groups whose dimension is unknown can be named with --groups FILE or --tp, --pp, ' +
            '--dp.')
  ];
}

function bucket_chart(rows) {
  const first = Math.min(...rows.map((b) => b.ready_ns ?? b.launched_ns ?? b.done_ns));
  const full = Math.max(...rows.map((b) => b.done_ns ?? b.launched_ns ?? b.ready_ns)) - first || 1;
  const at = (v) => `${(100 * (v - first)) / full}%`;
  const span = (from, to, hue, what, b) =>
      known(from) && known(to) && to > from && h('i', {
        class: 'fill',
        style: {left: at(from), width: `${(100 * (to - from)) / full}%`, '--c': `var(--${hue})`},
        'data-tip': `bucket ${b.bucket}, ${bytes(b.bytes)}\n${what} ${ns(to - from)}\nexposed ${
            ns(b.exposed_ns)}`
      });
  return [
    h('div', {class: 'bars'},
      rows.map(
          (b) =>
              h('div', {class: 'bar-row'}, h('span', {class: 'label'}, `bucket ${b.bucket}`),
                h('div', {
                  class: 'phase',
                  role: 'img',
                  'aria-label': `bucket ${b.bucket}: exposed ${ns(b.exposed_ns)}`
                },
                  span(b.ready_ns, b.launched_ns, 'idle_sync', 'ready, not launched:', b),
                  span(b.launched_ns, b.done_ns, 'comm_exposed_transfer', 'all-reduce', b)),
                h('span', {class: 'value'}, `${bytes(b.bytes)}, exposed ${ns(b.exposed_ns)}`))),
      h('span'), axis(full), h('span')),
    note('Grey: gradients ready, all-reduce not launched. Orange: launched until done.')
  ];
}

function buckets_part(report) {
  const all = report.ddp_buckets || [];
  if (!all.length) return null;
  const keys = [...new Set(all.map((b) => `${b.rank}/${b.step}`))];
  const box = h('div');
  const draw = (key) => box.replaceChildren(
      ...bucket_chart(
          all.filter((b) => `${b.rank}/${b.step}` === key).sort((a, b) => a.bucket - b.bucket))
          .filter(Boolean));
  draw(keys[0]);
  return [
    h('h3', null, 'DDP buckets'),
    h('div', {class: 'tools'},
      select(
          'Rank and step', keys.map((k) => [k, `rank ${k.split('/')[0]}, step ${k.split('/')[1]}`]),
          keys[0], draw)),
    box
  ];
}

function collectives_section(report) {
  const rows = report.collectives || [];
  const wrong = report.collective_mismatches || [];
  if (!rows.length && !wrong.length)
    return missing(
        'No collective in these traces: a single rank, or communication that left no event.');
  const points = rows.filter((r) => r.bytes > 0 && known(r.busbw_gb_per_s));
  const lacking = !points.length &&
      missing(
          'No bandwidth: ',
          report.job.clocks_comparable && report.ranks.length > 1 ?
              'no message size in these traces. Sizes and groups come with ' +
                  'ProfilerActivity.CPU and a current PyTorch.' :
              report.ranks.length > 1 ?
              record.clocks :
              'without its peers one rank cannot tell waiting from transferring, so there is ' +
                  'no bandwidth. Record every rank and pass the directory.');
  return [
    points.length > 0 ? fitted((width) => scatter(points, width)) : lacking,
    points.length > 0 && !points.some((r) => r.link_share > 0) &&
        note('No link speed is known for this machine, so there is no line to compare with.'),
    collectives_table(rows),
    link_fits_part(report),
    dimensions_table(report),
    buckets_part(report),
    units_part(report),
    wrong.length > 0 &&
        [
          h('h3', null, 'Not matched'), data_table({
            label: 'Mismatches',
            rows: wrong,
            limit: 10,
            columns: [
              {label: 'Group', text: true, value: (r) => r.group},
              {label: 'Ordinal', value: (r) => r.ordinal, show: (r) => count(r.ordinal)},
              {label: 'Ranks', text: true, value: (r) => runs(r.ranks)},
              {label: 'What differs', text: true, class: 'wide', value: (r) => r.what}
            ]
          }),
          note(
              'Collectives that differ between ranks are left out of waits and bandwidths, ' +
              'never guessed.')
        ],
  ];
}
