// SPDX-License-Identifier: Apache-2.0
// What findings name on the timeline, and the way back from there to a finding.

// [{rank, start_ns, ns, key, what, text, fault}] of all findings, faults last, so that they are on
// top.
export function marks_of_findings(report) {
  const marks = (report.findings || []).flatMap((f) => {
    const places = (f.places || []).length ? f.places : [f.place].filter(Boolean);
    const fault = f.sort === 'fault';
    return places.map((p) => (
      {...p, key: f.key, what: f.what, fault, text: `${f.what}.\nClick to read the finding.`}));
  });
  return [...marks.filter((m) => !m.fault), ...marks.filter((m) => m.fault)];
}

// The first mark of each finding, faults first.
export function first_marks(marks) {
  const out = new Map();
  for (const m of [...marks.filter((x) => x.fault), ...marks])
    if (!out.has(m.key)) out.set(m.key, m);
  return [...out.values()];
}

export function show_finding(key) {
  const item = document.getElementById(`finding-${key}`);
  if (!item) return;
  item.scrollIntoView({behavior: 'smooth', block: 'center'});
  const shade = 'color-mix(in srgb, var(--accent) 24%, transparent)';
  item.animate([{background: shade}, {background: 'transparent'}], 2000);
}
