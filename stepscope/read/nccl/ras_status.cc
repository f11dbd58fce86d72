// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/ras_status.h"

#include <utility>

#include "stepscope/read/bytes/json_members.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_ras_ranks = 16'777'216;

bool ras_flag(const JsonValue& object, std::string_view key) {
  const JsonValue* found = json_member(object, key, JsonValue::Kind::boolean);
  return found != nullptr && found->boolean;
}

void read_calls(const JsonValue& counts, RasRank& rank) {
  using enum CollectiveKind;
  constexpr std::array<std::pair<std::string_view, CollectiveKind>, 8> kinds = {
      {{"Broadcast", broadcast},
       {"Reduce", reduce},
       {"AllGather", all_gather},
       {"ReduceScatter", reduce_scatter},
       {"AllReduce", all_reduce},
       {"AlltoAll", all_to_all},
       {"Gather", gather},
       {"Scatter", scatter}}};
  for (const auto& [name, kind] : kinds)
    rank.calls[static_cast<std::size_t>(kind)] =
        static_cast<std::uint64_t>(json_whole(counts, name).value_or(0));
}

void read_ranks(const JsonValue& communicator, std::string_view key, std::int32_t size,
                std::vector<RasRank>& out) {
  const JsonValue* list = json_member(communicator, key, JsonValue::Kind::list);
  if (list == nullptr) return;
  for (const JsonValue& item : list->items) {
    if (item.kind != JsonValue::Kind::object) continue;
    const auto number = json_whole(item, "rank", 0, std::int64_t{size} - 1);
    if (!number) continue;
    RasRank rank{.rank = static_cast<std::int32_t>(*number)};
    rank.host = json_string(item, "host").substr(0, 256);
    rank.pid = json_whole(item, "pid").value_or(-1);
    if (const JsonValue* status = json_member(item, "status", JsonValue::Kind::object)) {
      rank.unresponsive = ras_flag(*status, "unresponsive");
      rank.dead = ras_flag(*status, "considered_dead");
    }
    if (const JsonValue* c = json_member(item, "collective_counts", JsonValue::Kind::object))
      read_calls(*c, rank);
    out.push_back(std::move(rank));
  }
}

}  // namespace

Result<RasStatus> parse_ras_status(std::string_view text) {
  const auto root = parse_json(text, "RAS status");
  if (!root) return root.error();
  const JsonValue* list = json_member(*root, "communicators", JsonValue::Kind::list);
  if (list == nullptr || json_string(*root, "nccl_version").empty())
    return Error{.what = "is no status of NCCL's RAS in JSON",
                 .hint = "write it by ncclras -f json, of NCCL 2.28.7 or newer"};
  RasStatus out{.nccl_version = json_string(*root, "nccl_version").substr(0, 64)};
  for (const JsonValue& item : list->items) {
    if (item.kind != JsonValue::Kind::object) continue;
    const auto size = json_whole(item, "size", 1, most_ras_ranks);
    if (!size) continue;
    RasCommunicator communicator{.id = json_string(item, "hash").substr(0, 64) + " " +
                                       json_string(item, "secondary_hash").substr(0, 64),
                                 .size = static_cast<std::int32_t>(*size)};
    read_ranks(item, "ranks", communicator.size, communicator.ranks);
    read_ranks(item, "missing_ranks", communicator.size, communicator.missing);
    out.communicators.push_back(std::move(communicator));
  }
  return out;
}

}  // namespace stepscope
