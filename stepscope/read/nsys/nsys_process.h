// SPDX-License-Identifier: Apache-2.0
// The processes of an export. Each becomes one trace, filled table by table.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/event/trace.h"
#include "stepscope/read/nsys/nsys_export.h"

namespace stepscope {

// Larger sizes (bytes) and numbers of ranks are damage.
inline constexpr std::int64_t most_nsys_bytes = std::int64_t{1} << 50;
inline constexpr int most_nsys_ranks = 1 << 24;

// The end of an activity; absent if the export has no ends.
[[nodiscard]] inline std::optional<std::int64_t> end_of(const SqliteRows& row, int column) {
  const std::int64_t end = row.integer(column);
  if (end == 0 && row.is_null(column)) return std::nullopt;
  return end;
}

// A call of NCCL's API, from its NVTX range.
struct NcclCall {
  SliceId slice = no_slice;
  std::int64_t tid = 0;
  Ns start{};
  Ns end{};
  std::string_view name;           // "ncclAllReduce"; owned by the trace's strings
  std::uint64_t communicator = 0;  // 0 = its payload is not in the export
  std::int64_t bytes = -1;         // as passed to the call
  int peer = -1;                   // or root
  int ranks = -1;                  // of an initialisation: number of ranks, and this rank
  int rank = -1;
};

// The number of ranks of a communicator, and the process's rank in it; -1 = its initialisation is
// not in the export.
struct NcclCommunicator {
  int ranks = -1;
  int rank = -1;
};

struct NsysProcess {
  std::uint64_t global_pid = 0;
  Trace trace;
  std::vector<StringId> names;            // by index in NsysTexts, or `unmapped`
  std::map<std::int64_t, int> device_of;  // by CUDA context
  std::vector<NcclCall> nccl;
  std::map<std::uint64_t, NcclCommunicator> communicators;  // by id, equal on all ranks
  std::optional<int> rank_by_name;                          // "MPI Rank 3"
  std::uint64_t device_rows = 0;

  [[nodiscard]] std::int64_t pid() const {
    return static_cast<std::int64_t>((global_pid >> 24) & 0xFFFFFF);
  }
  TrackId host_track(std::int64_t tid) { return track(false, pid(), tid); }
  TrackId stream(int device, std::int64_t stream_id) { return track(true, device, stream_id); }
  // The text of a StringIds row; `otherwise` without such a row.
  StringId name(const NsysTexts& texts, std::int64_t id, StringId otherwise);
  // Appends a row after checking its instants; no_slice if they are damaged. `end` may be absent.
  SliceId add(NsysExport& nsys, Slice slice, std::int64_t start, std::optional<std::int64_t> end);

  static constexpr StringId unmapped{no_row};

 private:
  struct Key {
    bool device = false;
    std::int64_t pid = 0;
    std::int64_t tid = 0;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      const auto mixed = static_cast<std::uint64_t>(key.tid) * 0x9E3779B97F4A7C15ULL +
                         static_cast<std::uint64_t>(key.pid) * 2 + (key.device ? 1 : 0);
      return static_cast<std::size_t>(mixed ^ mixed >> 29);
    }
  };
  TrackId track(bool device, std::int64_t of_pid, std::int64_t tid);

  std::unordered_map<Key, TrackId, KeyHash> tracks_;
  Key last_key_{};
  TrackId last_track_{no_row};
};

class NsysProcesses {
 public:
  // The process of this globalPid; created if it is new.
  NsysProcess& get(std::uint64_t global_pid);
  [[nodiscard]] NsysProcess* find(std::uint64_t global_pid);
  [[nodiscard]] std::vector<std::unique_ptr<NsysProcess>>& all() { return all_; }

 private:
  std::vector<std::unique_ptr<NsysProcess>> all_;
  std::unordered_map<std::uint64_t, NsysProcess*> by_pid_;
  NsysProcess* last_ = nullptr;
};

// Correlations fit 32 bits in every known version. A larger one joins nothing.
constexpr std::uint32_t nsys_correlation(std::int64_t id) {
  return id > 0 && id <= 0xFFFFFFFFLL ? static_cast<std::uint32_t>(id) : 0;
}

}  // namespace stepscope
