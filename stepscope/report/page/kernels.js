// SPDX-License-Identifier: Apache-2.0
// Kernels, operators and ranges: where device time goes by name, by shape and by the user's own
// structure.

// Rows of several ranks that share a key, added up; rates weighted by time.
function merged(rows, key_of, time) {
  const out = new Map();
  for (const r of rows) {
    const key = key_of(r);
    const m = out.get(key);
    if (!m) {
      out.set(key, {...r, rate_ns: r[time]});
      continue;
    }
    const weigh = (name) => {
      m[name] = known(m[name]) && known(r[name]) ?
          (m[name] * m.rate_ns + r[name] * r[time]) / (m.rate_ns + r[time] || 1) :
          m[name] ?? r[name];
    };
    weigh('tflops');
    weigh('gb_per_s');
    m.rate_ns += r[time];
    for (const name
             of ['count', 'calls', 'total_ns', 'device_ns', 'host_self_ns', 'flops', 'bytes'])
      if (known(m[name]) && known(r[name])) m[name] += r[name];
    if (known(r.min_ns)) m.min_ns = Math.min(m.min_ns ?? r.min_ns, r.min_ns);
    if (known(r.max_ns)) m.max_ns = Math.max(m.max_ns ?? r.max_ns, r.max_ns);
    m.mean_ns = (m[time] || 0) / (m.count || m.calls || 1);
  }
  const list = [...out.values()];
  const whole = sum(list.map((m) => m[time]));
  for (const m of list) m.share = whole > 0 ? (m[time] || 0) / whole : 0;
  return list;
}
const over = (ranks, key, key_of, time) =>
    (ranks.length === 1 ? ranks[0][key] : merged(ranks.flatMap((r) => r[key] || []), key_of, time));

function class_bar(rows) {
  const whole = sum(rows.map((c) => c.total_ns));
  const sorted = [...rows].sort((a, b) => b.total_ns - a.total_ns).filter((c) => c.total_ns > 0);
  if (!sorted.length) return null;
  return [
    h('div', {
      class: 'stack tall',
      role: 'img',
      'aria-label': sorted.map((c) => `${plain(c.class)} ${part(c.total_ns, whole)}`).join(', ')
    },
      sorted.map((c) => h('div', {
                   class: 'fill on-light plain-class',
                   style: {width: `${(100 * c.total_ns) / whole}%`, '--c': `var(--${c.class})`},
                   'data-tip': `${plain(c.class)}: ${ns(c.total_ns)}, ${part(c.total_ns, whole)}\n${
                       plural(c.count, 'kernel')}`
                 }))),
    h('div', {class: 'legend'},
      sorted.map(
          (c) =>
              h('span', {class: 'plain'}, swatch(c.class), plain(c.class),
                h('span', {class: 'amount'}, part(c.total_ns, whole)))))
  ];
}

const counters_text = (c) =>
    Object.entries(c || {}).map(([k, v]) => `${plain(k)} ${number(v)}`).join(', ');
const present = (columns, rows) => columns.filter((c) => !c.optional || rows.some((r) => {
  const v = c.value(r);
  return v !== null && v !== undefined && v !== '';
}));

const class_hue = (r) => (classes.includes(r.class) ? r.class : 'other');
    // A matmul off the tensor cores is worth a word.
    const class_text = (r) => plain(r.class) +
    (r.tensor_core === false && r.class === 'matmul' ? ', no tensor cores' : '');

    const kernel_columns =
        [
          {label: 'Kernel', name: true, first: true, hue: class_hue, value: (r) => r.name},
          {label: 'Class', text: true, value: class_text, class: 'soft'},
          {
            label: 'Share',
            share: true,
            hue: class_hue,
            value: (r) => r.share,
            show: (r) => percent(r.share)
          },
          {label: 'Total', value: (r) => r.total_ns, show: (r) => ns(r.total_ns)},
          {label: 'Count', value: (r) => r.count, show: (r) => count(r.count)},
          {label: 'Mean', value: (r) => r.mean_ns, show: (r) => ns(r.mean_ns)},
          {label: 'Min', value: (r) => r.min_ns, show: (r) => ns(r.min_ns)},
          {label: 'Max', value: (r) => r.max_ns, show: (r) => ns(r.max_ns)},
          {label: 'TFLOP/s', optional: true, value: (r) => r.tflops, show: (r) => number(r.tflops)},
          {
            label: 'GB/s',
            optional: true,
            value: (r) => r.gb_per_s,
            show: (r) => number(r.gb_per_s)
          },
          {
            label: 'Counters',
            name: true,
            optional: true,
            value: (r) => counters_text(r.counters) || null
          },
        ];

    function kernels_section(report) {
      const ranks = report.ranks.filter((r) => (r.kernels || []).length);
      if (!ranks.length)
        return missing(
            'No device kernels in these traces: recorded on a CPU, or without ' +
            'ProfilerActivity.CUDA.');
      return by_rank(ranks, 'all', (some) => {
        const rows = over(some, 'kernels', (r) => r.name, 'total_ns');
        return [
          class_bar(over(some, 'kernel_classes', (r) => r.class, 'total_ns')), data_table({
            label: 'Kernels',
            rows,
            sort: 3,
            filter: 'Filter kernels by name or class',
            columns: present(kernel_columns, rows)
          })
        ];
      });
    }

const operator_columns =
    [
      {label: 'Operator', name: true, hue: class_hue, value: (r) => r.name},
      {label: 'Shape', name: true, optional: true, value: (r) => r.shape},
      {label: 'Type', text: true, optional: true, value: (r) => r.dtype},
      {label: 'Class', text: true, value: (r) => plain(r.class), class: 'soft'},
      {
        label: 'Share',
        share: true,
        hue: class_hue,
        value: (r) => r.share,
        show: (r) => percent(r.share)
      },
      {label: 'Device', value: (r) => r.device_ns, show: (r) => ns(r.device_ns)},
      {label: 'Host self', value: (r) => r.host_self_ns, show: (r) => ns(r.host_self_ns)},
      {label: 'Calls', value: (r) => r.calls, show: (r) => count(r.calls)},
      {label: 'Mean', value: (r) => r.mean_ns, show: (r) => ns(r.mean_ns)},
      {label: 'TFLOP/s', optional: true, value: (r) => r.tflops, show: (r) => number(r.tflops)},
      {label: 'GB/s', optional: true, value: (r) => r.gb_per_s, show: (r) => number(r.gb_per_s)},
    ];

    function operators_section(report) {
      const ranks = report.ranks.filter((r) => (r.operators || []).length);
      if (!ranks.length)
        return missing('No host operators in these traces. Record with ProfilerActivity.CPU.');
      return by_rank(ranks, 'all', (some) => {
        const rows =
            over(some, 'operators', (r) => `${r.name}\n${r.shape}\n${r.dtype}`, 'device_ns');
        const on_device = rows.some((r) => r.device_ns > 0);
        const columns =
            present(operator_columns, rows).filter((c) => on_device || c.label !== 'Device');
        return [
          data_table({
            label: 'Operators',
            rows,
            sort: columns.findIndex((c) => c.label === (on_device ? 'Device' : 'Host self')),
            filter: 'Filter operators by name, shape or class',
            columns
          }),
          !rows.some((r) => r.shape) && note(record.shapes)
        ];
      });
    }

// A range's row and, when it is open, its children's rows.
function range_row(node, depth, full, open) {
  const children = [...(node.children || [])].sort(
      (a, b) => (b.device_ns || b.host_ns || 0) - (a.device_ns || a.host_ns || 0));
  const time = node.device_ns || 0;
  const twist = children.length ? h('button', {
    class: 'twist',
    type: 'button',
    'aria-expanded': 'false',
    'aria-label': `${node.name}: children`
  },
                                    '▸') :
                                  h('span', {class: 'leaf'});
  const row =
      h('tr', {'aria-level': depth + 1},
        h('td', {style: {'--depth': depth}}, twist,
          h('span', {class: node.kind === 'kernel' || node.kind === 'operator' ? 'mono' : null},
            node.kind === 'kernel' ? short_name(node.name) : node.name)),
        h('td', {class: 'screen'}, plain(node.kind)), h('td', {class: 'number'}, count(node.count)),
        h('td', {class: 'number'}, ns(node.host_ns)),
        h('td', {class: 'number'}, meter(full > 0 ? time / full : 0),
          h('span', {class: 'beside'}, ns(node.device_ns))));
  let below = null;
  const rows_below = () => below.flatMap((b) => [b.row, ...b.shown()]);
  const api = {
    row,
    shown: () => (below && twist.getAttribute('aria-expanded') === 'true' ? rows_below() : []),
    toggle
  };
  function toggle() {
    const opening = twist.getAttribute('aria-expanded') !== 'true';
    if (!below) below = children.map((c) => range_row(c, depth + 1, full, false));
    if (opening) {
      twist.setAttribute('aria-expanded', 'true');
      row.after(...rows_below());
    } else {
      for (const r of rows_below()) r.remove();
      twist.setAttribute('aria-expanded', 'false');
    }
    twist.textContent = opening ? '▾' : '▸';
  }
  if (children.length) {
    twist.addEventListener('click', toggle);
    twist.addEventListener('keydown', (e) => {
      const is_open = twist.getAttribute('aria-expanded') === 'true';
      if ((e.key === 'ArrowRight' && !is_open) || (e.key === 'ArrowLeft' && is_open)) {
        e.preventDefault();
        toggle();
      }
    });
  }
  api.open = open && children.length > 0;
  return api;
}

function ranges_section(report) {
  const ranks = report.ranks.filter((r) => (r.ranges || []).length);
  if (!ranks.length) return missing(record.modules);
  return by_rank(ranks, null, ([rank]) => {
    const full = sum(rank.ranges.map((n) => n.device_ns)) || sum(rank.ranges.map((n) => n.host_ns));
    const body = h('tbody');
    const tops =
        [...rank.ranges]
            .sort((a, b) => (b.device_ns || b.host_ns || 0) - (a.device_ns || a.host_ns || 0))
            .map((n, i) => range_row(n, 0, full, i < 3));
    body.append(...tops.map((t) => t.row));
    for (const t of tops)
      if (t.open) t.toggle();
    return h(
        'div', {class: 'scroll'},
        h('table', {class: 'tree', role: 'treegrid'},
          h('thead', null,
            h('tr', null, h('th', {scope: 'col'}, 'Range'),
              h('th', {scope: 'col', class: 'screen'}, 'Kind'),
              ['Count', 'Host', 'Device'].map((t) => h('th', {class: 'number', scope: 'col'}, t)))),
          body));
  });
}
