// SPDX-License-Identifier: Apache-2.0
// The status of a job by NCCL's RAS service in JSON (`ncclras -f json`, NCCL 2.28.7 and newer):
// its communicators, how many collectives each rank has called, and ranks that do not answer.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/collective_kind.h"
#include "stepscope/base/result.h"
#include "stepscope/read/bytes/plain_value.h"

namespace stepscope {

struct RasRank {
  std::int32_t rank = -1;  // in the communicator
  std::string host{};
  std::int64_t pid = -1;
  std::array<std::uint64_t, collective_kind_count> calls{};  // by kind; of missing ranks unknown
  bool unresponsive = false;
  bool dead = false;
};

struct RasCommunicator {
  std::string id;  // "hash secondary hash"
  std::int32_t size = 0;
  std::vector<RasRank> ranks{};    // that answered
  std::vector<RasRank> missing{};  // that did not
};

struct RasStatus {
  std::string nccl_version{};
  std::vector<RasCommunicator> communicators{};
};

// Errors: not such a text, or a part of it. Single ranks with wrong fields are left out.
[[nodiscard]] Result<RasStatus> parse_ras_status(std::string text);

// Whether a text whose first bytes hold these values (plain_head()) may be such a status.
[[nodiscard]] bool begins_ras_status(const PlainValue& head);

}  // namespace stepscope
