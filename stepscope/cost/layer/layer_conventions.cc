// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/layer/layer_conventions.h"

#include <algorithm>
#include <array>

namespace stepscope {
namespace {

constexpr std::array<RowName, 14> notebook_names = {{{"layer_norm_1", "attention_norm"},
                                                     {"qkv_proj", "qkv_proj"},
                                                     {"logits", "logits"},
                                                     {"softmax", "softmax"},
                                                     {"dropout_softmax", "attention_dropout"},
                                                     {"attend", "attend"},
                                                     {"v_proj", "attention_proj"},
                                                     {"dropout", "attention_output_dropout"},
                                                     {"layer_norm_2", "feed_forward_norm"},
                                                     {"fc1", "fc1"},
                                                     {"act", "activation"},
                                                     {"dpr1", "activation_dropout"},
                                                     {"fc2", "fc2"},
                                                     {"dpr2", "feed_forward_dropout"}}};

// The code cells repeat the name of the first norm. Their last dropout is a second "dpr1", which
// keeps the name of the printed table.
constexpr std::array<RowName, 14> cell_names = [] {
  std::array<RowName, 14> names = notebook_names;
  for (RowName& name : names)
    if (name.ours == "feed_forward_norm") name.theirs = "layer_norm_1";
  return names;
}();

// Softmax is a maximum-free sum (l - 1 adds per row). Dropout and activation are one FLOP per
// element, whatever the function, and so is the product with a gate, which the notebook lacks. The
// norm's two backward sums are e - 1 adds per row for each of four.
constexpr Counting notebook_counting{
    .exact_adds = true,
    .keeps_gathered = true,
    .residual_additions = false,
    .statistics = false,
    .backward_traffic = BackwardTraffic::one_gradient,
    .gather_place = GatherPlace::writer,
    .layer_norm = {.forward = 9, .backward = 13, .backward_row = 4},
    .softmax = {.forward = 3, .backward = 4, .forward_row = 1, .backward_row = 1},
    .gelu = {.forward = 1, .backward = 1},
    .silu = {.forward = 1, .backward = 1},
    .gate = {.forward = 1, .backward = 1}};

// The code cells are a later version than the printed tables: they count the adds of a reduction.
constexpr Counting cell_counting = [] {
  Counting counting = notebook_counting;
  counting.reduction_adds = true;
  return counting;
}();

constexpr std::array<LayerConventions, 3> conventions = {
    {{.name = "stepscope"},
     {.name = "notebook",
      .counting = notebook_counting,
      .volume = LinkVolume::whole,
      .next_norm_with_attention = true,
      .names = notebook_names},
     {.name = "notebook-cells", .counting = cell_counting, .names = cell_names}}};

}  // namespace

std::span<const LayerConventions> layer_conventions() { return conventions; }

const LayerConventions* find_layer_conventions(std::string_view name) {
  const auto* const at = std::ranges::find(conventions, name, &LayerConventions::name);
  return at == conventions.end() ? nullptr : at;
}

std::string_view row_name(const LayerConventions& conventions, std::string_view ours) {
  const auto at = std::ranges::find(conventions.names, ours, &RowName::ours);
  return at == conventions.names.end() ? ours : at->theirs;
}

std::string_view operation_of_row(std::string_view theirs) {
  for (const LayerConventions& text : conventions) {
    const auto at = std::ranges::find(text.names, theirs, &RowName::theirs);
    if (at != text.names.end()) return at->ours;
  }
  return {};
}

}  // namespace stepscope
