// SPDX-License-Identifier: Apache-2.0
// Collectives by message size against their link, by dimension, and those that do not match.

import {fitted, grid_lines, marker, scatter_legend, size_axis} from '../../draw/chart.js';
import {h, missing, note, s} from '../../draw/elements.js';
import {look_of_collective} from '../../draw/looks.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened, runs} from '../../format/names.js';
import {
  bytes, count, digits, gb_per_s, known, largest, none, ns, number, percent, ticks
} from '../../format/numbers.js';
import {buckets_part} from './ddp_buckets.js';
import {group_rates_part} from './job/group_rates.js';
import {link_fits_part} from './link_fits.js';
import {record} from './record.js';
import {units_part} from './units.js';

// Link speeds that the rows imply: [GB/s, dimensions].
export function links_of(rows) {
  const links = new Map();
  for (const r of rows) {
    if (!(r.link_share > 0)) continue;
    const speed = Math.round((r.busbw_gb_per_s / r.link_share) * 10) / 10;
    links.set(speed, (links.get(speed) || new Set()).add(r.dimension));
  }
  return [...links].slice(0, 6);
}

// The place of a message size and a bandwidth in the chart.
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
  const {colour, shape} = look_of_collective(r.name);
  const radius = 4 + 9 * Math.sqrt((r.transfer_ns || 0) / longest);
  const spoken = `${hyphened(r.name)} ${bytes(r.bytes)}: ${gb_per_s(r.busbw_gb_per_s)}`;
  return marker(shape, frame.x(r.bytes), frame.y(r.busbw_gb_per_s), radius, {
    fill: `var(--${colour})`, 'fill-opacity': 0.8, stroke: 'var(--paper)', tabindex: 0, role: 'img',
    'data-point': r.name, 'aria-label': spoken, 'data-tip': point_tip(r),
  });
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
  figure_column('Size', 'bytes', bytes, 'The total buffer of one call'),
  {
    label: 'Count',
    value: (r) => r.count,
    show: (r) => (
        r.matched === r.count ? count(r.count) : `${count(r.matched)} of ${count(r.count)} matched`)
  },
  figure_column('Exposed', 'exposed_ns', ns, 'Sum over instances of the mean over ranks'),
  figure_column('Wait', 'wait_ns', ns, 'Summed over ranks and instances'),
  figure_column('Transfer', 'transfer_ns', ns, 'Median over ranks, summed over instances'),
  figure_column(
      'Duration', 'duration_ns', ns, 'Median over ranks, summed over instances: waiting included'),
  figure_column('Bus GB/s', 'busbw_gb_per_s', number),
  figure_column('of link', 'link_share', percent),
  figure_column('Skew', 'skew_ns', ns, 'Median of last minus first arrival'),
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
        figure_column('Collectives', 'count', count),
        figure_column('Bytes', 'bytes', bytes),
        figure_column('Wait', 'wait_ns', ns),
        figure_column('Transfer', 'transfer_ns', ns),
        figure_column('Exposed', 'exposed_ns', ns)
      ]
    }),
    rows.some((r) => r.dimension === 'unknown') &&
        note(
            'Groups whose dimension is unknown can be named with --groups FILE or --tp, --pp, ' +
            '--dp.')
  ];
}

export function collectives_section(report) {
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
    group_rates_part(report),
    points.length > 0 && report.groups.length > 0 && h('h3', null, 'By message size'),
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
              figure_column('Ordinal', 'ordinal', count),
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
