// SPDX-License-Identifier: Apache-2.0
// Who is missing where, and the calls that say so.

import {h, note} from '../../draw/elements.js';
import {facts} from '../../draw/table.js';
import {capitalised, plain} from '../../format/names.js';
import {count} from '../../format/numbers.js';

const most_findings = 40;

function call_words(call) {
  const parts = [`${call.name} ${call.sequence}`, call.sizes, call.types,
    call.state !== 'unknown' && call.state];
  return parts.filter(Boolean).join(', ');
}

const stack_list = (call) => call && call.stack.length > 0 && h('details', {class: 'stack-of'},
  h('summary', null, `Where ${call.name} ${call.sequence} was called`),
  h('ul', {class: 'plain-list mono'}, call.stack.map((frame) => h('li', null, frame))));

function finding_item(f) {
  const absent = f.kind === 'missing';
  const waits = ['missing', 'no_record', 'waiting', 'unpaired'].includes(f.kind);
  const tail = f.circular ? ' They wait for each other in a circle.' :
    f.follows !== null ? ` That follows from finding ${f.follows + 1}.` : '';
  return h('li', {'data-finding': f.kind}, h('p', null, `${capitalised(f.sentence)}.${tail}`),
    facts([
      ['Kind', plain(f.kind)], ['Group', f.group_name],
      [waits ? 'Waiting in' : 'Most ranks call', f.call && call_words(f.call)],
      [absent ? 'Came last to' : 'Instead', f.instead && call_words(f.instead)]
    ]),
    stack_list(f.call), stack_list(f.instead));
}

export function hang_findings({findings}) {
  return [
    h('ol', {class: 'plain-list'}, findings.slice(0, most_findings).map(finding_item)),
    findings.length > most_findings &&
        note(`The first ${most_findings} of ${count(findings.length)}; --json has all.`)];
}
