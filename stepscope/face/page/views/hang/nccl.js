// SPDX-License-Identifier: Apache-2.0
// What NCCL's log says of itself: communicators, choices, settings, warnings.

import {h} from '../../draw/elements.js';
import {data_table, facts, figure_column, present} from '../../draw/table.js';
import {plural} from '../../format/names.js';
import {bytes, count, ns} from '../../format/numbers.js';

// Communicators of two ranks or more, largest first.
export const communicators = (report) => (report.nccl ? report.nccl.communicators : [])
  .filter((c) => c.ranks !== 1).sort((a, b) => b.ranks - a.ranks);

const transports_text = (c) =>
  Object.entries(c.transports).map(([name, n]) => `${count(n)} × ${name}`).join(', ');

function communicators_table(rows) {
  const columns = [
    {label: 'Communicator', text: true, value: (c) => c.id, optional: true},
    {label: 'Ranks', value: (c) => c.ranks},
    {label: 'Logged', value: (c) => c.members.length, tip: 'Ranks whose processes are in the logs'},
    {label: 'Nodes', value: (c) => c.nodes, optional: true},
    {label: 'Channels', value: (c) => c.channels, optional: true},
    {label: 'Initialisation', value: (c) => c.init_ns, show: (c) => ns(c.init_ns), optional: true,
      tip: 'The longest of its ranks'},
    {label: 'Connections', text: true, class: 'wide', value: transports_text}
  ];
  return rows.length > 0 && data_table({label: 'Communicators', rows, limit: 12,
    columns: present(columns, rows)});
}

function loose_table({without_communicator: loose}) {
  const host = (name) => name || 'not recorded';
  const rings = (loose ? loose.ring_orders : []).map((ring) => h('li', null,
    `Ring of ${plural(ring.channels.length, 'channel')}: ${ring.ranks.join(' → ')}`));
  const columns = [
    {label: 'From host', text: true, value: (c) => host(c.from_host)},
    {label: 'To host', text: true, value: (c) => host(c.to_host)},
    {label: 'Channels', value: (c) => c.channels.length},
    {label: 'Connections', text: true, class: 'wide', value: transports_text}
  ];
  return loose && [h('h3', null, 'Communicator not recorded'),
    rings.length > 0 && h('ul', {class: 'plain-list mono'}, rings),
    loose.connections.length > 0 && data_table({label: 'Connections of unnamed communicators',
      rows: loose.connections, limit: 12, columns})];
}

function choices_table({choices}) {
  const columns = [
    {label: 'Operation', text: true, value: (c) => c.operation, optional: true},
    {label: 'Algorithm', text: true, value: (c) => c.algorithm},
    {label: 'Protocol', text: true, value: (c) => c.protocol, optional: true},
    figure_column('Calls', 'calls', count),
    figure_column('Smallest', 'least_bytes', bytes),
    figure_column('Largest', 'most_bytes', bytes)
  ];
  return choices.length > 0 && [h('h3', null, 'What NCCL chose'), data_table({
    label: 'What NCCL chose', rows: choices, limit: 12, columns: present(columns, choices)})];
}

const settings_list = ({environment}) => Object.keys(environment).length > 0 && [
  h('h3', null, 'Settings'),
  h('ul', {class: 'plain-list mono'}, Object.entries(environment).map(([name, values]) =>
    h('li', null, `${name}=${values.join(' or ')}`)))];

const networks_list = ({networks}) => Object.keys(networks).length > 0 && [
  h('h3', null, 'Networks'),
  h('ul', {class: 'plain-list mono'}, Object.keys(networks).map((text) => h('li', null, text)))];

const messages_list = (messages) => messages.length > 0 && [h('h3', null, 'Warnings'),
  h('ul', {class: 'plain-list'}, messages.slice(0, 20).map((m) => h('li', null,
    `${m.rank === null ? '' : `rank ${m.rank}: `}${m.text}${
      m.times > 1 ? ` (${count(m.times)} times)` : ''}`))),
  messages.length > 20 && h('p', {class: 'note'}, `The first 20 of ${count(messages.length)}.`)];

export function hang_nccl(report) {
  const {nccl} = report;
  const all = communicators(report);
  const alone = nccl.communicators.length - all.length;
  return [
    facts([
      ['Version', Object.keys(nccl.versions).join(', ') || null],
      ['Communicators', all.length > 0 ? count(all.length) : null,
        alone > 0 && `and ${plural(alone, 'communicator')} of one rank`]
    ]),
    communicators_table(all), loose_table(nccl), choices_table(nccl), networks_list(nccl),
    settings_list(nccl), messages_list(report.messages)];
}
