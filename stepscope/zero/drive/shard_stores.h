// SPDX-License-Identifier: Apache-2.0
// The parts of a rank's shards that are in stores instead of host memory, as columns: in files, or
// in the memory of a device. Parameters and gradients have the engine's element type; AdamW's
// states are f32. Each unit has a place in each column; the elements of a place are consecutive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/element.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/telemetry/activity.h"
#include "stepscope/zero/drive/cuda_device.h"
#include "stepscope/zero/drive/device_store.h"
#include "stepscope/zero/drive/offload_store.h"

namespace stepscope::zero {

// Parts of a rank's state.
struct OffloadParts {
  bool optimizer = false;   // m, v and (bf16) master weights
  bool gradients = false;   // reduced gradients; stages 2 and 3
  bool parameters = false;  // stage 3
  [[nodiscard]] bool any() const { return optimizer || gradients || parameters; }
  bool operator==(const OffloadParts&) const = default;
};

// Where the parts are. A part that is in no place is in host memory; in two places is an error.
struct OffloadPlaces {
  // Directories on the drives to use, one for each part's file.
  std::string optimizer{};
  std::string gradients{};
  std::string parameters{};
  // In the memory of a CUDA device.
  OffloadParts device{};
  std::optional<int> device_number{};  // absent: the rank modulo the number of devices

  [[nodiscard]] OffloadParts files() const {
    return {.optimizer = !optimizer.empty(),
            .gradients = !gradients.empty(),
            .parameters = !parameters.empty()};
  }
  // Of files and device.
  [[nodiscard]] OffloadParts parts() const;
  [[nodiscard]] bool any() const { return parts().any(); }
};

// Opens the device, for `rank`. Errors: those of cuda_devices() and of `open`.
[[nodiscard]] Result<std::unique_ptr<Device>> open_offload_device(std::optional<int> number,
                                                                  int rank, const OpenDevice& open,
                                                                  int copies);

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
  // The calling thread is about to submit a copy of a device or to wait for one, and afterwards.
  virtual void device_begin() noexcept {}
  virtual void device_end() noexcept {}
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
  // `outstanding` unfinished operations. `rank` chooses a device. Errors: those of
  // OffloadFile::create() and of `open_device`; a part with two places.
  [[nodiscard]] static Result<ShardStores> create(const OffloadPlaces& places,
                                                  const ShardColumns& columns,
                                                  std::span<const std::int64_t> counts,
                                                  int outstanding, int rank = 0,
                                                  const OpenDevice& open_device = open_cuda_device,
                                                  bool io_uring = true);
  // The bytes of the places of these columns.
  [[nodiscard]] static Bytes bytes_for(const ShardColumns& columns,
                                       std::span<const std::int64_t> counts);

  [[nodiscard]] const ShardColumns& columns() const { return columns_; }
  // All reads and writes use this memory. It is pinned if a part is in a device, and must outlive
  // the stores. Errors: it cannot be pinned.
  [[nodiscard]] Result<Done> use_memory(std::span<std::byte> memory);
  // Moves elements from `first` of the unit's place on. Offset and size must be whole blocks
  // (offload_alignment).
  [[nodiscard]] Result<ShardTicket> read(ShardColumn column, std::size_t unit, std::int64_t first,
                                         std::span<std::byte> into);
  [[nodiscard]] Result<ShardTicket> write(ShardColumn column, std::size_t unit, std::int64_t first,
                                          std::span<const std::byte> bytes);
  [[nodiscard]] bool test(const ShardTicket& ticket);
  [[nodiscard]] Result<Done> wait(const ShardTicket& ticket);
  void poll() noexcept;

  // Null: no part is in a device.
  [[nodiscard]] Device* device() const { return device_.get(); }
  // The address of an element of a column that is in the device; empty for other columns.
  [[nodiscard]] std::optional<DeviceAddress> device_address(ShardColumn column, std::size_t unit,
                                                            std::int64_t first) const;

  // Receives each operation at its wait(). Null: no observer.
  void observe(ShardObserver* observer) { observer_ = observer; }
  // One line per store: "optimizer states in a file: 16777216 bytes, io_uring, O_DIRECT".
  [[nodiscard]] std::vector<std::string> descriptions() const;

 private:
  static constexpr std::size_t store_count = 3;  // parameters, gradients, optimizer states
  [[nodiscard]] OffloadStore& store(ShardColumn column);
  [[nodiscard]] std::uint64_t place(ShardColumn column, std::size_t unit, std::int64_t first) const;
  [[nodiscard]] bool in_device(ShardColumn column) const;

  ShardColumns columns_;
  std::unique_ptr<Device> device_;
  PinnedMemory pinned_;
  std::array<std::unique_ptr<OffloadStore>, store_count> stores_;
  std::array<DeviceStore*, store_count> device_stores_{};  // those of stores_ in the device
  ByColumn<std::vector<std::uint64_t>> offsets_;           // by unit
  ShardObserver* observer_ = nullptr;
};

}  // namespace stepscope::zero
