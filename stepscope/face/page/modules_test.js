// SPDX-License-Identifier: Apache-2.0
// Tests the order of the modules: imports lead down and form no circles, and every export is
// imported somewhere.
import assert from 'node:assert/strict';
import {readdirSync, readFileSync, statSync} from 'node:fs';
import {dirname, join, relative} from 'node:path';
import test from 'node:test';
import {fileURLToPath} from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));

function scripts_below(folder) {
  return readdirSync(folder).flatMap((entry) => {
    const path = join(folder, entry);
    if (statSync(path).isDirectory()) return scripts_below(path);
    return entry.endsWith('.js') ? [path] : [];
  });
}

const modules = new Map(scripts_below(root).map((path) => {
  const text = readFileSync(path, 'utf8');
  const imports = [...text.matchAll(/^import \{([^}]*)\} from '(\.[^']*)';$/gm)].map((m) => ({
    names: m[1].split(',').map((name) => name.trim()),
    from: relative(root, join(dirname(path), m[2]))
  }));
  const exports = [...text.matchAll(/^export (?:function|const|class) (\w+)/gm)].map((m) => m[1]);
  return [relative(root, path), {imports, exports, text}];
}));

// The folders that a folder may import in addition to itself. The root holds main.js and the
// modules that it starts with.
const below = {
  '': ['draw', 'format', 'views'],
  views: ['', 'draw', 'format'],
  draw: ['', 'format'],
  format: []
};
const top_folder = (path) => (path.includes('/') ? path.split('/')[0] : '');

test('imports lead to folders below', () => {
  for (const [path, {imports}] of modules) {
    const folder = top_folder(path);
    for (const {from} of imports) {
      assert.ok(modules.has(from), `${path} imports ${from}, which is not there`);
      const to = top_folder(from);
      const allowed = to === folder || below[folder].includes(to);
      assert.ok(allowed, `${path} may not import ${from}`);
      if (to === '' && folder !== '')
        assert.ok(['terms.js', 'glossary_terms.js'].includes(from), `${path} imports ${from}`);
    }
  }
});

test('imports go in no circles', () => {
  const done = new Set();
  const visit = (path, open) => {
    assert.ok(!open.includes(path), `a circle: ${[...open, path].join(' → ')}`);
    if (done.has(path)) return;
    for (const {from} of modules.get(path).imports) visit(from, [...open, path]);
    done.add(path);
  };
  for (const path of modules.keys()) visit(path, []);
});

test('what is exported is imported somewhere', () => {
  const used = new Map();
  for (const {imports} of modules.values())
    for (const {names, from} of imports)
      used.set(from, new Set([...(used.get(from) || []), ...names]));
  for (const [path, {exports}] of modules)
    for (const name of exports)
      assert.ok(used.get(path)?.has(name), `${path} exports ${name} for nobody`);
});

test('a folder holds at most 26 modules, and each opens with its licence', () => {
  const sizes = new Map();
  for (const [path, {text}] of modules) {
    assert.ok(text.startsWith('// SPDX-License-Identifier: Apache-2.0\n'), path);
    if (!path.endsWith('_test.js'))
      sizes.set(dirname(path), (sizes.get(dirname(path)) || 0) + 1);
  }
  for (const [folder, n] of sizes) assert.ok(n <= 26, `${folder} holds ${n} modules`);
});
