// SPDX-License-Identifier: Apache-2.0
// What each figure means, and what another recording should have.

import {h} from '../../draw/elements.js';
import {plain} from '../../format/names.js';

const marks = {good: '✓ ok', look: '! look', unknown: '– unknown'};

export const check_list = (report) => h('ul', {class: 'check-list'}, report.checks.map((c) =>
  h('li', {'data-check': c.name, 'data-status': c.status},
    h('span', {class: 'mark'}, marks[c.status] || c.status), h('b', null, plain(c.name)),
    h('span', null, c.sentence))));

const results = {fine: 'good', look: 'look', unknown: 'unknown'};

export const check_lists = (report) => report.checklists.map((list) => [
  h('h3', null, list.title),
  h('ul', {class: 'check-list wide'}, list.lines.map((l) => {
    const status = results[l.result];
    return h('li', {'data-check': l.name, 'data-status': status},
      h('span', {class: 'mark'}, marks[status]), h('b', null, plain(l.name)),
      h('span', null, l.evidence));
  }))]);

export const check_next = (report) =>
  h('ul', {class: 'plain-list'}, report.record_next.map((what) => h('li', null, what)));
