// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/model_flops.h"

#include <algorithm>

#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

double real(std::int64_t n) { return static_cast<double>(n); }

// Queries, keys, output; keys and gates that are compressed; those of the indexer, its queries and
// weights.
double compressed_weights(const Transformer& m, const LayerKind& kind) {
  const CompressedAttention& c = *m.compressed;
  const double h = real(m.hidden);
  const double all = real(m.heads * m.head_size);
  const double d = real(m.head_size);
  const double rank = real(c.query_rank);
  double sum = rank * (h + all) + h * d + all * real(c.output_rank) +
               h * real(c.output_groups * c.output_rank);
  if (kind.mixer == Mixer::compressed) sum += 2 * h * d * (kind.indexes ? 2 : 1);
  if (!kind.indexes) return sum;
  const Indexer& x = *m.indexer;
  return sum + rank * real(x.heads * x.head_size) + h * real(4 * x.head_size + x.heads);
}

// Projections of the streams' weights, of one part of a layer and behind the last.
double hyper_weights(const Transformer& m) {
  return m.hyper ? real(m.hyper->streams * hyper_maps(*m.hyper)) * real(m.hidden) : 0;
}
double hyper_end_weights(const Transformer& m) {
  return m.hyper ? real(m.hyper->streams * m.hyper->streams) * real(m.hidden) : 0;
}

double softmax_weights(const Transformer& m, const LayerKind& kind) {
  const double h = real(m.hidden);
  const double a = real(heads_of(m, kind));
  double value = real(m.head_size);
  double all = h * real(m.head_size) * (2 * a + 2 * real(m.kv_heads));
  if (m.latent) {
    const LatentAttention& l = *m.latent;
    const double rq = real(l.query_rank);
    const double rkv = real(l.kv_rank);
    const double d = real(l.rope_head_size + l.nope_head_size);
    value = real(l.value_head_size);
    all = (l.query_rank == 0 ? h * a * d : rq * (h + a * d)) + h * (rkv + real(l.rope_head_size)) +
          rkv * a * (real(l.nope_head_size) + value) + a * value * h;
  }
  if (m.compressed) all = compressed_weights(m, kind);
  if (m.attention_gate) all += h * a * value;
  if (m.head_gate) all += h * a;
  if (kind.indexes && !m.compressed) {
    const Indexer& x = *m.indexer;
    const double from = m.latent && m.latent->query_rank > 0 ? real(m.latent->query_rank) : h;
    all += from * real(x.heads * x.head_size) + h * real(x.head_size + x.heads);
  }
  return all;
}

double mixer_weights(const Transformer& m, const LayerKind& kind) {
  const double h = real(m.hidden);
  if (kind.mixer == Mixer::none) return 0;
  if (kind.mixer == Mixer::linear) {
    const LinearAttention& l = *m.linear;
    const double k = real(l.key_heads * l.key_size);
    const double v = real(l.value_heads * l.value_size);
    const double a = real(l.value_heads);
    const double r = real(l.gate_rank);
    const double gates = l.gate_rank == 0 ? h * (v + a) : 2 * h * r + r * (k + v);
    return h * (2 * k + v) + h * a + gates + v * h;
  }
  if (kind.mixer == Mixer::state_space) {
    const StateSpace& s = *m.state_space;
    const double inner = real(s.heads * s.head_size);
    const double bc = 2 * real(s.groups * s.state);
    return h * (3 * inner + bc + real(s.heads));
  }
  return softmax_weights(m, kind);
}

// Weights of one layer that multiply each token.
double layer_weights(const Transformer& m, const LayerKind& kind) {
  const double h = real(m.hidden);
  const double mixer = mixer_weights(m, kind) + real(parts_of(kind)) * hyper_weights(m);
  const double matrices = m.gated ? 3 : 2;
  if (kind.channel == Channel::none) return mixer;
  if (kind.channel == Channel::dense) return mixer + matrices * h * real(m.feed_forward);
  const Experts& e = *m.experts;
  const double stream = e.latent > 0 ? real(e.latent) : h;
  return mixer + matrices * stream * real(e.top_k) * real(e.feed_forward) +
         matrices * h * real(e.shared_feed_forward) + h * real(e.count) + (e.shared_gate ? h : 0) +
         2 * h * real(e.latent);
}

double patch_weights(const Transformer& m, std::int64_t sequence) {
  if (!m.patches) return 0;
  const Patches& p = *m.patches;
  return real(sequence - (p.class_token ? 1 : 0)) * real(p.patch * p.patch) * real(p.channels) *
         real(m.hidden);
}

// The projection of a module joins the next token with each stream.
double join_weights(const Transformer& m) {
  return real(1 + streams(m)) * real(m.hidden) * real(m.hidden);
}

// Each module has its layers, its projection, and the head.
double prediction_weights(const Transformer& m) {
  if (!m.prediction) return 0;
  const double h = real(m.hidden);
  double one = join_weights(m) + hyper_end_weights(m) + h * real(m.vocabulary);
  for (const LayerKind& kind : prediction_kinds(m)) one += layer_weights(m, kind);
  return real(m.prediction->modules) * one;
}

// The share of this kind's heads in the heads that pair_flops counts.
double head_share(const Transformer& m, const LayerKind& kind) {
  return real(heads_of(m, kind)) / real(m.heads);
}

// Every layer's kind, those of prediction modules included.
template <class Visit>
void each_kind(const Transformer& m, Visit visit) {
  for (std::int64_t layer = 0; layer < m.layers; ++layer) visit(layer_kind(m, layer));
  const std::int64_t modules = m.prediction ? m.prediction->modules : 0;
  const std::vector<LayerKind> kinds = prediction_kinds(m);
  for (std::int64_t module = 0; module < modules; ++module) {
    for (const LayerKind& kind : kinds) visit(kind);
  }
}

// What each pass of a model with frozen parts multiplies: forward; the gradients of activations;
// those of weights.
struct Passes {
  double forward = 0;
  double through = 0;
  double trained = 0;

  void add(double weights, LayerTraining training) {
    forward += weights;
    if (training != LayerTraining::forward_only) through += weights;
    if (training == LayerTraining::weights) trained += weights;
  }
};

double adapter_weights(const Transformer& m, const LayerKind& kind, const TrainedParts& t) {
  double sum = 0;
  for (const Adapter& a : adapters_of(m, kind, t))
    sum += real(a.used) * real(t.lora_rank) * real(a.in + a.out);
  return sum;
}

// Each layer with its kind and what of it trains; those of a prediction module as often as there
// are modules.
template <class Visit>
void each_trained_layer(const Transformer& m, const TrainedParts& t, Visit visit) {
  std::int64_t layer = 0;
  each_kind(m, [&](const LayerKind& kind) {
    const std::int64_t at = std::min(layer++, m.layers);
    visit(kind, at, layer_training(t, at));
  });
}

LayerTraining training_of_head(const Transformer& m, const TrainedParts& t) {
  if (trains(t, ModelPart::head)) return LayerTraining::weights;
  return trains_before_head(m, t) ? LayerTraining::passes : LayerTraining::forward_only;
}
LayerTraining training_of_embedding(const TrainedParts& t) {
  return trains(t, ModelPart::embedding) ? LayerTraining::weights : LayerTraining::forward_only;
}

// Weights of products, times the tokens that they multiply.
Passes product_passes(const Transformer& m, const TrainedParts& t, std::int64_t sequence) {
  Passes p;
  double of_layers = 0;
  each_trained_layer(m, t, [&](const LayerKind& kind, std::int64_t, LayerTraining training) {
    const double weights = layer_weights(m, kind) * real(sequence);
    of_layers += weights;
    p.add(weights, training);
    if (training == LayerTraining::adapters)
      p.add(adapter_weights(m, kind, t) * real(sequence), LayerTraining::weights);
  });
  const double patches = patch_weights(m, sequence);
  p.add(patches, training_of_embedding(t));
  const double modules = m.prediction ? real(m.prediction->modules) : 0;
  const double joins = modules * join_weights(m) * real(sequence);
  p.add(joins, layer_training(t, m.layers));
  p.add(sequence_weights(m, sequence) - of_layers - patches - joins, training_of_head(m, t));
  return p;
}

// Parameters that a token uses, by the same passes. `tables`: the token table counts.
Passes parameter_passes(const Transformer& m, const TrainedParts& t, bool tables) {
  const ParameterCount n = parameter_count(m);
  Passes p;
  double of_layers = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    const auto active = real(layer_parameters(m, layer).active());
    const LayerTraining training = layer_training(t, layer);
    of_layers += active;
    p.add(active, training);
    if (training == LayerTraining::adapters)
      p.add(adapter_weights(m, layer_kind(m, layer), t), LayerTraining::weights);
  }
  p.add(real(n.embedding - (tables ? 0 : n.tokens)), training_of_embedding(t));
  p.add(real(n.active - n.embedding) - of_layers, training_of_head(m, t));
  return p;
}

template <formula::Number N>
N six_of(const Passes& p, std::string_view name) {
  using formula::count;
  using formula::flops;
  return flops<N>(2, "2") * (count<N>(p.forward, name) + count<N>(p.through, "gradients pass") +
                             count<N>(p.trained, "trained"));
}

// With frozen parts or adapters.
template <formula::Number N>
N per_sequence_partly(const Transformer& m, const TrainedParts& t, std::int64_t sequence,
                      FlopsConvention convention) {
  using formula::count;
  using formula::flops;
  const double s = real(sequence);
  Passes pairs;
  double states = 0;
  each_trained_layer(m, t, [&](const LayerKind& kind, std::int64_t, LayerTraining training) {
    const bool halved = convention == FlopsConvention::causal_halved;
    const double all = has_softmax(kind.mixer) ? s * s : 0;
    pairs.add(head_share(m, kind) * (halved ? attention_pairs(m, kind, sequence) : all), training);
    const double once = state_flops(m, kind) * s + index_flops(m, kind, sequence);
    states += training == LayerTraining::forward_only ? once : 3 * once;
  });
  const N of_pairs =
      flops<N>(pair_flops(m) / 3, "2 H (d + d_v)") *
      (count<N>(pairs.forward, "query-key pairs") + 2.0 * count<N>(pairs.through, "backward"));
  switch (convention) {
    case FlopsConvention::causal_halved: {
      const N all = six_of<N>(product_passes(m, t, sequence), "weights times tokens") + of_pairs;
      return states <= 0 ? all : all + flops<N>(states, "states and indexers");
    }
    case FlopsConvention::six_n:
      return six_of<N>(parameter_passes(m, t, true), "N") * count<N>(sequence, "s");
    case FlopsConvention::palm:
      return six_of<N>(parameter_passes(m, t, true), "N") * count<N>(sequence, "s") + of_pairs;
    case FlopsConvention::torchtitan:
      return six_of<N>(parameter_passes(m, t, false), "N") * count<N>(sequence, "s") + of_pairs;
  }
  return 0.0;
}

template <formula::Number N>
N per_sequence(const Transformer& m, std::int64_t sequence, FlopsConvention convention,
               const TrainedParts& t) {
  if (!trains_all(t)) return per_sequence_partly<N>(m, t, sequence, convention);
  using formula::count;
  const N s = count<N>(sequence, "s");
  const N six = formula::flops<N>(6, "6");
  const ParameterCount n = parameter_count(m);
  const N pair = formula::flops<N>(pair_flops(m), "6 H (d + d_v)");
  double layers = 0;  // that have pairs, by their heads
  each_kind(m, [&](const LayerKind& k) { layers += has_softmax(k.mixer) ? head_share(m, k) : 0; });
  const N all_pairs = count<N>(layers, "L") * s * s * pair;
  switch (convention) {
    case FlopsConvention::causal_halved: {
      double pairs = 0;
      double states = 0;
      each_kind(m, [&](const LayerKind& k) {
        pairs += head_share(m, k) * attention_pairs(m, k, sequence);
        states += state_flops(m, k) * real(sequence) + index_flops(m, k, sequence);
      });
      N all = six * count<N>(sequence_weights(m, sequence), "weights times tokens") +
              count<N>(pairs, "query-key pairs") * pair;
      if (states <= 0) return all;
      return all + count<N>(3, "3") * formula::flops<N>(states, "states and indexers");
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
  for (std::int64_t layer = 0; layer < m.layers; ++layer) {
    per_token += layer_weights(m, layer_kind(m, layer));
  }
  per_token += prediction_weights(m);
  const double h = real(m.hidden);
  per_token += hyper_end_weights(m);
  double once = m.pooler ? h * h : 0;
  if (m.head && m.head_transform) per_token += h * h;
  if (m.head && m.classes > 0) {
    once += h * real(m.classes);
  } else if (m.head) {
    per_token += h * real(m.vocabulary);
  }
  return per_token * real(sequence) + once + patch_weights(m, sequence);
}

double pair_flops(const Transformer& m) {
  const std::int64_t value = m.latent ? m.latent->value_head_size : m.head_size;
  return 6 * real(m.heads) * real(m.head_size + value);
}

double state_flops(const Transformer& m, const LayerKind& kind) {
  if (kind.mixer == Mixer::linear) {
    const LinearAttention& l = *m.linear;
    const double k = real(l.key_size);
    const double v = real(l.value_size);
    return real(l.value_heads) * (6 * k * v + 2 * real(l.chunk) * (3 * k + 2 * v));
  }
  if (kind.mixer == Mixer::state_space) {
    const StateSpace& s = *m.state_space;
    const double p = real(s.head_size);
    const double n = real(s.state);
    return real(s.heads) * (4 * p * n + 2 * real(s.chunk) * p) +
           real(s.groups) * 2 * real(s.chunk) * n;
  }
  return 0;
}

double index_flops(const Transformer& m, const LayerKind& kind, std::int64_t sequence) {
  if (!kind.indexes) return 0;
  const double s = real(sequence);
  const double keys = m.compressed ? s / real(m.compressed->sparse_ratio) : s;
  return s * keys * real(m.indexer->heads) * real(m.indexer->head_size);
}

double attention_pairs(const Transformer& model, const LayerKind& kind, std::int64_t sequence) {
  const double s = real(sequence);
  if (!has_softmax(kind.mixer)) return 0;
  if (!model.causal) return s * s;
  const auto within = [s](double w) { return w >= s ? s * s / 2 : w * s - w * w / 2; };
  switch (kind.mixer) {
    case Mixer::window:
      return within(real(*model.window));
    case Mixer::sparse:
      return within(real(model.indexer->top_k));
    case Mixer::compressed: {
      const double ratio = real(compression(model, kind));
      const double all = s / ratio;
      const double keys = kind.indexes ? std::min(real(model.indexer->top_k), all) : all;
      return within(real(*model.window)) + keys * s - keys * keys * ratio / 2;
    }
    default:
      return s * s / 2;
  }
}

double attention_pairs(const Transformer& model, std::int64_t layer, std::int64_t sequence) {
  return attention_pairs(model, layer_kind(model, layer), sequence);
}

double sequence_flops(const Transformer& model, std::int64_t sequence, FlopsConvention convention,
                      const TrainedParts& trained, const Images& images) {
  return per_sequence<double>(model, sequence, convention, trained) +
         tower_flops(model, images, trained);
}

Formula model_flops_formula(const Transformer& model, std::int64_t sequences, std::int64_t sequence,
                            FlopsConvention convention, const TrainedParts& trained,
                            const Images& images) {
  Formula one = per_sequence<Formula>(model, sequence, convention, trained);
  if (const double tower = tower_flops(model, images, trained); tower > 0) {
    one = one + formula::flops<Formula>(tower, "tower");
  }
  return formula::count<Formula>(sequences, "sequences") * one;
}

ModelFlops model_flops(const Transformer& model, std::int64_t tokens, std::int64_t sequence,
                       FlopsConvention convention) {
  const double sequences = real(tokens) / real(sequence);
  return {std::string(convention_name(model, convention)),
          Flops{sequences * sequence_flops(model, sequence, convention)}};
}

}  // namespace stepscope
