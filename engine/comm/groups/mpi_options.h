// SPDX-License-Identifier: Apache-2.0
// How ranks of an MPI job exchange data (mpi_group.h).
#pragma once

#include "engine/comm/groups/thread_group.h"
#include "stepscope/base/quantity.h"

namespace stepscope {

struct MpiOptions {
  Bytes bucket = default_bucket;
  bool shared_memory = true;  // false: MPI messages on one host too
};

}  // namespace stepscope
