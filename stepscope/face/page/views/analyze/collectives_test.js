// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {links_of} from './collectives.js';

test('links are known by the speed that a share of them implies', () => {
  const row = (busbw_gb_per_s, link_share, dimension) => ({busbw_gb_per_s, link_share, dimension});
  const links = links_of([row(225, 0.5, 'dp'), row(90, 0.2, 'tp'), row(25, 0.5, 'pp'),
                          row(10, null, 'ep')]);
  assert.deepEqual(links.map(([speed, of]) => [speed, [...of]]),
    [[450, ['dp', 'tp']], [50, ['pp']]]);
});
