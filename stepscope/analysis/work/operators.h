// SPDX-License-Identifier: Apache-2.0
// Operators by name, shapes and types: number of calls in the steps, cost on the host, cost of
// their work on the device, and speed of that work.
//
// A call belongs to a step if its first device operation starts in the step. A call without device
// work belongs to a step if it starts inside the step's annotation. Self time is the call without
// the operators inside it on the same thread; it includes runtime calls. Device time is the sum
// over the operations launched directly inside. On a trace without a device the device time of an
// operator is its self time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/op_work.h"
#include "stepscope/event/trace.h"

namespace stepscope {

struct OperatorRow {
  StringId name = empty_string;
  StringId dims = empty_string;  // as recorded; empty without record_shapes
  StringId types = empty_string;
  NameClass kind = NameClass::other;
  OperandFormat precision = OperandFormat::other;
  std::uint64_t calls = 0;
  std::uint64_t device_calls = 0;  // calls with device work of their own
  Ns host_self{};
  Ns device{};
  Ns min{};  // device time of a single one of the device_calls
  Ns max{};
  double share = 0;  // of the device time of all rows
  std::optional<Flops>
      flops;  // executed, summed; empty unless the number is known for every call with device work
  std::optional<FlopRate> rate;  // over the time of the row's products
  std::optional<Bytes> bytes;
  std::optional<ByteRate> bandwidth;

  [[nodiscard]] std::optional<Ns> mean() const {
    if (device_calls == 0) return std::nullopt;
    return device / static_cast<std::int64_t>(device_calls);
  }
};

// Most device time first, then host time.
[[nodiscard]] std::vector<OperatorRow> operator_table(const Trace& trace, const RankIndex& rank,
                                                      std::span<const Step> steps,
                                                      const OpWork& work);

}  // namespace stepscope
