// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's shards that are in files instead of host memory, as columns. Parameters and
// gradients have the engine's element type; AdamW's states are f32. Each unit has a place in each
// column; the elements of a place are consecutive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/telemetry/activity.h"
#include "engine/zero/drive/offload_file.h"
#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"

namespace stepscope::zero {

// Parts of a rank's state.
struct OffloadParts {
  bool optimizer = false;   // m, v and (bf16) master weights
  bool gradients = false;   // reduced gradients; stages 2 and 3
  bool parameters = false;  // stage 3
  [[nodiscard]] bool any() const { return optimizer || gradients || parameters; }
  bool operator==(const OffloadParts&) const = default;
};

// Directories on the drives to use, one for each part's file. A part without one is in host memory.
struct OffloadPlaces {
  std::string optimizer{};
  std::string gradients{};
  std::string parameters{};

  [[nodiscard]] OffloadParts parts() const {
    return {.optimizer = !optimizer.empty(),
            .gradients = !gradients.empty(),
            .parameters = !parameters.empty()};
  }
  [[nodiscard]] bool any() const { return parts().any(); }
};

enum class ShardColumn : std::uint8_t { parameters, gradients, master, m, v };
inline constexpr std::size_t shard_column_count = 5;
inline constexpr std::array<std::string_view, shard_column_count> shard_column_names = {
    "parameters", "gradients", "master", "m", "v"};
inline constexpr std::array<ShardColumn, shard_column_count> shard_columns = {
    ShardColumn::parameters, ShardColumn::gradients, ShardColumn::master, ShardColumn::m,
    ShardColumn::v};
template <class T>
using ByColumn = std::array<T, shard_column_count>;
[[nodiscard]] constexpr std::size_t at(ShardColumn column) {
  return static_cast<std::size_t>(column);
}

// The columns in stores, and their widths.
struct ShardColumns {
  ByColumn<bool> stored{};
  ElementType type = ElementType::f32;

  [[nodiscard]] bool has(ShardColumn column) const { return stored[at(column)]; }
  [[nodiscard]] bool any() const;
  [[nodiscard]] std::int64_t bytes(ShardColumn column) const;  // of an element
};
// With f32 the parameters are the master weights.
[[nodiscard]] ShardColumns offloaded_columns(const OffloadParts& parts, ElementType type);

// One finished operation, in times of CLOCK_MONOTONIC.
struct ShardMove {
  ShardColumn column = ShardColumn::parameters;
  TransferDirection direction = TransferDirection::nvme_to_host;
  Bytes bytes{};
  Ns begin{};
  Ns end{};
};
class ShardObserver {
 public:
  virtual ~ShardObserver() = default;
  virtual void moved(const ShardMove& move) noexcept = 0;
};

struct ShardTicket {
  OffloadTicket ticket{};
  ShardColumn column = ShardColumn::parameters;
  bool write = false;
  Bytes bytes{};
};

class ShardStores {
 public:
  // Makes zeroed places for counts[u] elements of each unit u. A column may have at most
  // `outstanding` unfinished operations. Errors: those of OffloadFile::create().
  [[nodiscard]] static Result<ShardStores> create(const OffloadPlaces& places,
                                                  const ShardColumns& columns,
                                                  std::span<const std::int64_t> counts,
                                                  int outstanding, bool io_uring = true);
  // The bytes of the places of these columns.
  [[nodiscard]] static Bytes bytes_for(const ShardColumns& columns,
                                       std::span<const std::int64_t> counts);

  [[nodiscard]] const ShardColumns& columns() const { return columns_; }
  // Moves elements from `first` of the unit's place on. Offset and size must be whole blocks
  // (offload_alignment).
  [[nodiscard]] Result<ShardTicket> read(ShardColumn column, std::size_t unit, std::int64_t first,
                                         std::span<std::byte> into);
  [[nodiscard]] Result<ShardTicket> write(ShardColumn column, std::size_t unit, std::int64_t first,
                                          std::span<const std::byte> bytes);
  [[nodiscard]] bool test(const ShardTicket& ticket);
  [[nodiscard]] Result<Done> wait(const ShardTicket& ticket);
  void poll() noexcept;

  // Receives each operation at its wait(). Null: no observer.
  void observe(ShardObserver* observer) { observer_ = observer; }
  // One line per store: "optimizer states in a file: 16777216 bytes, io_uring, O_DIRECT".
  [[nodiscard]] std::vector<std::string> descriptions() const;

 private:
  static constexpr std::size_t store_count = 3;  // parameters, gradients, optimizer states
  [[nodiscard]] OffloadFile& store(ShardColumn column);
  [[nodiscard]] std::uint64_t place(ShardColumn column, std::size_t unit, std::int64_t first) const;

  ShardColumns columns_;
  std::array<std::optional<OffloadFile>, store_count> stores_;
  ByColumn<std::vector<std::uint64_t>> offsets_;  // by unit
  ShardObserver* observer_ = nullptr;
};

}  // namespace stepscope::zero
