// SPDX-License-Identifier: Apache-2.0
// For tests: the terms of docs/reference/terms.md, which the C++ table generates, in the shape of
// the data's `terms`.

import {readFileSync} from 'node:fs';

export function glossary_terms() {
  const path = new URL('../../../docs/reference/terms.md', import.meta.url);
  const terms = {};
  let group = null;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [, name] = /^`terms\.(\w+)`/.exec(line) || [];
    if (name) group = terms[name] = {};
    if (line.startsWith('## ')) group = null;
    const [, key, label, explanation] = /^\| `([^`]+)` \| ([^|]+) \| ([^|]*) \|$/.exec(line) || [];
    if (group && key)
      group[key] = {label: label.replace(/ \(without a device: .*\)$/, ''), explanation};
  }
  return terms;
}
