// SPDX-License-Identifier: Apache-2.0
// How much communication hides behind compute, what more could, and which kernels slow down
// meanwhile.

// A kernel of several ranks once: means weighted by count.
function contention_of(list) {
  const out = new Map();
  for (const c of list.flatMap((o) => o.contention || [])) {
    const m = out.get(c.name) || {name: c.name, alone: 0, overlapped: 0, count: 0};
    m.alone += c.alone_ns * c.count;
    m.overlapped += c.overlapped_ns * c.count;
    m.count += c.count;
    out.set(c.name, m);
  }
  return [...out.values()].map((m) => ({
                                 name: m.name,
                                 count: m.count,
                                 alone_ns: m.alone / (m.count || 1),
                                 overlapped_ns: m.overlapped / (m.count || 1),
                                 slowdown: m.overlapped / (m.alone || 1)
                               }));
}

function overlap_mean(list) {
  const mean = (key) => {
    const values = list.map((o) => o[key]).filter(known);
    return values.length ? sum(values) / values.length : null;
  };
  const out = {};
  for (const key
           of ['ratio', 'efficiency', 'compute_ns', 'comm_ns', 'overlap_ns', 'step_ns',
               'no_overlap_ns', 'perfect_overlap_ns', 'schedule_bound_ns'])
    out[key] = mean(key);
  out.contention = contention_of(list);
  return out;
}

function overlap_bars(o) {
  const rows = [
    ['without overlap', o.no_overlap_ns, 'idle_sync'], ['as measured', o.step_ns, 'compute'],
    ['best under this schedule', o.schedule_bound_ns, 'comm_overlapped'],
    ['with perfect overlap', o.perfect_overlap_ns, 'comm_overlapped']
  ].filter((r) => known(r[1]));
  const full = Math.max(...rows.map((r) => r[1])) || 1;
  return h(
      'div', {class: 'bars'},
      rows.map(
          ([label, value, hue]) =>
              h('div', {class: 'bar-row'},
                h('span', {class: `label${hue === 'compute' ? ' strong' : ''}`}, label),
                h('div', {class: 'phase', role: 'img', 'aria-label': `${label}: ${ns(value)}`},
                  h('i', {
                    class: 'fill',
                    style: {width: `${(100 * value) / full}%`, '--c': `var(--${hue})`}
                  })),
                h('span', {class: 'value'}, ns(value),
                  known(o.step_ns) && hue !== 'compute' ?
                      ` (${value >= o.step_ns ? '+' : '−'}${
                          percent(Math.abs(value / o.step_ns - 1))})` :
                      ''))));
}

function overlap_section(report) {
  const ranks = report.ranks.filter((r) => r.overlap);
  if (!ranks.length)
    return missing(
        'No overlap to speak of: these traces show no communication on the device, or no device.');
  return by_rank(ranks, 'mean of all', (some, all) => {
    const o = overlap_mean(some.map((r) => r.overlap));
    const slow = o.contention;
    return [
      h('p', {class: 'lede'},
        known(o.ratio) ? `${percent(o.ratio)} of the communication runs behind compute` :
                         'The overlap ratio is not known',
        known(o.efficiency) ? `; that is ${percent(o.efficiency)} of what could be hidden.` : '.'),
      overlap_bars(o),
      facts([
        ['Compute', ns(o.compute_ns)], ['Communication', ns(o.comm_ns)], ['Both', ns(o.overlap_ns)]
      ]),
      slow.length > 0 ?
          [
            h('h3', null, 'Kernels that slow down under communication'), data_table({
              label: 'Contention',
              rows: slow,
              sort: 3,
              limit: all ? 10 : 15,
              columns: [
                {label: 'Kernel', name: true, value: (r) => r.name},
                {label: 'Alone', value: (r) => r.alone_ns, show: (r) => ns(r.alone_ns)}, {
                  label: 'Under communication',
                  value: (r) => r.overlapped_ns,
                  show: (r) => ns(r.overlapped_ns)
                },
                {
                  label: 'Slowdown',
                  value: (r) => r.slowdown,
                  show: (r) => `${number(r.slowdown)}\u202f×`
                },
                {label: 'Count', value: (r) => r.count, show: (r) => count(r.count)}
              ]
            })
          ] :
          note('No kernel was seen both alone and under communication often enough to compare.'),
    ];
  });
}
