// SPDX-License-Identifier: Apache-2.0
// The page of an analysis: its sections in order.

import {account_section} from './account.js';
import {budget_section} from './budget.js';
import {collectives_section} from './collectives.js';
import {expected_section} from './expected.js';
import {findings_section} from './findings.js';
import {gaps_section} from './gaps.js';
import {host_section} from './host.js';
import {inputs_section} from './inputs.js';
import {kernels_section} from './kernels.js';
import {memory_section} from './memory.js';
import {operators_section} from './operators.js';
import {overlap_section} from './overlap.js';
import {path_section} from './path.js';
import {phases_section} from './phases.js';
import {pipeline_section} from './pipeline.js';
import {ranges_section} from './ranges.js';
import {stragglers_section} from './stragglers.js';
import {timeline_section} from './timeline.js';

export const sections = [
  ['account', 'Where the step goes', null, account_section],
  [
    'findings', 'What to try', 'Largest gain first: the recorded steps replayed without it.',
    findings_section
  ],
  [
    'budget', 'Time budget',
    'Every nanosecond of a step is in one category; the categories sum to the step.', budget_section
  ],
  [
    'expected', 'Expected beside measured',
    'What this machine should take for the same work, by the curves measured on it.',
    expected_section
  ],
  ['timeline', 'Timeline', null, timeline_section],
  ['path', 'Critical path', 'What nothing else can hide, over all ranks.', path_section],
  [
    'stragglers', 'Stragglers',
    'How far each rank arrives behind the median rank at its collectives.', stragglers_section
  ],
  [
    'pipeline', 'Pipeline', 'What each stage idles, and why.', pipeline_section
  ],
  [
    'collectives', 'Collectives',
    'What the network delivers for each message size, against what its link could.',
    collectives_section
  ],
  ['overlap', 'Overlap', null, overlap_section],
  ['gaps', 'Idle gaps', 'Why the device had nothing to do.', gaps_section],
  ['phases', 'Phases', null, phases_section],
  ['kernels', 'Kernels', null, kernels_section],
  ['operators', 'Operators', null, operators_section],
  [
    'ranges', 'Ranges', 'Host and device time by your own structure, kernel up to phase.',
    ranges_section
  ],
  ['host', 'Host', null, host_section],
  ['memory', 'Memory', null, memory_section],
  ['inputs', 'Inputs', null, inputs_section],
];

// The keys every section relies on, so that a report of an older or a broken run still opens.
export function completed(report) {
  const lists = [
    'inputs', 'warnings', 'ranks', 'collectives', 'collective_mismatches', 'dimensions',
    'ddp_buckets', 'stragglers', 'findings'
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

// The pipeline's section only where there is a pipeline.
export const with_pipeline = (all, of) => all.filter((x) => x[0] !== 'pipeline' || of.pipeline);
