// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/model_flops.h"

#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// Weights of one layer that multiply each token.
double layer_weights(const Transformer& m, std::int64_t layer) {
  const double h = real(m.hidden);
  const double a = real(m.heads);
  double attention = h * real(m.head_size) * (2 * a + 2 * real(m.kv_heads));
  if (m.latent) {
    const LatentAttention& l = *m.latent;
    const double rq = real(l.query_rank);
    const double rkv = real(l.kv_rank);
    const double d = real(l.rope_head_size + l.nope_head_size);
    const double v = real(l.value_head_size);
    attention = (l.query_rank == 0 ? h * a * d : rq * (h + a * d)) +
                h * (rkv + real(l.rope_head_size)) + rkv * a * (real(l.nope_head_size) + v) +
                a * v * h;
  }
  const double matrices = m.gated ? 3 : 2;
  if (!has_experts(m, layer)) return attention + matrices * h * real(m.feed_forward);
  const Experts& e = *m.experts;
  return attention +
         matrices * h * (real(e.top_k) * real(e.feed_forward) + real(e.shared_feed_forward)) +
         h * real(e.count) + (e.shared_gate ? h : 0);
}

template <formula::Number N>
N per_sequence(const Transformer& m, std::int64_t sequence, FlopsConvention convention) {
  using formula::count;
  const N s = count<N>(sequence, "s");
  const N six = formula::flops<N>(6, "6");
  const ParameterCount n = parameter_count(m);
  const N pair = formula::flops<N>(pair_flops(m), "6 H (d + d_v)");
  const N all_pairs = count<N>(m.layers, "L") * s * s * pair;
  switch (convention) {
    case FlopsConvention::causal_halved: {
      double pairs = 0;
      for (std::int64_t layer = 0; layer < m.layers; ++layer) {
        pairs += attention_pairs(m, layer, sequence);
      }
      return six * count<N>(sequence_weights(m, sequence), "weights times tokens") +
             count<N>(pairs, "query-key pairs") * pair;
    }
    case FlopsConvention::six_n:
      return six * count<N>(n.active, "N") * s;
    case FlopsConvention::palm:
      return six * count<N>(n.active, "N") * s + all_pairs;
    case FlopsConvention::torchtitan:
      return six * (count<N>(n.active, "N") - count<N>(n.tokens, "token table")) * s + all_pairs;
  }
  return 0.0;
}

}  // namespace

double sequence_weights(const Transformer& m, std::int64_t sequence) {
  double per_token = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) per_token += layer_weights(m, layer);
  const double h = real(m.hidden);
  double once = m.pooler ? h * h : 0;
  if (m.head && m.head_transform) per_token += h * h;
  if (m.head && m.classes > 0) {
    once += h * real(m.classes);
  } else if (m.head) {
    per_token += h * real(m.vocabulary);
  }
  if (m.patches) {
    const Patches& p = *m.patches;
    once +=
        real(sequence - (p.class_token ? 1 : 0)) * real(p.patch * p.patch) * real(p.channels) * h;
  }
  return per_token * real(sequence) + once;
}

double pair_flops(const Transformer& m) {
  const std::int64_t value = m.latent ? m.latent->value_head_size : m.head_size;
  return 6 * real(m.heads) * real(m.head_size + value);
}

double attention_pairs(const Transformer& model, std::int64_t layer, std::int64_t sequence) {
  const double s = real(sequence);
  if (!model.causal) return s * s;
  if (!has_window(model, layer) || *model.window >= sequence) return s * s / 2;
  const double w = real(*model.window);
  return w * s - w * w / 2;
}

double sequence_flops(const Transformer& model, std::int64_t sequence, FlopsConvention convention) {
  return per_sequence<double>(model, sequence, convention);
}

Formula model_flops_formula(const Transformer& model, std::int64_t sequences, std::int64_t sequence,
                            FlopsConvention convention) {
  return formula::count<Formula>(sequences, "sequences") *
         per_sequence<Formula>(model, sequence, convention);
}

ModelFlops model_flops(const Transformer& model, std::int64_t tokens, std::int64_t sequence,
                       FlopsConvention convention) {
  const double sequences = real(tokens) / real(sequence);
  return {std::string(flops_convention_names[static_cast<std::size_t>(convention)]),
          Flops{sequences * sequence_flops(model, sequence, convention)}};
}

}  // namespace stepscope
