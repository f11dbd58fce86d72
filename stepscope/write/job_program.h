// SPDX-License-Identifier: Apache-2.0
// The work of a job's ranks and what each piece waits for, as simulators of networks read it. Ranks
// are numbered from 0 without gaps; `rank` is the number in the job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

enum class ProgramWork : std::uint8_t { host, kernel, collective, send, receive };

// Nodes of a rank are in an order in which each is behind all that it waits for.
struct ProgramNode {
  ProgramWork work = ProgramWork::host;
  std::string name{};
  Ns start{};     // since the first node of the job
  Ns duration{};  // of a collective, send or receive: without waiting for others
  std::vector<std::uint32_t> after{};  // nodes of the same rank, ascending
  CollectiveKind kind = CollectiveKind::none;
  std::uint32_t group = 0;  // of a collective: row of JobProgram::groups
  Bytes bytes{};            // of a message; of a collective: the total buffer
  std::uint32_t peer = 0;   // of a send or receive: row of JobProgram::ranks
  std::uint64_t tag = 0;    // equal on all members of a collective, for a send and its receive
};

struct ProgramGroup {
  std::string name;                  // in the job
  std::vector<std::uint32_t> ranks;  // rows of JobProgram::ranks
};

struct RankProgram {
  int rank = 0;
  std::vector<ProgramNode> nodes;
};

// The members of a group run its collectives in the same order.
struct JobProgram {
  std::vector<ProgramGroup> groups;
  std::vector<RankProgram> ranks;
  std::size_t steps = 1;  // of the job in it
  std::vector<std::string> notes{};
};

}  // namespace stepscope
