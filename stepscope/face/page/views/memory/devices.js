// SPDX-License-Identifier: Apache-2.0
// The devices of a snapshot, one at a time.

import {h, select} from '../../draw/elements.js';
import {known} from '../../format/numbers.js';

const snapshot_name = (report, d) => {
  const place = d.device === -1 ? 'pinned host memory' : `device ${d.device}`;
  const file = report.inputs[d.input].path.split('/').pop();
  const rank = known(d.rank) ? `rank ${d.rank} · ` : '';
  return report.inputs.length > 1 && !rank ? `${file} · ${place}` : `${rank}${place}`;
};

// The device with the most memory in use comes first.
export const by_peak = (report) => [...report.devices].sort(
  (a, b) => b.peak.memory.live_bytes - a.peak.memory.live_bytes);

// With several devices, shows one at a time.
export function by_device(report, draw) {
  const devices = by_peak(report);
  if (devices.length < 2) return devices.map(draw);
  const box = h('div');
  const show = (i) => box.replaceChildren(...[draw(devices[Number(i)])].flat(Infinity)
    .filter(Boolean));
  const options = devices.map((d, i) => [i, snapshot_name(report, d)]);
  show(0);
  return [h('div', {class: 'tools'}, select('Device', options, 0, show)), box];
}
