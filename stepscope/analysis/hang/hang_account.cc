// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/hang_account.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

namespace stepscope {
namespace {

bool both(std::int64_t a, std::int64_t b) { return a >= 0 && b >= 0; }
bool differ(std::int64_t a, std::int64_t b) { return both(a, b) && a != b; }
// Only a root has, or lacks, a side of its own.
bool differ_where_given(std::int64_t a, std::int64_t b) { return a > 0 && b > 0 && a != b; }

bool types_differ(StringId a, StringId b) {
  return a != empty_string && b != empty_string && a != b;
}

bool sizes_differ(const CommCall& a, const CommCall& b) {
  using enum CollectiveKind;
  switch (a.kind) {
    case all_to_all:
    case send:
    case recv:
    case send_recv:
    case none:
    case barrier:
      return false;
    case scatter:
      return differ_where_given(a.out_elements, b.out_elements);
    case gather:
      return differ_where_given(a.in_elements, b.in_elements);
    case broadcast:
    case reduce:
      return differ_where_given(a.in_elements, b.in_elements) ||
             differ_where_given(a.out_elements, b.out_elements);
    case all_gather:  // an uneven one has a single total
      if (both(a.out_elements, b.out_elements)) return a.out_elements != b.out_elements;
      return differ(a.in_elements, b.in_elements);
    case reduce_scatter:
      if (both(a.in_elements, b.in_elements)) return a.in_elements != b.in_elements;
      return differ(a.out_elements, b.out_elements);
    case all_reduce:
    case unknown:
      break;
  }
  return differ(a.in_elements, b.in_elements) || differ(a.out_elements, b.out_elements);
}

constexpr std::size_t looked_ahead = 16;

// True if the following calls agree. Both sides need at least `least` calls.
bool agree(std::span<const CommCall> a, std::span<const CommCall> b, std::size_t least) {
  const std::size_t n = std::min({a.size(), b.size(), looked_ahead});
  if (n < least) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (difference(a[i], b[i])) return false;
  return true;
}

}  // namespace

std::optional<HangKind> difference(const CommCall& a, const CommCall& b) {
  const auto known = [](CollectiveKind kind) {
    return kind != CollectiveKind::unknown && kind != CollectiveKind::none;
  };
  const bool both_known = known(a.kind) && known(b.kind);
  const bool named = both_known || (a.name != empty_string && b.name != empty_string);
  if (named && (both_known ? a.kind != b.kind : a.name != b.name)) return HangKind::operation;
  if (sizes_differ(a, b)) return HangKind::size;
  if (a.kind != CollectiveKind::scatter && a.kind != CollectiveKind::broadcast &&
      types_differ(a.in_types, b.in_types))
    return HangKind::type;
  if (a.kind != CollectiveKind::gather && types_differ(a.out_types, b.out_types))
    return HangKind::type;
  if (a.arguments != b.arguments) return HangKind::argument;
  return std::nullopt;
}

Deviation deviation(std::span<const CommCall> mine, std::span<const CommCall> theirs) {
  Deviation out;
  const auto first = difference(mine[0], theirs[0]);
  out.kind = first.value_or(HangKind::operation);
  const bool same_behind = agree(mine.subspan(1), theirs.subspan(1), 1);
  if (out.kind != HangKind::operation && same_behind) return out;
  const auto rest = [](std::span<const CommCall> calls, std::size_t n) {
    return calls.subspan(std::min(n, calls.size()));
  };
  out.next_of_others = theirs.size() > 1 && !difference(mine[0], theirs[1]);
  const bool theirs_next = mine.size() > 1 && !difference(mine[1], theirs[0]);
  const bool order = out.next_of_others && theirs_next && agree(rest(mine, 2), rest(theirs, 2), 0);
  const bool left_out = out.next_of_others && agree(rest(mine, 1), rest(theirs, 2), 1);
  const bool additional = theirs_next && agree(rest(mine, 2), rest(theirs, 1), 1);
  // If the following calls fit both, the number of calls decides.
  if (order && !(left_out && theirs.size() == mine.size() + 1) &&
      !(additional && mine.size() == theirs.size() + 1))
    out.kind = HangKind::order;
  else if (left_out)
    out.kind = HangKind::left_out;
  else if (additional)
    out.kind = HangKind::additional;
  return out;
}

namespace {

// "a", or "a → b" if both exist and differ.
std::string joined(std::string_view in, std::string_view out) {
  if (in.empty() || in == out || in == "[]") return std::string(out.empty() ? in : out);
  if (out.empty() || out == "[]") return std::string(in);
  return std::string(in) + " → " + std::string(out);
}

}  // namespace

HangCall spelled(const CommRecords& records, const CommCall& call) {
  const StringPool& s = records.strings;
  HangCall out{.name = std::string(s[call.name]),
               .sizes = joined(s[call.in_sizes], s[call.out_sizes]),
               .types = joined(s[call.in_types], s[call.out_types]),
               .sequence = call.sequence,
               .state = call.state};
  if (out.sizes.empty() && call.in_elements >= 0)
    out.sizes =
        std::to_string(call.in_elements) + (call.in_elements == 1 ? " element" : " elements");
  if (call.arguments != empty_string) out.name += " (" + std::string(s[call.arguments]) + ")";
  if (call.stack < records.stacks.size())
    for (const StackFrame& f : records.stacks[call.stack])
      out.stack.push_back(std::string(s[f.function]) + " at " + std::string(s[f.file]) + ":" +
                          std::to_string(f.line));
  return out;
}

namespace {

// The calls from one rank of a group to another.
struct Channel {
  std::vector<const CommCall*> sends;
  std::vector<const CommCall*> receives;
};

bool is_waiting(CallState state) {
  return state == CallState::scheduled || state == CallState::started ||
         state == CallState::unfinished;
}

bool open(const CommCall& call, bool from_log) {
  return from_log ? call.state == CallState::unknown : is_waiting(call.state);
}

// Pairs the calls between two recorded ranks. Among waiting calls the n-th send and the n-th
// receive belong together. If it is unknown which calls wait (logs), all calls are paired from the
// first one, provided none before it was cut off. Reports calls left over, and pairs of different
// sizes.
void find_unpaired(const CommRecords& records, std::uint32_t group,
                   std::span<const CommSequence* const> sequences, HangAccount& out) {
  const RecordedGroup& named = records.groups[group];
  std::map<std::int32_t, const CommSequence*> by_place;  // by rank in the group
  std::map<std::pair<std::int32_t, std::int32_t>, Channel> channels;
  std::unordered_map<int, std::int32_t> place_of_rank;
  for (std::size_t place = 0; place < named.members.size(); ++place)
    place_of_rank.try_emplace(named.members[place], static_cast<std::int32_t>(place));
  for (const CommSequence* s : sequences) {
    const auto number = records.ranks[s->rank].number;
    const auto at = number ? place_of_rank.find(*number) : place_of_rank.end();
    if (at != place_of_rank.end()) by_place[at->second] = s;
  }
  for (const auto& [place, s] : by_place)
    for (const CommCall& call : s->pairs) {
      if (!open(call, named.from_log) || (named.from_log && !s->from_start)) continue;
      if (!by_place.contains(call.peer)) continue;  // nothing is known about the other rank
      if (call.kind == CollectiveKind::send) channels[{place, call.peer}].sends.push_back(&call);
      if (call.kind == CollectiveKind::recv) channels[{call.peer, place}].receives.push_back(&call);
    }
  for (const auto& [ends, channel] : channels) {
    const std::uint32_t from = by_place[ends.first]->rank;
    const std::uint32_t to = by_place[ends.second]->rank;
    const auto found = [&](HangKind kind, const CommCall& call, std::uint32_t who,
                           std::uint32_t waits) {
      return HangFinding{.kind = kind,
                         .group = group,
                         .sequence = call.sequence,
                         .since = call.sequence,
                         .call = spelled(records, call),
                         .ranks = {who},
                         .others = {waits}};
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
      break;  // later calls of this channel are out of step
    }
    if (channel.sends.size() > paired)
      out.findings.push_back(found(HangKind::unpaired, *channel.sends[paired], to, from));
    if (channel.receives.size() > paired)
      out.findings.push_back(found(HangKind::unpaired, *channel.receives[paired], from, to));
  }
}

// The position of a call in its group.
struct Place {
  std::int64_t sequence = 0;
  std::uint32_t ordinal = 0;
  auto operator<=>(const Place&) const = default;
};
Place place_of(const CommCall& call) { return {call.sequence, call.ordinal}; }

// A rank's side of a group.
struct Member {
  std::uint32_t rank = 0;
  const CommSequence* calls = nullptr;
  std::size_t next = 0;  // the first call not yet compared

  [[nodiscard]] std::span<const CommCall> rest() const {
    return std::span(calls->collectives).subspan(next);
  }
  // The last number it reached, even if the call itself is not recorded.
  [[nodiscard]] std::optional<Place> last() const {
    std::optional<Place> last;
    if (!calls->collectives.empty()) last = place_of(calls->collectives.back());
    if (calls->status && (calls->watchdog_only || !last) && calls->status->enqueued >= 0)
      last = std::max(last.value_or(Place{}), Place{calls->status->enqueued, 0});
    return last;
  }
  // True if the rank reached the call although the recorder kept no record of it.
  [[nodiscard]] bool passed(Place at) const {
    return calls->watchdog_only && calls->status && calls->status->enqueued >= at.sequence;
  }
  // True if that call is the one that the rank had not completed: its watchdog gave only numbers.
  [[nodiscard]] bool stands_at(Place at) const {
    return passed(at) && calls->status->completed >= 0 &&
           calls->status->completed + 1 == at.sequence;
  }
};

struct Group {
  std::uint32_t group = 0;
  std::vector<Member> members;  // members with a record, by rank
  std::vector<int> unrecorded;  // ranks of the job
  // Members of a watchdog's group that wrote nothing of it, but of another group.
  std::vector<std::uint32_t> elsewhere{};
};

// The members' calls of one number.
struct Meeting {
  Place at;
  std::vector<std::size_t> present;  // in Group::members; members with a call
  std::vector<std::size_t> passed;   // members that passed without a recorded call
  std::vector<std::size_t> behind;   // members whose last call is earlier
};

class GroupReader {
 public:
  GroupReader(const CommRecords& records, Group& group, HangAccount& out)
      : records_(records), group_(group), out_(out) {}

  void read() {
    for (std::optional<Place> at = next_place(); at; at = following(*at)) {
      const Meeting meeting = meet(*at);
      if (disagreement(meeting)) return;
      if (absence(meeting)) return;
      const std::size_t there = meeting.present.size() + standing(meeting).size();
      if (!stuck_ && there == group_.members.size() && unfinished(meeting)) stuck_ = meeting;
    }
    if (stuck_) not_finished(*stuck_);
  }

 private:
  // The smallest position that a member comes to next.
  [[nodiscard]] std::optional<Place> next_place() const {
    std::optional<Place> least;
    for (const Member& m : group_.members)
      if (const auto rest = m.rest(); !rest.empty() && (!least || place_of(rest[0]) < *least))
        least = place_of(rest[0]);
    return least;
  }
  // Moves every member past its call at `at`. Returns the smallest following position.
  std::optional<Place> following(Place at) {
    for (Member& m : group_.members)
      while (!m.rest().empty() && place_of(m.rest()[0]) <= at) ++m.next;
    return next_place();
  }
  [[nodiscard]] Meeting meet(Place at) const {
    Meeting meeting{.at = at, .present = {}, .passed = {}, .behind = {}};
    for (std::size_t i = 0; i < group_.members.size(); ++i) {
      const Member& m = group_.members[i];
      if (!m.rest().empty() && place_of(m.rest()[0]) == at)
        meeting.present.push_back(i);
      else if (m.passed(at))
        meeting.passed.push_back(i);
      else if (const auto last = m.last(); !last || *last < at)
        meeting.behind.push_back(i);
    }
    return meeting;
  }
  [[nodiscard]] const CommCall& call(std::size_t member) const {
    return group_.members[member].rest().front();
  }
  [[nodiscard]] std::vector<std::uint32_t> ranks(const std::vector<std::size_t>& members) const {
    std::vector<std::uint32_t> out;
    for (const std::size_t m : members) out.push_back(group_.members[m].rank);
    return out;
  }
  // The members that passed, and stand at this call by their numbers.
  [[nodiscard]] std::vector<std::size_t> standing(const Meeting& meeting) const {
    std::vector<std::size_t> out;
    for (const std::size_t m : meeting.passed)
      if (group_.members[m].stands_at(meeting.at)) out.push_back(m);
    return out;
  }
  [[nodiscard]] bool waits(std::size_t member) const { return is_waiting(call(member).state); }
  [[nodiscard]] bool unfinished(const Meeting& meeting) const {
    return std::ranges::any_of(meeting.present, [&](std::size_t m) { return waits(m); });
  }

  // Members grouped by equal calls, largest group first; of equal ones the group with the first
  // member.
  [[nodiscard]] std::vector<std::vector<std::size_t>> alike(const Meeting& meeting) const {
    std::vector<std::vector<std::size_t>> classes;
    for (const std::size_t m : meeting.present) {
      const auto same = std::ranges::find_if(
          classes, [&](const auto& c) { return !difference(call(c.front()), call(m)); });
      if (same == classes.end())
        classes.push_back({m});
      else
        same->push_back(m);
    }
    std::ranges::stable_sort(classes, std::ranges::greater{},
                             [](const auto& c) { return c.size(); });
    return classes;
  }

  bool disagreement(const Meeting& meeting) {
    const auto classes = alike(meeting);
    if (classes.size() < 2) return uneven_all_to_all(meeting);
    // The member with most known calls among members that call alike.
    const auto longest = [&](const std::vector<std::size_t>& members) {
      return *std::ranges::max_element(
          members, {}, [&](std::size_t m) { return group_.members[m].rest().size(); });
    };
    const std::size_t model = longest(classes[0]);
    for (std::size_t c = 1; c < classes.size(); ++c) {
      const std::size_t own = longest(classes[c]);
      const Deviation what = deviation(group_.members[own].rest(), group_.members[model].rest());
      HangFinding& f = add(what.kind, meeting, model);
      f.instead = spelled(records_, call(own));
      f.ranks = ranks(classes[c]);
      f.others = ranks(classes[0]);
      f.tied = classes[c].size() == classes[0].size();
      f.next_of_others = what.next_of_others;
    }
    return true;
  }

  // The sum of all sends must equal the sum of all receives.
  bool uneven_all_to_all(const Meeting& meeting) {
    if (meeting.present.empty() || !group_.unrecorded.empty() ||
        meeting.present.size() != group_.members.size())
      return false;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const std::size_t m : meeting.present) {
      const CommCall& c = call(m);
      if (c.kind != CollectiveKind::all_to_all || c.in_elements < 0 || c.out_elements < 0)
        return false;
      if (__builtin_add_overflow(sent, c.in_elements, &sent) ||
          __builtin_add_overflow(received, c.out_elements, &received))
        return false;
    }
    if (sent == received) return false;
    add(HangKind::size, meeting, meeting.present.front()).others = ranks(meeting.present);
    return true;
  }

  // Finds members that have not come. A call completed by all who came waits for nobody.
  bool absence(const Meeting& meeting) {
    const bool all_done = std::ranges::all_of(
        meeting.present, [&](std::size_t m) { return call(m).state == CallState::completed; });
    if (meeting.present.empty() || all_done) return false;
    if (meeting.behind.empty() && (group_.elsewhere.empty() || !unfinished(meeting))) {
      if (group_.unrecorded.empty() || !unfinished(meeting)) return false;
      HangFinding& f = add(HangKind::no_record, meeting, meeting.present.front());
      f.unrecorded = group_.unrecorded;
      std::vector<std::size_t> waiting = meeting.present;
      for (const std::size_t m : standing(meeting)) waiting.push_back(m);
      f.others = ranks(waiting);
      return true;
    }
    HangFinding& f = add(HangKind::missing, meeting, meeting.present.front());
    f.ranks = ranks(meeting.behind);
    f.ranks.insert(f.ranks.end(), group_.elsewhere.begin(), group_.elsewhere.end());
    f.unrecorded = group_.unrecorded;
    std::vector<std::size_t> waiting = meeting.present;
    // The call that a watchdog names is the first that its rank has not finished.
    for (const std::size_t m : meeting.passed) {
      const CommSequence& s = *group_.members[m].calls;
      if (!s.watchdog_only || s.collectives.empty()) waiting.push_back(m);
    }
    std::ranges::sort(waiting);
    f.others = ranks(waiting);
    if (meeting.behind.empty()) return true;
    const Member& who = group_.members[meeting.behind.front()];
    if (!who.calls->collectives.empty())
      f.instead = spelled(records_, who.calls->collectives.back());
    return true;
  }

  void not_finished(const Meeting& meeting) {
    for (Member& m : group_.members) {  // back to that call
      m.next = 0;
      const auto& calls = m.calls->collectives;
      while (m.next + 1 < calls.size() && place_of(calls[m.next]) < meeting.at) ++m.next;
    }
    std::vector<std::size_t> waiting;
    std::vector<std::size_t> done;
    for (const std::size_t m : meeting.present) (waits(m) ? waiting : done).push_back(m);
    if (waiting.empty()) return;  // numbers that were not in order
    for (const std::size_t m : standing(meeting)) waiting.push_back(m);  // behind those with a call
    const RecordedGroup& named = records_.groups[group_.group];
    const auto seen = static_cast<int>(group_.members.size());
    if (!named.members_recorded && (named.size == 0 || named.size > seen)) {
      HangFinding& f = add(HangKind::waiting, meeting, waiting.front());
      f.others = ranks(waiting);
      f.silent = named.size > 0 ? named.size - seen : 0;
      return;
    }
    HangFinding& f = add(HangKind::not_finished, meeting, waiting.front());
    f.ranks = ranks(waiting);
    f.others = ranks(done);
  }

  // About the call of `model`.
  HangFinding& add(HangKind kind, const Meeting& meeting, std::size_t model) {
    return out_.findings.emplace_back(
        HangFinding{.kind = kind,
                    .group = group_.group,
                    .sequence = meeting.at.sequence,
                    .since = (stuck_ ? stuck_->at : meeting.at).sequence,
                    .call = spelled(records_, call(model))});
  }

  const CommRecords& records_;
  Group& group_;
  HangAccount& out_;
  std::optional<Meeting> stuck_;
};

std::vector<Group> groups_of(const CommRecords& records) {
  std::vector<Group> groups(records.groups.size());
  for (std::uint32_t g = 0; g < groups.size(); ++g) groups[g].group = g;
  for (const CommSequence& s : records.sequences) {
    const bool empty = s.collectives.empty() && s.pairs.empty() && !s.status;
    if (empty && !records.groups[s.group].members_recorded) continue;
    groups[s.group].members.push_back({.rank = s.rank, .calls = &s, .next = 0});
  }
  std::set<std::uint32_t> waits;  // ranks whose watchdog wrote of any group
  for (const CommSequence& s : records.sequences)
    if (s.watchdog_only && (!s.collectives.empty() || s.status)) waits.insert(s.rank);
  for (Group& g : groups) {
    std::ranges::sort(g.members, {}, [&](const Member& m) {
      return std::pair(records.ranks[m.rank].number.value_or(1 << 30), m.rank);
    });
    std::set<int> seen;
    for (const Member& m : g.members)
      if (const auto n = records.ranks[m.rank].number) seen.insert(*n);
    const RecordedGroup& named = records.groups[g.group];
    for (const int rank : named.members) {
      if (seen.contains(rank)) continue;
      const auto known = records.rank_index.find(rank);
      if (known == records.rank_index.end()) {
        g.unrecorded.push_back(rank);
        continue;
      }
      // A rank with a dump is recorded, even if it called nothing in this group.
      if (records.ranks[known->second].has_dump) continue;
      if (named.places.empty() || !waits.contains(known->second))
        g.unrecorded.push_back(rank);
      else if (!named.guessed)
        g.elsewhere.push_back(known->second);
    }
  }
  return groups;
}

HangGroup account_of(const Group& group, const CommRecords& records) {
  const RecordedGroup& named = records.groups[group.group];
  HangGroup out{.group = group.group,
                .size = named.size > 0 ? named.size : static_cast<int>(named.members.size()),
                .recorded = static_cast<int>(group.members.size())};
  bool all = true;
  for (const Member& m : group.members) {
    out.calls += m.calls->collectives.size();
    out.pairs += m.calls->pairs.size();
    const auto last = m.last();
    all = all && last;
    if (!last) continue;
    out.furthest = std::max(out.furthest.value_or(last->sequence), last->sequence);
    out.all_reached = std::min(out.all_reached.value_or(last->sequence), last->sequence);
  }
  if (!all) out.all_reached.reset();
  return out;
}

// Timeouts of groups without other findings.
void leftover_timeouts(const CommRecords& records, HangAccount& out) {
  std::set<std::uint32_t> explained;  // groups
  for (const HangFinding& f : out.findings) explained.insert(f.group);
  std::map<std::pair<std::uint32_t, std::int64_t>, std::size_t> findings;  // by group and number
  std::set<std::pair<std::size_t, std::uint32_t>> named;  // ranks of these findings
  for (const WatchdogTimeout& t : records.timeouts) {
    if (explained.contains(t.group)) continue;
    const auto [at, fresh] = findings.try_emplace({t.group, t.sequence}, out.findings.size());
    const bool known = !named.emplace(at->second, t.rank).second;
    if (!fresh) {
      if (!known) out.findings[at->second].ranks.push_back(t.rank);
      continue;
    }
    out.findings.push_back(
        {.kind = HangKind::timeout,
         .group = t.group,
         .sequence = t.sequence,
         .call = HangCall{.name = t.operation,
                          .sizes = t.in_elements ? std::to_string(*t.in_elements) : std::string(),
                          .types = {},
                          .sequence = t.sequence,
                          .state = CallState::unfinished},
         .ranks = {t.rank}});
  }
}

}  // namespace

HangAccount find_hang(const CommRecords& records) {
  HangAccount out;
  std::vector<Group> groups = groups_of(records);
  for (Group& group : groups) {
    if (group.members.empty()) continue;
    GroupReader(records, group, out).read();
    std::vector<const CommSequence*> sequences;
    for (const Member& m : group.members) sequences.push_back(m.calls);
    find_unpaired(records, group.group, sequences, out);
    out.groups.push_back(account_of(group, records));
    out.calls += out.groups.back().calls + out.groups.back().pairs;
  }
  find_compared(records, out);
  find_barriers(records, out);
  find_desync(records, out);
  find_causes(records, out);
  leftover_timeouts(records, out);
  put_causes_first(out);
  std::unordered_map<std::uint32_t, std::size_t> first_of;  // by group
  for (std::size_t f = 0; f < out.findings.size(); ++f)
    first_of.try_emplace(out.findings[f].group, f);
  for (HangGroup& g : out.groups)
    if (const auto at = first_of.find(g.group); at != first_of.end()) g.finding = at->second;
  std::vector<bool> called(records.ranks.size(), false);
  for (const CommSequence& s : records.sequences)
    if (!s.collectives.empty() || !s.pairs.empty()) called[s.rank] = true;
  for (std::uint32_t r = 0; r < called.size(); ++r)
    if (!called[r] && records.ranks[r].has_dump) out.silent.push_back(r);
  return out;
}

}  // namespace stepscope
