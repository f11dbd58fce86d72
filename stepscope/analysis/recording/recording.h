// SPDX-License-Identifier: Apache-2.0
// What a process does once: a library makes its handle within the first product, the code of a
// kernel is loaded at its first launch, a call of the runtime sets something up when it is called
// first. Later steps do not repeat it, so it is no fault of a step.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/analysis/steps/rank_index.h"
#include "stepscope/analysis/steps/steps.h"
#include "stepscope/base/enum_names.h"
#include "stepscope/event/category.h"
#include "stepscope/event/metadata.h"
#include "stepscope/event/trace.h"

namespace stepscope {

enum class StartUpKind : std::uint8_t { library, code, first_launch, first_call, capture, context };
inline constexpr auto start_up_kind_names = enum_names<StartUpKind::context>;

// Shorter work is not worth telling from a step's own.
inline constexpr Ns least_start_up = std::chrono::milliseconds{1};

// The creation of a device's context takes longer.
inline constexpr Ns least_context = std::chrono::milliseconds{50};

struct StartUpSpan {
  Ns start{};
  Ns end{};
  StartUpKind kind = StartUpKind::first_call;
  std::string what;       // the operator around a library's calls, else the kernel or the call
  std::string most_in{};  // of a library's calls, the one that takes half of the span or more
  Ns idle{};              // what the device waits for meanwhile within the steps (idle.h)
};

struct StartUp {
  std::vector<StartUpSpan> spans;  // by start; those of several threads may overlap
  Ns total{};                      // their union
  Ns idle{};                       // of it, what the device waits for within the steps

  // Whether an instant lies in one of them.
  [[nodiscard]] bool holds(Ns t) const;
  // The part of their union that lies before an instant.
  [[nodiscard]] Ns before(Ns t) const;
};

// Spans of at least least_start_up:
//   library       calls of one thread without a launch between them that query the device's
//                 properties three times or more and allocate or free: cublasCreate, cudnnCreate.
//                 Only the first of each operator counts.
//   code          calls that load or link modules.
//   first_launch  the first launch of a kernel's name, if the device has no work for half of the
//                 call. A launch into a full queue takes long, too, but then the device works.
//   first_call    other calls, the first of their name on their thread, that neither wait nor copy
//                 nor allocate, nor begin or end a capture.
//   capture       a graph is captured: what is launched meanwhile runs nothing. Not where each of
//                 several steps captures one.
//   context       the first call of all that takes least_context or longer, whatever its name, if
//   it
//                 neither launches nor waits nor copies, and no device has worked before its end.
//                 It is no first_call then.
// O(rows). The idle times are zero.
[[nodiscard]] StartUp find_start_up(const Trace& trace, const RankIndex& rank,
                                    std::span<const Step> steps = {});

// What the recording of a rank has and what it lacks, counted before any question is answered.
// Absence is no evidence: a missing row does not show that nothing happened.

// Metadata of a trace: nanoseconds of a step while the profiler waits.
inline constexpr std::string_view unrecorded_step_key = "stepscope_unrecorded_step_ns";

// The annotation of one step on the host.
struct StepRecording {
  std::int64_t index = 0;           // Step::index
  std::uint64_t launches = 0;       // calls that launch kernels
  std::uint64_t lost_launches = 0;  // of them, without a row of the device
  std::uint64_t device_rows = 0;    // kernels, copies and memsets launched in it
};

struct RankRecording {
  std::string format;             // of its file: "kineto", "nsys", …
  Clock clock = Clock::relative;  // of its instants
  Ns start{};                     // first start and last end of any row
  Ns end{};
  OutsideSteps outside;
  std::optional<Ns> unrecorded_step;  // median, by stepscope.torch.profile (unrecorded_step_key)
  std::array<std::uint64_t, category_count> rows{};  // by Category
  std::vector<StepRecording> steps;                  // of the steps that are accounted for
  std::vector<std::int64_t> lost_steps;              // left out: their device rows are lost

  std::uint64_t launches = 0;         // as in a step, of the whole trace
  std::uint64_t lost_launches = 0;    // RankIndex::lost_launches
  std::uint64_t queued_launches = 0;  // of them, behind all that have rows, made while the device
                                      // was busy: as when the recording ends before they run
  std::uint64_t device_rows = 0;
  std::uint64_t loose_rows = 0;  // device rows whose launch has no row
  std::uint64_t early_rows = 0;  // of them, launched before all calls that are recorded
  std::uint64_t migrations = 0;  // device rows that move managed memory: nothing launches them
  std::uint64_t fault_migrations = 0;  // of them, on a page fault or near one
  Ns migration_time{};                 // summed
  bool managed_memory = false;         // calls allocate it, or rows move it
  std::uint64_t graph_launches = 0;    // calls that launch a graph
  std::uint64_t graph_rows = 0;        // device rows of those calls
  std::uint64_t outside_rows = 0;      // that begin before the profiler's own window or end after
  std::uint64_t overlapping_rows = 0;  // kernels that end after the next of their stream has ended,
                                       // launched by another call
  std::map<std::string, std::uint64_t> notes;  // rows that were lost, left out or mended
                                               // (ImportNotes::counts)

  std::uint64_t shaped_operators = 0;  // operators with the shapes of their inputs
  std::uint64_t memory_events = 0;
  std::uint64_t collectives = 0;         // with metadata; messages are among them
  std::uint64_t in_named_groups = 0;     // of them, with the name or the ranks of their group
  std::uint64_t messages = 0;            // sends and receives
  std::uint64_t addressed_messages = 0;  // of them, with their peer
  std::uint64_t stepping_processes = 0;  // that mark the same steps; two or more: a file of several
                                         // ranks whose rows cannot be distinguished
  std::string gpu;                       // the first that the trace describes, else an operator
                                         // that runs on a GPU only ("aten::cudnn_convolution")
  std::string warning;                   // the profiler's own (profiler_warning_key)
  bool pytorch = false;                  // operators or kernels of ATen
  bool tensorflow = false;               // its executor runs on the host
  StartUp start_up;

  // Rows that the reader left out; each may be the row of a launch.
  [[nodiscard]] std::uint64_t left_out() const;
  // Launches whose rows the profiler lost, at least.
  [[nodiscard]] std::uint64_t lost_rows() const {
    const std::uint64_t gone = queued_launches + left_out();
    return lost_launches - std::min(lost_launches, gone);
  }
  // Host rows only, although the process had a GPU.
  [[nodiscard]] bool without_gpu_rows() const {
    return !gpu.empty() && device_rows == 0 && of(Category::runtime) + of(Category::driver) == 0;
  }
  [[nodiscard]] std::uint64_t of(Category c) const { return rows[static_cast<std::size_t>(c)]; }
  // Neither kernels nor launches nor operators: what computes was not recorded.
  [[nodiscard]] bool without_work() const {
    return device_rows == 0 && launches == 0 && collectives == 0 && of(Category::cpu_op) == 0 &&
           (of(Category::runtime) + of(Category::driver) > 0 || format == "nsys");
  }
  [[nodiscard]] bool device_unseen() const { return device_rows == 0 && lost_launches > 0; }
  [[nodiscard]] bool has_launch_rows() const { return device_rows > loose_rows; }
};

// The recording of a sealed trace. `steps`: the steps that are accounted for; `lost`: the steps
// left out (IncompleteSteps::lost). O(rows).
[[nodiscard]] RankRecording recording_of(const Trace& trace, const RankIndex& rank,
                                         std::span<const Step> steps,
                                         std::span<const Step> lost = {});

}  // namespace stepscope
