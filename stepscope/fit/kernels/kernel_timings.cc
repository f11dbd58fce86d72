// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/kernels/kernel_timings.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "stepscope/cost/layer/layer_operations.h"

namespace stepscope {
namespace {

constexpr double at_least_16_bits(Dtype d) { return below_16_bits(d) ? 2 : operand_bytes(d); }

// The model counts operands in 16 bits and takes a narrower format's part of them.
Operation product_of(const KernelTime& kernel, Dtype dtype) {
  const auto m = static_cast<double>(kernel.m);
  const auto k = static_cast<double>(kernel.k);
  const auto n = static_cast<double>(kernel.n);
  const auto experts = static_cast<double>(kernel.experts);
  const double width = at_least_16_bits(dtype);
  Operation op{.name = "product", .kind = OperationClass::matmul};
  op.forward.matrix = Flops{2 * m * k * n};
  op.forward.input_bytes = m * k * width;
  op.forward.weight_bytes = experts * k * n * width;
  op.forward.output_bytes = m * n * width;
  op.forward.matmuls = {{.batch = kernel.experts,
                         .m = (kernel.m + kernel.experts - 1) / kernel.experts,
                         .n = kernel.n,
                         .k = kernel.k}};
  return op;
}

// As the layers of a model have it.
Operation attention_of(const KernelTime& kernel) {
  Transformer model;
  model.layers = 1;
  model.hidden = kernel.heads * kernel.size;
  model.heads = model.kv_heads = kernel.heads;
  model.head_size = kernel.size;
  model.feed_forward = 1;
  model.positions = Positions::none;
  Plan plan;
  plan.batch.sequence = kernel.length;
  plan.batch.micro = plan.batch.global = kernel.batch;
  const auto operations = layer_operations(model, plan, 0);
  const auto found = std::ranges::find(operations, OperationClass::attention, &Operation::kind);
  check(found != operations.end(), "a layer has attention");
  return *found;
}

Operation pass_of(double bytes, KernelGroup group) {
  Operation op{.name = "pass", .kind = OperationClass::pointwise};
  op.forward.input_bytes = bytes;
  op.forward.strided_bytes = group == KernelGroup::strided ? bytes : 0;
  op.forward.mixed_bytes = group == KernelGroup::mixed ? bytes : 0;
  return op;
}

std::optional<KernelGroup> group_of(std::string_view work) {
  if (work == "add") return KernelGroup::passes;
  if (work == "cast_add") return KernelGroup::mixed;
  if (work == "half_of_rows") return KernelGroup::strided;
  return std::nullopt;
}

}  // namespace

std::vector<KernelTiming> kernel_timings(std::span<const KernelTime> kernels) {
  std::vector<KernelTiming> timings;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const KernelTime& kernel = kernels[i];
    if (!kernel.time) continue;
    const auto add = [&](KernelGroup group, Dtype dtype, Operation operation, Direction direction,
                         Seconds time) {
      timings.push_back({group, i, {dtype, std::move(operation), direction, time}});
    };
    constexpr auto forward = Direction::forward;
    switch (kernel.kind) {
      case KernelKind::product:
        if (const auto dtype = parse_dtype(kernel.format))
          add(KernelGroup::products, *dtype, product_of(kernel, *dtype), forward, *kernel.time);
        break;
      case KernelKind::grouped:
        add(KernelGroup::grouped, Dtype::bf16, product_of(kernel, Dtype::bf16), forward,
            *kernel.time);
        break;
      case KernelKind::attention:
        add(KernelGroup::attention, Dtype::bf16, attention_of(kernel), forward, *kernel.time);
        if (kernel.backward)
          add(KernelGroup::attention, Dtype::bf16, attention_of(kernel), Direction::backward,
              *kernel.backward);
        break;
      case KernelKind::copy:
        add(KernelGroup::passes, Dtype::bf16, pass_of(2 * kernel.amount, KernelGroup::passes),
            forward, *kernel.time);
        break;
      case KernelKind::pointwise: {
        const auto group = group_of(kernel.work);
        if (group) add(*group, Dtype::bf16, pass_of(kernel.amount, *group), forward, *kernel.time);
        break;
      }
      case KernelKind::optimizer:
      case KernelKind::launch:
        break;
    }
  }
  return timings;
}

}  // namespace stepscope
