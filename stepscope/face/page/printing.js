// SPDX-License-Identifier: Apache-2.0
// Paper is white and shows everything.

import {redraw_all} from './draw/colour.js';

// Paper is white and shows everything.
export function start_printing(draw_all) {
  let before = null;
  addEventListener('beforeprint', () => {
    draw_all();
    const root = document.documentElement;
    before = {
      theme: root.dataset.theme,
      shut: [...document.querySelectorAll('details:not([open])')]
    };
    for (const d of before.shut) d.open = true;
    root.dataset.theme = 'light';
    root.dataset.printing = '';
    redraw_all();
  });
  addEventListener('afterprint', () => {
    if (!before) return;
    const root = document.documentElement;
    delete root.dataset.printing;
    if (before.theme)
      root.dataset.theme = before.theme;
    else
      delete root.dataset.theme;
    for (const d of before.shut) d.open = false;
    before = null;
    redraw_all();
  });
}
