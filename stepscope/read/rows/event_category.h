// SPDX-License-Identifier: Apache-2.0
// Maps the `cat` values of trace writers, old and new, to kinds of rows.
#pragma once

#include <optional>
#include <string_view>

#include "stepscope/event/category.h"

namespace stepscope {

// nullopt for an unknown category (such rows are kept as Category::other). `name` decides if one
// category holds both kernels and copies (MTIA).
[[nodiscard]] std::optional<Category> category_of(std::string_view cat, std::string_view name);
// The kind of a row without `cat`. The legacy autograd exporter gives it in the process name ("CPU
// functions", "CUDA functions").
[[nodiscard]] Category legacy_category(std::string_view process, std::string_view name);

}  // namespace stepscope
