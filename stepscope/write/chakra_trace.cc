// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chakra_trace.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "stepscope/base/output_file.h"
#include "stepscope/base/proto_wire.h"
#include "stepscope/write/chakra_trace_queues.h"

namespace stepscope {
namespace {

constexpr std::size_t most_buffered = std::size_t{1} << 20;

// NodeType
enum : std::uint64_t { comp_node = 4, send_node = 5, recv_node = 6, coll_node = 7 };

// CollectiveCommType. A barrier is an all-reduce without bytes, which simulators know.
std::uint64_t comm_type(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::reduce:
      return 1;
    case CollectiveKind::all_gather:
      return 2;
    case CollectiveKind::gather:
      return 3;
    case CollectiveKind::scatter:
      return 4;
    case CollectiveKind::broadcast:
      return 5;
    case CollectiveKind::all_to_all:
      return 6;
    case CollectiveKind::reduce_scatter:
      return 7;
    default:
      return 0;
  }
}

// The bytes that each member brings, or of a message. ASTRA-sim never ends an all-gather with fewer
// bytes than chunks, and accepts no message without bytes.
std::uint64_t comm_size(const ProgramNode& n, std::size_t members) {
  const auto bytes = static_cast<std::uint64_t>(std::max<std::int64_t>(0, n.bytes.value));
  if (n.work != ProgramWork::collective) return std::max<std::uint64_t>(1, bytes);
  if (n.kind == CollectiveKind::all_gather || n.kind == CollectiveKind::gather)
    return std::max<std::uint64_t>(64, bytes / std::max<std::size_t>(1, members));
  return bytes;
}

// Fields of AttributeProto's value.
enum : std::uint32_t { int32_val = 7, int64_val = 9, bool_val = 27, string_val = 29 };

class NodeWriter {
 public:
  NodeWriter(OutputFile& out, const std::vector<ProgramGroup>& groups)
      : out_(out), groups_(groups) {}

  void header(int rank) {
    std::string metadata;
    append_bytes(metadata, 1, "0.0.4");
    std::string attribute;
    append_bytes(attribute, 1, "rank");
    append_number(attribute, int64_val, static_cast<std::uint64_t>(rank));
    append_bytes(metadata, 2, attribute);
    put(metadata);
  }

  void node(const ProgramNode& n, std::uint64_t id, std::uint32_t rank) {
    message_.clear();
    if (id > 0) append_number(message_, 1, id);
    append_bytes(message_, 2, n.name);
    append_number(message_, 3, type_of(n.work));
    std::string deps;
    for (const std::uint32_t before : n.after) append_varint(deps, before);
    if (!deps.empty()) append_bytes(message_, 5, deps);
    append_number(message_, 6,
                  static_cast<std::uint64_t>(std::max<Ns>(n.start, Ns{0}).count()) / 1000);
    append_number(message_, 7, micros(n));
    flag("is_cpu_op", n.work == ProgramWork::host);
    if (n.work == ProgramWork::collective) {
      integer("comm_type", int64_val, comm_type(n.kind));
      integer("comm_size", int64_val, comm_size(n, groups_[n.group].ranks.size()));
      text("pg_name", std::to_string(n.group + 1));
    } else if (n.work == ProgramWork::send || n.work == ProgramWork::receive) {
      const bool sends = n.work == ProgramWork::send;
      integer("comm_src", int32_val, sends ? rank : n.peer);
      integer("comm_dst", int32_val, sends ? n.peer : rank);
      integer("comm_tag", int32_val, n.tag & 0x7fffffffU);
      integer("comm_size", int64_val, comm_size(n, 2));
    }
    put(message_);
  }
  void flush() {
    out_.write(buffer_);
    buffer_.clear();
  }

 private:
  static std::uint64_t type_of(ProgramWork work) {
    switch (work) {
      case ProgramWork::collective:
        return coll_node;
      case ProgramWork::send:
        return send_node;
      case ProgramWork::receive:
        return recv_node;
      case ProgramWork::host:
      case ProgramWork::kernel:
        break;
    }
    return comp_node;
  }
  // Whole microseconds; the rest goes to the next node of this work.
  std::uint64_t micros(const ProgramNode& n) {
    Ns& rest = rest_[static_cast<std::size_t>(n.work)];
    const Ns time = n.duration + rest;
    const std::int64_t whole = time <= Ns{0} ? 0 : (time.count() + 500) / 1000;
    rest = time - Ns{whole * 1000};
    return static_cast<std::uint64_t>(whole);
  }
  void begin_attribute(std::string_view name) {
    attribute_.clear();
    append_bytes(attribute_, 1, name);
  }
  void integer(std::string_view name, std::uint32_t field, std::uint64_t value) {
    begin_attribute(name);
    append_number(attribute_, field, value);
    append_bytes(message_, 10, attribute_);
  }
  void flag(std::string_view name, bool value) { integer(name, bool_val, value ? 1 : 0); }
  void text(std::string_view name, std::string_view value) {
    begin_attribute(name);
    append_bytes(attribute_, string_val, value);
    append_bytes(message_, 10, attribute_);
  }
  void put(std::string_view message) {
    append_varint(buffer_, message.size());
    buffer_ += message;
    if (buffer_.size() >= most_buffered) flush();
  }

  OutputFile& out_;
  const std::vector<ProgramGroup>& groups_;
  std::string buffer_;
  std::string message_;
  std::string attribute_;
  std::array<Ns, 5> rest_{};  // by work
};

Result<Done> write_rank(const JobProgram& program, std::uint32_t row, const std::string& path) {
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  NodeWriter writer(*file, program.groups);
  const RankProgram& rank = program.ranks[row];
  writer.header(rank.rank);
  for (std::size_t n = 0; n < rank.nodes.size(); ++n) writer.node(rank.nodes[n], n, row);
  writer.flush();
  return file->commit();
}

}  // namespace

Result<Done> write_chakra(const JobProgram& program, const std::string& directory) {
  const std::filesystem::path in(directory);
  std::error_code failed;
  std::filesystem::create_directories(in / "replay", failed);
  if (failed)
    return Error{.what = "the directory cannot be made: " + failed.message(), .file = directory};
  nlohmann::ordered_json groups = nlohmann::ordered_json::object();
  for (std::size_t g = 0; g < program.groups.size(); ++g)
    groups[std::to_string(g + 1)] = program.groups[g].ranks;
  for (const bool recorded : {false, true}) {
    const JobProgram queued = in_queues(program, {.recorded_times = recorded});
    const std::filesystem::path where = recorded ? in / "replay" : in;
    for (std::uint32_t r = 0; r < queued.ranks.size(); ++r)
      if (const auto ok = write_rank(queued, r, where / ("job." + std::to_string(r) + ".et")); !ok)
        return ok;
  }
  return write_file(in / "groups.json", groups.dump(1) + "\n");
}

}  // namespace stepscope
