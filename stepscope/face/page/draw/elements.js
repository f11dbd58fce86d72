// SPDX-License-Identifier: Apache-2.0
// Elements of the document. Text enters the document only through text nodes and attributes.

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

export const h = (tag, props, ...children) => build(document.createElement(tag), props, children);

export const s = (tag, props, ...children) =>
    build(document.createElementNS('http://www.w3.org/2000/svg', tag), props, children);

// A text whose quantities ("6.2 %", "445 ms") and numbered names ("rank 0") stay on one line.
export function unbroken(text) {
  const whole = new RegExp('[(<>]*\\d[\\d.,]* (?:%|×|[nµm]?s|[kMGTP]?B|[kMGTPE]?FLOPs?|' +
      '[GT]FLOP/s|[kMG]?B/s)(?![\\w/])[).,;:]*|\\b(?:[Rr]ank|[Ss]tep|[Ss]tage) \\d+[).,;:]*', 'g');
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(whole)) {
    parts.push(text.slice(end, match.index), h('span', {class: 'whole'}, match[0]));
    end = match.index + match[0].length;
  }
  return [...parts, text.slice(end)];
}

// A line in place of absent data: the reason, and the switch that records the data.
export const missing = (...why) => h('p', {class: 'missing'}, why);

export const note = (...text) => h('p', {class: 'note'}, text);

// A choice of one out of a few: `options` are [value, label] pairs.
export function choice(label, options, value, on_change) {
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

export function select(label, options, value, on_change) {
  const box =
      h('select', {on: {change: () => on_change(box.value)}},
        options.map(
            ([key, text]) =>
                h('option', {value: key, selected: String(key) === String(value)}, text)));
  return h('label', null, label, box);
}

// A coloured square; `hue` is a colour variable's name, or nothing for a key without a colour.
export const swatch = (hue, pattern) => h('span', {
  class: `swatch fill ${pattern || ''}`,
  style: {'--c': `var(--${hue || 'other'})`},
  'aria-hidden': 'true'
});
