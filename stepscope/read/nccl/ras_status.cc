// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/ras_status.h"

#include <limits>
#include <optional>
#include <utility>

#include "stepscope/read/bytes/plain_json.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_ras_ranks = 16'777'216;

std::optional<PlainValue> ras_member(const PlainValue& object, std::string_view key,
                                     PlainKind kind) {
  const auto found = object.find(key);
  return found && found->kind() == kind ? found : std::nullopt;
}

std::optional<std::int64_t> ras_whole(
    const PlainValue& object, std::string_view key, std::int64_t least = 0,
    std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const auto found = object.find(key);
  const auto whole = found ? found->integer() : std::nullopt;
  return whole && *whole >= least && *whole <= most ? whole : std::nullopt;
}

std::string ras_string(const PlainValue& object, std::string_view key, std::size_t most) {
  const auto found = object.find(key);
  return std::string(found ? found->text().value_or("").substr(0, most) : std::string_view());
}

bool ras_flag(const PlainValue& object, std::string_view key) {
  const auto found = object.find(key);
  return found && found->boolean().value_or(false);
}

void read_calls(const PlainValue& counts, RasRank& rank) {
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
        static_cast<std::uint64_t>(ras_whole(counts, name).value_or(0));
}

void read_ranks(const PlainValue& communicator, std::string_view key, std::int32_t size,
                std::vector<RasRank>& out) {
  const auto list = ras_member(communicator, key, PlainKind::list);
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const PlainValue item = (*list)[i];
    if (item.kind() != PlainKind::dict) continue;
    const auto number = ras_whole(item, "rank", 0, std::int64_t{size} - 1);
    if (!number) continue;
    RasRank rank{.rank = static_cast<std::int32_t>(*number)};
    rank.host = ras_string(item, "host", 256);
    rank.pid = ras_whole(item, "pid").value_or(-1);
    if (const auto status = ras_member(item, "status", PlainKind::dict)) {
      rank.unresponsive = ras_flag(*status, "unresponsive");
      rank.dead = ras_flag(*status, "considered_dead");
    }
    if (const auto c = ras_member(item, "collective_counts", PlainKind::dict)) read_calls(*c, rank);
    out.push_back(std::move(rank));
  }
}

}  // namespace

bool begins_ras_status(const PlainValue& head) {
  return head.find("nccl_version") || head.find("communicators");
}

Result<RasStatus> parse_ras_status(std::string text) {
  const auto tree = parse_plain_json(std::move(text), "RAS status");
  if (!tree) return tree.error();
  const PlainValue root = tree->value();
  const auto list = ras_member(root, "communicators", PlainKind::list);
  RasStatus out{.nccl_version = ras_string(root, "nccl_version", 64)};
  if (!list || out.nccl_version.empty() || tree->trailing_bytes > 0)
    return Error{.what = "is no status of NCCL's RAS in JSON",
                 .hint = "write it by ncclras -f json, of NCCL 2.28.7 or newer"};
  for (std::size_t i = 0; i < list->size(); ++i) {
    const PlainValue item = (*list)[i];
    if (item.kind() != PlainKind::dict) continue;
    const auto size = ras_whole(item, "size", 1, most_ras_ranks);
    if (!size) continue;
    RasCommunicator communicator{
        .id = ras_string(item, "hash", 64) + " " + ras_string(item, "secondary_hash", 64),
        .size = static_cast<std::int32_t>(*size)};
    read_ranks(item, "ranks", communicator.size, communicator.ranks);
    read_ranks(item, "missing_ranks", communicator.size, communicator.missing);
    out.communicators.push_back(std::move(communicator));
  }
  return out;
}

}  // namespace stepscope
