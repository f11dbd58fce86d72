// SPDX-License-Identifier: Apache-2.0
// Traces written by hand whose operators have shapes, and shared parts of the tests of their
// tables.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/steps/trace_test_builder.h"

namespace stepscope {

struct Call {
  std::string_view dims = "";
  std::string_view types = "";
  std::string_view concrete = "";
  std::int32_t sequence = -1;
  std::int32_t forward_thread = 0;
};

class WorkBuilder : public TraceBuilder {
 public:
  // An operator on thread 1.
  void call(std::string_view name, std::int64_t start, std::int64_t end, const Call& call,
            std::uint32_t external_id = 0) {
    OpDetails& ops = trace().ops;
    Slice slice;
    slice.start = Ns{start};
    slice.dur = Ns{end - start};
    slice.name = trace().strings.intern(name);
    slice.track = thread(1);
    slice.category = Category::cpu_op;
    slice.external_id = external_id;
    slice.detail = static_cast<std::uint32_t>(ops.size());
    ops.input_dims.push_back(trace().strings.intern(call.dims));
    ops.input_types.push_back(trace().strings.intern(call.types));
    ops.concrete_inputs.push_back(trace().strings.intern(call.concrete));
    ops.sequence.push_back(call.sequence);
    ops.forward_thread.push_back(call.forward_thread);
    append(trace(), slice);
  }
  // aten::mm of m×k and k×n in bf16.
  void mm(std::int64_t start, std::int64_t end, std::string_view dims = "[[128, 64], [64, 32]]") {
    call("aten::mm", start, end, {.dims = dims, .types = R"(["c10::BFloat16", "c10::BFloat16"])"});
  }
  // A launch at [start, start + 1) and its kernel.
  void launch_kernel(std::uint32_t correlation, std::int64_t start, std::string_view name,
                     std::int64_t kernel_start, std::int64_t kernel_end) {
    launch(correlation, start, start + 1);
    kernel(name, kernel_start, kernel_end, correlation);
  }
  // Not recorded: -1 bytes.
  void copy(std::string_view name, std::int64_t start, std::int64_t end, std::int64_t bytes,
            std::uint32_t correlation = 0) {
    Slice slice;
    slice.start = Ns{start};
    slice.dur = Ns{end - start};
    slice.name = trace().strings.intern(name);
    slice.track = stream(0, 7);
    slice.category = name.starts_with("Memset") ? Category::memset : Category::memcpy;
    slice.correlation = correlation;
    slice.detail = static_cast<std::uint32_t>(trace().copies.size());
    trace().copies.bytes.push_back(Bytes{bytes});
    append(trace(), slice);
  }
};
inline constexpr double mm_flops = 2.0 * 128 * 64 * 32;  // of WorkBuilder::mm
inline constexpr std::int64_t mm_bytes = 2 * (128 * 64 + 64 * 32 + 128 * 32);

// A step with equal bounds on host and device.
inline Step step(std::int64_t start, std::int64_t end, std::string name = "") {
  Step s;
  s.name = std::move(name);
  s.host_start = s.start = Ns{start};
  s.host_end = s.end = Ns{end};
  return s;
}

// The first of `rows` that `wanted` accepts; else the test fails and names `what`.
template <class Row, class Wanted>
const Row& row_where(const std::vector<Row>& rows, std::string_view what, Wanted wanted) {
  if (const auto at = std::ranges::find_if(rows, wanted); at != rows.end()) return *at;
  static const Row missing;
  ADD_FAILURE() << "no row for " << what;
  return missing;
}

}  // namespace stepscope
