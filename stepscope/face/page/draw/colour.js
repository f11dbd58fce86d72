// SPDX-License-Identifier: Apache-2.0
// Colours for canvases, and redrawing when the theme or the width changes.

import {h} from './elements.js';

// The value of a colour variable in the current theme, for canvases.
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

// Registers canvases, which must be redrawn when the theme or the width changes.
export const redraws = new Set();

export function redraw_all() {
  colour.forget();
  for (const f of redraws) f();
}
