// SPDX-License-Identifier: Apache-2.0
// Links from other sections to a place in the timeline.

import {h} from './elements.js';
import {ns} from '../format/numbers.js';

// Set when the timeline is drawn. Other sections use it to jump to a place in the timeline.
export const timeline_goto = {
  go: null
};

export function timeline_link(rank, start, wall) {
  return h(
      'button', {
        type: 'button',
        class: 'link',
        'data-tip': 'Show in the timeline',
        on: {
          click: () => {
            document.getElementById('timeline').scrollIntoView({behavior: 'smooth'});
            if (timeline_goto.go) timeline_goto.go(rank, start, wall);
          }
        }
      },
      `at ${ns(start)}`);
}
