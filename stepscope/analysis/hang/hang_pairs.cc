// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/hang_pairs.h"

#include <algorithm>
#include <map>

#include "stepscope/analysis/hang/hang_words.h"

namespace stepscope {
namespace {

// What goes from one place of a group to another.
struct Channel {
  std::vector<const CommCall*> sends;
  std::vector<const CommCall*> receives;
};

bool open(const CommCall& call, bool from_log) {
  if (from_log) return call.state == CallState::unknown;
  return call.state == CallState::scheduled || call.state == CallState::started;
}

}  // namespace

void find_unpaired(const CommRecords& records, std::uint32_t group, HangAccount& out) {
  const RecordedGroup& named = records.groups[group];
  std::map<std::int32_t, const CommSequence*> by_place;  // of the group
  std::map<std::pair<std::int32_t, std::int32_t>, Channel> channels;
  for (const CommSequence& s : records.sequences) {
    if (s.group != group) continue;
    const auto number = records.ranks[s.rank].number;
    const auto at = number ? std::ranges::find(named.members, *number) : named.members.end();
    if (at == named.members.end()) continue;
    by_place[static_cast<std::int32_t>(at - named.members.begin())] = &s;
  }
  for (const auto& [place, s] : by_place)
    for (const CommCall& call : s->pairs) {
      if (!open(call, named.from_log) || (named.from_log && !s->from_start)) continue;
      if (!by_place.contains(call.peer)) continue;  // of the other one nothing is known
      if (call.kind == CollectiveKind::send) channels[{place, call.peer}].sends.push_back(&call);
      if (call.kind == CollectiveKind::recv) channels[{call.peer, place}].receives.push_back(&call);
    }
  for (const auto& [ends, channel] : channels) {
    const std::uint32_t from = by_place[ends.first]->rank;
    const std::uint32_t to = by_place[ends.second]->rank;
    const auto found = [&](HangKind kind, const CommCall& call, std::uint32_t who,
                           std::uint32_t waits) {
      HangFinding f;
      f.kind = kind;
      f.group = group;
      f.sequence = f.since = call.sequence;
      f.call = spelled(records, call);
      f.ranks = {who};
      f.others = {waits};
      return f;
    };
    const std::size_t paired = std::min(channel.sends.size(), channel.receives.size());
    for (std::size_t i = 0; i < paired; ++i) {
      const CommCall& send = *channel.sends[i];
      const CommCall& receive = *channel.receives[i];
      const std::int64_t sent = std::max(send.in_elements, send.out_elements);
      const std::int64_t wanted = std::max(receive.in_elements, receive.out_elements);
      if (sent < 0 || wanted < 0 || sent == wanted) continue;
      HangFinding f = found(HangKind::pair_size, send, from, to);
      f.instead = spelled(records, receive);
      out.findings.push_back(std::move(f));
      break;  // what follows on this way is out of step
    }
    if (channel.sends.size() > paired)
      out.findings.push_back(found(HangKind::unpaired, *channel.sends[paired], to, from));
    if (channel.receives.size() > paired)
      out.findings.push_back(found(HangKind::unpaired, *channel.receives[paired], from, to));
  }
}

}  // namespace stepscope
