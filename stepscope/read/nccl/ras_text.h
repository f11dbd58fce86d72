// SPDX-License-Identifier: Apache-2.0
// The status of NCCL's RAS service as text (`ncclras`, NCCL 2.24 and newer;
// src/ras/client_support.cc writes it), and the same records from its JSON (ras_status.h).
#pragma once

#include <string_view>

#include "stepscope/event/comm_records.h"
#include "stepscope/read/nccl/ras_status.h"

namespace stepscope {

// Whether a text begins as such a status: "Job summary" and "Communicators...".
[[nodiscard]] bool is_ras_text(std::string_view head);

// Adds what the status says of ranks that are behind, missing, dead or failed. A text may hold
// several statuses. Returns whether it is one.
bool add_ras_text(std::string_view text, CommRecords& into);

// The same of a status in JSON.
void add_ras_status(const RasStatus& status, CommRecords& into);

}  // namespace stepscope
