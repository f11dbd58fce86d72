// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL as an export has them: NVTX ranges around its API, with a typed payload
// (communicator, bytes, root or peer) where the export was made with --include-blobs=true.
// Layouts: nccl/src/include/nvtx_payload_schemas.h, NVTX nvToolsExtPayload.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// Fields of a payload that are used, by their names in the schema.
enum class NcclField : std::uint8_t { none, communicator, bytes, ranks, rank, peer };

struct NcclEntry {
  NcclField field = NcclField::none;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  // 4 or 8 bytes, little endian
};

// By schema id. Those of an export, else what NCCL defines statically.
using NcclSchemas = std::map<std::uint64_t, std::vector<NcclEntry>>;
[[nodiscard]] NcclSchemas read_nccl_schemas(NsysExport& nsys);

// ncclAllReduce, ncclGroupEnd, …: a function of NCCL's API.
[[nodiscard]] bool is_nccl_call(std::string_view range);

// The name that a communicator has as a process group: "0x1f2e…".
[[nodiscard]] std::string nccl_group_name(std::uint64_t communicator);

// `data`: NVTX_EVENTS.binaryData, bytes or hexadecimal text. Fills what it tells; a payload of an
// unknown schema or a damaged one tells nothing.
void read_nccl_payload(std::string_view data, const NcclSchemas& schemas, NcclCall& call);

// Payloads → collectives on the ranges and, for calls in a group, on the kernels that the group
// launched. Fills NsysProcess::communicators. Call once all tables are read. Sizes are in elements
// of the type "bytes": NCCL's records have no type.
void add_nccl_collectives(NsysExport& nsys, NsysProcess& process);

}  // namespace stepscope
