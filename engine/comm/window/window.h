// SPDX-License-Identifier: Apache-2.0
// Memory that all ranks of a group share. Each rank has its progress counters, a word to sleep on
// and a ring of buckets. Each ordered pair of ranks has a smaller ring. All-zero memory is a fresh
// window.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <tuple>

#include "engine/comm/communicator/communicator.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/crew/cores.h"

namespace stepscope::comm {

inline constexpr std::size_t what_characters = 40;
inline constexpr std::size_t place_characters = 48;

// The source location of a collective's call: the last two parts of the path, and the line.
struct CallSite {
  std::array<char, place_characters> file{};
  std::uint32_t line = 0;
};
[[nodiscard]] CallSite call_site(const std::source_location& where);
[[nodiscard]] std::string place_text(const CallSite& site);  // "train/trainer.cc:120"
[[nodiscard]] std::array<char, what_characters> what_text(std::string_view what);
// The characters before the first NUL.
[[nodiscard]] std::string_view text_of(std::string_view padded);

// A rank's description of the collective that a bucket belongs to. Two ranks have called different
// collectives if any member but `submitted`, `what` and `site` differs.
struct BucketHeader {
  std::uint64_t sequence = 0;
  std::uint64_t bytes = 0;  // S
  std::int64_t submitted_ns = 0;
  std::uint32_t chunk = 0;
  std::int32_t root = -1;  // broadcast
  CollectiveKind kind = CollectiveKind::none;
  ElementType type = ElementType::u8;
  Reduction reduction = Reduction::sum;
  std::array<char, what_characters> what{};
  CallSite site{};
};
[[nodiscard]] bool same_collective(const BucketHeader& a, const BucketHeader& b);
// all_gather #17 of 1024 bytes of f32 "block 4 parameters" (train/trainer.cc:95)
[[nodiscard]] std::string header_text(const BucketHeader& header);

enum class RankState : std::uint32_t { absent, joined, left, failed, dead };
inline constexpr std::size_t failure_characters = 512;

// The latest header of a rank. Other ranks can read it at any time.
class Position {
 public:
  void store(const BucketHeader& header);
  [[nodiscard]] std::optional<BucketHeader> load() const;  // absent: nothing submitted yet

 private:
  static constexpr std::size_t words = (sizeof(BucketHeader) + 7) / 8;
  std::atomic<std::uint64_t> version_{0};  // odd while it is written
  std::array<std::atomic<std::uint64_t>, words> words_{};
};

// One rank's part of the control memory; each line has one writer.
struct RankControl {
  alignas(64) std::atomic<std::uint64_t> staged{};  // chunks that peers may take
  alignas(64) std::atomic<std::uint64_t> taken{};   // chunks taken from peers
  alignas(64) std::atomic<std::uint32_t> sleeping{};
  alignas(64) std::atomic<std::uint32_t> doorbell{};  // rung by peers when this rank sleeps
  alignas(64) std::atomic<RankState> state{};
  std::atomic<std::int32_t> pid{};    // 0: a thread
  std::atomic<std::uint32_t> told{};  // of rank 0: a rank says why the group did not form
  std::array<std::atomic<std::uint64_t>, std::tuple_size_v<CoreMask>> cores{};  // it may use
  alignas(64) Position position;
  std::array<char, failure_characters> failure{};  // written before `state` becomes failed
};

// Wakes the rank if it is asleep.
void ring(RankControl& control);

struct PairControl {
  alignas(64) std::atomic<std::uint64_t> staged{};
  alignas(64) std::atomic<std::uint64_t> taken{};
};

struct WindowShape {
  std::uint64_t ranks = 1;
  std::uint64_t slot_bytes = 0;  // multiple of 4096
  std::uint64_t slots = 0;       // of each rank
  std::uint64_t pair_slot_bytes = 0;
  std::uint64_t pair_slots = 0;

  bool operator==(const WindowShape&) const = default;
};
// Each rank has a ring of about `bucket` bytes. The rings of pairs have about a quarter of that.
[[nodiscard]] WindowShape window_shape(int ranks, Bytes bucket);

// Offsets of a window's parts.
struct WindowLayout {
  std::size_t controls = 0, pairs = 0, headers = 0, pair_headers = 0, slots = 0, pair_slots = 0;
  std::size_t end = 0;
};

class Window {
 public:
  // A window in this process's memory, for ranks that are threads.
  [[nodiscard]] static Result<std::shared_ptr<Window>> create(const WindowShape& shape);
  // A window in a segment (make_segment) that other processes map too. The caller keeps the
  // descriptor.
  [[nodiscard]] static Result<std::shared_ptr<Window>> map(int descriptor);
  Window(const Window&) = delete;
  Window& operator=(const Window&) = delete;
  Window(Window&&) = delete;
  Window& operator=(Window&&) = delete;
  ~Window();

  [[nodiscard]] const WindowShape& shape() const { return shape_; }
  [[nodiscard]] int ranks() const { return static_cast<int>(shape_.ranks); }
  [[nodiscard]] RankControl& control(int rank) const;
  [[nodiscard]] BucketHeader& header(int rank, std::uint64_t chunk) const;
  [[nodiscard]] std::byte* slot(int rank, std::uint64_t chunk) const;
  [[nodiscard]] PairControl& pair(int from, int to) const;
  [[nodiscard]] BucketHeader& pair_header(int from, int to, std::uint64_t chunk) const;
  [[nodiscard]] std::byte* pair_slot(int from, int to, std::uint64_t chunk) const;

 private:
  Window(std::byte* memory, const WindowShape& shape, const WindowLayout& at);

  std::byte* memory_;
  WindowShape shape_;
  WindowLayout at_;
};

// A memfd (close-on-exec) with all its memory reserved. It disappears with its last user. Error: no
// memory.
[[nodiscard]] Result<int> make_segment(const WindowShape& shape);

// The segment that another process of this host holds open as `descriptor`.
[[nodiscard]] Result<std::shared_ptr<Window>> open_window(std::int64_t process,
                                                          std::int64_t descriptor);

}  // namespace stepscope::comm
