// SPDX-License-Identifier: Apache-2.0
// Shared by the sections of a host profile: units, phases and threads in words.

import {bytes, count, ns} from '../../format/numbers.js';

export const stack_weight = (report) => {
  if (report.unit === 'nanoseconds') return ns;
  if (report.unit === 'bytes') return bytes;
  return count;
};

export const phases_by_name = (report) => new Map(report.phases.map((p) => [p.name, p]));

export const thread_words = (report, t) => {
  const file = report.inputs.length > 1 ? `${report.inputs[t.input].path.split('/').pop()} · ` : '';
  return `${file}${t.process ? `${t.process} · ` : ''}${t.name}`;
};
