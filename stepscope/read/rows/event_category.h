// SPDX-License-Identifier: Apache-2.0
// The `cat` values of trace writers, old and new, and what kind of row each is.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/event/category.h"

namespace stepscope {

// nullopt for a category that is not known here (such rows are kept as Category::other). `name`
// decides where one category holds both kernels and copies (MTIA).
[[nodiscard]] std::optional<Category> category_of(std::string_view cat, std::string_view name);
// The kind of a row without `cat`: the legacy autograd exporter says it by the process ("CPU
// functions", "CUDA functions").
[[nodiscard]] Category legacy_category(std::string_view process, std::string_view name);

}  // namespace stepscope
