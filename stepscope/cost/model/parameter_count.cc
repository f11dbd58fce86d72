// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/parameter_count.h"

#include <algorithm>

namespace stepscope {
namespace {

// Int is std::int64_t, or double if sizes may be out of range.
template <class Int>
struct Counted {
  Int attention{}, feed_forward{}, router{}, expert{}, norms{};
};

template <class Int>
Int of(bool present, Int n) {
  return present ? n : Int{0};
}

template <class Int>
Int as(std::int64_t n) {
  return static_cast<Int>(n);
}

template <class Int>
Int norm(const Transformer& m, Int width) {
  return of(m.norm == Norm::layer_norm && m.norm_bias, width) + width;
}

template <class Int>
Int grouped_attention(const Transformer& m, Int heads) {
  const Int h = as<Int>(m.hidden), d = as<Int>(m.head_size);
  const Int rows = (heads + 2 * as<Int>(m.kv_heads)) * d;
  return h * rows + of(m.qkv_bias, rows) + heads * d * h + of(m.attention_output_bias, h) +
         of(m.qk_norm, 2 * norm(m, d));
}

// Keys and gates of `width`, their positions among the `ratio` tokens of a compressed key, its
// norm.
template <class Int>
Int compressor(const Transformer& m, Int width, Int ratio, Int norm_width) {
  return 2 * as<Int>(m.hidden) * width + ratio * width + norm_width;
}

// One key per token with a layer norm, or a compressor; queries; and a weight per query head.
template <class Int>
Int indexer(const Transformer& m, const Indexer& x) {
  const Int h = as<Int>(m.hidden), d = as<Int>(x.head_size), a = as<Int>(x.heads);
  if (m.compressed) {
    const CompressedAttention& c = *m.compressed;
    return as<Int>(c.query_rank) * a * d + h * a +
           compressor<Int>(m, 2 * d, as<Int>(c.sparse_ratio), d);
  }
  const Int from = m.latent && m.latent->query_rank > 0 ? as<Int>(m.latent->query_rank) : h;
  return from * a * d + h * d + 2 * d + h * a;
}

// The shared key's norm counts, that of the queries has no parameters.
template <class Int>
Int compressed_attention(const Transformer& m, const CompressedAttention& c,
                         const LayerKind& kind) {
  const Int h = as<Int>(m.hidden), a = as<Int>(m.heads), d = as<Int>(m.head_size),
            rq = as<Int>(c.query_rank), ro = as<Int>(c.output_rank), g = as<Int>(c.output_groups);
  const Int n = h * rq + rq + rq * a * d + h * d + d + a * d * ro + g * ro * h;
  if (kind.mixer != Mixer::compressed) return n;
  return n + compressor<Int>(m, (kind.indexes ? 2 : 1) * d, as<Int>(compression(m, kind)), d);
}

// Projections, convolutions, decays with their biases, gate, norm over a head, and the output's.
template <class Int>
Int linear_attention(const Transformer& m, const LinearAttention& l) {
  const Int h = as<Int>(m.hidden), k = as<Int>(l.key_heads) * as<Int>(l.key_size),
            v = as<Int>(l.value_heads) * as<Int>(l.value_size), a = as<Int>(l.value_heads),
            r = as<Int>(l.gate_rank);
  const Int decay = l.gate_rank == 0 ? h * a + 2 * a : h * r + r * k + k + a;
  const Int gate = l.gate_rank == 0 ? h * v : h * r + r * v;
  return h * (2 * k + v) + (2 * k + v) * as<Int>(l.convolution) + h * a + decay + gate +
         as<Int>(l.value_size) + v * h;
}

// Mamba-2: the projection to gate, x, B, C and step sizes, the convolution with its bias, the three
// numbers of a head, the norm, and the output's projection.
template <class Int>
Int state_space(const Transformer& m, const StateSpace& s) {
  const Int h = as<Int>(m.hidden), a = as<Int>(s.heads), inner = a * as<Int>(s.head_size),
            bc = 2 * as<Int>(s.groups) * as<Int>(s.state);
  return h * (2 * inner + bc + a) + (inner + bc) * (as<Int>(s.convolution) + 1) + 3 * a + inner +
         inner * h;
}

// Only the down-projections may have biases, as in DeepSeek's code.
template <class Int>
Int latent_attention(const Transformer& m, const LatentAttention& l) {
  const Int h = as<Int>(m.hidden), a = as<Int>(m.heads), rq = as<Int>(l.query_rank),
            rkv = as<Int>(l.kv_rank), rope = as<Int>(l.rope_head_size),
            nope = as<Int>(l.nope_head_size), v = as<Int>(l.value_head_size);
  const Int queries = l.query_rank == 0 ? h * a * (nope + rope)
                                        : h * rq + of(m.qkv_bias, rq) + rq + rq * a * (nope + rope);
  const Int keys = h * (rkv + rope) + of(m.qkv_bias, rkv + rope) + rkv + rkv * a * (nope + v);
  return queries + keys + a * v * h + of(m.attention_output_bias, h);
}

template <class Int>
Int feed_forward(const Transformer& m, Int h, Int width) {
  return (m.gated ? 3 : 2) * h * width + of(m.feed_forward_bias, of(m.gated, width) + width + h);
}

template <class Int>
Int count_mixer(const Transformer& m, const LayerKind& kind) {
  switch (kind.mixer) {
    case Mixer::none:
      return Int{0};
    case Mixer::linear:
      return linear_attention<Int>(m, *m.linear);
    case Mixer::state_space:
      return state_space<Int>(m, *m.state_space);
    case Mixer::whole:
    case Mixer::window:
    case Mixer::sparse:
    case Mixer::compressed:
      break;
  }
  const Int value = as<Int>(m.latent ? m.latent->value_head_size : m.head_size);
  const Int heads = as<Int>(heads_of(m, kind));
  Int n = m.latent       ? latent_attention<Int>(m, *m.latent)
          : m.compressed ? compressed_attention<Int>(m, *m.compressed, kind)
                         : grouped_attention<Int>(m, heads);
  n += of(m.attention_gate, as<Int>(m.hidden) * heads * value) +
       of(m.head_gate, as<Int>(m.hidden) * heads) + of(m.attention_sinks, heads);
  return kind.indexes ? n + indexer<Int>(m, *m.indexer) : n;
}

// The parameters for one part of a layer: the projection of the streams, its biases, and three
// scales.
template <class Int>
Int hyper(const Transformer& m) {
  if (!m.hyper) return Int{0};
  const Int maps = as<Int>(m.hyper->streams) * (as<Int>(m.hyper->streams) + 2);
  return maps * as<Int>(m.hyper->streams) * as<Int>(m.hidden) + maps + 3;
}

// Behind the last layer: the weights of the streams that become one, their biases, and a scale.
template <class Int>
Int hyper_end(const Transformer& m) {
  if (!m.hyper) return Int{0};
  const Int n = as<Int>(m.hyper->streams);
  return n * n * as<Int>(m.hidden) + n + 1;
}

template <class Int>
Counted<Int> count_layer(const Transformer& m, const LayerKind& kind) {
  Counted<Int> c;
  const Int h = as<Int>(m.hidden);
  c.attention = count_mixer<Int>(m, kind);
  c.norms = as<Int>(norms_of(m, kind)) * norm(m, h) + as<Int>(parts_of(kind)) * hyper<Int>(m);
  if (kind.channel == Channel::dense) c.feed_forward = feed_forward(m, h, as<Int>(m.feed_forward));
  if (kind.channel != Channel::experts) return c;
  const Experts& e = *m.experts;
  c.expert = feed_forward(m, e.latent > 0 ? as<Int>(e.latent) : h, as<Int>(e.feed_forward));
  if (e.shared_feed_forward > 0)
    c.feed_forward = feed_forward(m, h, as<Int>(e.shared_feed_forward));
  c.router = h * as<Int>(e.count) + of(e.router_bias && !kind.hashed, as<Int>(e.count)) +
             of(e.shared_gate, h) + 2 * h * as<Int>(e.latent);
  return c;
}

LayerParameters parameters_of(const Transformer& m, const LayerKind& kind) {
  const auto c = count_layer<std::int64_t>(m, kind);
  const bool experts = kind.channel == Channel::experts;
  return {.attention = c.attention,
          .feed_forward = c.feed_forward,
          .router = c.router,
          .expert = c.expert,
          .experts = experts ? m.experts->count : 0,
          .top_k = experts ? m.experts->top_k : 0,
          .norms = c.norms};
}

// Tables, patches and norm before the first layer.
template <class Int>
Int count_embedding(const Transformer& m) {
  const Int h = as<Int>(m.hidden);
  Int rows = as<Int>(m.vocabulary) + as<Int>(m.token_types) +
             of(m.positions == Positions::learned, as<Int>(m.max_positions));
  if (m.patches) {
    const Int pixels =
        as<Int>(m.patches->patch) * as<Int>(m.patches->patch) * as<Int>(m.patches->channels);
    rows += pixels + 1 + of(m.patches->class_token, Int{1});
  }
  return rows * h + of(m.embedding_norm, norm(m, h));
}

// Layers with four products of their width and two of the feed-forward part; the projection of
// patches and their positions; the merger's norm and two linear layers. All with biases.
template <class Int>
Int count_tower(const Transformer& m) {
  if (!m.tower) return Int{0};
  const Tower& t = *m.tower;
  const Int h = as<Int>(t.hidden), f = as<Int>(t.feed_forward), out = as<Int>(m.hidden);
  const Int wide = as<Int>(t.merge) * as<Int>(t.merge) * h;
  const Int pixels = as<Int>(t.patch) * as<Int>(t.patch) * as<Int>(t.channels) * as<Int>(t.frames);
  const Int layer = 4 * h * (h + 1) + 2 * h * f + f + h + 4 * h;
  return as<Int>(t.layers) * layer + (pixels + 1 + as<Int>(t.positions)) * h + 2 * h +
         wide * (wide + 1) + (wide + 1) * out;
}

template <class Int>
Int count_head(const Transformer& m) {
  const Int h = as<Int>(m.hidden);
  const Int out = as<Int>(m.classes > 0 ? m.classes : m.vocabulary);
  Int n = of(m.final_norm, norm(m, h)) + of(m.pooler, h * h + h) + hyper_end<Int>(m);
  if (!m.head) return n;
  n += of(m.head_transform, h * h + h + norm(m, h)) + of(m.head_bias, out);
  return n + of(m.classes > 0 || !m.tied_embeddings, h * out);
}

}  // namespace

std::int64_t LayerParameters::total() const {
  return attention + feed_forward + router + norms + experts * expert;
}

std::int64_t LayerParameters::active() const {
  return attention + feed_forward + router + norms + top_k * expert;
}

LayerParameters layer_parameters(const Transformer& model, std::int64_t layer) {
  return parameters_of(model, layer_kind(model, layer));
}

LayerParameters prediction_parameters(const Transformer& model) {
  LayerParameters all;
  for (const LayerKind& kind : prediction_kinds(model)) {
    const LayerParameters l = parameters_of(model, kind);
    all.attention += l.attention;
    all.feed_forward += l.feed_forward;
    all.router += l.router;
    all.norms += l.norms;
    if (l.experts > 0) {
      all.expert += l.expert;
      all.experts = l.experts;
      all.top_k = l.top_k;
    }
  }
  // The projection of both inputs, their norms, and the norm before the head.
  const std::int64_t h = model.hidden;
  all.feed_forward += 2 * h * h;
  all.norms += 3 * norm<std::int64_t>(model, h) + hyper_end<std::int64_t>(model);
  return all;
}

ParameterCount parameter_count(const Transformer& model) {
  ParameterCount p{.embedding = count_embedding<std::int64_t>(model),
                   .tokens = model.vocabulary * model.hidden,
                   .head = count_head<std::int64_t>(model)};
  std::int64_t active = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    const LayerParameters l = layer_parameters(model, layer);
    p.layers += l.total();
    active += l.active();
  }
  if (model.prediction && model.prediction->modules > 0) {
    const LayerParameters module = prediction_parameters(model);
    const std::int64_t modules = model.prediction->one_module ? 1 : model.prediction->modules;
    p.prediction = modules * module.total();
    p.head += p.prediction;
    active += modules * (module.active() - module.total());
  }
  p.tower = count_tower<std::int64_t>(model);
  p.total = p.embedding + p.layers + p.head + p.tower;
  p.active = p.embedding + active + p.head;
  return p;
}

double parameter_bound(const Transformer& model) {
  const auto of_layer = [&](const LayerKind& kind) {
    const auto c = count_layer<double>(model, kind);
    const double experts =
        kind.channel == Channel::experts ? static_cast<double>(model.experts->count) : 0;
    return c.attention + c.feed_forward + c.router + c.norms + experts * c.expert;
  };
  double sum =
      count_embedding<double>(model) + count_head<double>(model) + count_tower<double>(model);
  for (std::int64_t i = 0; i < model.layers; ++i) sum += of_layer(layer_kind(model, i));
  if (!model.prediction) return sum;
  const double h = static_cast<double>(model.hidden);
  double module = 2 * h * h + 3 * norm(model, h) + hyper_end<double>(model);
  for (const LayerKind& kind : prediction_kinds(model)) module += of_layer(kind);
  return sum + static_cast<double>(model.prediction->modules) * module;
}

}  // namespace stepscope
