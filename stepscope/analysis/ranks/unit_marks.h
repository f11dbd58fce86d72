// SPDX-License-Identifier: Apache-2.0
// Where a sharded trainer (ZeRO-3, FSDP) says which unit it gathers, uses and reduces. A unit is
// the group of parameters that one all-gather brings. Read from host rows:
//
//   stepscope   "block 3 forward", "block 3 backward"; "block 3 parameters" and "block 3 gradients"
//               over the collective (zero/engine/trace_recorder.h)
//   FSDP2       "FSDP::pre_forward (layers.3)", "FSDP::pre_backward (…)", "FSDP::all_gather (…)",
//               "FSDP::all_gather_copy_out (…)", "FSDP::post_backward_reduce (…)"; the root has no
//               name behind
//   FSDP1       "FullyShardedDataParallel._pre_forward", "…._pre_backward_hook",
//               "…._post_backward_hook", and "…_prefetch" inside them; units have no names and are
//               numbered in the order of their pass
//   DeepSpeed   "fetch_sub_module" of the parameter coordinator (stacks, or NVTX), and
//               "__reduce_and_partition_ipg_grads"; numbered likewise
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/matching/collective_calls.h"
#include "stepscope/analysis/steps/host_phases.h"

namespace stepscope {

enum class UnitSource : std::uint8_t { none, stepscope, fsdp1, fsdp2, deepspeed };
inline constexpr std::array<std::string_view, 5> unit_source_names = {"none", "stepscope", "FSDP1",
                                                                      "FSDP2", "DeepSpeed"};

enum class UnitPass : std::uint8_t { forward, backward };  // recomputation is backward
inline constexpr std::array<std::string_view, 2> unit_pass_names = {"forward", "backward"};

// One pass of a unit.
struct UnitUse {
  std::uint32_t unit = 0;  // of UnitMarks::units
  UnitPass pass = UnitPass::forward;
  std::uint32_t step = 0;   // row of the view's steps
  std::uint32_t chain = 0;  // uses of one number follow each other; fetches stay within it
  TrackId thread{};
  Ns begin{};  // of its hook or pass, on the host
  Ns go{};     // from where on its own work is launched: the end of the hook
  Ns from{};   // on a device: what is launched from here on reads the parameters; without one:
               // when the thread reads them
  // The thread stood still inside the row that fetched them, or asked for them and waited at once.
  bool waits_in_row = false;
  std::vector<std::uint32_t> calls;    // that fetched them, by launch; empty: they were there
  std::vector<std::uint32_t> updates;  // that shared them at the end of the step before
  TrackId fetch_thread{};  // the row that holds all that the fetch launches, where there
  Ns fetch_begin{};        // is one of its own
  Ns fetch_end{};
};

// One unit's gradients on their way to their owners.
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

// The operations of one stream in its order, by their launches (those without are left out).
struct StreamOps {
  TrackId stream{};
  std::vector<Ns> launched;
  std::vector<SliceId> ops;

  [[nodiscard]] SliceId first_launched_at(Ns instant) const;  // or later; no_slice: none
  [[nodiscard]] SliceId before(SliceId op, const Trace& trace) const;
};

// Of the stream that computes most; empty without a device.
[[nodiscard]] StreamOps compute_stream(const RankView& view);

// Of a rank within its steps; source `none` where no row speaks of units.
[[nodiscard]] UnitMarks find_unit_marks(const RankView& view, const RankCalls& rank,
                                        const HostPhases& phases);

// When and where the host asked for a call: its launch, else its own row.
[[nodiscard]] SliceId asked_by(const CollectiveCall& call);

}  // namespace stepscope
