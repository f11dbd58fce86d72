// SPDX-License-Identifier: Apache-2.0
// Records some steps of a rank as a trace that `stepscope analyze` reads like any other. One host
// thread has the engine's passes and waits, with the leaf operations and their shapes inside.
// Unfinished collectives have lanes of their own. `device: cpu` of the design.
//
//   passes, optimizer   operators "stepscope::forward", … that contain the leaf operations
//   waiting             "stepscope::wait_fetch", …: the main thread inside a collective
//   data                "stepscope::load_batch"
//   collectives         "record_param_comms" with metadata, from submission to end, and over each
//                       what it carries: "block 3 parameters", "block 3 gradients"
//   files               "read m from file", "write m to file", …, from submission to end; the main
//                       thread inside them: "stepscope::file_io"
//   steps               "ProfilerStep#n", exactly the recorder's steps
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/telemetry/rank_recorder.h"
#include "engine/telemetry/rank_window.h"
#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/recorded_rows.h"
#include "stepscope/event/trace.h"

namespace stepscope::zero {

struct TraceOptions {
  int rank = 0;
  int world = 1;
  ElementType type = ElementType::f32;  // of the network
  std::string transport{};              // "shm"
  std::string host{};                   // whose clock it reads; empty: unknown
  Ns unix_offset{};  // UNIX time minus CLOCK_MONOTONIC; equal at all ranks of a host
  std::size_t operations = 1 << 16;  // largest number kept; more are only counted
  std::size_t collectives = 1 << 14;
  std::size_t activities = 1 << 16;
  std::size_t moves = 1 << 14;
};

class TraceRecorder final : public EngineObserver {
 public:
  // Allocates its memory here; recording allocates nothing.
  TraceRecorder(const TraceOptions& options, RankRecorder& recorder);
  ~TraceRecorder() override;
  TraceRecorder(const TraceRecorder&) = delete;
  TraceRecorder& operator=(const TraceRecorder&) = delete;
  TraceRecorder(TraceRecorder&&) = delete;
  TraceRecorder& operator=(TraceRecorder&&) = delete;

  // Call it between steps. Recorded data is kept.
  void start();
  void stop();
  // Ends a recorded step; its record becomes an annotation.
  void step_done(const StepRecord& step);

  [[nodiscard]] const RecordedRows& rows() const { return rows_; }
  // Keeps the last `steps` steps or some more; fewer, if their rows would soon not fit. Call it
  // between steps.
  void keep_about(std::size_t steps);

  void begin(const nn::OpCall& call) noexcept override;
  void end() noexcept override;
  void collective(const CollectiveRecord& record, std::string_view what, std::int64_t in_elements,
                  std::int64_t out_elements, ElementType type) noexcept override;
  void moved(const ShardMove& move) noexcept override;
  void step_begin(std::int64_t /*step*/) noexcept override {}
  void step_end() noexcept override {}
  void range_begin(std::string_view name, Activity activity) noexcept override;
  void range_end() noexcept override;

 private:
  TraceOptions options_;
  RankRecorder& recorder_;
  bool on_ = false;
  Ns from_{};             // of the last start()
  Ns until_ = Ns::min();  // while off: earlier submissions belong to a recorded step
  RecordedRows rows_;
  bool open_operation_ = false;
  bool open_unit_ = false;
};

// The sealed trace of a rank. Instants count from the UNIX epoch. Its notes count the rows that did
// not fit.
[[nodiscard]] Trace make_trace(const TraceOptions& options, const RecordedRows& rows);

}  // namespace stepscope::zero
