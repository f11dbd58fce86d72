// SPDX-License-Identifier: Apache-2.0
// Live bytes at the peak by call path.

import {h, note} from '../../draw/elements.js';
import {Flame} from '../../draw/flame.js';
import {flame_model, name_noise} from '../../draw/flame_layout.js';
import {bytes, part} from '../../format/numbers.js';
import {by_device} from './devices.js';

export function snapshot_flame(report, tips) {
  return by_device(report, (d) => {
    const model = flame_model(d.tree, null);
    const hues = ['compute', 'attention', 'optimizer', 'comm_exposed_transfer', 'norm', 'loss'];
    model.hue = (i) => hues[Math.floor(name_noise(model.words[i]) * hues.length)];
    const flame = new Flame(model, {
      label: 'Live bytes at the peak by call path', tips,
      tip: (m, i) => `${m.words[i]}\n${bytes(m.total[i])}, ${part(m.total[i], m.total[0])} of all`
    });
    const search = h('input', {
      type: 'search', placeholder: 'Mark functions', 'aria-label': 'Mark functions',
      on: {input: () => flame.search(search.value)}
    });
    return [h('div', {class: 'tools'}, search), flame.box, flame.said,
      note('As wide as the bytes alive at the peak that were allocated below it. A click makes a ',
        'bar fill the width, a second one or Esc goes back.')];
  });
}
