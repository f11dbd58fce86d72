// SPDX-License-Identifier: Apache-2.0
// The kind of each layer.
#include "stepscope/cost/model/transformer.h"

namespace stepscope {
namespace {

bool experts_follow(const Transformer& m, std::int64_t layer) {
  if (!m.experts || layer < m.experts->first_dense_layers) return false;
  const auto& dense = m.experts->dense_layers;
  if (std::find(dense.begin(), dense.end(), layer) != dense.end()) return false;
  return (layer - m.experts->first_dense_layers + 1) % m.experts->every == 0;
}

}  // namespace

LayerKind letter_kind(char letter, bool experts) {
  const Channel channel = experts ? Channel::experts : Channel::dense;
  switch (letter) {
    case 'W':
      return {.mixer = Mixer::window, .channel = channel};
    case 'L':
      return {.mixer = Mixer::linear, .channel = channel};
    case 'S':
      return {.mixer = Mixer::sparse, .channel = channel, .indexes = true};
    case 's':
      return {.mixer = Mixer::sparse, .channel = channel};
    case 'C':
      return {.mixer = Mixer::compressed, .channel = channel, .indexes = true};
    case 'H':
      return {.mixer = Mixer::compressed, .channel = channel};
    case '*':
      return {.mixer = Mixer::whole, .channel = Channel::none};
    case 'M':
      return {.mixer = Mixer::state_space, .channel = Channel::none};
    case 'E':
      return {.mixer = Mixer::none, .channel = Channel::experts};
    case '-':
      return {.mixer = Mixer::none, .channel = Channel::dense};
    default:
      return {.mixer = Mixer::whole, .channel = channel};
  }
}

LayerKind layer_kind(const Transformer& m, std::int64_t layer) {
  const bool window = m.window.has_value() && layer % m.window_every == 0;
  const char letter =
      m.pattern.empty() ? (window ? 'W' : 'F') : m.pattern[static_cast<std::size_t>(layer)];
  LayerKind kind = letter_kind(letter, experts_follow(m, layer));
  kind.hashed = kind.channel == Channel::experts && layer < m.experts->hash_layers;
  return kind;
}

double parts_chosen(const Experts& e, std::int64_t parts) {
  auto count = static_cast<double>(e.count);
  auto from = static_cast<double>(parts);
  // Groups of experts are whole in a part, or several parts make one.
  if (e.top_groups > 0 && e.groups > e.top_groups) {
    const double share = static_cast<double>(e.top_groups) / static_cast<double>(e.groups);
    count *= share;
    from = std::max(1.0, std::min(from, std::max(static_cast<double>(e.top_groups), from * share)));
  }
  const double in_part = count / from;
  double missed = 1;  // the chance that a part has no chosen expert
  for (std::int64_t i = 0; i < e.top_k; ++i) {
    const auto drawn = static_cast<double>(i);
    missed *= std::max(0.0, count - in_part - drawn) / std::max(1.0, count - drawn);
  }
  return from * (1 - missed);
}

std::vector<LayerKind> prediction_kinds(const Transformer& m) {
  std::vector<LayerKind> kinds;
  if (!m.prediction) return kinds;
  if (m.prediction->layers.empty()) return {layer_kind(m, m.layers - 1)};
  for (const char letter : m.prediction->layers) {
    kinds.push_back(letter_kind(letter, m.experts.has_value()));
  }
  return kinds;
}

}  // namespace stepscope
