// SPDX-License-Identifier: Apache-2.0
// The page of a calibration: what the machine is, and its sections in order.

import {h, missing, unbroken} from '../../draw/elements.js';
import {figures, remarks} from '../../draw/figures.js';
import {data_table, figure_column} from '../../draw/table.js';
import {hyphened, notes_text, plural} from '../../format/names.js';
import {bytes, count, flops, gb_per_s, known, ns, percent} from '../../format/numbers.js';
import {fit_name} from '../analyze/link_fits.js';
import {calibrate_links} from './links.js';
import {calibrate_operations} from './operations.js';

// The fit that speaks for the links: an all-reduce of the largest group, else any of the largest.
export function speaking_fit(fits) {
  const worth = (f) => (f.name === 'all_reduce' ? 1e9 : 0) + f.group_size;
  return fits.filter((f) => !f.refused && f.pieces.length > 0)
      .reduce((a, f) => (!a || worth(f) > worth(a) ? f : a), null);
}

function link_figures(report) {
  const fit = speaking_fit(report.link_fits);
  if (!fit) return [];
  const [first, last] = [fit.pieces[0], fit.pieces[fit.pieces.length - 1]];
  return [
    ['α', ns(first.start_ns), `${fit_name(fit)}, from ${bytes(first.from_bytes)}`],
    known(last.gb_per_s) && ['β', gb_per_s(last.gb_per_s), `the same, to ${bytes(last.to_bytes)}`]
  ];
}

function calibrate_figures(report) {
  const {machine, errors} = report;
  return figures([
    ...machine.peaks.slice(0, 2).map((p) => [`Peak ${p.dtype}`, `${flops(p.peak_flops)}/s`,
      known(p.matmul_max_flops) && `products reach ${percent(p.matmul_max_flops / p.peak_flops)}`]),
    known(machine.memory_gb_per_s) && ['Memory', gb_per_s(machine.memory_gb_per_s),
      known(machine.memory_bytes) && `${bytes(machine.memory_bytes)} a device`],
    ...link_figures(report),
    known(machine.drive_read_gb_per_s) && ['Drive', gb_per_s(machine.drive_read_gb_per_s),
      known(machine.drive_write_gb_per_s) && `writes ${gb_per_s(machine.drive_write_gb_per_s)}`],
    known(errors.operations) && ['Model of kernels', percent(errors.operations),
      'off on average'],
    known(errors.collectives) && ['Model of links', percent(errors.collectives),
      known(errors.before) ? `off on average; before ${percent(errors.before)}` : 'off on average']
  ].filter(Boolean));
}

function calibrate_hero(report) {
  const measured = report.benchmarks.length === 0;
  const kicker = measured ? `${report.machine.name} · ${plural(report.ranks, 'rank')} at once` :
    `${report.machine.name} · from ${plural(report.benchmarks.length, 'benchmark')}`;
  return h('header', {class: 'hero'}, h('p', {class: 'kicker'}, `${kicker} → ${report.file}`),
    h('h1', null, unbroken(report.answer.sentence)), calibrate_figures(report),
    remarks(report.warnings, 'this calibration'));
}

function calibrate_sources(report) {
  return [
    report.benchmarks.length > 0 && data_table({
      label: 'Benchmarks',
      rows: report.benchmarks,
      limit: 20,
      columns: [
        {label: 'File', text: true, class: 'wide', value: (b) => b.path},
        {label: 'Tool', text: true, value: (b) => b.tool},
        {label: 'Collective', text: true, value: (b) => hyphened(b.kind)},
        {label: 'Ranks', value: (b) => b.ranks},
        {label: 'Hosts', value: (b) => b.hosts,
          show: (b) => `${b.hosts}${b.hosts_assumed ? ' (assumed)' : ''}`},
        figure_column('Times', 'times', count),
        {label: 'Not understood', text: true, class: 'wide', value: (b) => notes_text(b.notes)}
      ]
    }),
    h('ul', {class: 'plain-list'}, report.sources.map((source) => h('li', null, source)))];
}

const no_links = () => missing('No link was measured: there is one rank.');

export const calibrate_page = (report) => ({
  report,
  hero: calibrate_hero,
  sections: [
    {
      id: 'links',
      title: 'Links',
      lede: 'What collectives took, and α + size ÷ β, piece by piece.',
      draw: report.collectives.length > 0 ? calibrate_links : no_links
    },
    report.operations.length > 0 && {
      id: 'kernels',
      title: 'Kernels',
      lede: 'What a device reaches by the size of the work, and what the model says.',
      draw: calibrate_operations
    },
    {id: 'sources', title: 'Sources', draw: calibrate_sources}
  ].filter(Boolean)
});
