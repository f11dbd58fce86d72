// SPDX-License-Identifier: Apache-2.0
// A layer as a table: what each operation computes, moves, keeps and sends, and the time that its
// roofline allows at the peaks of a machine. Bounds, not predictions: nothing here knows an
// efficiency, a latency or an overlap (compute_time.h and collective_cost.h do).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/base/result.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/plan/parallelism.h"

namespace stepscope {

// What a collective puts on a device's link: its whole buffer, as rough estimates have it, or what
// a ring passes on ((n - 1) / n of it, twice for an all-reduce).
enum class LinkVolume : std::uint8_t { whole, ring };

struct IdealRates {
  FlopRate matrix;
  FlopRate vector;
  ByteRate memory;
  ByteRate link;  // of the scale-up domain, one direction
  LinkVolume volume = LinkVolume::ring;
};

// The machine's own: `dtype` on the matrix units, fp32 on the vector units. Errors name what the
// machine lacks.
[[nodiscard]] Result<IdealRates> ideal_rates(const Machine& machine, Dtype dtype);

// Devices that take part in a communication over `dim`. REQUIRES: check_plan accepts the plan.
[[nodiscard]] std::int64_t group_size(const Plan& plan, ParallelDim dim);

struct PassRow {
  Flops flops;               // matrix and vector
  double bytes = 0;          // of device memory
  double sent_bytes = 0;     // total buffers of all calls
  CollectiveKind sent_by{};  // of the first call; none: nothing is sent
  std::int64_t group = 0;    // its devices; 0: nothing is sent
  Seconds compute{};
  Seconds memory{};
  Seconds communication{};

  // Computing and moving overlap perfectly, communication not at all.
  [[nodiscard]] Seconds roofline() const { return compute > memory ? compute : memory; }
  [[nodiscard]] Seconds total() const { return roofline() + communication; }
  // Above one: bound by arithmetic. A ratio of times.
  [[nodiscard]] double intensity() const { return compute / memory; }
};

struct LayerRow {
  std::string_view name;
  OperationClass kind{};
  double input_bytes = 0;   // activations read
  double other_bytes = 0;   // second operands and masks
  double output_bytes = 0;  // activations written
  double kept_bytes = 0;
  double weight_bytes = 0;
  double gradient_bytes = 0;         // of activations, read and written backward
  double weight_gradient_bytes = 0;  // as large as the weights, in the format of gradients
  PassRow forward;
  PassRow backward;
};

// One row an operation, in the same order.
[[nodiscard]] std::vector<LayerRow> layer_table(std::span<const Operation> operations,
                                                const Plan& plan, const IdealRates& rates);

}  // namespace stepscope
