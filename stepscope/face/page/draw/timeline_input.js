// SPDX-License-Identifier: Apache-2.0
// Keys, wheel and pointer of the timeline.

import {columns_of, ruler_height, toggle} from './timeline_layout.js';

export function attend_keys(view) {
  const keys = {
    w: () => view.zoom(0.7),
    s: () => view.zoom(1 / 0.7),
    a: () => view.pan(-0.2),
    d: () => view.pan(0.2),
    '+': () => view.zoom(0.7),
    '-': () => view.zoom(1 / 0.7),
    arrowleft: () => view.pan(-0.1),
    arrowright: () => view.pan(0.1),
    arrowup: () => view.scroll_to(view.scroll - 40),
    arrowdown: () => view.scroll_to(view.scroll + 40),
    0: () => view.fit(),
    home: () => view.fit(),
    '.': () => view.neighbour(1),
    ',': () => view.neighbour(-1),
    n: () => view.step_match(1),
    p: () => view.step_match(-1),
    escape: () => {
      view.measured = null;
      view.pick(null);
    },
    f: () => {
      if (view.picked) {
        const c = columns_of(view.picked.track);
        const i = view.picked.i;
        view.set_window(c.start[i] - c.dur[i], c.start[i] + 2 * c.dur[i]);
      }
    },
  };
  view.canvas.addEventListener('keydown', (e) => {
    const act = keys[e.key.toLowerCase()];
    if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    act();
    view.draw_soon();
  });
}

export function attend_wheel(view) {
  view.canvas.addEventListener('wheel', (e) => {
    if (document.activeElement !== view.canvas && !e.ctrlKey) return;
    e.preventDefault();
    const pixels = e.deltaMode === 1 ? 16 : 1;
    const [dx, dy] = [e.deltaX * pixels, e.deltaY * pixels];
    if (e.offsetX < view.geometry().left)
      view.scroll_to(view.scroll + dy);
    else if (e.shiftKey || Math.abs(dx) > Math.abs(dy))
      view.pan((dx || dy) / view.canvas.clientWidth);
    else
      view.zoom(Math.exp(Math.max(-60, Math.min(60, dy)) * 0.004), view.time_at(e.offsetX));
    view.draw_soon();
  }, {passive: false});
  view.rail.addEventListener('scroll', () => {
    view.scroll = view.rail.scrollTop;
    view.draw_soon();
  });
}

function text_at(view, x, y) {
  const mark = view.mark_at(x, y);
  if (mark) return mark.text;
  const found = view.hit(x, y);
  return found ? view.describe(found).join('\n') : '';
}

function click(view, x, y) {
  const head = view.head_at(y);
  const mark = view.mark_at(x, y);
  if (head && x < view.geometry().left) {
    toggle(head.group);
    view.layout();
  } else if (mark) {
    view.open_mark(mark);
  } else {
    view.measured = null;
    view.pick(view.hit(x, y));
  }
}

export function attend_pointer(view, tips) {
  const {canvas} = view;
  let drag = null;
  const fingers = new Map();
  canvas.addEventListener('pointerdown', (e) => {
    canvas.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, e.offsetX);
    drag = {
      x: e.offsetX,
      y: e.offsetY,
      from: view.from,
      to: view.to,
      scroll: view.scroll,
      moved: false,
      measure: e.shiftKey || e.offsetY < ruler_height,
      at: view.time_at(e.offsetX)
    };
  });
  // Two fingers: the times under the fingers stay under them.
  const pinch = (e) => {
    const before = [...fingers.values()];
    fingers.set(e.pointerId, e.offsetX);
    const after = [...fingers.values()];
    const factor = Math.abs(before[0] - before[1]) / Math.max(12, Math.abs(after[0] - after[1]));
    view.zoom(factor, view.time_at((after[0] + after[1]) / 2));
    drag = null;
  };
  canvas.addEventListener('pointermove', (e) => {
    if (fingers.size === 2 && fingers.has(e.pointerId)) {
      pinch(e);
      return;
    }
    if (!drag) {
      tips.at(text_at(view, e.offsetX, e.offsetY), e.clientX, e.clientY);
      return;
    }
    if (Math.abs(e.offsetX - drag.x) + Math.abs(e.offsetY - drag.y) > 4) drag.moved = true;
    if (!drag.moved) return;
    tips.at('', 0, 0);
    if (drag.measure) {
      view.measured = [drag.at, view.time_at(e.offsetX)];
      view.say();
      view.draw_soon();
      return;
    }
    const by = ((drag.x - e.offsetX) / view.geometry().scale) *
        ((view.to - view.from) / (drag.to - drag.from));
    view.set_window(drag.from + by, drag.to + by);
    view.scroll_to(drag.scroll + drag.y - e.offsetY);
  });
  canvas.addEventListener('pointerup', (e) => {
    fingers.delete(e.pointerId);
    const clicked = drag && !drag.moved;
    drag = null;
    if (!clicked) return;
    click(view, e.offsetX, e.offsetY);
  });
  canvas.addEventListener('pointercancel', (e) => {
    fingers.delete(e.pointerId);
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => tips.at('', 0, 0));
  canvas.addEventListener('dblclick', (e) => {
    const found = view.hit(e.offsetX, e.offsetY);
    if (!found) return;
    const c = columns_of(found.track);
    view.set_window(c.start[found.i] - c.dur[found.i], c.start[found.i] + 2 * c.dur[found.i]);
  });
}
