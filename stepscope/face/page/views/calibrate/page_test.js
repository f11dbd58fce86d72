// SPDX-License-Identifier: Apache-2.0
import assert from 'node:assert/strict';
import test from 'node:test';

import {fit_of_point, residual, residual_limit} from './links.js';
import {speaking_fit} from './page.js';

const fit = (name, group_size, pieces = [{}], refused = null) =>
  ({name, group_size, pieces, refused});

test('an all-reduce of the largest group speaks for the links', () => {
  const fits = [fit('all_gather', 16), fit('all_reduce', 2), fit('all_reduce', 8),
                fit('all_reduce', 64, [], 'too few')];
  assert.equal(speaking_fit(fits), fits[2]);
  assert.equal(speaking_fit([fits[0], fits[3]]), fits[0]);
  assert.equal(speaking_fit([]), null);
});

test('a residual is the measured time over the fitted, minus 1', () => {
  assert.equal(residual({measured_ns: 110, fitted_ns: 100}).toFixed(3), '0.100');
  assert.equal(residual({measured_ns: 110, fitted_ns: null}), null);
  assert.equal(residual({measured_ns: 110, fitted_ns: 0}), null);
});

test('few far residuals do not set the axis', () => {
  assert.equal(residual_limit([0.01, -0.02, 0.01, 0.02, 0.01, 9]), 0.08);
  assert.equal(residual_limit([0.1, -0.2]).toFixed(2), '0.22');
  assert.equal(residual_limit([]), 0.02);
});

test('points belong to the fit of their collective, group and hosts', () => {
  const fits = [{name: 'all_reduce', group_size: 8, placement: 'one_host'},
                {name: 'all_reduce', group_size: 8, placement: 'several_hosts'}];
  assert.equal(fit_of_point(fits, {kind: 'all_reduce', group_size: 8, hosts: 2}), fits[1]);
  assert.equal(fit_of_point(fits, {kind: 'all_reduce', group_size: 8, hosts: 1}), fits[0]);
  assert.equal(fit_of_point(fits, {kind: 'broadcast', group_size: 8, hosts: 1}), undefined);
});
