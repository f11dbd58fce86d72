// SPDX-License-Identifier: Apache-2.0
// The time of the messages of one collective in one group, by size. It is fitted to the messages of
// the traces or to a collective that sends the same number of bytes in the same number of steps, or
// taken from a machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/what_if_inputs.h"
#include "stepscope/base/collective_kind.h"
#include "stepscope/say/message.h"
#include "stepscope/stats/alpha_beta.h"

namespace stepscope {

// Time of one collective in one group, by size.
struct MessageTime {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint32_t group = no_row;
  std::optional<AlphaBetaFit> fit{};
  Message refused{};                    // reason if there is no fit
  std::optional<SizedTime> one_size{};  // typical size and time, if sizes do not show the latency
  Message note{};                       // other sources than its own sizes

  // In ns; absent beyond four times the measured sizes.
  [[nodiscard]] std::optional<double> at(double bytes) const;
};

// A collective in a group, by row of CollectiveMatches::groups.
using MessageCarrier = std::pair<CollectiveKind, std::uint32_t>;

// The times of each of `carriers`, in their order. Uses all their joined collectives.
[[nodiscard]] std::vector<MessageTime> message_times(const WhatIfInputs& in,
                                                     const std::set<MessageCarrier>& carriers);

// With the shortest or the longest times of other sizes that latency + bytes / bandwidth through
// this one can have. REQUIRES: time.one_size.
[[nodiscard]] MessageTime bound_through(MessageTime time, bool longest);

// "1.23 MB" and "all_reduce", for sentences.
[[nodiscard]] std::string about_bytes(double bytes);
[[nodiscard]] std::string_view collective_name(CollectiveKind kind);

// The time of messages in groups of another size, from the traces' own messages. Latency and rate
// come from messages of several sizes (message_time.h), unless the line says that a link carries
// more bytes within one round's latency than any link does: then larger messages only had a better
// rate. For such messages, and for messages of one size, a message of less than a tenth of the
// bytes in the same group bounds the latency; else the latency is that of known links.

// The latency of messages that do not show it.
struct UnknownLatency {
  const MessageModel* links = nullptr;  // latencies of known links; null: no link is known
  double times = 1;                     // of them
  double share = 0;                     // of the message's time where they say nothing
};

class TracedLinks {
 public:
  // `in` and the model of links must outlive the object.
  TracedLinks(const WhatIfInputs& in, const UnknownLatency& unknown) : in_(in), unknown_(unknown) {}

  // Time in a group of n members over that in its own group of `members`, both at least 2; `bytes`:
  // its new bytes over its own. The latency grows with the messages that follow each other, log2 n
  // in a tree (all-reduce, broadcast, reduce, barrier) and n - 1 in a ring, the rest with the share
  // of the bytes that leaves a rank, (n - 1) / n.
  [[nodiscard]] double factor(const CollectiveCall& call, double members, double n, double bytes);
  // Whether a requested message did not show its latency. by_known_links(): known links gave it.
  // untold(): nothing gave it.
  [[nodiscard]] bool by_known_links() const { return by_known_links_; }
  [[nodiscard]] bool untold() const { return untold_; }

 private:
  double latency_share(const CollectiveCall& call, double members);
  double share_without_sizes(const CollectiveCall& call, double bytes);

  const WhatIfInputs& in_;
  std::map<MessageCarrier, MessageTime> times_;
  std::map<std::pair<MessageCarrier, std::int64_t>, double> shares_;  // of latency, by size
  UnknownLatency unknown_;
  bool by_known_links_ = false;
  bool untold_ = false;
};

}  // namespace stepscope
