// SPDX-License-Identifier: Apache-2.0
// Decides when the transfers of a communicator take lastingly longer than before: a slow link, or
// traffic of others. Input: for each round (a step, about) the sum over its collectives of the
// shortest duration in the group, which is the transfer without waiting (live_communicator.h).
//
// The past is 64 rounds (24 at least) before the last 8. The excess of a round that takes longer
// than 98 % of them is its difference from their median. Other rounds have no excess. The excess is
// judged as the lateness of a group of one member (late_rule.h): by 3 % of the step and 1 ms in 6
// of the last 8 rounds, and far beyond what is usual. While the transfers are longer the past stays
// as it was.
//
// Memory: 700 bytes.
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"
#include "stepscope/stats/lateness/late_rule.h"

namespace stepscope {

class TransferRule {
 public:
  // A round: ns of transfer, NaN if not all collectives are known; `step_ns`: the time of the
  // round, 0 if unknown (then nothing is judged).
  void add(double transfer_ns, double step_ns);

  [[nodiscard]] bool longer() const { return rule_.named(0); }
  // A round: the median before, and with what is longer now, as a mean of the longer ones of the
  // last eight.
  [[nodiscard]] double before_ns() const { return before_; }
  [[nodiscard]] double now_ns() const { return before_ + rule_.lateness(0); }

 private:
  LateRule rule_{1};
  std::deque<float> last_;  // past and the last 8
  std::vector<float> room_;
  double before_ = 0;
  double high_ = 0;  // of the past
};

// A communicator of a running job: joins what its ranks say of each collective, and separates
// waiting from transfer without clocks. All ranks leave a collective together, so a rank waited for
// its own duration minus the shortest of the group, and the rank with the shortest came last. How
// late a rank was is the (upper) median of the durations minus its own.
//
// A collective is identified by its function and its number in the communicator. It is closed when
// all ranks have reported it. Otherwise it is closed with the ranks that have, `patience` after the
// first report, or earlier if too many are open. Closed collectives are added up by rounds: of one
// period of the first rank's sequence of functions and sizes, which is a step. Without a period
// (equal collectives have no period) a round has as many collectives as a step of the job. If that
// number is unknown, rounds of one collective and of `long_round` collectives are judged side by
// side.
//
// Memory: open collectives, at most most_open values (4 bytes) or 64 collectives; 120 bytes a rank,
// 300 more with two to four ranks.

struct SeenCollective {
  CollectiveKind kind = CollectiveKind::unknown;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  Ns duration{};
  std::int64_t stamp_us = 0;  // by the writer's clock; 0: unknown
  bool exact = false;         // the stamp is of the call, not of the writing of its record
};

struct CommunicatorCounts {
  std::uint64_t records = 0;
  std::uint64_t matched = 0;      // records of collectives that all ranks reported
  std::uint64_t unmatched = 0;    // records of the others that are closed
  std::uint64_t unrecorded = 0;   // gaps in the numbers of a rank: calls without a record
  std::uint64_t collectives = 0;  // that all ranks reported
  std::uint64_t least_bytes = std::numeric_limits<std::uint64_t>::max();
};

// A step by the first rank's sequence, or the mean of several. Transfer, and waiting as a mean over
// ranks, of a step; NaN if ranks did not report all of its collectives.
struct CollectiveStep {
  double wall_ns = 0;
  std::int64_t steps = 1;
  double transfer_ns = 0;
  double wait_ns = 0;
};

class LiveCommunicator {
 public:
  static constexpr double patience = 5;  // seconds
  static constexpr std::size_t long_round = 32;
  static constexpr std::size_t most_open = std::size_t{1} << 22;

  // `ranks` of the communicator, at least 1. `now` of all functions: seconds of a clock that never
  // jumps.
  LiveCommunicator(std::string id, std::string name, std::int32_t ranks);

  // REQUIRES: 0 ≤ rank < ranks.
  void add(std::int32_t rank, const SeenCollective& seen, double now);
  void close_old(double now);
  // What is known of the job: the time of a step, and how many collectives of this communicator a
  // step has, about. It counts where they do not repeat: a step's worth of them is a round then.
  void know_step(double step_ns, std::size_t collectives);
  // Lets sums over the recent past fade, and those over the last few steps.
  void decay(double recent, double last);

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& name_or_id() const { return name_.empty() ? id_ : name_; }
  [[nodiscard]] std::size_t ranks() const { return sums_.size(); }
  [[nodiscard]] std::size_t ranks_seen() const { return ranks_seen_; }
  [[nodiscard]] const CommunicatorCounts& counts() const { return counts_; }
  // Collectives that repeat, which are those of a step; absent if they do not.
  [[nodiscard]] std::optional<std::size_t> period() const { return period_; }
  [[nodiscard]] std::vector<CollectiveStep> take_steps() { return std::exchange(steps_, {}); }
  [[nodiscard]] double step_ns() const;

  struct LateMember {
    std::int32_t rank = 0;
    double late_ns = 0;     // a round, mean of the last eight
    double round_ns = 0;    // 0: unknown
    std::size_t round = 0;  // collectives
  };
  [[nodiscard]] std::vector<LateMember> late() const;
  // The rule for rounds of about a step; null if no such rounds are known.
  [[nodiscard]] const TransferRule* transfers() const;
  [[nodiscard]] double transfer_round_ns() const { return round_ns(rounds_.front().length); }
  // Sums over the recent past, in ns.
  [[nodiscard]] float wait(std::size_t rank) const { return sums_[rank].wait; }
  // Sums over the last few steps, in ns: how late a rank came, and its waiting and its time in
  // collectives that all ranks reported.
  [[nodiscard]] float lateness(std::size_t rank) const { return sums_[rank].late; }
  [[nodiscard]] float last_wait(std::size_t rank) const { return sums_[rank].last_wait; }
  [[nodiscard]] float inside(std::size_t rank) const { return sums_[rank].inside; }
  [[nodiscard]] double transfer() const { return transfer_; }  // of the collectives all reported
  [[nodiscard]] double mean_wait() const;
  [[nodiscard]] double last_record() const { return last_record_; }

  // The newest collective that some ranks have left and others have not reported.
  struct Unfinished {
    CollectiveKind kind = CollectiveKind::unknown;
    std::uint64_t number = 0;
    double since = 0;                     // when the first report came
    std::vector<std::int32_t> missing{};  // at most 64
    std::size_t missing_count = 0;
  };
  [[nodiscard]] const std::optional<Unfinished>& unfinished() const { return unfinished_; }

 private:
  struct Open {
    CollectiveKind kind = CollectiveKind::unknown;
    std::uint64_t number = 0;
    double since = 0;
    std::size_t count = 0;
    std::int64_t first_us = 0;  // the first rank's stamp
    bool exact = false;
    std::vector<float> durations{};  // by rank; NaN: not reported
  };
  // Over the recent past or the last few steps, in ns.
  struct RankSums {
    float wait = 0;
    float late = 0;
    float last_wait = 0;
    float inside = 0;
    bool seen = false;
  };
  struct Rounds {
    std::size_t length = 1;
    std::size_t closed = 0;
    std::vector<float> late{};
    std::vector<std::uint32_t> times{};  // collectives by rank
    double transfer = 0;                 // NaN: not all ranks reported all of its collectives
    LateRule rule;
    TransferRule transfers{};
  };
  using Key = std::uint64_t;

  void close(Key key);
  void add_to(Rounds& rounds, const Open& open, float middle, float transfer);
  void follow_first(const SeenCollective& seen);
  void time_first(std::int64_t stamp_us);
  void set_period(std::optional<std::size_t> period);
  void mark_step(std::int64_t stamp_us, bool exact);
  [[nodiscard]] double round_ns(std::size_t collectives) const;

  std::string id_;
  std::string name_;
  std::unordered_map<Key, Open> open_;
  std::deque<Key> order_;  // by first report; of closed ones too
  std::vector<std::vector<float>> spare_;
  std::vector<float> sorted_;
  CommunicatorCounts counts_;
  std::size_t ranks_seen_ = 0;
  std::vector<std::vector<std::uint64_t>> last_numbers_;  // by kind and rank, + 1; 0: none
  std::vector<RankSums> sums_;
  double transfer_ = 0;
  double part_transfer_ = 0;  // since the last step that was given; NaN: not all is known
  double part_wait_ = 0;
  double last_record_ = 0;
  std::vector<Rounds> rounds_;
  std::optional<Unfinished> unfinished_;

  // The first rank's sequence.
  std::int32_t first_ = -1;
  std::vector<std::uint64_t> pattern_;
  std::size_t misses_ = 0;  // records that do not repeat
  std::optional<std::size_t> period_;
  std::size_t marked_ = 0;    // collectives since the last step that was given
  std::size_t stamps_ = 0;    // different stamps among them
  std::int64_t mark_us_ = 0;  // the first rank's stamp at the last step
  std::int64_t last_us_ = 0;
  double step_ns_ = 0;  // mean of the last steps
  // Between two of its records by its stamps, a mean over the last ones.
  double between_ns_ = 0;
  std::uint64_t betweens_ = 0;
  std::int64_t before_us_ = 0;
  double told_step_ns_ = 0;
  std::size_t told_collectives_ = 0;  // in a step; 0: unknown
  std::vector<CollectiveStep> steps_;
};

}  // namespace stepscope
