// SPDX-License-Identifier: Apache-2.0
// What the files say of errors and of the end of processes: in time, with what to do, and where
// each process stands.

import {h} from '../../draw/elements.js';
import {data_table, present} from '../../draw/table.js';
import {capitalised} from '../../format/names.js';
import {count} from '../../format/numbers.js';

export const has_incident = ({incident: i}) =>
  [i.timeline, i.last_lines, i.out_of_memory, i.ras, i.standing].some((x) => x.length > 0);

// "train.log:12", the place of a row in its file.
export const place_of = (inputs, {input, line}) =>
  (inputs[input] ? `${inputs[input].path.split('/').pop()}:${line}` : null);

const longest_text = 120;
// The begin of a line; the file has the whole.
const begin_of = (text) =>
  (text && text.length > longest_text ? `${text.slice(0, longest_text)}…` : text);

const when = ({time}) => time && `${time.of_an_earlier_line ? 'after ' : ''}${time.written}`;

const timeline_table = ({incident, inputs}) => incident.timeline.length > 0 && [data_table({
  label: 'Timeline',
  rows: incident.timeline,
  limit: 25,
  columns: present([
    {label: 'When', text: true, value: when, optional: true},
    {label: 'What', text: true, class: 'wide', value: (e) => capitalised(e.sentence)},
    {label: 'First line', text: true, value: (e) => place_of(inputs, e)},
    {label: 'As written', text: true, class: 'wide', value: (e) => begin_of(e.text), optional: true}
  ], incident.timeline)
}), incident.left_out > 0 && h('p', {class: 'note'}, `${count(incident.left_out)} more; the ` +
  'files have them.')];

const memory_list = ({out_of_memory: rows}) => rows.length > 0 && [h('h3', null, 'Out of memory'),
  rows.map((m) => h('div', {'data-memory': m.cause}, h('p', null, m.sentence),
    h('ul', {class: 'plain-list'}, m.advice.map((text) => h('li', null, `${text}.`)))))];

const status_list = ({ras}) => ras.length > 0 && [h('h3', null, 'Status of communicators (RAS)'),
  h('ul', {class: 'plain-list'}, ras.map((text) => h('li', null, `${capitalised(text)}.`)))];

const standing_table = ({standing}) => standing.length > 0 && [
  h('h3', null, 'Where the processes stand'),
  data_table({
    label: 'Where the processes stand',
    rows: standing,
    limit: 25,
    columns: [
      {label: 'Process', text: true, value: (p) => p.name},
      {label: 'In', text: true, value: (p) => p.label},
      {label: 'At', text: true, class: 'wide', value: (p) => p.frame}
    ]
  })];

const last_lines_table = ({incident, inputs}) => incident.last_lines.length > 0 && [
  h('h3', null, 'Last lines'),
  data_table({
    label: 'Last lines',
    rows: incident.last_lines,
    limit: 25,
    columns: present([
      {label: 'Rank', value: (l) => l.rank, optional: true},
      {label: 'When', text: true, value: when, optional: true},
      {label: 'Line', text: true, class: 'wide', value: (l) => begin_of(l.text)},
      {label: 'Of', text: true, value: (l) => place_of(inputs, l)}
    ], incident.last_lines)
  })];

export const hang_incident = (report) => [
  timeline_table(report), memory_list(report.incident), status_list(report.incident),
  standing_table(report.incident), last_lines_table(report)];
