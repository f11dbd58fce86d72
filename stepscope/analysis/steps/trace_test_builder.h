// SPDX-License-Identifier: Apache-2.0
// Traces written by hand for tests: threads and streams by number, rows by category, times in ns.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "stepscope/event/trace.h"

namespace stepscope {

// Nanoseconds of a microsecond, for times in tests.
inline constexpr std::int64_t us = 1000;

class TraceBuilder {
 public:
  TrackId thread(std::int64_t tid) { return track({-1, tid}); }
  TrackId stream(int device, std::int64_t id) { return track({device, id}); }

  SliceId row(TrackId where, Category category, std::string_view name, std::int64_t start,
              std::int64_t end, std::uint32_t correlation = 0) {
    Slice slice;
    slice.start = Ns{start};
    slice.dur = Ns{end - start};
    slice.name = trace_.strings.intern(name);
    slice.track = where;
    slice.category = category;
    slice.correlation = correlation;
    return append(trace_, slice);
  }
  // On thread 1.
  void step(std::string_view name, std::int64_t start, std::int64_t end) {
    row(thread(1), Category::user_annotation, name, start, end);
  }
  void op(std::string_view name, std::int64_t start, std::int64_t end) {
    row(thread(1), Category::cpu_op, name, start, end);
  }
  void launch(std::uint32_t correlation, std::int64_t start, std::int64_t end) {
    row(thread(1), Category::runtime, "cudaLaunchKernel", start, end, correlation);
  }
  // On stream 7 of device 0.
  void kernel(std::string_view name, std::int64_t start, std::int64_t end,
              std::uint32_t correlation = 0) {
    row(stream(0, 7), Category::kernel, name, start, end, correlation);
  }

  Trace& trace() { return trace_; }
  Trace sealed() {
    seal(trace_);
    return std::move(trace_);
  }

 private:
  TrackId track(std::pair<int, std::int64_t> key) {
    const auto [at, fresh] =
        tracks_.try_emplace(key, TrackId{static_cast<std::uint32_t>(trace_.tracks.size())});
    if (fresh) {
      Track t;
      t.device = key.first >= 0;
      t.device_index = key.first;
      t.pid = t.device ? key.first : 1000;
      t.tid = key.second;
      trace_.tracks.push_back(t);
    }
    return at->second;
  }

  Trace trace_;
  std::map<std::pair<int, std::int64_t>, TrackId> tracks_;
};

// The id of the only slice of this name.
inline SliceId find_slice(const Trace& trace, std::string_view name) {
  for (std::uint32_t i = 0; i < trace.slices.size(); ++i) {
    if (trace.name(SliceId{i}) == name) return SliceId{i};
  }
  return no_slice;
}

}  // namespace stepscope
