// SPDX-License-Identifier: Apache-2.0
// The tooltip: any element with data-tip shows that text.

// Any element with data-tip shows that text while the pointer is over it or it has the focus.
export function start_tooltips() {
  const tip = document.getElementById('tip');
  let shown = null;
  const place = (x, y) => {
    tip.style.left = `${Math.max(6, Math.min(x + 14, innerWidth - tip.offsetWidth - 8))}px`;
    const below = y + 18 + tip.offsetHeight < innerHeight;
    tip.style.top = `${below ? y + 16 : Math.max(6, y - tip.offsetHeight - 12)}px`;
  };
  const show = (target, x, y) => {
    const element = target.closest ? target.closest('[data-tip]') : null;
    if (element !== shown) {
      shown = element;
      tip.hidden = !element;
      if (element) tip.textContent = element.dataset.tip;
    }
    if (element) place(x, y);
  };
  document.addEventListener(
      'pointermove', (e) => show(e.target, e.clientX, e.clientY), {passive: true});
  document.addEventListener('pointerdown', () => {
    shown = null;
    tip.hidden = true;
  });
  document.addEventListener('scroll', () => {
    shown = null;
    tip.hidden = true;
  }, {passive: true, capture: true});
  document.addEventListener('focusin', (e) => {
    if (!e.target.matches(':focus-visible')) return;
    const box = e.target.getBoundingClientRect();
    show(e.target, box.left, box.bottom - 10);
  });
  return {
    at(text, x, y) {
      shown = null;
      tip.hidden = !text;
      tip.textContent = text || '';
      if (text) place(x, y);
    }
  };
}
