// SPDX-License-Identifier: Apache-2.0
// How one layer, the experts and the pipeline of a plan are divided over devices.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"

namespace stepscope {

// The division of one matmul over tp devices (tensor_layouts.h has the derivations).
enum class TensorLayout : std::uint8_t { one_d, two_d, two_and_half_d, three_d };
inline constexpr std::array<std::string_view, 4> tensor_layout_names = {"1d", "2d", "2.5d", "3d"};
static_assert(tensor_layout_names[static_cast<std::size_t>(TensorLayout::three_d)] == "3d");

enum class ContextExchange : std::uint8_t { all_gather, ring, all_to_all };
inline constexpr auto context_exchange_names = enum_names<ContextExchange::all_to_all>;

struct TensorDivision {
  TensorLayout layout = TensorLayout::one_d;
  // 2d, 2.5d, 3d: the sides of the grid, tp = rows * columns * depth (tensor_grid.h). 0: what the
  // other side leaves, or both equal.
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 1;          // 2.5d: copies of the grid; 3d: its third side
  bool sequence_parallel = false;  // 1d: norms, dropout and residuals are divided over the sequence
  std::int64_t sequence_degree = 0;  // the number of parts of that division; 0: tp

  bool operator==(const TensorDivision&) const = default;
};

// How tokens reach the experts of other ranks. all_to_all: one copy for each chosen expert.
// forwarded: one copy for each rank with chosen experts, and one across the network for each domain
// with chosen experts, forwarded within it (DeepEP, HybridEP); the way back sums in the same
// places.
enum class ExpertDispatch : std::uint8_t { all_to_all, forwarded };
inline constexpr auto expert_dispatch_names = enum_names<ExpertDispatch::forwarded>;

struct ExpertDivision {
  // Tensor-parallel devices of an expert: tp, or 1 (each expert is whole, and its ranks are taken
  // from the tp * cp * dp ranks, those of tp first). 0: tp.
  std::int64_t tp = 0;
  ExpertDispatch dispatch = ExpertDispatch::all_to_all;
  int load = 100;                // tokens of the fullest device's experts, in percent of the mean
  bool narrow_dispatch = false;  // tokens and gradients go to experts in fp8
  int sms = 0;                   // with overlap.experts: units that work on all-to-alls alone

  bool operator==(const ExpertDivision&) const = default;
};

enum class Schedule : std::uint8_t {
  gpipe,
  one_f_one_b,
  interleaved,
  zero_bubble_h1,
  zero_bubble_h2,
  dualpipe  // half of the micro-batches enter at each end; a device has two stages
};
inline constexpr std::array<std::string_view, 6> schedule_names = {"gpipe", "1f1b",  "interleaved",
                                                                   "zb-h1", "zb-h2", "dualpipe"};
static_assert(schedule_names[static_cast<std::size_t>(Schedule::dualpipe)] == "dualpipe");

struct PipelineDivision {
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t virtual_stages = 1;  // per device (interleaved)
  // Layers of each virtual stage in model order. Empty: the same for all; they must divide evenly.
  std::vector<std::int64_t> stage_layers{};
};

}  // namespace stepscope
