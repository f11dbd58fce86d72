// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {reasons_text} from './gpus.js';

test('reasons are listed by their time, without the bit that repeats its cause', () => {
  assert.equal(reasons_text({hw_slowdown: 0.9, hw_thermal_slowdown: 0.9, sw_power_cap: 0.95}),
               'sw power cap 95.0\u202f%, hw thermal slowdown 90.0\u202f%');
  assert.equal(reasons_text({hw_slowdown: 0.5, hw_thermal_slowdown: 0}), 'hw slowdown 50.0\u202f%');
  assert.equal(reasons_text({idle: 0, sw_power_cap: 0.001}), 'none');
  assert.equal(reasons_text({idle: null, sw_power_cap: null}), '–');
});
