// SPDX-License-Identifier: Apache-2.0
// Writes a job's program as Chakra execution traces (schema/protobuf/et_def.proto of
// github.com/mlcommons/chakra), which ASTRA-sim and other simulators read: one file a rank, and the
// members of the process groups as JSON.
//
// A file is a GlobalMetadata message and then Nodes, each behind its length as a varint. What a
// node waits for are its data_deps; the feeder of Chakra looks at no others. A rank has one core,
// one queue of kernels and one of communication (chakra_trace_queues.h). Times are whole
// microseconds. What rounding takes from a node goes to a later one of the same rank and kind of
// work, so sums stay right. Attributes: is_cpu_op; of a collective comm_type, comm_size (the bytes
// that each member brings) and pg_name; of a message comm_src, comm_dst, comm_tag and comm_size.
#pragma once

#include <string>

#include "stepscope/base/result.h"
#include "stepscope/write/job_program.h"

namespace stepscope {

// Writes DIRECTORY/job.N.et of each rank N, numbered from 0 without gaps, and
// DIRECTORY/groups.json: {"1": [0, 1], ...}, whose keys the nodes have as pg_name. The files in
// DIRECTORY/replay are for a simulator in which ranks do not meet (ASTRA-sim with "replay-only"):
// the times of communication have the waiting for others in them. Makes the directories.
[[nodiscard]] Result<Done> write_chakra(const JobProgram& program, const std::string& directory);

}  // namespace stepscope
