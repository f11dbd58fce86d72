// SPDX-License-Identifier: Apache-2.0
// NCCL calls of an export: NVTX ranges around NCCL's API. They have a typed payload (communicator,
// bytes, root or peer) if the export was made with --include-blobs=true. Layouts:
// nccl/src/include/nvtx_payload_schemas.h, NVTX nvToolsExtPayload.h.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/read/nsys/nsys_process.h"

namespace stepscope {

// The used fields of a payload, by their names in the schema.
enum class NcclField : std::uint8_t { none, communicator, bytes, ranks, rank, peer };

struct NcclEntry {
  NcclField field = NcclField::none;
  std::uint32_t offset = 0;
  std::uint32_t size = 0;  // 4 or 8 bytes, little endian
};

// By schema id: those of the export, else those that NCCL defines statically.
using NcclSchemas = std::map<std::uint64_t, std::vector<NcclEntry>>;
[[nodiscard]] NcclSchemas read_nccl_schemas(NsysExport& nsys);

// Whether the range is a function of NCCL's API: ncclAllReduce, ncclGroupEnd, ….
[[nodiscard]] bool is_nccl_call(std::string_view range);

// The process group name of a communicator: "0x1f2e…".
[[nodiscard]] std::string nccl_group_name(std::uint64_t communicator);

// `data`: NVTX_EVENTS.binaryData, bytes or hexadecimal text. Fills the fields that the payload has.
// A payload with an unknown schema or damage fills none.
void read_nccl_payload(std::string_view data, const NcclSchemas& schemas, NcclCall& call);

// Turns payloads into collectives on the ranges and, for calls in a group, on the kernels that the
// group launched. Fills NsysProcess::communicators. Call it once, after all tables are read. Sizes
// are in elements of the type "bytes", because NCCL's records have no type.
void add_nccl_collectives(NsysExport& nsys, NsysProcess& process);

}  // namespace stepscope
