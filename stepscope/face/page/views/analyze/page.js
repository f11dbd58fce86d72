// SPDX-License-Identifier: Apache-2.0
// The page of an analysis: its sections in order.

import {account_section} from './account.js';
import {analyze_hero} from './answer.js';
import {budget_section} from './budget.js';
import {collectives_section} from './collectives.js';
import {expected_section} from './expected.js';
import {findings_section} from './findings.js';
import {gaps_section} from './gaps.js';
import {gpus_section} from './job/gpus.js';
import {host_section} from './host.js';
import {inputs_section} from './inputs.js';
import {steps_section} from './job/steps.js';
import {kernels_section} from './kernels.js';
import {memory_section} from './memory.js';
import {mesh_section} from './mesh.js';
import {operators_section} from './operators.js';
import {overlap_section} from './overlap.js';
import {path_section} from './path.js';
import {phases_section} from './phases.js';
import {pipeline_section} from './pipeline.js';
import {ranges_section} from './ranges.js';
import {stragglers_section} from './stragglers.js';
import {timeline_section} from './timeline.js';

const sections = [
  {
    id: 'mesh',
    title: 'Ranks',
    lede: 'A square for each rank: who does more than its peers, and whom the answer names.',
    draw: mesh_section
  },
  {id: 'steps', title: 'Steps', draw: steps_section},
  {id: 'account', title: 'Where the step goes', draw: account_section},
  {
    id: 'findings',
    title: 'What to try',
    lede: 'The recorded steps replayed without it. Each part has the largest gain first.',
    draw: findings_section
  },
  {
    id: 'budget',
    title: 'Time budget',
    lede: 'Every nanosecond of a step is in one category; the categories sum to the step.',
    draw: budget_section
  },
  {
    id: 'expected',
    title: 'Expected and measured',
    lede: 'What this machine should take for the same work, by the curves measured on it.',
    draw: expected_section
  },
  {id: 'timeline', title: 'Timeline', draw: timeline_section},
  {
    id: 'path',
    title: 'Critical path',
    lede: 'The chain that sets the length of the step.',
    draw: path_section
  },
  {
    id: 'stragglers',
    title: 'Stragglers',
    lede: 'How far each rank arrives behind the median rank at its collectives.',
    draw: stragglers_section
  },
  {
    id: 'gpus',
    title: 'GPUs',
    lede: 'Clocks, power and temperature in the steps, by logs given with the traces.',
    draw: gpus_section
  },
  {
    id: 'pipeline',
    title: 'Pipeline',
    lede: 'What each stage idles, and why.',
    draw: pipeline_section
  },
  {
    id: 'collectives',
    title: 'Collectives',
    lede: 'What the network delivers for each message size, against what its link could.',
    draw: collectives_section
  },
  {id: 'overlap', title: 'Overlap', draw: overlap_section},
  {id: 'gaps', title: 'Idle gaps', lede: 'Why the device had nothing to do.', draw: gaps_section},
  {id: 'phases', title: 'Phases', draw: phases_section},
  {id: 'kernels', title: 'Kernels', draw: kernels_section},
  {id: 'operators', title: 'Operators', draw: operators_section},
  {
    id: 'ranges',
    title: 'Ranges',
    lede: 'Host and device time by your own structure, kernel up to phase.',
    draw: ranges_section
  },
  {id: 'host', title: 'Host', draw: host_section},
  {id: 'memory', title: 'Memory', draw: memory_section}
];
const inputs = {id: 'inputs', title: 'Inputs', draw: inputs_section};

// The keys that every section needs; with them the report of an older or a broken run still opens.
export function completed(report) {
  const lists = [
    'inputs', 'warnings', 'ranks', 'collectives', 'groups', 'collective_mismatches',
    'dimensions', 'ddp_buckets', 'stragglers', 'findings'
  ];
  for (const key of lists)
    if (!Array.isArray(report[key])) report[key] = [];
  report.job = {
    ranks: report.ranks.length,
    steps: [],
    phases: [],
    missing_steps: [],
    budget_ns: {},
    spread: {},
    ...report.job
  };
  for (const key of ['steps', 'phases', 'missing_steps'])
    if (!Array.isArray(report.job[key])) report.job[key] = [];
  for (const r of report.ranks) r.steps = r.steps || [];
  return report;
}

// The pipeline and GPUs have a section only if the run has a pipeline or a log of GPUs. Ranks and
// stragglers have one only if there are several ranks, collectives and overlap also if one rank
// communicates, and the curve of steps only if there are several steps. Without ranks only the
// inputs have a section.
export function analyze_page(data) {
  const report = completed(data);
  const communicates = report.collectives.length > 0 ||
      Object.entries(report.job.budget_ns || {})
          .some(([key, v]) => key.startsWith('comm_') && v > 0);
  const has = {
    pipeline: report.pipeline,
    gpus: report.gpu_readings,
    mesh: report.ranks.length > 1,
    stragglers: report.ranks.length > 1,
    collectives: report.ranks.length > 1 || communicates,
    overlap: report.ranks.length > 1 || communicates,
    steps: new Set(report.ranks.flatMap((r) => r.steps.map((x) => x.index))).size > 1
  };
  const shown = sections.filter((x) => !(x.id in has) || has[x.id]);
  return {
    report,
    hero: analyze_hero,
    sections: [...(report.ranks.length ? shown : []), inputs]
  };
}
