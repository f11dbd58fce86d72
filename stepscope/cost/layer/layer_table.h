// SPDX-License-Identifier: Apache-2.0
// A layer as a table: each operation's arithmetic, traffic, kept bytes and communication, and its
// roofline time at the peaks of a machine. These are bounds, not predictions: efficiencies,
// latencies and overlap are in compute_time.h and collective_cost.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/layer/operation.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// Bytes of a collective on a device's link: its whole buffer, as in rough estimates, or (n - 1) / n
// of it, as on a ring. An all-reduce passes its buffer twice: it is a reduce-scatter and an
// all-gather.
enum class LinkVolume : std::uint8_t { whole, ring };

// Rates by ParallelDim: of one device in one direction, on the slowest tier that the group uses.
using LinkRates = std::array<ByteRate, parallel_dim_count>;
constexpr LinkRates same_link(ByteRate rate) {
  LinkRates rates;
  rates.fill(rate);
  return rates;
}

struct IdealRates {
  FlopRate matrix;
  FlopRate vector;
  ByteRate memory;
  LinkRates link;
  std::array<bool, parallel_dim_count> leaves_domain{};  // the group lies in several domains
  LinkVolume volume = LinkVolume::ring;
};

// The number of devices in a communication over `dim`. REQUIRES: check_plan accepts the plan.
[[nodiscard]] std::int64_t group_size(const Plan& plan, ParallelDim dim);

struct PassRow {
  Flops flops;                            // matrix and vector
  double bytes = 0;                       // of device memory
  double sent_bytes = 0;                  // of all calls, on the device's link
  std::vector<CollectiveKind> sent_by{};  // of all calls, each kind once, in the order of the calls
  std::int64_t group = 0;      // number of devices of the largest group; 0: no communication
  bool in_domain = false;      // a call stays within a domain
  bool leaves_domain = false;  // a call uses the network between domains
  Seconds compute{};
  Seconds memory{};
  Seconds communication{};

  // Arithmetic and traffic overlap perfectly, communication not at all.
  [[nodiscard]] Seconds roofline() const { return compute > memory ? compute : memory; }
  [[nodiscard]] Seconds total() const { return roofline() + communication; }
  // Ratio of times; above one: bound by arithmetic.
  [[nodiscard]] double intensity() const { return compute / memory; }
};

struct LayerRow {
  std::string_view name;
  OperationClass kind{};
  double input_bytes = 0;   // activations read
  double other_bytes = 0;   // second operands and masks
  double output_bytes = 0;  // activations written
  double kept_bytes = 0;
  double weight_bytes = 0;           // held, not moved: panels of other devices are no part
  double gradient_bytes = 0;         // of activations, read and written backward
  double weight_gradient_bytes = 0;  // held, of weights that are trained
  PassRow forward;
  PassRow backward;
};

// Sums over rows; times are of one row after the other.
struct PassSum {
  Flops flops;
  double bytes = 0;
  double sent_bytes = 0;
  Seconds roofline{};
  Seconds communication{};

  [[nodiscard]] Seconds total() const { return roofline + communication; }
};
struct LayerSum {
  double kept_bytes = 0;
  double weight_bytes = 0;
  double weight_gradient_bytes = 0;
  PassSum forward{};
  PassSum backward{};
};
// Over `layers` layers of these rows.
[[nodiscard]] LayerSum layer_sum(std::span<const LayerRow> rows, std::int64_t layers);

// One row per operation, in the same order.
[[nodiscard]] std::vector<LayerRow> layer_table(std::span<const Operation> operations,
                                                const Plan& plan, const IdealRates& rates);

}  // namespace stepscope
