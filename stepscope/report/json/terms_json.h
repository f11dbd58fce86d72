// SPDX-License-Identifier: Apache-2.0
// `terms` of a tree: the labels and explanations of its keys (stepscope/words/vocabulary.h).
#pragma once

#include <initializer_list>
#include <string_view>

#include "stepscope/report/json/json_values.h"

namespace stepscope {

// {group: {key: {label, brief, explanation, unit}}} in the vocabulary's order, with the labels of
// runs without a device where `on_cpu`.
[[nodiscard]] Json terms_json(std::initializer_list<std::string_view> groups, bool on_cpu = false);

}  // namespace stepscope
