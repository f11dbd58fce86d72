// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/inspector_log.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "stepscope/read/bytes/json_members.h"

namespace stepscope {
namespace {

// No operation takes longer: 10 days.
constexpr std::int64_t most_operation_us = 864'000'000'000;
constexpr std::int64_t most_communicator_ranks = 16'777'216;

CollectiveKind inspector_kind(std::string_view function) {
  using enum CollectiveKind;
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 12> kinds = {
      {{"AllReduce", all_reduce},
       {"AllGather", all_gather},
       {"ReduceScatter", reduce_scatter},
       {"Broadcast", broadcast},
       {"Reduce", reduce},
       {"AlltoAll", all_to_all},
       {"AllToAll", all_to_all},
       {"Gather", gather},
       {"Scatter", scatter},
       {"SendRecv", send_recv},
       {"Send", send},
       {"Recv", recv}}};
  for (const auto& [name, kind] : kinds)
    if (name == function) return kind;
  return unknown;
}

bool read_header(const JsonValue& header, InspectorContext& context) {
  context.communicator = json_string(header, "id");
  context.name = json_string(header, "comm_name");
  if (context.name == "unknown") context.name.clear();
  const auto ranks = json_whole(header, "n_ranks", 1, most_communicator_ranks);
  if (!ranks || context.communicator.empty() || context.communicator.size() > 64 ||
      context.name.size() > 256)
    return false;
  const auto rank = json_whole(header, "rank", 0, *ranks - 1);
  if (!rank) return false;
  context.rank = static_cast<std::int32_t>(*rank);
  context.ranks = static_cast<std::int32_t>(*ranks);
  return true;
}

void read_metadata(const JsonValue& metadata, InspectorContext& context, std::string& version) {
  context.host = json_string(metadata, "hostname").substr(0, 256);
  context.pid = json_whole(metadata, "pid").value_or(-1);
  context.dump_us = json_whole(metadata, "dump_timestamp_us", 1).value_or(0);
  version = json_string(metadata, "inspector_output_format_version").substr(0, 16);
}

std::optional<InspectorOperation> read_operation(const JsonValue& record, bool p2p) {
  const std::string prefix = p2p ? "p2p" : "coll";
  const JsonValue* function = json_member(record, prefix, JsonValue::Kind::text);
  const auto number = json_whole(record, prefix + "_sn");
  const auto bytes = json_whole(record, prefix + "_msg_size_bytes");
  const auto taken = json_whole(record, prefix + "_exec_time_us", 0, most_operation_us);
  if (function == nullptr || !number || !bytes || !taken) return std::nullopt;
  InspectorOperation operation{.p2p = p2p, .kind = inspector_kind(function->text)};
  operation.number = static_cast<std::uint64_t>(*number);
  operation.bytes = static_cast<std::uint64_t>(*bytes);
  operation.duration = Ns{*taken * 1000};
  const std::string source = json_string(record, prefix + "_timing_source");
  operation.gpu_timed = source.empty() || source == "kernel_gpu";
  if (p2p)
    operation.peer = static_cast<std::int32_t>(
        json_whole(record, "p2p_peer", 0, most_communicator_ranks).value_or(-1));
  if (const JsonValue* stamps = json_member(record, "event_trace_ts", JsonValue::Kind::object))
    operation.start_us = json_whole(*stamps, prefix + "_start_ts", 1).value_or(0);
  return operation;
}

// The text with bare infinities as null.
std::string without_infinities(std::string_view line) {
  std::string out;
  out.reserve(line.size() + 8);
  for (std::size_t at = 0; at < line.size(); ++at) {
    out += line[at];
    if (line[at] != ':') continue;
    std::size_t value = at + 1;
    while (value < line.size() && line[value] == ' ') ++value;
    if (value < line.size() && line[value] == '-') ++value;
    if (line.substr(value, 3) != "inf") continue;
    out += "null";
    at = value + 2;
  }
  return out;
}

}  // namespace

bool is_inspector_line(std::string_view line) {
  if (!line.starts_with('{')) return false;
  for (const std::string_view key :
       {"\"coll_perf\"", "\"p2p_perf\"", "\"dump_stats\"", "\"proxy_trace\""})
    if (line.find(key) != std::string_view::npos) return true;
  return false;
}

void InspectorLog::restart() {
  in_batch_ = false;
  left_ = {};
}

std::optional<InspectorLine> InspectorLog::take(std::string_view line) {
  auto parsed = parse_json(line, "line");
  if (!parsed && line.find("inf") != std::string_view::npos)
    parsed = parse_json(without_infinities(line), "line");
  if (!parsed || parsed->kind != JsonValue::Kind::object) {
    ++counts_.not_understood;
    return std::nullopt;
  }
  const JsonValue& root = *parsed;
  const JsonValue* header = json_member(root, "header", JsonValue::Kind::object);
  const JsonValue* stats = json_member(root, "dump_stats", JsonValue::Kind::object);
  const JsonValue* coll = json_member(root, "coll_perf", JsonValue::Kind::object);
  const JsonValue* p2p = json_member(root, "p2p_perf", JsonValue::Kind::object);
  const JsonValue* proxy = json_member(root, "proxy_trace", JsonValue::Kind::object);
  if (stats == nullptr && coll == nullptr && p2p == nullptr && proxy == nullptr) {
    ++counts_.not_understood;
    return std::nullopt;
  }
  if (header != nullptr) {
    counts_.lost_lines += std::accumulate(left_.begin(), left_.end(), std::uint64_t{0});
    restart();
    context_ = {};
    if (!read_header(*header, context_)) {
      ++counts_.not_understood;
      return std::nullopt;
    }
    if (const JsonValue* metadata = json_member(root, "metadata", JsonValue::Kind::object))
      read_metadata(*metadata, context_, version_);
  } else {
    std::uint64_t& left = left_[coll != nullptr ? 0 : p2p != nullptr ? 1 : 2];
    if (!in_batch_ || left == 0) {
      ++counts_.orphans;
      return std::nullopt;
    }
    --left;
  }
  InspectorLine out{.context = &context_};
  if (stats != nullptr) {
    const auto count = [&](std::string_view key) {
      return static_cast<std::uint64_t>(json_whole(*stats, key).value_or(0));
    };
    out.drops = {count("coll_dropped_since_last_dump"), count("p2p_dropped_since_last_dump")};
    // The lines of a batch carry their own header up to 4.2.
    if (version_ != "v4.0" && version_ != "v4.1" && version_ != "v4.2") {
      in_batch_ = true;
      // A broken marker must not make the sum of lines that are lost overflow.
      constexpr std::uint64_t most = 1'000'000'000;
      left_ = {std::min(count("coll_records"), most), std::min(count("p2p_records"), most),
               std::min(count("proxy_records"), most)};
    }
    return out;
  }
  if (coll != nullptr || p2p != nullptr) {
    out.operation = read_operation(coll != nullptr ? *coll : *p2p, coll == nullptr);
    if (!out.operation) {
      ++counts_.not_understood;
      return std::nullopt;
    }
    ++counts_.operations;
  }
  return out;
}

}  // namespace stepscope
