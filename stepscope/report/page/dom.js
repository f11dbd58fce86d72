// SPDX-License-Identifier: Apache-2.0
// Elements, the tooltip, and colours for canvases. Text reaches the document through text nodes and
// attributes only.

function build(node, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'on')
      for (const [event, f] of Object.entries(value)) node.addEventListener(event, f);
    else if (key === 'style')
      for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else
      node.setAttribute(key, value === true ? '' : String(value));
  }
  node.append(
      ...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return node;
}

const h = (tag, props, ...children) => build(document.createElement(tag), props, children);
const s = (tag, props, ...children) =>
    build(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);

// A line that stands where data is absent: why, and the switch that records it.
const missing = (...why) => h('p', {class: 'missing'}, why);
const note = (...text) => h('p', {class: 'note'}, text);

// One of a few: `options` are [value, label] pairs.
function choice(label, options, value, on_change) {
  const buttons = options.map(
      ([key, text]) =>
          h('button', {
            type: 'button',
            'aria-pressed': String(key === value),
            'data-value': key,
            on: {click: () => pick(key)}
          },
            text));
  function pick(key) {
    for (const b of buttons)
      b.setAttribute('aria-pressed', String(b.dataset.value === String(key)));
    on_change(key);
  }
  return h('span', {class: 'choice', role: 'group', 'aria-label': label}, buttons);
}

function select(label, options, value, on_change) {
  const box =
      h('select', {on: {change: () => on_change(box.value)}},
        options.map(
            ([key, text]) =>
                h('option', {value: key, selected: String(key) === String(value)}, text)));
  return h('label', null, label, box);
}

// Any element with data-tip shows that text while the pointer is over it or it has the focus.
function start_tooltips() {
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

// The value of a colour variable in the theme in force, for canvases.
const colour = (() => {
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

// Horizontal lines of a chart with their labels at the left.
function grid_lines(box, values, place, label) {
  return values.map((v) => {
    const y = place(v);
    return [s('line', {class: 'grid', x1: box.left, x2: box.right, y1: y, y2: y}),
            s('text', {x: box.left - 8, y: y + 4, 'text-anchor': 'end'}, label(v))];
  });
}

// A chart drawn for the width there is, and again when that changes: its text keeps its size on a
// phone.
function fitted(draw) {
  const box = h('div');
  let drawn = 0;
  const again = () => {
    if (drawn && !box.isConnected) {
      redraws.delete(again);
      return;
    }
    const main = document.getElementById('top');
    const room = main.clientWidth - 2 * parseFloat(getComputedStyle(main).paddingLeft);
    const width = Math.max(
        280, Math.min(1200, document.documentElement.dataset.printing === '' ? 820 : room));
    if (width === drawn) return;
    drawn = width;
    box.replaceChildren(draw(width));
  };
  redraws.add(again);
  again();
  return box;
}

// What must be drawn again when the theme or the width changes: canvases.
const redraws = new Set();
function redraw_all() {
  colour.forget();
  for (const f of redraws) f();
}
