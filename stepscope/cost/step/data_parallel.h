// SPDX-License-Identifier: Apache-2.0
// The communication between data-parallel ranks, and its time.
//
// Per rank and step, with Psi parameters of p bytes, gradients of g bytes, m micro-batches, n ranks
// and f = (n - 1) / n: stage 0 sends 2 f g Psi, ZeRO-1 f (g + p) Psi, ZeRO-2 f (m g + p) Psi,
// ZeRO-3 f m (2 p + g) Psi (3 p if it gathers weights singly and recomputes all). ZeRO-1 that
// reduces after every pass sends f (m g + p) Psi. In a shard group of k of the n ranks f is
// (k - 1) / k; backward's gathers within a secondary group of j ranks send (j - 1) / j. In addition
// 1/k of the gradients is summed over the n / k replicas: 2 (n/k - 1)/(n/k) g Psi / k once a step
// (ZeRO-1 that reduces after every pass: m times).
#pragma once

#include <cstdint>
#include <optional>

#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/interconnect.h"
#include "stepscope/cost/model/formula.h"
#include "stepscope/cost/plan/training_plan.h"
#include "stepscope/cost/time/memory_footprint.h"

namespace stepscope {

// Bytes sent by one rank in a step.
struct DataVolume {
  double reduced = 0;   // gradients to their owners
  double averaged = 0;  // between shard groups
  double gathered = 0;  // parameters to all

  [[nodiscard]] double total() const { return reduced + averaged + gathered; }
};
// A device's weights, and those of them with gradients.
struct HeldWeights {
  double dense = 0;
  double experts = 0;
  double trained = 0;
  double trained_experts = 0;
};
[[nodiscard]] DataVolume data_volume(const Plan& plan, const HeldWeights& held);
// Their sum, as a formula.
[[nodiscard]] Formula data_sent(const Plan& plan, const HeldWeights& held);

// Seconds of a collective on any number of bytes, sent in pieces. Every piece costs `start`.
struct PieceTime {
  double start = 0;     // of a piece without bytes
  double per_byte = 0;  // near the size of a piece
  double piece = 1;     // bytes
  double busy = 0;      // part of per_byte: time of the device's own links to its domain

  template <formula::Number N>
  [[nodiscard]] N of(const N& bytes) const {
    if (formula::value(bytes) <= 0 || (start == 0 && per_byte == 0)) return formula::seconds<N>(0);
    return formula::ceiling(bytes / formula::bytes<N>(piece, "bucket")) *
               formula::seconds<N>(start, "start") +
           formula::at(bytes, per_byte, "rate");
  }
  // As one call of any size.
  template <formula::Number N>
  [[nodiscard]] N once(const N& bytes) const {
    if (formula::value(bytes) <= 0) return formula::seconds<N>(0);
    return formula::seconds<N>(start, "start") + formula::at(bytes, per_byte, "rate");
  }
  // Part of either time in which the device's units copy. Only this part slows down concurrent
  // arithmetic. If a network is slower than the domain's links, the units are idle meanwhile.
  [[nodiscard]] double copying(double bytes) const { return busy * bytes; }
};

// The calls for one kind of weights: those on all ranks, or experts'.
struct StateTimes {
  PieceTime reduce;   // ZeRO: reduce-scatter in the shard group; else all-reduce over all
  PieceTime average;  // all-reduce of a shard between shard groups; takes the bytes before sharding
  PieceTime gather;   // all-gather in the shard group
  PieceTime regather;  // all-gather in backward: in the shard group, or where its second copy is
};

struct DataTimes {
  StateTimes dense;
  StateTimes expert;
  PieceTime send;  // to the next stage of the pipeline
  PieceTime tie;   // all-reduce between the pipeline's two ends
};

// Groups of dp * cp ranks at distance tp (experts: every ep-th of them). An error if a group leaves
// the domain and the machine has no network.
[[nodiscard]] Result<DataTimes> data_times(const Plan& plan, const Network& network);

}  // namespace stepscope
