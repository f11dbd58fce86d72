// SPDX-License-Identifier: Apache-2.0
// Where time goes by operator and shape.

import {by_rank} from '../../draw/chosen.js';
import {missing, note} from '../../draw/elements.js';
import {data_table, figure_column, present} from '../../draw/table.js';
import {count, known, none, percent} from '../../format/numbers.js';
import {is_term, label_of} from '../../terms.js';
import {record} from './record.js';
import {class_hue, class_label, over, rate_columns, share_column, time_column} from './rows.js';

// The recorded lists, as JSON, of dimensions and types: tensors only, each type once.
function listed(text) {
  if (!text || !text.trim().startsWith('[')) return null;
  try { return JSON.parse(text); } catch (e) { return null; /* truncated: shown unchanged */ }
}

export function types_text(text) {
  const types = listed(text);
  if (!types) return text;
  const tensors = types.flat(Infinity).filter((t) => t && !/^Scalar/.test(t));
  const name_of = (t) => (is_term('dtype', t) ? label_of('dtype', t) : t.replace(/^c10::/, ''));
  const names = [...new Set(tensors.map(name_of))];
  return names.slice(0, 2).join(', ') + (names.length > 2 ? ', …' : '');
}

export function shape_text(text) {
  const dims = listed(text);
  if (!dims) return text;
  const tensors = dims.filter((d) => Array.isArray(d) && d.length);
  return tensors.map((d) => JSON.stringify(d).replaceAll(',', ', ')).join(' ');
}

// The share of its bound under the machine's roofline that an operator reaches.
export const roof_share = (r) =>
    (r.bound === 'compute' ? r.peak_share : r.bound === 'memory' ? r.bandwidth_share : null);

const roof_text = (r) => (known(roof_share(r)) ?
  `${percent(roof_share(r))} ${r.bound === 'compute' ? 'peak' : 'memory'}` : none);

const operator_columns = [
  {label: 'Operator', name: true, hue: class_hue, value: (r) => r.name},
  {label: 'Shape', name: true, optional: true, value: (r) => shape_text(r.shape)},
  {label: 'Type', text: true, optional: true, value: (r) => types_text(r.dtype)},
  {label: 'Class', text: true, class: 'soft', value: (r) => class_label(r)},
  share_column,
  time_column('Device', 'device_ns'), time_column('Host self', 'host_self_ns'),
  figure_column('Calls', 'calls', count),
  time_column('Mean', 'mean_ns'),
  ...rate_columns,
  {label: 'Roofline', optional: true, value: roof_share, show: roof_text,
   tip: 'Of the arithmetic peak where compute binds it, of the memory bandwidth where memory does'},
];

export function operators_section(report) {
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
