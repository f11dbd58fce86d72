// SPDX-License-Identifier: Apache-2.0
// The rules for the sizes of a model.
#include <algorithm>
#include <cmath>

#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/model/transformer.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using Problem = std::optional<Error>;

constexpr Int widest = 10'000'000;
constexpr double most_parameters = 1e16;

struct Range {
  std::string_view name;
  Int value;
  Int least;
  Int most = widest;
};

Problem problem(std::string what, std::string hint = {}) {
  return Error{.what = std::move(what), .hint = std::move(hint)};
}

template <class Ranges>
Problem out_of_range(const Ranges& ranges) {
  for (const Range& r : ranges) {
    if (r.value >= r.least && r.value <= r.most) continue;
    return problem(std::string(r.name) + " = " + std::to_string(r.value) + " is out of range",
                   "it must be " + std::to_string(r.least) + " to " + std::to_string(r.most));
  }
  return std::nullopt;
}

// True if some layer has the dense feed-forward part.
bool any_dense(const Transformer& m) {
  const auto dense = [](const LayerKind& k) { return k.channel == Channel::dense; };
  for (Int layer = 0; layer < m.layers; ++layer) {
    if (dense(layer_kind(m, layer))) return true;
  }
  return std::ranges::any_of(prediction_kinds(m), dense);
}

Problem pattern(const Transformer& m) {
  if (m.layers < 1 || m.layers > 2'000) return std::nullopt;  // check_sizes says so
  if (!m.pattern.empty() && static_cast<Int>(m.pattern.size()) != m.layers) {
    return problem("pattern has " + std::to_string(m.pattern.size()) + " letters for " +
                       std::to_string(m.layers) + " layers",
                   "give one letter per layer");
  }
  const std::string letters = m.pattern + (m.prediction ? m.prediction->layers : std::string());
  const std::size_t odd = letters.find_first_not_of(pattern_letters);
  if (odd != letters.npos) {
    return problem("pattern has the letter \"" + letters.substr(odd, 1) + "\"",
                   "known are F W S s C H L * M E - (docs/reference/models.md)");
  }
  struct Need {
    std::string_view letters;
    std::string_view part;
    bool given;
  };
  for (const Need& need :
       {Need{"W", "window", m.window.has_value()}, Need{"SsC", "indexer", m.indexer.has_value()},
        Need{"CH", "compressed", m.compressed.has_value()},
        Need{"L", "linear", m.linear.has_value()},
        Need{"M", "state_space", m.state_space.has_value()},
        Need{"E", "experts", m.experts.has_value()}}) {
    if (need.given || letters.find_first_of(need.letters) == letters.npos) continue;
    return problem("pattern has the letter \"" + std::string(need.letters.substr(0, 1)) +
                       "\", but the model has no " + std::string(need.part),
                   "give " + std::string(need.part));
  }
  return std::nullopt;
}

Problem mixers(const Transformer& m) {
  if (m.indexer) {
    const Indexer& x = *m.indexer;
    if (auto found = out_of_range(std::array{Range{"indexer.heads", x.heads, 1, 100'000},
                                             Range{"indexer.head_size", x.head_size, 1, 100'000},
                                             Range{"indexer.top_k", x.top_k, 1, 1'000'000'000}})) {
      return found;
    }
    if (!m.causal) return problem("an indexer needs a causal model", "leave it out, or set causal");
  }
  if (m.linear) {
    const LinearAttention& l = *m.linear;
    if (auto found = out_of_range(std::array{Range{"linear.key_heads", l.key_heads, 1, 100'000},
                                             Range{"linear.value_heads", l.value_heads, 1, 100'000},
                                             Range{"linear.key_size", l.key_size, 1, 100'000},
                                             Range{"linear.value_size", l.value_size, 1, 100'000},
                                             Range{"linear.convolution", l.convolution, 0, 1'000},
                                             Range{"linear.chunk", l.chunk, 1, 100'000},
                                             Range{"linear.gate_rank", l.gate_rank, 0}})) {
      return found;
    }
  }
  if (m.state_space) {
    const StateSpace& s = *m.state_space;
    if (auto found =
            out_of_range(std::array{Range{"state_space.heads", s.heads, 1, 100'000},
                                    Range{"state_space.head_size", s.head_size, 1, 100'000},
                                    Range{"state_space.state", s.state, 1, 100'000},
                                    Range{"state_space.groups", s.groups, 1, s.heads},
                                    Range{"state_space.convolution", s.convolution, 1, 1'000},
                                    Range{"state_space.chunk", s.chunk, 1, 100'000}})) {
      return found;
    }
  }
  if (m.prediction) {
    const std::array modules{Range{"prediction.modules", m.prediction->modules, 1, 100}};
    if (auto found = out_of_range(modules)) return found;
    if (m.prediction->layers.size() > 100) return problem("prediction.layers has over 100 letters");
    if (!m.head || m.vocabulary == 0) {
      return problem("prediction needs a head onto the vocabulary", "leave prediction out");
    }
  }
  return std::nullopt;
}

Problem check_sizes(const Transformer& m) {
  // Checked below, and with the experts.
  const bool some_layers =
      m.layers >= 1 && m.layers <= 2'000 && (!m.experts || m.experts->every >= 1);
  const bool table = m.positions == Positions::learned;
  if (auto found = out_of_range(
          std::array{Range{"layers", m.layers, 1, 2'000}, Range{"hidden", m.hidden, 1},
                     Range{"heads", m.heads, 1, 100'000}, Range{"kv_heads", m.kv_heads, 1, m.heads},
                     Range{"head_size", m.head_size, 1, 100'000},
                     Range{"feed_forward", m.feed_forward, some_layers && any_dense(m) ? 1 : 0},
                     Range{"norms_per_layer", m.norms_per_layer, 0, 8},
                     Range{"max_positions", m.max_positions, table ? 1 : 0, 1'000'000'000},
                     Range{"vocabulary", m.vocabulary, m.patches ? 0 : 1},
                     Range{"classes", m.classes, 0}, Range{"token_types", m.token_types, 0},
                     Range{"window", m.window.value_or(1), 1, 1'000'000'000},
                     Range{"window_every", m.window_every, 1, m.layers},
                     Range{"window_heads", m.window_heads, 0, 100'000}})) {
    return found;
  }
  if (m.heads % m.kv_heads != 0) {
    return problem("kv_heads = " + std::to_string(m.kv_heads) +
                       " does not divide heads = " + std::to_string(m.heads),
                   "kv_heads must divide them");
  }
  if (m.window_heads > 0 && (!m.window || m.latent || m.compressed)) {
    return problem("window_heads needs a window, and neither latent nor compressed attention",
                   "leave it out");
  }
  if (m.window_heads % m.kv_heads != 0) {
    return problem("kv_heads = " + std::to_string(m.kv_heads) +
                       " does not divide window_heads = " + std::to_string(m.window_heads),
                   "kv_heads must divide them");
  }
  if (!(m.dropout >= 0 && m.dropout < 1)) return problem("dropout must be 0 or more and below 1");
  if (!(m.activation_dropout >= 0 && m.activation_dropout < 1)) {
    return problem("activation_dropout must be 0 or more and below 1");
  }
  if (m.window && !m.causal)
    return problem("a window needs a causal model", "leave window out, or set causal");
  return std::nullopt;
}

Problem experts(const Transformer& m) {
  if (!m.experts) return std::nullopt;
  const Experts& e = *m.experts;
  if (auto found = out_of_range(std::array{
          Range{"experts.count", e.count, 1, 1'000'000},
          Range{"experts.top_k", e.top_k, 1, e.count},
          Range{"experts.feed_forward", e.feed_forward, 1}, Range{"experts.latent", e.latent, 0},
          Range{"experts.groups", e.groups, 0, e.count},
          Range{"experts.top_groups", e.top_groups, 0, e.groups},
          Range{"experts.shared_feed_forward", e.shared_feed_forward, e.shared_gate ? 1 : 0},
          Range{"experts.first_dense_layers", e.first_dense_layers, 0, m.layers},
          Range{"experts.hash_layers", e.hash_layers, 0, m.layers},
          Range{"experts.every", e.every, 1, m.layers}})) {
    return found;
  }
  for (const Int layer : e.dense_layers) {
    const std::array one{Range{"experts.dense_layers", layer, 0, m.layers - 1}};
    if (auto found = out_of_range(one)) return found;
  }
  if (e.capacity_factor && !(*e.capacity_factor > 0 && *e.capacity_factor <= 1e6)) {
    return problem("experts.capacity_factor must be above 0",
                   "leave it out where no token is dropped");
  }
  return std::nullopt;
}

Problem latent(const Transformer& m) {
  if (!m.latent) return std::nullopt;
  const LatentAttention& l = *m.latent;
  if (auto found = out_of_range(std::array{
          Range{"latent.query_rank", l.query_rank, 0}, Range{"latent.kv_rank", l.kv_rank, 1},
          Range{"latent.rope_head_size", l.rope_head_size, 0, 100'000},
          Range{"latent.nope_head_size", l.nope_head_size, 1, 100'000},
          Range{"latent.value_head_size", l.value_head_size, 1, 100'000}})) {
    return found;
  }
  if (m.kv_heads != m.heads) {
    return problem("latent attention with kv_heads = " + std::to_string(m.kv_heads),
                   "every head has its keys rebuilt: kv_heads must be heads");
  }
  const Int head = l.rope_head_size + l.nope_head_size;
  if (m.head_size == head) return std::nullopt;
  return problem(
      "head_size = " + std::to_string(m.head_size) + " is not rope_head_size + nope_head_size",
      "it must be " + std::to_string(head));
}

// A part that a model with compressed attention or hyper-connections cannot also have.
struct Apart {
  std::string_view name;
  bool given;
};
template <class Parts>
Problem beside(std::string_view what, const Parts& parts) {
  for (const Apart& part : parts) {
    if (!part.given) continue;
    return problem(
        std::string(what) + " with " + std::string(part.name) + ", which is not modelled",
        "leave one of them out");
  }
  return std::nullopt;
}

Problem compressed(const Transformer& m) {
  if (!m.compressed) return std::nullopt;
  const CompressedAttention& c = *m.compressed;
  if (auto found = out_of_range(
          std::array{Range{"compressed.query_rank", c.query_rank, 1},
                     Range{"compressed.output_rank", c.output_rank, 1},
                     Range{"compressed.output_groups", c.output_groups, 1, m.heads},
                     Range{"compressed.rope_head_size", c.rope_head_size, 0, m.head_size},
                     Range{"compressed.sparse_ratio", c.sparse_ratio, 1, 1'000'000},
                     Range{"compressed.dense_ratio", c.dense_ratio, 1, 1'000'000},
                     Range{"kv_heads", m.kv_heads, 1, 1}})) {
    return found;
  }
  if (m.heads % c.output_groups != 0) {
    return problem("compressed.output_groups = " + std::to_string(c.output_groups) +
                       " does not divide heads = " + std::to_string(m.heads),
                   "it must divide them");
  }
  if (!m.window) return problem("compressed attention needs a window", "give window");
  const auto apart = std::array{Apart{"latent", m.latent.has_value()},
                                Apart{"qkv_bias", m.qkv_bias},
                                Apart{"attention_output_bias", m.attention_output_bias},
                                Apart{"qk_norm", m.qk_norm},
                                Apart{"attention_gate", m.attention_gate},
                                Apart{"head_gate", m.head_gate}};
  if (auto found = beside("compressed attention", apart)) return found;
  std::vector<LayerKind> kinds = prediction_kinds(m);
  for (Int layer = 0; layer < m.layers; ++layer) kinds.push_back(layer_kind(m, layer));
  for (const LayerKind& k : kinds) {
    if (k.mixer != Mixer::whole && k.mixer != Mixer::sparse) continue;
    return problem("compressed attention with a layer that attends to the whole sequence",
                   "write W, C or H for layers with attention");
  }
  return std::nullopt;
}

Problem hyper(const Transformer& m) {
  if (!m.hyper) return std::nullopt;
  if (auto found = out_of_range(
          std::array{Range{"hyper_connections.streams", m.hyper->streams, 2, 64},
                     Range{"hyper_connections.iterations", m.hyper->iterations, 0, 1'000}})) {
    return found;
  }
  return beside("hyper_connections",
                std::array{Apart{"parallel_block", m.parallel_block}, Apart{"pooler", m.pooler}});
}

Problem tower(const Transformer& m) {
  if (!m.tower) return std::nullopt;
  const Tower& t = *m.tower;
  if (auto found = out_of_range(std::array{
          Range{"tower.layers", t.layers, 1, 2'000}, Range{"tower.hidden", t.hidden, 1},
          Range{"tower.heads", t.heads, 1, 100'000}, Range{"tower.feed_forward", t.feed_forward, 1},
          Range{"tower.patch", t.patch, 1, 10'000}, Range{"tower.channels", t.channels, 1, 10'000},
          Range{"tower.frames", t.frames, 1, 1'000}, Range{"tower.merge", t.merge, 1, 100},
          Range{"tower.positions", t.positions, 0, 1'000'000'000}})) {
    return found;
  }
  if (t.hidden % t.heads != 0) {
    return problem("tower.heads = " + std::to_string(t.heads) +
                       " does not divide tower.hidden = " + std::to_string(t.hidden),
                   "it must divide it");
  }
  if (m.vocabulary == 0 || m.patches) {
    return problem("a tower needs a model of tokens", "give vocabulary, and no patches");
  }
  return std::nullopt;
}

Problem ends(const Transformer& m) {
  if (m.patches) {
    const Patches& p = *m.patches;
    if (auto found = out_of_range(std::array{Range{"patches.image", p.image, 1, 100'000},
                                             Range{"patches.patch", p.patch, 1, p.image},
                                             Range{"patches.channels", p.channels, 1, 10'000}})) {
      return found;
    }
    if (p.image % p.patch != 0) {
      return problem("patches of " + std::to_string(p.patch) + " pixels do not fill an image of " +
                         std::to_string(p.image),
                     "patches.patch must divide patches.image");
    }
    if (m.positions == Positions::learned && m.max_positions != image_tokens(p)) {
      return problem("max_positions = " + std::to_string(m.max_positions),
                     "it must be " + std::to_string(image_tokens(p)) + ", the tokens of an image");
    }
  }
  if (m.head && m.vocabulary == 0 && m.classes == 0) {
    return problem("a head needs a vocabulary or classes", "give one, or head = false");
  }
  if (m.tied_embeddings && (m.vocabulary == 0 || m.classes > 0)) {
    return problem("tied_embeddings needs a head onto the vocabulary", "leave it out");
  }
  return std::nullopt;
}

}  // namespace

Result<Done> check_model(const Transformer& model) {
  for (const auto check :
       {&pattern, &check_sizes, &experts, &latent, &mixers, &compressed, &hyper, &tower, &ends}) {
    if (Problem found = check(model)) return *std::move(found);
  }
  if (parameter_bound(model) > most_parameters) {
    return Error{.what = "these sizes make more than 1e16 parameters",
                 .hint = "correct the sizes of the model"};
  }
  return Done{};
}

}  // namespace stepscope
