// SPDX-License-Identifier: Apache-2.0
// Lines that NCCL Inspector writes (plugins/profiler/inspector of NCCL 2.28 and newer),
// versions 4.0 to 4.3 of its format: a JSON object per line. Up to 4.2 each line has the header of
// its communicator and the metadata of its process. From 4.3 on only the `dump_stats` marker before
// a batch has them, and counts the lines of the batch; markers also count the records that were
// overwritten before they were written. Inspector numbers the collectives of each function and
// communicator separately. It prints infinite bandwidths as `inf`, which is no JSON; they are read.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

// Who wrote a line.
struct InspectorContext {
  std::string communicator;  // Inspector's id, equal on all ranks
  std::string name{};        // "unknown" is read as none
  std::int32_t rank = -1;    // in the communicator
  std::int32_t ranks = 0;    // of the communicator
  std::string host{};
  std::int64_t pid = -1;
  std::int64_t dump_us = 0;  // since 1970 by the writer's clock; 0: none in the line
};

struct InspectorOperation {
  bool p2p = false;
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint64_t number = 0;  // of the function in the communicator
  std::int32_t peer = -1;    // of p2p
  std::uint64_t bytes = 0;
  Ns duration{};
  bool gpu_timed = true;      // by the GPU's timer, which versions without the field always use
  std::int64_t start_us = 0;  // when the call was enqueued, by the writer's clock; 0: not verbose
};

struct InspectorDrops {
  std::uint64_t collectives = 0;  // overwritten since the last marker of this communicator
  std::uint64_t p2p = 0;
};

// A line. `operation` or `drops` is set; neither for records that are not used (proxy traces).
struct InspectorLine {
  const InspectorContext* context = nullptr;  // valid until the next line
  std::optional<InspectorOperation> operation{};
  std::optional<InspectorDrops> drops{};
};

struct InspectorCounts {
  std::uint64_t operations = 0;
  std::uint64_t orphans = 0;         // of 4.3, without the marker before them
  std::uint64_t not_understood = 0;  // not a line of Inspector, or one with wrong fields
  std::uint64_t lost_lines = 0;      // that a marker announced and that did not come
};

// Reads the lines of one file in their order.
class InspectorLog {
 public:
  // Absent for a line that is not understood or has no known writer; both are counted.
  [[nodiscard]] std::optional<InspectorLine> take(std::string_view line);
  // The next line does not continue the last one.
  void restart();
  [[nodiscard]] const InspectorCounts& counts() const { return counts_; }
  // "v4.2", or empty before the first line with metadata.
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  InspectorCounts counts_;
  InspectorContext context_;
  std::string version_;
  bool in_batch_ = false;                // context_ is that of a 4.3 marker
  std::array<std::uint64_t, 3> left_{};  // lines of the batch: collectives, p2p, proxy
};

// Whether a line looks like one of Inspector's.
[[nodiscard]] bool is_inspector_line(std::string_view line);

}  // namespace stepscope
