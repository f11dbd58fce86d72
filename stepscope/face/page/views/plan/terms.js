// SPDX-License-Identifier: Apache-2.0
// The terms of a plan's step.

import {label_of} from '../../terms.js';

export const plan_terms = (p) => Object.entries(p.terms_ns).map(([name, t]) => ({
  name,
  label: label_of('step_term', name),
  ns: t,
  share: t / p.step_time_ns
}));
