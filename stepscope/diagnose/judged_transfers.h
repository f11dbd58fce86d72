// SPDX-License-Identifier: Apache-2.0
// The transfers whose time says something of a link.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "stepscope/analysis/runs/job.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/fit/expected_collectives.h"
#include "stepscope/say/message.h"

namespace stepscope {

// Rows whose transfer is known without waiting, and whose bytes and not latency are what they
// should take. If the placement is only assumed (rank_places.h), no fast link is: their expectation
// is then that of ranks in a domain each, if it is the longer one. `collectives` must outlive the
// result. Empty without links.
[[nodiscard]] std::vector<ExpectedCollective> judged_transfers(const Collectives& collectives,
                                                               const Machine& machine,
                                                               std::optional<int> world_size);

// A process group, or all of one dimension, whose transfers take several times what the links
// allow.
struct SlowLinks {
  std::string name;        // of the group, or of the dimension of several
  std::size_t groups = 1;  // that are slow
  double times = 1;        // its transfers over what the links allow; of several
                           // groups this and what follows are of the one that loses most
  std::vector<ExpectedCollective> rows;  // largest gap first
  Ns lost{};                             // of a step: exposed transfers beyond what the links allow
};
// Most lost first.
[[nodiscard]] std::vector<SlowLinks> slow_links(const JobResult& job, const Machine& machine,
                                                std::optional<int> world_size);
[[nodiscard]] Message slow_links_sentence(const SlowLinks& slow, const Machine& machine);

}  // namespace stepscope
