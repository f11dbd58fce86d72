// SPDX-License-Identifier: Apache-2.0
// How long a program takes if every node begins when it can: no limit of cores or streams beyond
// `after`, a collective when all members have come, a message when both ends have.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stepscope/write/job_program.h"

namespace stepscope::test {

struct ProgramPlace {
  std::uint32_t rank = 0;
  std::uint32_t node = 0;
};

// A collective or a message, and who has come to it.
struct ProgramMeeting {
  std::size_t all = 2;
  std::vector<ProgramPlace> came{};
  Ns last{};
};

class ProgramReplay {
 public:
  explicit ProgramReplay(const JobProgram& program) : program_(program) {
    for (const RankProgram& r : program.ranks) {
      Rank& rank = ranks_.emplace_back();
      rank.ready.resize(r.nodes.size());
      rank.missing.resize(r.nodes.size());
      rank.followers.resize(r.nodes.size());
      for (std::uint32_t n = 0; n < r.nodes.size(); ++n) {
        rank.missing[n] = r.nodes[n].after.size();
        for (const std::uint32_t before : r.nodes[n].after) rank.followers[before].push_back(n);
        if (rank.missing[n] == 0)
          work_.push_back({static_cast<std::uint32_t>(ranks_.size() - 1), n});
      }
      left_ += r.nodes.size();
    }
  }

  std::optional<Ns> run() {
    while (!work_.empty()) {
      const ProgramPlace p = work_.back();
      work_.pop_back();
      begin(p);
    }
    return left_ == 0 ? std::optional(last_) : std::nullopt;
  }

 private:
  struct Rank {
    std::vector<Ns> ready;
    std::vector<std::size_t> missing;
    std::vector<std::vector<std::uint32_t>> followers;
  };

  [[nodiscard]] const ProgramNode& node(ProgramPlace p) const {
    return program_.ranks[p.rank].nodes[p.node];
  }

  void begin(ProgramPlace p) {
    const ProgramNode& n = node(p);
    const Ns ready = ranks_[p.rank].ready[p.node];
    if (n.work == ProgramWork::host || n.work == ProgramWork::kernel) return end(p, ready);
    const bool collective = n.work == ProgramWork::collective;
    ProgramMeeting& m = meetings_[{collective, n.tag}];
    if (collective) m.all = program_.groups[n.group].ranks.size();
    m.came.push_back(p);
    m.last = std::max(m.last, ready);
    if (m.came.size() < m.all) return;
    for (const ProgramPlace member : m.came) end(member, m.last);
  }

  void end(ProgramPlace p, Ns start) {
    Rank& rank = ranks_[p.rank];
    const Ns at = start + node(p).duration;
    last_ = std::max(last_, at);
    --left_;
    for (const std::uint32_t f : rank.followers[p.node]) {
      rank.ready[f] = std::max(rank.ready[f], at);
      if (--rank.missing[f] == 0) work_.push_back({p.rank, f});
    }
  }

  const JobProgram& program_;
  std::vector<Rank> ranks_;
  std::vector<ProgramPlace> work_;
  std::map<std::pair<bool, std::uint64_t>, ProgramMeeting> meetings_;
  std::size_t left_ = 0;
  Ns last_{};
};

// Absent if something waits for what never comes.
inline std::optional<Ns> replayed_time(const JobProgram& program) {
  return ProgramReplay(program).run();
}

}  // namespace stepscope::test
