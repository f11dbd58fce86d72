// SPDX-License-Identifier: Apache-2.0
// How a run of training reports to its caller, and how the caller stops it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/telemetry/straggler.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/base/stop.h"

namespace stepscope {

// A step as rank 0 sees it when it has ended.
struct TrainedStep {
  std::int64_t index = 0;
  double loss = 0;           // mean over the tokens of all ranks
  double gradient_norm = 0;  // of the mean loss, before clipping
  double learning_rate = 0;
  std::int64_t tokens = 0;                  // of all ranks
  Ns wall{};                                // rank 0's; the others may still be in the step
  std::optional<double> mfu{};              // share of one
  std::optional<double> validation_loss{};  // where it was evaluated
  std::vector<PersistentStraggler> late{};  // ranks that are persistently late now
  std::string skipped{};                    // where a value was not finite: nothing was updated
};

// Something that happens outside the steps.
struct TrainNote {
  enum class Kind : std::uint8_t {
    shared_cores,      // there are more ranks than cores
    offload,           // a file that keeps states instead of memory
    starting_anew,     // there is no checkpoint to resume from
    skipping,          // a checkpoint of a later step, which is damaged
    resuming,          // from a checkpoint
    metrics,           // where metrics are served
    built_in_text,     // the run trains on it, because no file is named
    nothing_to_train,  // the checkpoint has all steps
    fault,             // a fault of the request ends or halts a rank now
    restarting         // ranks that are processes are started again, and why
  };
  Kind kind = Kind::resuming;
  std::string text;  // one line in words
};

// All may be empty. They are called where the ranks run: on the thread of a rank where ranks are
// threads, in the process of a rank where they are processes.
struct TrainProgress {
  // Rank 0 has done a step.
  std::function<void(const TrainedStep& step)> step{};
  std::function<void(const TrainNote& note)> note{};
  // Something that was asked for failed and the run goes on: a checkpoint was not written, metrics
  // were not published. Also what the other ranks have to say of the failure that ends the run.
  std::function<void(const Error& error)> failed{};
  // The ranks of this process have met: from here on `stop` is looked at after each step. A command
  // catches signals from here on.
  std::function<void()> begins{};
  // The caller sets it from any thread or signal handler. All ranks stop after the step, with a
  // checkpoint where those are kept, and the result says `interrupted`. May be null.
  const StopFlag* stop = nullptr;

  void say(TrainNote::Kind kind, std::string text) const {
    if (note) note({.kind = kind, .text = std::move(text)});
  }
  void fail(const Error& error) const {
    if (failed) failed(error);
  }
  [[nodiscard]] bool stopped() const { return stop != nullptr && stop->requested(); }
};

}  // namespace stepscope
