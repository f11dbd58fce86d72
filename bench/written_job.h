// SPDX-License-Identifier: Apache-2.0
// A simulated job with a known truth that writes files as real jobs do: NCCL Inspector's lines, or
// files of steps, one per rank. For tests and bench/live_faults; what is measured of the rules
// holds for the whole way from files to events.
//
// Ranks are in a mesh of tensor-parallel groups within data-parallel ones. In a step they compute
// and meet in all-reduces of their tensor-parallel group, then in a reduce-scatter and an
// all-gather of their data-parallel group. Work has white noise (normal or lognormal), jitter that
// lasts for several steps, lasting differences between ranks, and rare long pauses.
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stepscope {

enum class WrittenFault : std::uint8_t { none, compute, intermittent, link };

struct WrittenJobSetting {
  int tensor = 1;  // ranks in a tensor-parallel group
  int data = 8;    // in a data-parallel one
  int layers = 4;  // tensor-parallel all-reduces of a step
  double step_s = 0.2;
  bool lognormal = false;
  double white = 0.01;        // of a step
  double lasting = 0.004;     // deviation of jitter over several steps
  double keeps = 0.7;         // its correlation with the step before
  double bias = 0.004;        // of a rank
  double pause_rate = 0.002;  // per rank and step
  bool files_of_steps = false;
  bool verbose = false;  // Inspector stamps calls, not only the writing of records
  // The clock of the writers is set by so much at this step, as NTP does it.
  std::int64_t jump_at = std::numeric_limits<std::int64_t>::max();
  double jump_s = 0;
  WrittenFault fault = WrittenFault::none;
  int slow_rank = 0;  // of compute; or the data-parallel group of this rank has the slow link
  std::int64_t slow_from = std::numeric_limits<std::int64_t>::max();
  double slow = 0;  // more work, or for a link more transfer, as a share of the step
  [[nodiscard]] int ranks() const { return tensor * data; }
};

// A setting drawn at random, without a fault.
[[nodiscard]] WrittenJobSetting drawn_setting(std::mt19937_64& random);
// The same with a fault: its kind, rank, first step and size are drawn too.
[[nodiscard]] WrittenJobSetting drawn_fault(std::mt19937_64& random);

class WrittenJob {
 public:
  // Files in `folder`, which exists.
  WrittenJob(const WrittenJobSetting& setting, std::uint64_t seed, std::string folder);

  // Computes a step and appends what its ranks write.
  void step();
  [[nodiscard]] std::int64_t steps() const { return step_; }
  [[nodiscard]] double now_s() const;
  [[nodiscard]] static int pid_of(int rank) { return 1000 + rank; }
  // The communicator that has the slow link.
  [[nodiscard]] static std::string slow_communicator(const WrittenJobSetting& setting) {
    return "0x2" + std::to_string(setting.slow_rank % setting.tensor);
  }

 private:
  struct Number {
    std::string id;
    std::uint64_t next = 0;
  };
  void work(double share);
  void meet(const std::vector<int>& ranks, const std::string& id, const char* name,
            const char* function, std::uint64_t bytes, double transfer_us);
  [[nodiscard]] std::string path_of(int rank) const;

  WrittenJobSetting s_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::string folder_;
  std::int64_t step_ = 0;
  bool slow_now_ = false;
  double jump_us_ = 0;
  std::vector<double> bias_, lasting_, clock_us_, own_us_, wait_us_, begin_us_;
  std::vector<std::string> lines_;  // of this step by rank
  std::vector<Number> numbers_;
};

}  // namespace stepscope
