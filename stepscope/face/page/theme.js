// SPDX-License-Identifier: Apache-2.0
// The light theme, the dark theme, or the system's.

import {redraw_all} from './draw/colour.js';

export function start_theme() {
  const button = document.getElementById('theme');
  const names = ['auto', 'light', 'dark'];
  let theme = 'auto';
  try {
    theme = localStorage.getItem('stepscope.theme') || 'auto';
  } catch (e) { /* storage is closed to local files in some browsers */
  }
  const apply = () => {
    if (theme === 'auto')
      delete document.documentElement.dataset.theme;
    else
      document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme}`;
    redraw_all();
  };
  button.addEventListener('click', () => {
    theme = names[(names.indexOf(theme) + 1) % 3];
    try {
      localStorage.setItem('stepscope.theme', theme);
    } catch (e) { /* as above: then it holds for this view only */
    }
    apply();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw_all);
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth !== width) {
      width = innerWidth;
      redraw_all();
    }
  });
  apply();
}
