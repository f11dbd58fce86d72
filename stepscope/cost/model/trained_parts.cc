// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/model/trained_parts.h"

#include <algorithm>
#include <utility>

#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using enum LoraTarget;

// A linear layer of some kind of layer, and the target that names it.
struct Target {
  LoraTarget name;
  Adapter adapter;
  bool part = false;  // of a matrix that another target names whole
};

void add_attention_targets(const Transformer& m, const LayerKind& kind, std::vector<Target>& to) {
  const Int h = m.hidden;
  const Int a = heads_of(m, kind);
  if (m.latent) {
    const LatentAttention& l = *m.latent;
    const Int query = a * (l.nope_head_size + l.rope_head_size);
    if (l.query_rank > 0) {
      to.push_back({q_a_proj, {.operation = "q_down", .in = h, .out = l.query_rank}});
      to.push_back({q_b_proj, {.operation = "q_up", .in = l.query_rank, .out = query}});
    } else {
      to.push_back({q_proj, {.operation = "q_proj", .in = h, .out = query}});
    }
    to.push_back({kv_a_proj_with_mqa,
                  {.operation = "kv_down", .in = h, .out = l.kv_rank + l.rope_head_size}});
    to.push_back({kv_b_proj,
                  {.operation = "kv_up",
                   .in = l.kv_rank,
                   .out = a * (l.nope_head_size + l.value_head_size)}});
    to.push_back({o_proj, {.operation = "attention_proj", .in = a * l.value_head_size, .out = h}});
    return;
  }
  const Int q = a * m.head_size;
  if (m.compressed) {
    const CompressedAttention& c = *m.compressed;
    to.push_back({q_a_proj, {.operation = "q_down", .in = h, .out = c.query_rank}});
    to.push_back({q_b_proj, {.operation = "q_up", .in = c.query_rank, .out = q}});
    to.push_back({kv_a_proj_with_mqa, {.operation = "kv_down", .in = h, .out = m.head_size}});
    to.push_back(
        {o_proj, {.operation = "attention_proj", .in = c.output_groups * c.output_rank, .out = h}});
    return;
  }
  const Int kv = m.kv_heads * m.head_size;
  const auto part = [&](LoraTarget name, AdapterColumns columns, Int out) {
    to.push_back({name, {.operation = "qkv_proj", .columns = columns, .in = h, .out = out}, true});
  };
  to.push_back({linear_qkv, {.operation = "qkv_proj", .in = h, .out = q + 2 * kv}});
  part(q_proj, AdapterColumns::queries, q);
  part(k_proj, AdapterColumns::keys, kv);
  part(v_proj, AdapterColumns::values, kv);
  to.push_back({o_proj, {.operation = "attention_proj", .in = q, .out = h}});
}

void add_state_targets(const Transformer& m, const LayerKind& kind, std::vector<Target>& to) {
  Int in = 0;
  Int values = 0;
  const bool mamba = kind.mixer == Mixer::state_space;
  if (mamba) {
    const StateSpace& s = *m.state_space;
    values = s.heads * s.head_size;
    in = 2 * values + 2 * s.groups * s.state + s.heads;
  } else {
    const LinearAttention& l = *m.linear;
    values = l.value_heads * l.value_size;
    in = 2 * l.key_heads * l.key_size + values + l.value_heads +
         (l.gate_rank == 0 ? values + l.value_heads : 0);
  }
  to.push_back(
      {in_proj,
       {.operation = mamba ? "state_in_proj" : "linear_in_proj", .in = m.hidden, .out = in}});
  to.push_back({out_proj, {.operation = "state_out_proj", .in = values, .out = m.hidden}});
}

// The two or three matrices of one feed-forward part.
struct FeedForward {
  std::string_view into;
  std::string_view out_of;
  Int hidden;
  Int width;
  Int copies = 1;
  Int used = 1;
};
void add_feed_forward_targets(const Transformer& m, const FeedForward& f, std::vector<Target>& to) {
  const auto one = [&](std::string_view operation, AdapterColumns columns, Int in, Int out) {
    return Adapter{.operation = operation,
                   .columns = columns,
                   .in = in,
                   .out = out,
                   .copies = f.copies,
                   .used = f.used};
  };
  using enum AdapterColumns;
  to.push_back({linear_fc1, one(f.into, all, f.hidden, (m.gated ? 2 : 1) * f.width)});
  if (m.gated) to.push_back({gate_proj, one(f.into, half, f.hidden, f.width), true});
  to.push_back({up_proj, one(f.into, m.gated ? half : all, f.hidden, f.width), true});
  to.push_back({down_proj, one(f.out_of, all, f.width, f.hidden)});
}

std::vector<Target> targets_of(const Transformer& m, const LayerKind& kind) {
  std::vector<Target> all;
  if (has_softmax(kind.mixer)) {
    add_attention_targets(m, kind, all);
  } else if (kind.mixer != Mixer::none) {
    add_state_targets(m, kind, all);
  }
  if (kind.channel == Channel::dense)
    add_feed_forward_targets(
        m, {.into = "fc1", .out_of = "fc2", .hidden = m.hidden, .width = m.feed_forward}, all);
  if (kind.channel != Channel::experts) return all;
  const Experts& e = *m.experts;
  add_feed_forward_targets(m,
                           {.into = "expert_fc1",
                            .out_of = "expert_fc2",
                            .hidden = e.latent > 0 ? e.latent : m.hidden,
                            .width = e.feed_forward,
                            .copies = e.count,
                            .used = e.top_k},
                           all);
  if (e.shared_feed_forward > 0)
    add_feed_forward_targets(m,
                             {.into = "shared_fc1",
                              .out_of = "shared_fc2",
                              .hidden = m.hidden,
                              .width = e.shared_feed_forward},
                             all);
  return all;
}

template <class Visit>
void each_layer(const Transformer& m, Visit visit) {
  for (Int layer = 0; layer < m.layers; ++layer) visit(layer, layer_kind(m, layer), 1);
  if (!m.prediction) return;
  const Int modules = m.prediction->one_module ? 1 : m.prediction->modules;
  for (const LayerKind& kind : prediction_kinds(m)) visit(m.layers, kind, modules);
}

}  // namespace

std::string_view lora_target_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> also = {
      {{"linear_proj", "o_proj"},
       {"linear_fc2", "down_proj"},
       {"linear_q_proj", "q_proj"},
       {"linear_q_down_proj", "q_a_proj"},
       {"linear_q_up_proj", "q_b_proj"},
       {"linear_kv_down_proj", "kv_a_proj_with_mqa"},
       {"linear_kv_up_proj", "kv_b_proj"}}};
  for (const auto& [megatron, other] : also)
    if (name == megatron) return other;
  return name;
}

LayerTraining layer_training(const TrainedParts& t, Int layer) {
  const bool open = layer >= t.frozen_layers;
  if (t.lora_rank > 0) return open ? LayerTraining::adapters : LayerTraining::forward_only;
  if (open && trains(t, ModelPart::layers)) return LayerTraining::weights;
  return trains(t, ModelPart::embedding) ? LayerTraining::passes : LayerTraining::forward_only;
}

bool trains_before_head(const Transformer& m, const TrainedParts& t) {
  return layer_training(t, m.layers - 1) != LayerTraining::forward_only;
}

std::vector<Adapter> adapters_of(const Transformer& m, const LayerKind& kind,
                                 const TrainedParts& t) {
  std::vector<Adapter> chosen;
  if (t.lora_rank == 0) return chosen;
  const bool all = t.lora_targets.bits == 0;
  for (const Target& target : targets_of(m, kind)) {
    if (all ? !target.part : t.lora_targets.has(target.name)) chosen.push_back(target.adapter);
  }
  return chosen;
}

Int trained_parameters(const Transformer& m, const TrainedParts& t) {
  const ParameterCount n = parameter_count(m);
  Int sum = trains(t, ModelPart::embedding) ? n.embedding : 0;
  if (trains(t, ModelPart::tower)) sum += n.tower;
  if (trains(t, ModelPart::head)) sum += n.head - n.prediction;
  for (Int layer = 0; layer < m.layers; ++layer) {
    if (layer_training(t, layer) == LayerTraining::weights)
      sum += layer_parameters(m, layer).total();
  }
  if (layer_training(t, m.layers) == LayerTraining::weights) sum += n.prediction;
  each_layer(m, [&](Int layer, const LayerKind& kind, Int times) {
    if (layer_training(t, layer) != LayerTraining::adapters) return;
    for (const Adapter& a : adapters_of(m, kind, t))
      sum += times * a.copies * t.lora_rank * (a.in + a.out);
  });
  return sum;
}

LoraTargets lora_targets_in(const Transformer& m) {
  LoraTargets found;
  each_layer(m, [&](Int, const LayerKind& kind, Int) {
    for (const Target& target : targets_of(m, kind)) found.add(target.name);
  });
  return found;
}

}  // namespace stepscope
