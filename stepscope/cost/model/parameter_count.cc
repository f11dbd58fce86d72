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
Int grouped_attention(const Transformer& m) {
  const Int h = as<Int>(m.hidden), d = as<Int>(m.head_size);
  const Int rows = (as<Int>(m.heads) + 2 * as<Int>(m.kv_heads)) * d;
  return h * rows + of(m.qkv_bias, rows) + as<Int>(m.heads) * d * h +
         of(m.attention_output_bias, h) + of(m.qk_norm, 2 * norm(m, d));
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
Int feed_forward(const Transformer& m, Int width) {
  const Int h = as<Int>(m.hidden);
  return (m.gated ? 3 : 2) * h * width + of(m.feed_forward_bias, of(m.gated, width) + width + h);
}

template <class Int>
Counted<Int> count_layer(const Transformer& m, bool experts) {
  Counted<Int> c;
  c.attention = m.latent ? latent_attention<Int>(m, *m.latent) : grouped_attention<Int>(m);
  c.norms = as<Int>(m.norms_per_layer) * norm(m, as<Int>(m.hidden));
  if (!experts) {
    c.feed_forward = feed_forward(m, as<Int>(m.feed_forward));
    return c;
  }
  const Experts& e = *m.experts;
  c.expert = feed_forward(m, as<Int>(e.feed_forward));
  if (e.shared_feed_forward > 0) c.feed_forward = feed_forward(m, as<Int>(e.shared_feed_forward));
  c.router = as<Int>(m.hidden) * as<Int>(e.count) + of(e.router_bias, as<Int>(e.count)) +
             of(e.shared_gate, as<Int>(m.hidden));
  return c;
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

template <class Int>
Int count_head(const Transformer& m) {
  const Int h = as<Int>(m.hidden);
  const Int out = as<Int>(m.classes > 0 ? m.classes : m.vocabulary);
  Int n = of(m.final_norm, norm(m, h)) + of(m.pooler, h * h + h);
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
  const bool experts = has_experts(model, layer);
  const auto c = count_layer<std::int64_t>(model, experts);
  return {.attention = c.attention,
          .feed_forward = c.feed_forward,
          .router = c.router,
          .expert = c.expert,
          .experts = experts ? model.experts->count : 0,
          .top_k = experts ? model.experts->top_k : 0,
          .norms = c.norms};
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
  p.total = p.embedding + p.layers + p.head;
  p.active = p.embedding + active + p.head;
  return p;
}

double parameter_bound(const Transformer& model) {
  const auto dense = count_layer<double>(model, false);
  double layer = dense.attention + dense.norms + dense.feed_forward;
  if (model.experts) {
    const auto sparse = count_layer<double>(model, true);
    layer += sparse.feed_forward + sparse.router +
             static_cast<double>(model.experts->count) * sparse.expert;
  }
  return count_embedding<double>(model) + count_head<double>(model) +
         static_cast<double>(model.layers) * layer;
}

}  // namespace stepscope
