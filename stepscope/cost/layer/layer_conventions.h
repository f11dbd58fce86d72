// SPDX-License-Identifier: Apache-2.0
// Sets of conventions by which a text prints the table of a layer, by name. Each is data: what is
// counted, what a link carries, and which rows the text's tables have (docs/reference/notebook.md).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "stepscope/cost/layer/counting_conventions.h"
#include "stepscope/cost/layer/layer_table.h"

namespace stepscope {

struct RowName {
  std::string_view theirs;
  std::string_view ours;
};

struct LayerConventions {
  std::string_view name;  // "notebook", as its tables are printed; "notebook-cells", as its code
  Counting counting{};
  LinkVolume volume = LinkVolume::ring;
  // True if the norm before the feed-forward part is the last row of attention's table.
  bool next_norm_with_attention = false;
  std::span<const RowName> names{};  // of the text's rows; others have ours
};

// "stepscope", the conventions of every prediction, and those of other texts.
[[nodiscard]] std::span<const LayerConventions> layer_conventions();
// Null without conventions of this name.
[[nodiscard]] const LayerConventions* find_layer_conventions(std::string_view name);
// The text's name of a row.
[[nodiscard]] std::string_view row_name(const LayerConventions& conventions, std::string_view ours);
// Our name of a row that a text names; empty if no text does.
[[nodiscard]] std::string_view operation_of_row(std::string_view theirs);

}  // namespace stepscope
