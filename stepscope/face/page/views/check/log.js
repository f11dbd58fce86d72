// SPDX-License-Identifier: Apache-2.0
// What a training job's log says in addition to its step times.

import {h, note} from '../../draw/elements.js';
import {data_table, facts, figure_column} from '../../draw/table.js';
import {notes_text, plain, plural} from '../../format/names.js';
import {bytes, compact, count, known, ns, number, percent} from '../../format/numbers.js';

const iteration = (i) => (known(i) ? `iteration ${count(i)}` : 'an unnumbered iteration');

function log_facts(log) {
  const {loss} = log;
  return facts([
    ['Step times from', log.steps_from, log.how],
    ['Records', count(log.records), log.steps_per_record > 1 &&
      `each the mean of ${log.steps_per_record} steps`],
    ['Tokens a second', known(log.tokens_per_s) ? compact(log.tokens_per_s) : null],
    ['Sequences a second', known(log.samples_per_s) ? number(log.samples_per_s) : null],
    ['Loss', loss ? `${number(loss.first)} → ${number(loss.last)}` : null,
      loss && `least ${number(loss.least)} at ${iteration(loss.least_iteration)}`],
    ['Skipped steps', log.skipped_steps > 0 ? count(log.skipped_steps) : null],
    ['Memory', known(log.memory_bytes) ? bytes(log.memory_bytes) : null,
      known(log.memory_share) && `${percent(log.memory_share)} of the device`],
    ['Launches', log.launches.length > 1 ? count(log.launches.length) : null]
  ]);
}

const rate = (r, key) => (r.unit === 'mfu' ? percent(r[key]) : number(r[key]));

function rates_table(log) {
  return log.rates.length > 0 && [h('h3', null, 'Rates'), data_table({
    label: 'Rates',
    rows: log.rates,
    columns: [
      {label: 'Tool', text: true, value: (r) => r.tool},
      {label: 'Figure', text: true, value: (r) => r.name},
      {label: 'Unit', text: true, value: (r) => (r.unit === 'mfu' ? 'MFU' : 'TFLOP/s')},
      {label: 'Printed', value: (r) => r.printed, show: (r) => rate(r, 'printed')},
      {label: 'Causal half', value: (r) => r.value, show: (r) => rate(r, 'value'),
        tip: 'In the convention of this project: causal attention counted half'},
      figure_column('MFU', 'mfu', percent),
      {label: 'Convention', text: true, class: 'wide', value: (r) => r.remark || r.convention}
    ]
  })];
}

function timers_table(log) {
  return log.timers.length > 0 && [h('h3', null, 'Timers of the tool'), data_table({
    label: 'Timers',
    rows: log.timers,
    limit: 15,
    columns: [
      {label: 'Timer', text: true, value: (t) => plain(t.name)},
      figure_column('Times', 'count', count),
      figure_column('Median', 'median_ns', ns),
      {label: 'Of the step', value: (t) => t.share, show: (t) => percent(t.share), share: true}
    ]
  }), note('Timers may contain each other.')];
}

function changes_list(log) {
  const {drift} = log;
  return [
    log.changes.length > 0 && h('ul', {class: 'plain-list'}, log.changes.map((c) => h('li', null,
      `The step time changes at ${iteration(c.iteration)}: ${ns(c.before_ns)} before, ${
        ns(c.after_ns)} after.`))),
    drift && note(`The step time drifts from ${ns(drift.first_ns)} to ${ns(drift.last_ns)}.`)];
}

export function check_log(report) {
  const {log} = report;
  const left_out = notes_text(log.notes);
  return [
    log_facts(log), changes_list(log), rates_table(log), timers_table(log),
    left_out && note(`Not understood: ${left_out}.`),
    log.truncated && note('The end of the file is damaged.'),
    note(`${plural(log.text_bytes, 'byte')} of text.`)];
}
