// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/flight_recorder.h"

#include <algorithm>
#include <set>

#include "stepscope/base/number_text.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

std::string_view text_of(const PlainValue& dict, std::string_view key) {
  const auto value = dict.find(key);
  return value ? value->text().value_or(std::string_view()) : std::string_view();
}

// An integer, or a string that contains one: the JSON form writes some so.
std::optional<std::int64_t> whole(const std::optional<PlainValue>& value) {
  if (!value) return std::nullopt;
  if (const auto number = value->integer()) return number;
  const auto text = value->text();
  if (!text) return std::nullopt;
  return number_of<std::int64_t>(*text);
}

std::optional<std::int64_t> whole_of(const PlainValue& dict, std::string_view key) {
  return whole(dict.find(key));
}

bool flag_of(const PlainValue& dict, std::string_view key) {
  const auto value = dict.find(key);
  return value && value->boolean().value_or(false);
}

struct Tensors {
  StringId sizes{};
  std::int64_t elements = -1;
};

class DumpReader {
 public:
  DumpReader(int rank, CommInput& input, CommRecords& into)
      : rank_(into.rank_numbered(rank)), number_(rank), input_(input), into_(into) {
    into.ranks[rank_].has_dump = true;
  }

  void read(const PlainValue& dump) {
    if (const auto config = dump.find("pg_config")) groups(*config);
    if (const auto entries = dump.find("entries"))
      for (std::size_t i = 0; i < entries->size(); ++i) entry((*entries)[i]);
    if (const auto status = dump.find("pg_status")) statuses(*status);
  }

 private:
  void note(const std::string& reason) { ++input_.notes[reason]; }

  void groups(const PlainValue& config) {
    for (std::size_t i = 0; i < config.size() && config.kind() == PlainKind::dict; ++i) {
      const PlainValue group = config[i];
      const std::string_view name = config.key(i).text().value_or(std::string_view());
      std::vector<int> members = ranks_in_text(text_of(group, "ranks"));
      if (members.empty() || std::ranges::find(members, number_) == members.end()) continue;
      std::string key = "group " + std::string(name);
      for (const int member : members) key += ' ' + std::to_string(member);
      const std::uint32_t at = into_.group_keyed(key);
      RecordedGroup& known = into_.groups[at];
      known.id = name;
      if (known.name.empty()) known.name = text_of(group, "desc");
      known.size = static_cast<int>(members.size());
      known.members = std::move(members);
      known.members_recorded = true;
      by_name_[std::string(name)] = at;
      // A member without calls is still a member.
      (void)into_.sequence_of(at, rank_);
    }
  }

  std::uint32_t group_of(const std::string& name, std::string_view description) {
    const auto known = by_name_.find(name);
    if (known != by_name_.end()) return known->second;
    const std::uint32_t at = into_.group_keyed("name " + name);
    into_.groups[at].id = name;
    if (into_.groups[at].name.empty()) into_.groups[at].name = description;
    by_name_.emplace(name, at);
    return at;
  }

  void entry(const PlainValue& e) {
    const auto group = e.find("process_group");
    const bool named = group && group->size() > 0 && group->kind() != PlainKind::dict;
    const auto pg = whole_of(e, "pg_id");
    std::string name = named ? std::string((*group)[0].text().value_or(std::string_view()))
                             : "id " + std::to_string(pg.value_or(0));
    const std::string_view description = named && group->size() > 1
                                             ? (*group)[1].text().value_or(std::string_view())
                                             : std::string_view();
    const bool pair = flag_of(e, "is_p2p");
    const auto sequence = whole_of(e, pair ? "p2p_seq_id" : "collective_seq_id");
    if (e.kind() != PlainKind::dict || !sequence) return note("entries_without_a_sequence_number");
    const std::uint32_t at = group_of(name, description);
    if (pg) by_number_[*pg] = at;
    CommCall call = call_of(e);
    call.sequence = *sequence;
    call.position = position_++;
    CommSequence& calls = into_.sequence_of(at, rank_);
    std::vector<CommCall>& list = pair ? calls.pairs : calls.collectives;
    if (!list.empty() && list.back().sequence == call.sequence)
      call.ordinal = list.back().ordinal + 1;
    if (list.empty() && !pair) calls.from_start = call.sequence <= 1;
    if (!list.empty() && call.sequence < list.back().sequence) note("entries_out_of_order");
    list.push_back(call);
    ++input_.calls;
  }

  CommCall call_of(const PlainValue& e) {
    CommCall call;
    std::string_view name = text_of(e, "profiling_name");
    if (const std::size_t colon = name.find(':'); colon != std::string_view::npos)
      name.remove_prefix(colon + 1);
    const std::size_t blank = std::min(name.find(' '), name.size());
    call.peer = peer_in(name.substr(blank));
    name = name.substr(0, blank);
    call.name = into_.strings.intern(name);
    call.kind = collective_kind("nccl:" + std::string(name));
    const Tensors in = sizes_of(e.find("input_sizes"));
    const Tensors out = sizes_of(e.find("output_sizes"));
    call.in_sizes = in.sizes;
    call.in_elements = in.elements;
    call.out_sizes = out.sizes;
    call.out_elements = out.elements;
    call.in_types = types_of(e.find("input_dtypes"));
    call.out_types = types_of(e.find("output_dtypes"));
    const std::string_view state = text_of(e, "state");
    call.state = state == "completed"    ? CallState::completed
                 : flag_of(e, "retired") ? CallState::ended
                 : state == "started"    ? CallState::started
                 : state == "scheduled"  ? CallState::scheduled
                                         : CallState::unknown;
    call.created = Ns(whole_of(e, "time_created_ns").value_or(0));
    call.stack = stack_of(e.find("frames"));
    return call;
  }

  // The number at the end of "1->2" or "3<-0".
  static std::int32_t peer_in(std::string_view words) {
    const std::size_t arrow = std::min(words.find("->"), words.find("<-"));
    if (arrow == std::string_view::npos) return -1;
    words.remove_prefix(arrow + 2);
    return leading_number<std::int32_t>(words).value_or(-1);
  }

  Tensors sizes_of(const std::optional<PlainValue>& tensors) {
    Tensors out;
    if (!tensors || tensors->kind() == PlainKind::dict) return out;
    out.elements = 0;
    words_.clear();
    words_ += '[';
    for (std::size_t i = 0; i < tensors->size(); ++i) {
      const PlainValue sizes = (*tensors)[i];
      std::int64_t elements = 1;
      words_ += i > 0 ? ", [" : "[";
      for (std::size_t d = 0; d < sizes.size() && sizes.kind() != PlainKind::dict; ++d) {
        const std::int64_t size = sizes[d].integer().value_or(0);
        if (d > 0) words_ += ", ";
        words_ += std::to_string(size);
        if (size < 0 || __builtin_mul_overflow(elements, size, &elements)) elements = 0;
      }
      words_ += ']';
      if (__builtin_add_overflow(out.elements, elements, &out.elements)) out.elements = 0;
    }
    words_ += ']';
    out.sizes = into_.strings.intern(words_);
    return out;
  }

  StringId types_of(const std::optional<PlainValue>& types) {
    words_.clear();
    for (std::size_t i = 0; types && types->kind() != PlainKind::dict && i < types->size(); ++i) {
      if (i > 0) words_ += ", ";
      words_ += (*types)[i].text().value_or(std::string_view());
    }
    return into_.strings.intern(words_);
  }

  std::uint32_t stack_of(const std::optional<PlainValue>& frames) {
    if (!frames || frames->kind() == PlainKind::dict || frames->size() == 0) return 0;
    std::vector<std::uint32_t> key;
    for (std::size_t i = 0; i < frames->size(); ++i) key.push_back((*frames)[i].id());
    const auto [at, fresh] =
        stacks_.try_emplace(key, static_cast<std::uint32_t>(into_.stacks.size()));
    if (!fresh) return at->second;
    std::vector<StackFrame> stack;
    for (std::size_t i = 0; i < frames->size(); ++i) {
      const PlainValue frame = (*frames)[i];
      stack.push_back({.function = into_.strings.intern(text_of(frame, "name")),
                       .file = into_.strings.intern(text_of(frame, "filename")),
                       .line = whole_of(frame, "line").value_or(0)});
    }
    into_.stacks.push_back(std::move(stack));
    return at->second;
  }

  // Statuses by the number of a group. Only the group's calls relate that number to its name.
  void statuses(const PlainValue& status) {
    for (std::size_t i = 0; i < status.size() && status.kind() == PlainKind::dict; ++i) {
      const auto number = whole(status.key(i));
      const auto at = number ? by_number_.find(*number) : by_number_.end();
      if (at == by_number_.end()) continue;
      into_.sequence_of(at->second, rank_).status =
          GroupStatus{.enqueued = whole_of(status[i], "last_enqueued_collective").value_or(-1),
                      .started = whole_of(status[i], "last_started_collective").value_or(-1),
                      .completed = whole_of(status[i], "last_completed_collective").value_or(-1)};
    }
  }

  std::uint32_t rank_;
  int number_;
  CommInput& input_;
  CommRecords& into_;
  std::map<std::string, std::uint32_t> by_name_;
  std::map<std::int64_t, std::uint32_t> by_number_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> stacks_;
  std::string words_;
  std::uint32_t position_ = 0;
};

// Moves the calls of a sequence to another group, unless both have calls of this rank.
void join_sequence(CommRecords& records, std::uint32_t from, std::uint32_t to) {
  const std::uint32_t rank = records.sequences[from].rank;
  CommSequence moved = records.sequences[from];
  moved.group = to;
  CommSequence& there = records.sequence_of(to, rank);
  // The ring already contains the call that a watchdog named.
  const bool keep_there = !there.collectives.empty() && !there.watchdog_only;
  if (there.collectives.empty() || (there.watchdog_only && !moved.watchdog_only)) {
    const auto status = there.status;
    there = std::move(moved);
    if (!there.status) there.status = status;
  } else if (keep_there && !there.status) {
    there.status = moved.status;
  }
  records.sequences[from].collectives.clear();
  records.sequences[from].pairs.clear();
  records.sequences[from].status.reset();
}

// The only group with that name and this rank.
std::optional<std::uint32_t> settled_group(const CommRecords& records, const std::string& id,
                                           int rank) {
  std::optional<std::uint32_t> found;
  for (std::uint32_t g = 0; g < records.groups.size(); ++g) {
    const RecordedGroup& group = records.groups[g];
    if (!group.members_recorded || group.from_log || group.id != id ||
        std::ranges::find(group.members, rank) == group.members.end())
      continue;
    if (found) return std::nullopt;
    found = g;
  }
  return found;
}

}  // namespace

std::vector<int> ranks_in_text(std::string_view text) {
  std::vector<int> ranks;
  while (!text.empty()) {
    const auto front = number_at_front<int>(text);
    if (front.error == std::errc() && front.value >= 0) ranks.push_back(front.value);
    text = front.error == std::errc::invalid_argument ? text.substr(1) : front.rest;
  }
  return ranks;
}

bool is_flight_dump(const PlainValue& dump) {
  return dump.find("version") && (dump.find("entries") || dump.find("pg_config"));
}

bool begins_flight_dump(const PlainValue& head) {
  if (const auto groups = head.find("pg_config"); groups && groups->kind() == PlainKind::dict)
    return true;
  const auto entries = head.find("entries");
  if (!entries || entries->kind() != PlainKind::list) return false;
  if (entries->size() == 0) return true;
  const PlainValue first = (*entries)[0];
  return first.kind() == PlainKind::dict &&
         (first.size() == 0 || first.find("collective_seq_id") || first.find("p2p_seq_id") ||
          first.find("process_group") || first.find("profiling_name") || first.find("pg_id"));
}

int world_size_of(const PlainTree& dump) {
  std::size_t most = 0;
  if (const auto config = dump.value().find("pg_config"))
    for (std::size_t i = 0; i < config->size() && config->kind() == PlainKind::dict; ++i)
      most = std::max(most, ranks_in_text(text_of((*config)[i], "ranks")).size());
  return static_cast<int>(std::min<std::size_t>(most, 1U << 30U));
}

Error no_flight_dump(const PlainValue& data, const std::string& path) {
  return {.what = data.find("segments") ? "is a memory snapshot, and no dump of a flight recorder"
                                        : "is plain data, and no dump of a flight recorder",
          .file = path,
          .hint = "give what TORCH_NCCL_DUMP_ON_TIMEOUT=1 writes"};
}

Result<Done> add_flight_dump(const PlainTree& dump, int rank, CommInput& input, CommRecords& into) {
  const PlainValue top = dump.value();
  if (!is_flight_dump(top)) return no_flight_dump(top, input.path);
  const std::string_view version = text_of(top, "version");
  if (!version.starts_with("2."))
    return Error{.what = "is a flight recorder's dump of version " + std::string(version) +
                         ", and 2.x are known",
                 .file = input.path,
                 .hint = "dump with a current PyTorch"};
  input.rank = rank;
  DumpReader(rank, input, into).read(top);
  if (dump.trailing_bytes > 0) input.notes["bytes_behind_the_dump"] = dump.trailing_bytes;
  return Done{};
}

namespace {

// The group of flight recorders in which the ranks of a watchdog's unnamed group are in the same
// calls; absent if there is not exactly one.
std::optional<std::uint32_t> recorded_group_of(const CommRecords& records, std::uint32_t guessed) {
  std::set<std::uint32_t> all;
  bool first = true;
  for (const WatchdogTimeout& t : records.timeouts) {
    if (t.group != guessed || t.sequence < 0 || !records.ranks[t.rank].has_dump) continue;
    std::set<std::uint32_t> fits;
    for (const CommSequence& s : records.sequences) {
      if (s.rank != t.rank || !records.groups[s.group].members_recorded) continue;
      const auto call = std::ranges::find(s.collectives, t.sequence, &CommCall::sequence);
      if (call != s.collectives.end() && call->state != CallState::completed &&
          call->kind == collective_kind("nccl:" + t.operation))
        fits.insert(s.group);
    }
    if (first) all = fits;
    std::erase_if(all, [&](std::uint32_t g) { return !fits.contains(g); });
    first = false;
  }
  return all.size() == 1 ? std::optional(*all.begin()) : std::nullopt;
}

void name_guessed_groups(CommRecords& records) {
  for (std::uint32_t g = 0; g < records.groups.size(); ++g) {
    if (!records.groups[g].guessed) continue;
    const auto to = recorded_group_of(records, g);
    if (!to) continue;
    const std::size_t before = records.sequences.size();
    for (std::uint32_t s = 0; s < before; ++s)
      if (records.sequences[s].group == g) join_sequence(records, s, *to);
    for (WatchdogTimeout& t : records.timeouts)
      if (t.group == g) t.group = *to;
  }
}

}  // namespace

void settle_groups(CommRecords& records) {
  name_guessed_groups(records);
  const std::size_t before = records.sequences.size();
  for (std::uint32_t s = 0; s < before; ++s) {
    const RecordedGroup& group = records.groups[records.sequences[s].group];
    const auto number = records.ranks[records.sequences[s].rank].number;
    if (group.members_recorded || group.from_log || !number) continue;
    const auto to = settled_group(records, group.id, *number);
    if (!to) continue;
    for (WatchdogTimeout& t : records.timeouts)
      if (t.group == records.sequences[s].group && t.rank == records.sequences[s].rank)
        t.group = *to;
    join_sequence(records, s, *to);
  }
  for (std::uint32_t g = 0; g < records.groups.size(); ++g) {
    RecordedGroup& group = records.groups[g];
    if (group.members_recorded || group.from_log) continue;
    std::set<int> callers;
    for (const CommSequence& s : records.sequences)
      if (s.group == g && (!s.collectives.empty() || !s.pairs.empty() || s.status))
        if (const auto number = records.ranks[s.rank].number) callers.insert(*number);
    // In a watchdog's group the lower numbers are members too, if they are those of the job.
    const bool same = !group.places.empty() && std::ranges::all_of(group.places, [](const auto& p) {
      return p.first == p.second;
    });
    constexpr int most = 1 << 20;
    int ranks = same ? std::max(group.size, group.places.rbegin()->first + 1) : 0;
    // The default group has every rank of the job, so also those that wrote other lines.
    if (same && group.name == "default_pg" && !records.incident.last_lines.empty())
      ranks = std::max(ranks, records.incident.last_lines.rbegin()->first + 1);
    for (int r = 0; r < std::min(most, ranks); ++r) callers.insert(r);
    group.members.assign(callers.begin(), callers.end());
  }
}

}  // namespace stepscope
