// SPDX-License-Identifier: Apache-2.0
// Kernels, operators and ranges: where device time goes by name, by shape and by the user's own
// structure.

const added = ['count', 'calls', 'total_ns', 'device_ns', 'host_self_ns', 'flops', 'bytes'];
const weighted = ['tflops', 'gb_per_s', 'peak_share', 'bandwidth_share'];

// Adds row `r` to `m`; rates are means weighted by time, the `time` of what has been added so far.
function merge_row(m, r, time, so_far) {
  for (const name of weighted) {
    const both = known(m[name]) && known(r[name]);
    if (both) m[name] = (m[name] * so_far + r[name] * r[time]) / (so_far + r[time] || 1);
    else m[name] = m[name] ?? r[name];
  }
  for (const name of added) if (known(m[name]) && known(r[name])) m[name] += r[name];
  if (known(r.min_ns)) m.min_ns = Math.min(m.min_ns ?? r.min_ns, r.min_ns);
  if (known(r.max_ns)) m.max_ns = Math.max(m.max_ns ?? r.max_ns, r.max_ns);
}

// Rows of several ranks that share a key, added up.
function merged(rows, key_of, time) {
  const out = new Map();
  for (const r of rows) {
    const key = key_of(r);
    const m = out.get(key);
    if (m) merge_row(m, r, time, m[time] || 0);
    else out.set(key, {...r});
  }
  const list = [...out.values()];
  const whole = sum(list.map((m) => m[time]));
  for (const m of list) {
    m.share = whole > 0 ? (m[time] || 0) / whole : 0;
    m.mean_ns = (m[time] || 0) / (m.count || m.calls || 1);
  }
  return list;
}

function over(ranks, key, key_of, time) {
  return ranks.length === 1 ? ranks[0][key] || [] :
      merged(ranks.flatMap((r) => r[key] || []), key_of, time);
}

function class_bar(rows) {
  const whole = sum(rows.map((c) => c.total_ns));
  const sorted = [...rows].sort((a, b) => b.total_ns - a.total_ns).filter((c) => c.total_ns > 0);
  if (!sorted.length) return null;
  const block = (c) => h('div', {
    class: 'fill', style: {width: `${(100 * c.total_ns) / whole}%`, '--c': `var(--${c.class})`},
    'data-tip': `${plain(c.class)}: ${ns(c.total_ns)}, ${part(c.total_ns, whole)}\n` +
        plural(c.count, 'kernel'),
  });
  const entry = (c) => h('span', {class: 'plain'}, swatch(c.class), plain(c.class),
    h('span', {class: 'amount'}, part(c.total_ns, whole)));
  const spoken = sorted.map((c) => `${plain(c.class)} ${part(c.total_ns, whole)}`).join(', ');
  return [h('div', {class: 'stack tall', role: 'img', 'aria-label': spoken}, sorted.map(block)),
          h('div', {class: 'legend'}, sorted.map(entry))];
}

const counters_text = (counters) =>
    Object.entries(counters || {}).map(([k, v]) => `${plain(k)} ${number(v)}`).join(', ');

// Columns that every row would leave empty are left out.
function present(columns, rows) {
  const filled = (v) => v !== null && v !== undefined && v !== '';
  return columns.filter((c) => !c.optional || rows.some((r) => filled(c.value(r))));
}

const class_hue = (r) => (classes.includes(r.class) ? r.class : 'other');
// A matmul off the tensor cores is worth a word.
const class_text = (r) =>
    plain(r.class) + (r.tensor_core === false && r.class === 'matmul' ? ', no tensor cores' : '');
const time_column = (label, key) =>
    ({label, value: (r) => r[key], show: (r) => ns(r[key])});
const rate_columns = [
  {label: 'TFLOP/s', optional: true, value: (r) => r.tflops, show: (r) => number(r.tflops)},
  {label: 'GB/s', optional: true, value: (r) => r.gb_per_s, show: (r) => number(r.gb_per_s)},
];
const share_column = {
  label: 'Share', share: true, hue: class_hue, value: (r) => r.share, show: (r) => percent(r.share),
};

const kernel_columns = [
  {label: 'Kernel', name: true, first: true, hue: class_hue, value: (r) => r.name},
  {label: 'Class', text: true, class: 'soft', value: class_text},
  share_column,
  time_column('Total', 'total_ns'),
  {label: 'Count', value: (r) => r.count, show: (r) => count(r.count)},
  time_column('Mean', 'mean_ns'), time_column('Min', 'min_ns'), time_column('Max', 'max_ns'),
  ...rate_columns,
  {label: 'Counters', name: true, optional: true, value: (r) => counters_text(r.counters) || null},
];

function kernels_section(report) {
  const ranks = report.ranks.filter((r) => (r.kernels || []).length);
  if (!ranks.length) {
    return missing('No device kernels in these traces: they were recorded on a CPU, or without ' +
                   'ProfilerActivity.CUDA.');
  }
  return by_rank(ranks, 'all', (some) => {
    const rows = over(some, 'kernels', (r) => r.name, 'total_ns');
    const columns = present(kernel_columns, rows);
    return [class_bar(over(some, 'kernel_classes', (r) => r.class, 'total_ns')),
            data_table({label: 'Kernels', rows, sort: 3, columns,
                        filter: 'Filter kernels by name or class'})];
  });
}

// How near an operator comes to what binds it under the machine's roofline.
const roof_share = (r) =>
    (r.bound === 'compute' ? r.peak_share : r.bound === 'memory' ? r.bandwidth_share : null);
const roof_text = (r) => (known(roof_share(r)) ?
  `${percent(roof_share(r))} ${r.bound === 'compute' ? 'peak' : 'memory'}` : none);

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
function types_text(text) {
  const types = listed(text);
  if (!types) return text;
  const tensors = types.flat(Infinity).filter((t) => t && !/^Scalar/.test(t));
  const names = [...new Set(tensors.map((t) => short_types[t] || t.replace(/^c10::/, '')))];
  return names.slice(0, 2).join(', ') + (names.length > 2 ? ', …' : '');
}
function shape_text(text) {
  const dims = listed(text);
  if (!dims) return text;
  const tensors = dims.filter((d) => Array.isArray(d) && d.length);
  return tensors.map((d) => JSON.stringify(d).replaceAll(',', ', ')).join(' ');
}

const operator_columns = [
  {label: 'Operator', name: true, hue: class_hue, value: (r) => r.name},
  {label: 'Shape', name: true, optional: true, value: (r) => shape_text(r.shape)},
  {label: 'Type', text: true, optional: true, value: (r) => types_text(r.dtype)},
  {label: 'Class', text: true, class: 'soft', value: (r) => plain(r.class)},
  share_column,
  time_column('Device', 'device_ns'), time_column('Host self', 'host_self_ns'),
  {label: 'Calls', value: (r) => r.calls, show: (r) => count(r.calls)},
  time_column('Mean', 'mean_ns'),
  ...rate_columns,
  {label: 'Roofline', optional: true, value: roof_share, show: roof_text,
   tip: 'Of the arithmetic peak where compute binds it, of the memory bandwidth where memory does'},
];

function operators_section(report) {
  const ranks = report.ranks.filter((r) => (r.operators || []).length);
  if (!ranks.length) {
    return missing('No host operators in these traces. Record with ProfilerActivity.CPU.');
  }
  return by_rank(ranks, 'all', (some) => {
    const key = (r) => `${r.name}\n${r.shape}\n${r.dtype}`;
    const rows = over(some, 'operators', key, 'device_ns');
    const on_device = rows.some((r) => r.device_ns > 0);
    const columns = present(operator_columns, rows)
      .filter((c) => on_device || !['Device', 'Share'].includes(c.label));
    const sort = columns.findIndex((c) => c.label === (on_device ? 'Device' : 'Host self'));
    return [data_table({label: 'Operators', rows, sort, columns,
                        filter: 'Filter operators by name, shape or class'}),
            !rows.some((r) => r.shape) && note(record.shapes)];
  });
}

const larger_first = (nodes) => [...(nodes || [])].sort(
    (a, b) => (b.device_ns || 0) - (a.device_ns || 0) || (b.host_ns || 0) - (a.host_ns || 0));

function range_cells(node, depth, twist, full, key) {
  const leaf = node.kind === 'kernel' || node.kind === 'operator';
  const name = node.kind === 'kernel' ? short_name(node.name) : node.name;
  return h('tr', {'aria-level': depth + 1},
    h('td', {style: {'--depth': depth}}, twist,
      h('span', {class: leaf && 'mono', 'data-tip': name !== node.name && node.name}, name)),
    h('td', {class: 'soft'}, plain(node.kind)), h('td', {class: 'number'}, count(node.count)),
    h('td', {class: 'number'}, ns(node.host_ns)),
    h('td', {class: 'number'}, ns(node.device_ns)),
    h('td', {class: 'number share'}, meter(full > 0 ? node[key] / full : 0),
      h('span', {class: 'beside'}, part(node[key], full))));
}

// A range's row; its children's rows are made when it is first opened and follow it while it is.
function range_row(node, depth, full, key) {
  const children = larger_first(node.children);
  const attributes = {class: 'twist', type: 'button', 'aria-label': `${node.name}: children`};
  const twist = children.length ? h('button', {...attributes, 'aria-expanded': 'false'}, '▸') :
                                  h('span', {class: 'leaf'});
  const row = range_cells(node, depth, twist, full, key);
  const is_open = () => twist.getAttribute('aria-expanded') === 'true';
  let below = null;
  const rows_below = () => below.flatMap((b) => [b.row, ...b.shown()]);
  function toggle() {
    if (!below) below = children.map((c) => range_row(c, depth + 1, full, key));
    if (is_open()) for (const r of rows_below()) r.remove();
    twist.setAttribute('aria-expanded', String(!is_open()));
    if (is_open()) row.after(...rows_below());
    twist.textContent = is_open() ? '▾' : '▸';
  }
  function on_key(e) {
    if (e.key !== (is_open() ? 'ArrowLeft' : 'ArrowRight')) return;
    e.preventDefault();
    toggle();
  }
  if (children.length) {
    twist.addEventListener('click', toggle);
    twist.addEventListener('keydown', on_key);
  }
  return {row, toggle, has_children: children.length > 0,
          shown: () => (below && is_open() ? rows_below() : [])};
}

function range_table(rank) {
  const on_device = rank.ranges.some((n) => n.device_ns > 0);
  const key = on_device ? 'device_ns' : 'host_ns';
  const full = sum(rank.ranges.map((n) => n[key]));
  const tops = larger_first(rank.ranges).map((n) => range_row(n, 0, full, key));
  const body = h('tbody', null, tops.map((t) => t.row));
  for (const t of tops.slice(0, 3)) if (t.has_children) t.toggle();
  const head = (label, number) => h('th', {scope: 'col', class: number && 'number'}, label);
  const heads = [head('Range'), head('Kind'), head('Count', true), head('Host', true),
                 head('Device', true), head(on_device ? 'Share of device' : 'Share of host', true)];
  return h('div', {class: 'scroll'},
    h('table', {class: 'tree', role: 'treegrid'}, h('thead', null, h('tr', null, heads)), body));
}

function ranges_section(report) {
  const ranks = report.ranks.filter((r) => (r.ranges || []).length);
  if (!ranks.length) return missing(record.ranges);
  return by_rank(ranks, null, ([rank]) => range_table(rank));
}
