// SPDX-License-Identifier: Apache-2.0
// What messages of the traces would take in groups of another size, from the traces' own messages.
// Latency and rate come from messages of several sizes (message_time.h). Of messages of one size, a
// message of less than a tenth of the bytes in the same group bounds the latency.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "stepscope/analysis/replay/message_time.h"

namespace stepscope {

class TracedLinks {
 public:
  // `assumed`: the share of latency in messages that do not tell it. `in` must outlive the object.
  TracedLinks(const WhatIfInputs& in, double assumed) : in_(in), assumed_(assumed) {}

  // Time in a group of n members over that in its own group of `members`, both at least 2; `bytes`:
  // its new bytes over its own. The latency grows with the messages that follow each other, log2 n
  // in a tree (all-reduce, broadcast, reduce, barrier) and n - 1 in a ring, the rest with the share
  // of the bytes that leaves a rank, (n - 1) / n.
  [[nodiscard]] double factor(const CollectiveCall& call, double members, double n, double bytes);
  // Whether a message asked for did not tell its latency.
  [[nodiscard]] bool one_size() const { return one_size_; }

 private:
  double latency_share(const CollectiveCall& call);
  double latency_of_shortest(const CollectiveCall& call, double bytes);

  const WhatIfInputs& in_;
  std::map<MessageCarrier, MessageTime> times_;
  std::map<std::pair<MessageCarrier, std::int64_t>, double> shares_;  // of latency, by size
  double assumed_;
  bool one_size_ = false;
};

}  // namespace stepscope
