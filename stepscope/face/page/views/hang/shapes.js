// SPDX-License-Identifier: Apache-2.0
// Communicators of one shape as one, and how their ranks and hosts are called and coloured.

import {h, swatch} from '../../draw/elements.js';
import {plural, runs} from '../../format/names.js';
import {count} from '../../format/numbers.js';

export const most_shapes = 6;
export const most_pictures = 4;
export const most_ranks = 1024;

const hues = ['compute', 'comm_exposed_transfer', 'idle_data', 'copy_exposed',
  'idle_dependency', 'attention', 'quantize', 'memory_bound'];

// [{ranks, ring_orders, tree_shapes, unclear_rings, unclear_trees, hosts: Map of rank to host,
// times}], in the order of the communicators.
export function joined_shapes(communicators) {
  const known = new Map();
  for (const c of communicators) {
    const hosts = c.members.filter((m) => m.rank !== null).map((m) => [m.rank, m.host]);
    const shape = {
      ranks: c.ranks, ring_orders: c.ring_orders, tree_shapes: c.tree_shapes,
      unclear_rings: c.unclear_rings, unclear_trees: c.unclear_trees
    };
    const key = JSON.stringify([shape, hosts]);
    if (known.has(key)) known.get(key).times++;
    else known.set(key, {...shape, hosts: new Map(hosts), times: 1});
  }
  return [...known.values()];
}

export const shape_title = ({times, ranks}) =>
  `${times === 1 ? 'The communicator' : `${count(times)} communicators`} of ${
    plural(ranks, 'rank')}`;

export const channels_text = (channels) =>
  `channel${channels.length === 1 ? '' : 's'} ${runs(channels)}`;

// The hue of a host is that of its place among the hosts; hues repeat behind the eighth.
export function host_hues(hosts) {
  const names = [...new Set(hosts.values())];
  const place = new Map(names.map((name, i) => [name, hues[i % hues.length]]));
  return {names, hue: (rank) => (hosts.has(rank) ? place.get(hosts.get(rank)) : 'other')};
}

export function host_legend({names}, unknown) {
  const first = names.slice(0, hues.length);
  return h('div', {class: 'legend'},
    first.map((name, i) => h('span', {class: 'plain'}, swatch(hues[i]), name)),
    names.length > hues.length && h('span', {class: 'plain'},
      `and ${count(names.length - hues.length)} more hosts; the colours repeat`),
    unknown && h('span', {class: 'plain'}, swatch('other'), 'host not in the logs'));
}

// "rank 3 on node1".
export const rank_words = (hosts, rank) =>
  `rank ${rank}${hosts.has(rank) ? ` on ${hosts.get(rank)}` : ''}`;
