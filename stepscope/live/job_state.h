// SPDX-License-Identifier: Apache-2.0
// What is known of a running job: its processes, communicators and steps, as sources report them,
// and the events that follow from them. Bounded memory, whatever the job's duration. Nothing is
// concluded from what was not seen: coverage() says how much that is.
//
// Times are seconds of a clock that never jumps (`now`); clocks of the job's hosts are only used
// for differences within one process.
//
// A process is named by the rank in the widest communicator that it writes about, unless its source
// knows the rank. A rank is late if its own work is longer than its peers' (own_work.h). It is also
// late if it is late in a communicator (late_rule.h), unless half of that is time that it waited
// there too, or that it spent in collectives of other communicators beyond its peers: then it only
// passes on the delay of another rank or link.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/live/live_communicator.h"
#include "stepscope/live/live_event.h"
#include "stepscope/live/own_work.h"
#include "stepscope/live/ras_client.h"
#include "stepscope/live/step_curve.h"

namespace stepscope {

struct LiveLimits {
  double silent_s = 60;
  double stuck_s = 30;
};

// late_in of a process whose own work is longer than that of its peers.
inline constexpr std::string_view own_work_name = "own work";

enum class StepSource : std::uint8_t { none, ranks, log, engine, collectives };
inline constexpr auto step_source_names = enum_names<StepSource::collectives>;

struct LiveProcess {
  std::string name;  // host and pid, or what the source calls it
  std::string host{};
  std::int64_t pid = -1;
  int rank = -1;           // -1: unknown
  std::int32_t width = 0;  // of the communicator that the rank is of; 0: the source knows the rank
  double heard = 0;        // when something was last read of it
  std::uint64_t records = 0;
  double longest_gap = 0;  // seconds between two records
  bool silent = false;
  bool replaced = false;  // another process has its rank
  bool several = false;   // it has several ranks in one communicator
  bool told = false;      // another process reports for it, until it does so itself
  std::string late_in{};  // the communicator in which it is late, or own_work; empty: it is not
  std::string phase{};    // of its own work in which it is late; empty: unknown
  bool was_late = false;  // at the poll before
  double late_ns = 0;     // in a round
  double round_ns = 0;
  std::int64_t since = -1;  // the first step at which it was late; -1: unknown
  double inside = 0;        // time in collectives over the last few steps, in ns
};

struct LiveCoverage {
  std::uint64_t records = 0;
  std::uint64_t matched = 0;
  std::uint64_t unmatched = 0;
  std::uint64_t unrecorded = 0;
  std::uint64_t dropped = 0;
  std::uint64_t not_gpu_timed = 0;
  std::uint64_t point_to_point = 0;
  std::optional<std::uint64_t> least_bytes{};
};

class JobState {
 public:
  static constexpr std::size_t most_events = 256;
  static constexpr std::size_t most_communicators = 16'384;

  explicit JobState(const LiveLimits& limits = {}) : limits_(limits) {}

  // The number of the process with this name; a new one is added.
  [[nodiscard]] std::size_t process(std::string_view name);
  [[nodiscard]] LiveProcess& at(std::size_t process) { return processes_[process]; }
  void heard(std::size_t process, double now);
  // The process is known to be this rank of the job.
  void name_rank(std::size_t process, int rank, double now);

  struct Where {
    std::string_view communicator;
    std::string_view name;
    std::int32_t rank = 0;
    std::int32_t ranks = 1;
  };
  void collective(std::size_t process, const Where& where, const SeenCollective& seen, double now);
  // Records that a source knows to be lost.
  void dropped(std::uint64_t records) { coverage_.dropped += records; }
  void not_gpu_timed() { ++coverage_.not_gpu_timed; }
  void point_to_point(std::size_t process, double now) {
    ++coverage_.point_to_point;
    heard(process, now);
  }
  // A step of the job by a source. The most trusted source that reports steps counts, in the order
  // of StepSource.
  void step(StepSource source, const StepSample& sample);
  // A step of a rank, by itself. `peers` of the rank do the same work in a step; they are named by
  // one number and are `peer_count`. REQUIRES: 0 ≤ rank < world, peer_count ≤ world.
  struct RankOfJob {
    int rank = 0;
    std::int32_t world = 1;
    std::int32_t peers = 0;
    std::int32_t peer_count = 1;
  };
  void rank_step(std::size_t process, const RankOfJob& where, const OwnStep& step, double now);
  // Own work of all ranks by one process, as a mean over the steps since its last report, in ns a
  // step; NaN: unknown. `name`: of that process.
  void own_work(std::string_view name, std::span<const float> by_rank, const StepSample& steps,
                double now);

  // Closes collectives that are waited for: nothing more will be read.
  void close_all(double now);
  // A status of NCCL's RAS.
  void ras(const RasStatus& status, double now);
  // After each poll: closes, judges, and adds events.
  void settle(double now);

  [[nodiscard]] std::vector<LiveEvent> take_events() { return std::exchange(fresh_, {}); }
  [[nodiscard]] const std::deque<LiveEvent>& events() const { return events_; }
  [[nodiscard]] const std::array<std::uint64_t, live_event_names.size()>& event_counts() const {
    return event_counts_;
  }
  [[nodiscard]] const std::vector<LiveProcess>& processes() const { return processes_; }
  [[nodiscard]] const std::vector<std::unique_ptr<LiveCommunicator>>& communicators() const {
    return communicators_;
  }
  [[nodiscard]] LiveCoverage coverage() const;
  [[nodiscard]] const StepCurve& curve() const {
    return curves_[static_cast<std::size_t>(source_)];
  }
  [[nodiscard]] StepSource step_source() const { return source_; }
  [[nodiscard]] std::uint64_t ras_statuses() const { return ras_statuses_; }
  [[nodiscard]] bool stands_still() const { return stands_; }

 private:
  void add_event(LiveEvent event);
  void settle_communicators(double now);
  void settle_steps(double now);
  void tell_step(std::size_t communicator);
  void settle_lateness(double now);
  void settle_own(double now);
  [[nodiscard]] OwnWork& peers(std::int32_t named, std::size_t count);
  [[nodiscard]] std::size_t process_of(int rank) const;
  [[nodiscard]] bool gone_with_others(const LiveProcess& process, std::int32_t world) const;
  void settle_silence(double now);
  void settle_transfers(double now);
  void settle_stuck(double now);
  void forget(double now);
  LiveEvent event(LiveEventKind kind, double now, std::size_t process) const;

  LiveLimits limits_;
  std::vector<LiveProcess> processes_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::map<int, std::size_t> by_rank_;
  std::vector<std::unique_ptr<LiveCommunicator>> communicators_;
  std::unordered_map<std::string, std::size_t> by_id_;
  std::vector<std::vector<std::int64_t>> members_;  // by communicator and rank: process or -1
  // Where the counting of a communicator's collectives in a step began.
  struct Counted {
    StepSource source = StepSource::none;
    std::int64_t steps = 0;
    std::uint64_t collectives = 0;
  };
  std::vector<Counted> counted_;  // by communicator
  std::array<StepCurve, step_source_names.size()> curves_;
  StepSource source_ = StepSource::none;
  std::map<std::int32_t, std::unique_ptr<OwnWork>> own_work_;  // by the name of the peers
  LiveCoverage coverage_;  // what communicators do not count, and those that are forgotten
  std::deque<LiveEvent> events_;
  std::vector<LiveEvent> fresh_;
  std::array<std::uint64_t, live_event_names.size()> event_counts_{};
  double settled_ = -1;
  double newest_ = -1e300;  // when the last line of any process was read
  bool stands_ = false;
  RasWatch ras_;
  std::uint64_t ras_statuses_ = 0;
  std::set<std::string> longer_;                // communicators whose longer transfers were
                                                // reported
  std::map<std::string, std::uint64_t> stuck_;  // reported: communicator and number
};

}  // namespace stepscope
