// SPDX-License-Identifier: Apache-2.0
// The work that the hardware executed in each step, for the MFU budget: the flops of products and
// the time of their kernels by precision. Kernels of unknown class
// (`other`) without known flops are neither products nor memory-bound. Conventions for flops:
// op_flops.h.
//
// Sums of kernel times count overlapping kernels twice. The `_union` fields count each instant of
// the device once. On a trace without a device the innermost operators stand for kernels.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_work.h"
#include "stepscope/event/trace.h"

namespace stepscope {

// Products (matmul, convolution, attention) in one precision. fp32 products whose kernel names a
// tf32 or tensor-core instruction count as tf32.
struct ExecutedProducts {
  Flops flops{};      // of kernels whose calls have known shapes
  Flops recompute{};  // the part of `flops` repeated by a checkpoint, or for scores rebuilt in a
                      // fused attention's backward
  Ns time{};          // of those kernels
  Ns unknown_time{};  // of kernels whose flops are not known from the trace
  Ns recompute_time{};
};

struct ExecutedStep {
  std::int64_t index = 0;  // Step::index
  std::array<ExecutedProducts, precision_count> products{};
  Ns product_union{};    // at least one product runs, clipped to the step, summed over devices
  Ns other_union{};      // compute of a known class runs, but no product: memory-bound work
  Ns unclassed_union{};  // only compute of unknown class runs

  [[nodiscard]] Flops flops() const;
  [[nodiscard]] Flops recompute() const;
  [[nodiscard]] Ns time() const;
  [[nodiscard]] Ns unknown_time() const;
};

struct Executed {
  std::vector<ExecutedStep> steps;  // parallel to the given steps
  bool any_shapes = false;  // the flops of a product are known; if false, zero means unknown
};

// The flops of a call belong to the steps in which its kernels start.
[[nodiscard]] Executed executed_work(const Trace& trace, const RankIndex& rank,
                                     std::span<const Step> steps, const OpWork& work);

// Operators by name, shapes and types: number of calls in the steps, cost on the host, cost of
// their work on the device, and speed of that work.
//
// A call belongs to a step if its first device operation starts in the step. A call without device
// work belongs to a step if it starts inside the step's annotation. Self time is the call without
// the operators inside it on the same thread; it includes runtime calls. Device time is the sum
// over the operations launched directly inside. On a trace without a device the device time of an
// operator is its self time, if the time budget counts that as compute: a node of the backward
// graph that calls operators waits between them.

struct OperatorRow {
  StringId name = empty_string;
  StringId dims = empty_string;  // as recorded; empty without record_shapes
  StringId types = empty_string;
  NameClass kind = NameClass::other;
  OperandFormat precision = OperandFormat::other;
  bool over_host = false;  // its calls copy between host and device; the others have their own row
  std::uint64_t calls = 0;
  std::uint64_t device_calls = 0;  // calls with device work of their own
  Ns host_self{};
  Ns device{};
  Ns min{};  // device time of a single one of the device_calls
  Ns max{};
  double share = 0;              // of the device time of all rows
  std::optional<Flops> flops{};  // executed, summed; empty unless known for every call on a device
  std::optional<FlopRate> rate{};  // over the time of the row's products
  std::optional<Bytes> bytes{};    // over_host: moved by those copies
  std::optional<ByteRate> bandwidth{};

  [[nodiscard]] std::optional<Ns> mean() const {
    if (device_calls == 0) return std::nullopt;
    return device / static_cast<std::int64_t>(device_calls);
  }
};

// Most device time first, then host time.
[[nodiscard]] std::vector<OperatorRow> operator_table(const Trace& trace, const RankIndex& rank,
                                                      std::span<const Step> steps,
                                                      const OpWork& work);

// The calls of an operator with device work of their own, of one shape and any types, by step.
struct OperatorSteps {
  StringId name = empty_string;
  StringId dims = empty_string;
  std::vector<std::uint64_t> calls;
  std::vector<Ns> device;
};

// In the order of their first calls.
[[nodiscard]] std::vector<OperatorSteps> operator_steps(const Trace& trace, const RankIndex& rank,
                                                        std::span<const Step> steps,
                                                        const OpWork& work);

}  // namespace stepscope
