// SPDX-License-Identifier: Apache-2.0
// Settings of one command for all its readers: threads, stop flag, progress counter, time window.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"
#include "stepscope/read/bytes/time_window.h"

namespace stepscope {

// Shared by all readers of one command.
struct ReadControl {
  unsigned threads = 1;                              // for this file
  const StopFlag* stop = nullptr;                    // may be null
  std::atomic<std::uint64_t>* bytes_read = nullptr;  // compressed bytes, for progress; may be null
  std::size_t chunk_bytes = window_bytes;            // bytes of text that a thread takes at once
  std::optional<TimeWindow> window{};                // read only this part; see read_trace.h
};

[[nodiscard]] inline bool stopped(const ReadControl& control) {
  return control.stop != nullptr && control.stop->requested();
}

}  // namespace stepscope
