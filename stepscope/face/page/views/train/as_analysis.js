// SPDX-License-Identifier: Apache-2.0
// A run of training in the shape of an analysis, for the sections that both pages have: steps and
// time budget.

export function as_analysis(report) {
  const ranks = new Map(report.means.ranks.map((r) => [r.rank, {
    rank: r.rank, role: 'all', steps: [], mean_budget_ns: r.budget_ns, outside_ns: {}}]));
  for (const {rank, index, wall_ns, budget_ns} of report.rank_steps) {
    if (!ranks.has(rank)) ranks.set(rank, {rank, role: 'all', steps: [], outside_ns: {}});
    ranks.get(rank).steps.push({index, wall_ns, budget_ns});
  }
  const list = [...ranks.values()].sort((a, b) => a.rank - b.rank);
  return {
    schema: report.schema,
    answer: report.answer,
    ranks: list,
    stragglers: [],
    job: {
      ranks: list.length,
      steps: report.steps.map(({index, wall_ns}) => ({index, wall_ns})),
      missing_steps: [],
      budget_ns: report.means.budget_ns,
      spread: {}
    }
  };
}
