// SPDX-License-Identifier: Apache-2.0
// The time of a pipeline of stages for one step, and the number of micro-batches each stage holds.
// Stages may be uneven. Passing activations on takes `send` and delays only the receiver.
// O(stages).
//
// With p stages, m micro-batches, v chunks per device, and even times F, B (input gradient), W
// (weight gradient; B + W = backward): GPipe and 1F1B idle (p-1)(F+B+W) (Narayanan et al. 2021),
// interleaved (p-1)(F+B+W)/v, zero-bubble H1 (p-1)(F+B-W) and H2 (p-1)(F+B-2W) (Qi et al. 2023),
// DualPipe (p/2-1)(F+2B-W): that is (p/2-1)(F&B + B - 3W) of DeepSeek-AI 2024, table 2, where B is
// the whole backward and F&B runs a forward during a backward in the time of both.
#pragma once

#include <cstdint>
#include <span>

#include "stepscope/base/quantity.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"

namespace stepscope {

// One micro-batch on one (virtual) stage. `backward` is the whole backward. `weight` is its part
// for weight gradients, which a zero-bubble schedule may postpone.
struct StageTime {
  Seconds forward{};
  Seconds backward{};
  Seconds weight{};
  // A pass of a ramp runs alone and takes this much longer (DualPipe).
  Seconds alone_forward{};
  Seconds alone_backward{};
};

// `stages`: in model order, devices times virtual_stages of them. Virtual stage s is on device s %
// devices. virtual_stages > 1 only with Schedule::interleaved. DualPipe's device also has the stage
// of its mirror image, and half of the micro-batches pass each.
struct Pipeline {
  Schedule schedule = Schedule::one_f_one_b;
  std::int64_t virtual_stages = 1;
  std::int64_t micro_batches = 1;
  Seconds send{};  // of one micro-batch to the next stage
  std::span<const StageTime> stages;
};

// step = busy + bubble + exposed_send. The bubble is the busiest device's wait for the others if
// sends take no time. exposed_send is the additional time of sends.
struct PipelineTime {
  Seconds step{};
  Seconds busy{};  // of the busiest device
  Seconds bubble{};
  Seconds exposed_send{};
  Seconds without_sends{};   // busy + bubble
  std::int64_t busiest = 0;  // index of that device
};

// Calls visit(stage, share of the micro-batches) for each of `stages` that a device runs.
template <class Visit>
void each_stage_of(Schedule schedule, std::size_t devices, std::size_t device, std::size_t stages,
                   Visit visit) {
  if (schedule == Schedule::dualpipe) {
    visit(device, 0.5);
    visit(stages - 1 - device, 0.5);
    return;
  }
  for (std::size_t s = device; s < stages; s += devices) visit(s, 1.0);
}

// Exact for GPipe, for even stages, and for 1F1B if send is zero. For uneven stages with sends 1F1B
// is a lower bound within a few percent, and interleaved is an estimate (pipeline_test.cc has the
// simulator and the distances). H2 is the steady state over many steps: the optimizer of one step
// does not wait for the slowest stage (Qi et al. §4).
[[nodiscard]] PipelineTime pipeline_time(const Pipeline& pipeline);

// Largest number of micro-batches whose activations device `device` of `devices` holds, in units of
// the activations of all its chunks. q: number of stages after the device.
template <formula::Number N>
[[nodiscard]] N in_flight(Schedule schedule, std::int64_t devices, std::int64_t device,
                          std::int64_t virtual_stages, std::int64_t micro_batches) {
  using formula::count;
  const N p = count<N>(devices, "p");
  N m = count<N>(micro_batches, "m");
  const N q = count<N>(devices - 1 - device, "q");
  switch (schedule) {
    case Schedule::gpipe:
      return m;
    case Schedule::one_f_one_b:
      return formula::min(m, q + 1.0);
    case Schedule::interleaved: {
      if (virtual_stages == 1) return formula::min(m, q + 1.0);
      const N v = count<N>(virtual_stages, "v");
      return formula::min(m, (2.0 * q + (v - 1.0) * p + 1.0) / v);
    }
    case Schedule::zero_bubble_h1:
      return formula::min(m, p);
    case Schedule::zero_bubble_h2:
      return formula::min(m, 2.0 * p - 1.0);
    case Schedule::dualpipe:  // of either stage; of both p + 1
      return formula::min(m, p + 1.0) / 2.0;
  }
  return m;
}
[[nodiscard]] inline double micro_batches_in_flight(Schedule schedule, std::int64_t devices,
                                                    std::int64_t device,
                                                    std::int64_t virtual_stages,
                                                    std::int64_t micro_batches) {
  return in_flight<double>(schedule, devices, device, virtual_stages, micro_batches);
}

}  // namespace stepscope
