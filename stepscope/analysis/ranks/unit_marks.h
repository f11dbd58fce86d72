// SPDX-License-Identifier: Apache-2.0
// Finds which unit a sharded trainer (ZeRO-3, FSDP) gathers, uses and reduces at what time. A unit
// is the group of parameters that one all-gather brings. Sources are host rows:
//
//   stepscope   "block 3 forward", "block 3 backward"; "block 3 parameters" and "block 3 gradients"
//               over the collective (zero/engine/trace_recorder.h)
//   FSDP2       "FSDP::pre_forward (layers.3)", "FSDP::pre_backward (…)", "FSDP::all_gather (…)",
//               "FSDP::all_gather_copy_out (…)", "FSDP::post_backward_reduce (…)"; the root's rows
//               have no name in parentheses
//   FSDP1       "FullyShardedDataParallel._pre_forward", "…._pre_backward_hook",
//               "…._post_backward_hook", and "…_prefetch" inside them; units have no names and are
//               numbered in the order of their pass
//   DeepSpeed   "fetch_sub_module" of the parameter coordinator (stacks, or NVTX), and
//               "__reduce_and_partition_ipg_grads"; numbered in the same way
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/phases.h"
#include "stepscope/base/enum_names.h"

namespace stepscope {

enum class UnitSource : std::uint8_t { none, stepscope, fsdp1, fsdp2, deepspeed };
inline constexpr std::array<std::string_view, 5> unit_source_names = {"none", "stepscope", "FSDP1",
                                                                      "FSDP2", "DeepSpeed"};

enum class UnitPass : std::uint8_t { forward, backward };  // recomputation is backward
inline constexpr auto unit_pass_names = enum_names<UnitPass::backward>;

// One pass of a unit.
struct UnitUse {
  std::uint32_t unit = 0;  // index into UnitMarks::units
  UnitPass pass = UnitPass::forward;
  std::uint32_t step = 0;   // row of the view's steps
  std::uint32_t chain = 0;  // uses of one chain follow each other; fetches stay within it
  TrackId thread{};
  Ns begin{};  // of the unit's hook or pass, on the host
  Ns go{};     // end of the hook: from here its own work is launched
  Ns from{};   // on a device: work launched from here on reads the parameters; without one: when
               // the thread reads
  // The thread stood still inside the fetching row, or requested the parameters and waited at once.
  bool waits_in_row = false;
  std::vector<std::uint32_t> calls;    // calls that fetched, by launch; empty: already there
  std::vector<std::uint32_t> updates;  // calls that shared them at the end of the previous step
  TrackId fetch_thread{};              // row that contains everything the fetch launches, if
  Ns fetch_begin{};                    // there is such a row
  Ns fetch_end{};
};

// The transfer of one unit's gradients to their owners.
struct UnitReduction {
  std::uint32_t unit = 0;
  std::uint32_t step = 0;
  TrackId thread{};
  Ns begin{};  // on the host
  std::vector<std::uint32_t> calls;
};

struct UnitMarks {
  UnitSource source = UnitSource::none;
  std::vector<std::string> units;
  std::vector<UnitUse> uses;              // by begin
  std::vector<UnitReduction> reductions;  // by begin
};

// The operations of one stream in stream order, by their launches. Operations without a launch are
// left out.
struct StreamOps {
  TrackId stream{};
  std::vector<Ns> launched;
  std::vector<SliceId> ops;

  [[nodiscard]] SliceId first_launched_at(Ns instant) const;  // or later; no_slice if none
  [[nodiscard]] SliceId before(SliceId op, const Trace& trace) const;
};

// The stream with most compute; empty without a device.
[[nodiscard]] StreamOps compute_stream(const RankView& view);

// Covers a rank's steps. The source is `none` if no row names units.
[[nodiscard]] UnitMarks find_unit_marks(const RankView& view, const RankCalls& rank,
                                        const HostPhases& phases);

// The row in which the host requested a call: its launch, else its own row.
[[nodiscard]] SliceId asked_by(const CollectiveCall& call);

}  // namespace stepscope
