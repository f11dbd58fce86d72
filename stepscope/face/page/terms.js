// SPDX-License-Identifier: Apache-2.0
// Labels and explanations of the data's keys. They stand in the data (`terms`, from
// stepscope/say/vocabulary.cc): {group: {key: {label, brief, explanation}}}. A group holds the
// keys of one object or enumeration; its order is the order of legends.

import {plain} from './format/names.js';

let terms = {};

// Called once, before anything is drawn.
export function use_terms(given) { terms = given || {}; }

const group_of = (group) => (Object.hasOwn(terms, group) ? terms[group] : {});

export const keys_of = (group) => Object.keys(group_of(group));
export const is_term = (group, key) => Object.hasOwn(group_of(group), key);

// {label, brief, explanation} of a key. A key that the group lacks is called by its own words.
export function term(group, key) {
  const found = is_term(group, key) ? terms[group][key] : {label: plain(key)};
  return {
    label: found.label,
    brief: found.brief || found.label,
    explanation: found.explanation || ''
  };
}
export const label_of = (group, key) => term(group, key).label;
