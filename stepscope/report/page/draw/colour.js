// SPDX-License-Identifier: Apache-2.0
// Colours for canvases, and what is drawn again when the theme or the width changes.

import {h} from './elements.js';

// The value of a colour variable in the theme in force, for canvases.
export const colour = (() => {
  let probe = null;
  const known = new Map();
  const resolve = (name) => {
    if (!known.has(name)) {
      if (!probe) probe = document.body.appendChild(h('i', {hidden: true}));
      probe.style.color = `var(--${name}, var(--other))`;
      known.set(name, getComputedStyle(probe).color);
    }
    return known.get(name);
  };
  resolve.forget = () => known.clear();
  return resolve;
})();

// What must be drawn again when the theme or the width changes: canvases.
export const redraws = new Set();

export function redraw_all() {
  colour.forget();
  for (const f of redraws) f();
}
