// SPDX-License-Identifier: Apache-2.0
// Adapters of low rank next to frozen weights (Hu et al. 2021): y = x W + s (x A) B. They are cut
// over tp as Megatron-Bridge does: A and B follow a weight that is cut by columns; if the weight is
// cut by rows, A is cut by rows too, its partial sums are added, and B is cut by columns, whose
// results are gathered.
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/cost/layer/operation_parts.h"

namespace stepscope {
namespace {

using enum CollectiveKind;
using Int = std::int64_t;

// Static texts for Operation::name.
struct AdapterName {
  std::string_view operation;
  std::string_view name;
};
constexpr std::array<AdapterName, 16> adapter_names = {{{"qkv_proj", "qkv_proj_lora"},
                                                        {"q_proj", "q_proj_lora"},
                                                        {"q_down", "q_down_lora"},
                                                        {"q_up", "q_up_lora"},
                                                        {"kv_down", "kv_down_lora"},
                                                        {"kv_up", "kv_up_lora"},
                                                        {"attention_proj", "attention_proj_lora"},
                                                        {"linear_in_proj", "linear_in_proj_lora"},
                                                        {"state_in_proj", "state_in_proj_lora"},
                                                        {"state_out_proj", "state_out_proj_lora"},
                                                        {"fc1", "fc1_lora"},
                                                        {"fc2", "fc2_lora"},
                                                        {"expert_fc1", "expert_fc1_lora"},
                                                        {"expert_fc2", "expert_fc2_lora"},
                                                        {"shared_fc1", "shared_fc1_lora"},
                                                        {"shared_fc2", "shared_fc2_lora"}}};

Int divided(Int n, Int parts) { return (n + parts - 1) / parts; }

// The part of a product's columns on this device that the adapter adds to.
Int columns_of(const DeviceShare& s, const Adapter& a, Int all) {
  const Int together = s.heads + 2 * s.kv_heads;
  switch (a.columns) {
    case AdapterColumns::all:
      return all;
    case AdapterColumns::queries:
      return all / together * s.heads;
    case AdapterColumns::keys:
    case AdapterColumns::values:
      return all / together * s.kv_heads;
    case AdapterColumns::half:
      return all / 2;
  }
  return all;
}

// Sizes on this device: [rows, in] x [in, rank] x [rank, out], `groups` of them.
struct Sizes {
  Int groups, rows, in, out;
  Int rank_out;     // columns of A
  Int out_own;      // columns of B
  double all_rows;  // of all groups; `rows` is rounded up
};

void count_products(const Sizes& z, Int rank, Operation& op) {
  op.forward.matmuls = {{z.groups, z.rows, z.rank_out, z.in}, {z.groups, z.rows, z.out_own, rank}};
  op.backward.matmuls = {{z.groups, rank, z.out_own, z.rows},
                         {z.groups, z.rows, rank, z.out_own},
                         {z.groups, z.in, z.rank_out, z.rows},
                         {z.groups, z.rows, z.in, z.rank_out}};
  const double rows = z.all_rows;
  const double products =
      2 * rows * (number(z.in) * number(z.rank_out) + number(rank) * number(z.out_own));
  op.forward.matrix = {products};
  op.backward.matrix = {2 * products};
  op.forward.vector = {2 * rows * number(z.out)};  // the scale, and the sum with x W
  op.backward.vector = {rows * (number(z.out) + number(z.in))};
}

// The gradients of x by W and by A are made apart and added.
void count_traffic(const DeviceShare& s, const Sizes& z, Int rank, Operation& op) {
  const double rows = z.all_rows * s.element;
  const double x = rows * number(z.in);
  const double t = rows * number(rank);
  const double own = rows * number(z.out_own);
  const double y = rows * number(z.out);
  const auto& bytes = s.plan.precision;
  op.forward.input_bytes = x;
  op.forward.weight_bytes = op.parameters * bytes.parameter_bytes;
  op.forward.output_bytes = own + y;
  op.forward.other_bytes = 2 * t + 2 * y;
  op.backward.input_bytes = 2 * own;
  op.backward.weight_bytes = op.parameters * (bytes.parameter_bytes + bytes.gradient_bytes);
  op.backward.output_bytes = x;
  op.backward.other_bytes = x + 3 * t + 3 * x;
}

void add_calls(const DeviceShare& s, const Sizes& z, Int rank, WeightCut cut, Operation& op) {
  const double rows = z.all_rows * s.element;
  const auto call = [](Pass& pass, CollectiveKind kind, double bytes) {
    pass.communications.push_back({.kind = kind, .dim = ParallelDim::tensor, .bytes = bytes});
  };
  if (s.plan.tp == 1 || cut == WeightCut::whole) return;
  if (cut == WeightCut::columns) {
    call(op.forward, all_gather, rows * number(rank));
    call(op.backward, reduce_scatter, rows * number(rank));
    return;
  }
  call(op.forward, all_reduce, rows * number(rank));
  call(op.forward, all_gather, rows * number(z.out));
  call(op.backward, all_reduce, rows * number(rank));
}

Operation adapter(const DeviceShare& s, const Operation& base, const Adapter& a, bool keeps_input) {
  const Int rank = s.plan.trained.lora_rank;
  const MatmulShape& product = base.forward.matmuls.front();
  const Int tp = base.cut == WeightCut::whole ? 1 : s.plan.tp;
  const bool by_rows = base.cut == WeightCut::rows;
  const Int out = columns_of(s, a, product.n);
  const Sizes z{.groups = product.batch,
                .rows = product.m,
                .in = product.k,
                .out = out,
                .rank_out = by_rows ? rank : divided(rank, tp),
                .out_own = by_rows ? divided(out, tp) : out,
                .all_rows = base.forward.matrix.value / (2 * number(product.n * product.k))};
  const auto* name = std::ranges::find(adapter_names, a.operation, &AdapterName::operation);
  Operation op{.name = name->name, .kind = OperationClass::matmul, .expert = base.expert};
  op.parameters =
      number(z.groups) * (number(z.in) * number(z.rank_out) + number(rank) * number(z.out_own));
  op.weights = 2 * z.groups;
  count_products(z, rank, op);
  count_traffic(s, z, rank, op);
  add_calls(s, z, rank, base.cut, op);
  if (base.forward.kernels > 1) op.forward.kernels = op.backward.kernels = base.forward.kernels;
  const double rows = z.all_rows * s.element;
  op.kept_bytes = rows * number(rank) + (keeps_input ? rows * number(z.in) : 0);
  return op;
}

}  // namespace

void add_adapters(const DeviceShare& share, const LayerKind& kind, std::vector<Operation>& to) {
  const std::vector<Adapter> all = adapters_of(share.model, kind, share.plan.trained);
  const bool of_queries = std::ranges::any_of(
      all, [](const Adapter& a) { return a.operation == "q_down" || a.operation == "q_proj"; });
  std::vector<Operation> with;
  for (const Operation& op : to) {
    with.push_back(op);
    bool kept = op.kept_bytes > 0 || (op.name == "kv_down" && of_queries);  // the input is
    for (const Adapter& a : all) {
      if (a.operation != op.name) continue;
      with.push_back(adapter(share, op, a, !kept));
      kept = true;
    }
  }
  to = std::move(with);
}

void leave_backward_out(std::vector<Operation>& operations) {
  for (Operation& op : operations) {
    op.forward_only = true;
    op.backward = {};
    op.kept_bytes = op.core_input_bytes = op.again_bytes = 0;
    op.again = false;
    op.product_outputs.fill(0);
  }
}

}  // namespace stepscope
