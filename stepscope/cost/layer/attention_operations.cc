// SPDX-License-Identifier: Apache-2.0
// Attention: norm, projections, the core (scores, softmax, values) fused or materialised, and the
// projection back to the stream. Letters: b sequences of s tokens; H heads and G key-value heads of
// this device; d of a query and key, v of a value.
#include <algorithm>
#include <numeric>

#include "stepscope/cost/layer/operation_parts.h"
#include "stepscope/cost/model/model_flops.h"

namespace stepscope {
namespace {

using enum CollectiveKind;
using Int = std::int64_t;

// The part of the core on this device.
struct Core {
  Int batch = 1;  // independent attentions: sequences times heads
  Int queries = 0;
  Int keys = 0;
  Int key_size = 0;
  Int value_size = 0;
  double pairs = 0;   // computed scores
  double scores = 0;  // of the whole rectangle
  // Elements on this device, before keys and values come from other devices.
  double q = 0;
  double k = 0;
  double v = 0;
  double out = 0;
  // Keys and values that the core reads, of the whole sequence.
  double keys_read = 0;
  double values_read = 0;
};

Core core_of(const DeviceShare& s, const LayerKind& kind) {
  const Plan& p = s.plan;
  const auto& latent = s.model.latent;
  const bool swaps = p.cp > 1 && p.context_exchange == ContextExchange::all_to_all;
  const Int heads = swaps ? s.heads / p.cp : s.heads;
  // If there are fewer key-value heads than ranks, they are copied.
  const Int kv = latent ? s.heads : swaps ? std::max(s.kv_heads, p.cp) : s.kv_heads;
  const Int kv_here = swaps ? kv / p.cp : kv;
  const Int sequences = std::max<Int>(1, p.batch.micro / s.split.tokens);
  const bool compresses = kind.mixer == Mixer::compressed;
  const Int compressed = compresses ? p.batch.sequence / compression(s.model, kind) : 0;
  Core c{.batch = sequences * heads,
         .queries = std::max<Int>(1, s.work_rows * (swaps ? p.cp : 1) / sequences),
         .keys = p.batch.sequence + compressed,
         .key_size = latent ? latent->nope_head_size + latent->rope_head_size : s.model.head_size,
         .value_size = latent ? latent->value_head_size : s.model.head_size};
  // Exact even if sequences are divided unevenly, unlike the shapes above.
  c.scores = number(heads * s.work_rows * (swaps ? p.cp : 1)) * number(c.keys);
  const double seen = attention_pairs(s.model, kind, p.batch.sequence) /
                      (number(p.batch.sequence) * number(c.keys));
  c.pairs = p.kernels.fused_attention ? c.scores * seen : c.scores;
  const double rows = number(s.work_rows);
  c.q = rows * number(s.heads * c.key_size);
  c.k = rows * number(kv * c.key_size);
  c.v = rows * number(kv * c.value_size);
  c.out = rows * number(s.heads * c.value_size);
  c.keys_read = number(sequences * c.keys * kv_here * c.key_size);
  c.values_read = number(sequences * c.keys * kv_here * c.value_size);
  if (s.model.compressed) {
    c.k *= number(c.keys) / number(p.batch.sequence);
    c.v = c.values_read = 0;  // the keys
  }
  return c;
}

void call(Pass& pass, CollectiveKind kind, ParallelDim dim, double bytes, Int count = 1,
          bool can_overlap = false) {
  pass.communications.push_back(
      {.kind = kind, .dim = dim, .bytes = bytes, .count = count, .can_overlap = can_overlap});
}

// A sequence divided over several devices: queries meet all keys (docs/dev/layer-operations.md).
void exchange_context(const DeviceShare& s, const Core& c, Operation& op) {
  const Int cp = s.plan.cp;
  if (cp == 1) return;
  const double kv = (c.k + c.v) * s.element;
  switch (s.plan.context_exchange) {
    case ContextExchange::all_gather:
      call(op.forward, all_gather, ParallelDim::context, number(cp) * kv);
      call(op.backward, all_gather, ParallelDim::context, number(cp) * kv);
      call(op.backward, reduce_scatter, ParallelDim::context, number(cp) * kv);
      break;
    case ContextExchange::ring:
      call(op.forward, send_recv, ParallelDim::context, kv, cp - 1, true);
      call(op.backward, send_recv, ParallelDim::context, kv, cp - 1, true);
      // Gradients of keys and values travel with them, and one hop further to their owner.
      call(op.backward, send_recv, ParallelDim::context, kv, cp, true);
      break;
    case ContextExchange::all_to_all:
      for (const double tensor : {c.q, c.k, c.v, c.out}) {
        if (tensor <= 0) continue;
        call(op.forward, all_to_all, ParallelDim::context, tensor * s.element);
        call(op.backward, all_to_all, ParallelDim::context, tensor * s.element);
      }
      break;
  }
}

// Layouts that divide tokens more finely than whole sequences: the devices of a column share some.
void exchange_rows(const DeviceShare& s, const Core& c, Operation& op) {
  const Int parts = s.split.tokens / std::gcd(s.split.tokens, s.plan.batch.micro);
  if (parts == 1) return;
  const double kv = number(parts) * (c.k + c.v) * s.element;
  const ParallelDim dim = s.grid.rows > 1 ? ParallelDim::tensor_column : ParallelDim::tensor_depth;
  call(op.forward, all_gather, dim, kv);
  call(op.backward, all_gather, dim, kv);
  call(op.backward, reduce_scatter, dim, kv);
}

// One kernel that never writes scores (Dao et al. 2022). Backward recomputes them: five products
// for two.
Operation fused_core(const DeviceShare& s, const Core& c) {
  const double d = number(c.key_size);
  const double v = number(c.value_size);
  const auto& softmax = s.counting.softmax;
  const double drop = s.model.dropout > 0 ? 1 : 0;
  const double rows = number(c.batch * c.queries);
  const double row_bytes = statistics(s, 4 * rows);
  const double e = s.element;
  Operation op{.name = "attention", .kind = OperationClass::attention};
  op.forward.matrix = {2 * c.pairs * (d + v)};
  op.forward.vector = {c.pairs * (softmax.forward + drop * s.counting.dropout.forward)};
  op.forward.matmuls = {{c.batch, c.queries, c.keys, c.key_size},
                        {c.batch, c.queries, c.value_size, c.keys}};
  op.forward.input_bytes = c.q * e;
  op.forward.output_bytes = c.out * e;
  op.forward.other_bytes = (c.keys_read + c.values_read) * e + row_bytes;
  op.backward.matrix = {2 * c.pairs * (3 * d + 2 * v)};
  op.backward.vector = {c.pairs *
                        (softmax.forward + softmax.backward + drop * s.counting.dropout.backward)};
  op.backward.matmuls = {{c.batch, c.queries, c.keys, c.key_size},
                         {c.batch, c.queries, c.keys, c.value_size},
                         {c.batch, c.keys, c.value_size, c.queries},
                         {c.batch, c.queries, c.key_size, c.keys},
                         {c.batch, c.keys, c.key_size, c.queries}};
  // The row sums of dO O are a separate pass that reads both.
  op.backward.input_bytes = (every_read(s) ? 2 : 1) * c.out * e;
  op.backward.output_bytes = (c.q + c.keys_read + c.values_read) * e;
  op.backward.other_bytes = (c.q + c.keys_read + c.values_read) * e + c.out * e + row_bytes;
  op.core_input_bytes = (c.q + c.k + c.v) * e;
  op.kept_bytes = op.core_input_bytes + row_bytes;
  return op;
}

// scores = Q K^T
Operation scores_product(const DeviceShare& s, const Core& c) {
  const double e = s.element;
  Operation op{.name = "logits", .kind = OperationClass::attention};
  const double less = s.counting.exact_adds ? 1 : 0;
  const double d = number(c.key_size);
  const double rows = number(c.batch * c.queries);
  const double columns = number(c.batch * c.keys);
  op.forward.matrix = {c.scores * (2 * d - less)};
  op.forward.matmuls = {{c.batch, c.queries, c.keys, c.key_size}};
  op.forward.input_bytes = c.q * e;
  op.forward.other_bytes = c.keys_read * e;
  op.forward.output_bytes = c.scores * e;
  op.backward.matrix = {4 * c.scores * d - less * (rows + columns) * d};
  op.backward.matmuls = {{c.batch, c.queries, c.key_size, c.keys},
                         {c.batch, c.keys, c.key_size, c.queries}};
  op.backward.input_bytes = (every_read(s) ? 2 : 1) * c.scores * e;
  op.backward.output_bytes = (c.q + c.keys_read) * e;
  op.backward.other_bytes = (c.q + c.keys_read) * e;
  op.core_input_bytes = (c.q + c.k) * e;
  op.kept_bytes = op.core_input_bytes;
  return op;
}

Operation softmax(const DeviceShare& s, const Core& c) {
  const VectorCount& count = s.counting.softmax;
  const double rows = number(c.batch * c.queries);
  const double bytes = c.scores * s.element;
  // Scaling and masking are separate passes unless fused.
  const double passes = s.plan.kernels.fused_pointwise ? 1 : 3;
  Operation op{.name = "softmax", .kind = OperationClass::softmax};
  op.forward.vector = {count.forward * c.scores - count.forward_row * rows};
  op.forward.input_bytes = passes * bytes;
  op.forward.output_bytes = passes * bytes;
  op.backward.vector = {count.backward * c.scores - count.backward_row * rows};
  op.backward.input_bytes = passes * bytes;
  op.backward.output_bytes = passes * bytes;
  op.backward.other_bytes = bytes;
  op.kept_bytes = bytes;
  return op;
}

// out = scores V
Operation values_product(const DeviceShare& s, const Core& c) {
  const double e = s.element;
  Operation op{.name = "attend", .kind = OperationClass::attention};
  const double less = s.counting.exact_adds ? 1 : 0;
  const double v = number(c.value_size);
  const double rows = number(c.batch * c.queries);
  const double columns = number(c.batch * c.keys);
  op.forward.matrix = {2 * c.scores * v - less * rows * v};
  op.forward.matmuls = {{c.batch, c.queries, c.value_size, c.keys}};
  op.forward.input_bytes = c.scores * e;
  op.forward.other_bytes = c.values_read * e;
  op.forward.output_bytes = c.out * e;
  op.backward.matrix = {4 * c.scores * v - less * (c.scores + columns * v)};
  op.backward.matmuls = {{c.batch, c.queries, c.keys, c.value_size},
                         {c.batch, c.keys, c.value_size, c.queries}};
  const bool all = s.counting.backward_traffic != BackwardTraffic::one_gradient;
  op.backward.input_bytes = (every_read(s) ? 2 : 1) * c.out * e;
  op.backward.output_bytes = (c.scores + (all ? c.values_read : 0)) * e;
  op.backward.other_bytes = (c.scores + c.values_read) * e;
  op.core_input_bytes = c.v * e;
  // Without dropout in between, these scores are the softmax's output, which the softmax keeps.
  op.kept_bytes = op.core_input_bytes + (s.model.dropout > 0 ? c.scores * e : 0);
  return op;
}

void add_core(const DeviceShare& s, const LayerKind& kind, std::vector<Operation>& to) {
  const Core c = core_of(s, kind);
  const std::size_t first = to.size();
  if (s.plan.kernels.fused_attention) {
    to.push_back(fused_core(s, c));
  } else {
    to.push_back(scores_product(s, c));
    to.push_back(softmax(s, c));
    if (s.model.dropout > 0) to.push_back(dropout(s, "attention_dropout", c.scores));
    to.push_back(values_product(s, c));
  }
  exchange_context(s, c, to[first]);
  exchange_rows(s, c, to[first]);
  for (std::size_t i = first; i < to.size(); ++i) to[i].attention_core = true;
}

Operation latent_norm(const DeviceShare& s, std::string_view name, Int rank) {
  const double parts = number(s.stream_parts);
  return norm(s, {.name = name,
                  .norm = Norm::rms_norm,
                  .rows = number(s.stream_rows),
                  .width = number(rank),
                  .parts = parts,
                  .parameters = number(rank) / parts});
}

// Columns of a projection with `heads` of `size` on this device.
Int columns(const DeviceShare& s, Int heads, Int size) { return heads * size * s.split.features; }

// DeepSeek-V2: queries, and keys with values, pass through a narrow latent. The projections to the
// latent are the same on all tp ranks. The projections from it are divided by heads.
void add_latent_projections(const DeviceShare& s, std::vector<Operation>& to) {
  const LatentAttention& l = *s.model.latent;
  const Int hidden = s.model.hidden;
  const bool bias = s.model.qkv_bias;
  const Int query = columns(s, s.heads, l.nope_head_size + l.rope_head_size);
  if (l.query_rank > 0) {
    to.push_back(linear(s, {.name = "q_down",
                            .shape = {s.tokens, hidden, l.query_rank},
                            .replicated = true,
                            .bias = bias}));
    to.push_back(latent_norm(s, "q_latent_norm", l.query_rank));
    to.push_back(linear(s, {.name = "q_up", .shape = {s.tokens, l.query_rank, query}}));
  } else {
    to.push_back(linear(s, {.name = "q_proj", .shape = {s.tokens, hidden, query}}));
  }
  to.push_back(linear(s, {.name = "kv_down",
                          .shape = {s.tokens, hidden, l.kv_rank + l.rope_head_size},
                          .replicated = true,
                          .bias = bias,
                          .keeps_input = false}));
  to.push_back(latent_norm(s, "kv_latent_norm", l.kv_rank));
  to.push_back(linear(
      s, {.name = "kv_up",
          .shape = {s.tokens, l.kv_rank, columns(s, s.heads, l.nope_head_size + l.value_head_size)},
          .also_gathered = l.rope_head_size}));
}

// Queries and weights of the indexer, and its keys: one per token, or compressed ones.
void add_index_projections(const DeviceShare& s, std::vector<Operation>& to) {
  const Indexer& x = *s.model.indexer;
  const std::size_t first = to.size();
  const Int rank = s.model.latent       ? s.model.latent->query_rank
                   : s.model.compressed ? s.model.compressed->query_rank
                                        : 0;
  const auto project = [&](std::string_view name, Int width, Int columns) {
    to.push_back(linear(s, {.name = name,
                            .shape = {s.tokens, width, columns},
                            .replicated = true,
                            .keeps_input = false}));
  };
  project("index_q_proj", rank > 0 ? rank : s.model.hidden, x.heads * x.head_size);
  if (s.model.compressed) {
    add_compressor(s,
                   {.projection = "index_k_proj",
                    .name = "index_compress",
                    .width = x.head_size,
                    .columns = 2 * x.head_size,
                    .ratio = s.model.compressed->sparse_ratio,
                    .also = x.heads},
                   to);
  } else {
    project("index_k_proj", s.model.hidden, x.head_size + x.heads);
    to.back().parameters += 2 * number(x.head_size);  // the norm of the keys
  }
  if (s.trained) return;
  for (std::size_t i = first; i < to.size(); ++i) {
    to[i].backward = {};  // its gradients train the indexer alone
    to[i].kept_bytes = 0;
  }
}

// Scores of all earlier keys; the best keys of each query are chosen. All tp ranks do the same.
void add_indexer(const DeviceShare& s, const LayerKind& kind, std::vector<Operation>& to) {
  const Indexer& x = *s.model.indexer;
  add_index_projections(s, to);
  const double rows = number(s.work_rows);
  const double sequences = number(s.plan.batch.micro);
  const double share = 1 / number(s.plan.cp);
  const Int ratio = s.model.compressed ? s.model.compressed->sparse_ratio : 1;
  const Int of_sequence = s.plan.batch.sequence / ratio;
  const double keys = sequences * number(of_sequence) * number(x.head_size);
  const double queries = rows * number(x.heads * x.head_size);
  const Int best = std::min(x.top_k, of_sequence);
  const double chosen = rows * number(best);
  Operation op{.name = "index_scores", .kind = OperationClass::attention};
  op.forward.matrix = {sequences * share * index_flops(s.model, kind, s.plan.batch.sequence)};
  const Int batch = std::max<Int>(1, s.plan.batch.micro) * x.heads;
  const Int own = std::max<Int>(1, s.plan.batch.sequence / s.plan.cp);
  op.forward.matmuls = {{batch, own, of_sequence, x.head_size}};
  op.forward.input_bytes = (queries + keys) * s.element;
  op.forward.output_bytes = 4 * chosen;
  // The keys' and the queries' gradients from a loss on the chosen scores only.
  op.backward.matrix = {4 * chosen * number(x.heads * x.head_size)};
  op.backward.matmuls = {{batch, own, x.head_size, best}, {batch, own, x.head_size, best}};
  op.backward.input_bytes = 4 * chosen;
  op.backward.other_bytes = (queries + keys) * s.element;
  op.backward.output_bytes = (queries + keys) * s.element;
  op.kept_bytes = (queries + keys / number(s.plan.cp)) * s.element + 4 * chosen;
  op.attention_core = true;
  op.core_input_bytes = (queries + keys / number(s.plan.cp)) * s.element;
  if (!s.trained) {
    op.backward = {};
    op.kept_bytes = op.core_input_bytes = 0;
  }
  to.push_back(op);
}

void add_rotary(const DeviceShare& s, std::vector<Operation>& to) {
  const auto& latent = s.model.latent;
  const auto& compressed = s.model.compressed;
  // Compressed attention's values are its turned keys, so its output is turned back.
  const Int turned = latent       ? (s.heads + 1) * latent->rope_head_size
                     : compressed ? (2 * s.heads + 1) * compressed->rope_head_size
                                  : (s.heads + s.kv_heads) * s.model.head_size;
  // Eager: products with cosines and sines, a swap of the halves, a sum.
  const bool fused = s.plan.kernels.fused_pointwise;
  to.push_back(pointwise(s, {.name = "rotary",
                             .count = s.counting.rotary,
                             .elements = number(s.work_rows) * number(turned),
                             .reads = fused ? 1.0 : 5.0,
                             .writes = fused ? 1.0 : 4.0,
                             .gradient_reads = fused ? 1.0 : 5.0,
                             .gradient_writes = fused ? 1.0 : 4.0}));
  // Heads are turned in the transposed tensors.
  if (eager(s)) to.back().forward.strided_bytes = to.back().forward.bytes();
  if (eager(s)) to.back().backward.strided_bytes = to.back().backward.bytes();
}

// Llama's queries, keys and values are separate matrices; GPT's are one.
void split_products(const DeviceShare& s, Operation& qkv) {
  const double head = qkv.forward.output_bytes / number(s.heads + 2 * s.kv_heads);
  qkv.products = 3;
  qkv.product_outputs = {number(s.heads) * head, number(s.kv_heads) * head,
                         number(s.kv_heads) * head};
}

void add_projections(const DeviceShare& s, const LayerKind& kind, std::vector<Operation>& to) {
  const Transformer& m = s.model;
  if (m.latent) {
    add_latent_projections(s, to);
  } else if (m.compressed) {
    add_compressed_projections(s, kind, to);
  } else {
    to.push_back(
        linear(s, {.name = "qkv_proj",
                   .shape = {s.tokens, m.hidden, columns(s, s.heads + 2 * s.kv_heads, m.head_size)},
                   .bias = m.qkv_bias}));
    if (m.heads != m.kv_heads || m.gated) split_products(s, to.back());
  }
  if (m.qk_norm) {
    const double vectors = m.norm == Norm::layer_norm && m.norm_bias ? 2 : 1;
    to.push_back(norm(s, {.name = "qk_norm",
                          .norm = m.norm,
                          .rows = number(s.work_rows * (s.heads + s.kv_heads)),
                          .width = number(m.head_size),
                          .parameters = 2 * vectors * number(m.head_size)}));
  }
  if (m.positions == Positions::rotary) add_rotary(s, to);
}

}  // namespace

void add_attention(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to) {
  const Transformer& m = share.model;
  open_part(share, to);
  to.push_back(stream_norm(share, "attention_norm", true));
  add_projections(share, kind, to);
  if (kind.indexes) add_indexer(share, kind, to);
  add_core(share, kind, to);
  if (m.attention_sinks) to.back().parameters += number(share.heads);
  const Int value_size = m.latent ? m.latent->value_head_size : m.head_size;
  if (m.attention_gate) {
    const double gated = number(share.work_rows) * number(share.heads * value_size);
    to.push_back(
        linear(share, {.name = "attention_gate_proj",
                       .shape = {share.tokens, m.hidden, columns(share, share.heads, value_size)},
                       .keeps_input = false,
                       .gathers_input = false,
                       .reduces_gradient = false}));
    to.push_back(pointwise(share, {.name = "attention_gate",
                                   .count = share.counting.gate,
                                   .elements = gated,
                                   .second_reads = 1,
                                   .gradient_writes = 2,
                                   .kept = 2 * gated}));
  }
  if (m.head_gate) {
    to.push_back(linear(share, {.name = "head_gate_proj",
                                .shape = {share.tokens, m.hidden, columns(share, share.heads, 1)},
                                .keeps_input = false,
                                .gathers_input = false,
                                .reduces_gradient = false}));
    const double outputs = number(share.work_rows) * number(share.heads * value_size);
    const double gates = 1 / number(value_size);
    to.push_back(pointwise(share, {.name = "head_gate",
                                   .count = share.counting.gate,
                                   .elements = outputs,
                                   .second_reads = gates,
                                   .gradient_writes = 1 + gates,
                                   .kept = outputs * (1 + gates)}));
  }
  const std::size_t reader = to.size();  // the product that reads attention's output
  if (m.compressed) to.push_back(group_projection(share));
  const Int width = m.compressed ? m.compressed->output_groups * m.compressed->output_rank
                                 : columns(share, share.heads, value_size);
  const bool gated = m.attention_gate || m.head_gate;
  const bool reads_core = share.plan.kernels.fused_attention && !gated && !m.compressed;
  to.push_back(linear(share, {.name = "attention_proj",
                              .shape = {share.tokens, width, m.hidden},
                              .place = LinearPlace::second,
                              .bias = m.attention_output_bias,
                              .input_read_again = reads_core,
                              .reduces_output = !merges_branches(m)}));
  if (share.plan.memory.narrow_attention_output && !gated) {  // written once, read once
    to[reader].forward.other_bytes += to[reader].kept_bytes;
    to[reader].backward.other_bytes += to[reader].kept_bytes;
  }
  if (m.norms_per_layer > 2) to.push_back(stream_norm(share, "attention_post_norm", false));
  add_residual(share, "attention_output_dropout", "attention_residual", !merges_branches(m), to);
}

}  // namespace stepscope
