// SPDX-License-Identifier: Apache-2.0
// The terms of a plan's step.

export const plan_terms = (report, p) => Object.entries(p.terms_ns).map(([name, t]) => ({
  name,
  label: report.labels.terms[name],
  ns: t,
  share: t / p.step_time_ns
}));
