// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/nccl_log.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/read/comm_lines/desync_line.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/comm_lines/set_up_line.h"
#include "stepscope/read/incident/incident_line.h"
#include "stepscope/read/incident/incident_log.h"
#include "stepscope/read/nccl/nccl_processes.h"

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 14> comm_tokens = {"NCCL",
                                                          "collective operation timeout",
                                                          "mismatch between collectives",
                                                          "Timeout at collective: ",
                                                          " collective #",
                                                          "never joined any collectives",
                                                          "monitoredBarrier",
                                                          " waiting for clients. ",
                                                          "wait timeout after ",
                                                          "Timeout waiting for key: ",
                                                          "Barrier timed out. ",
                                                          " in store based barrier ",
                                                          "Completed store-based barrier",
                                                          "client socket has timed out"};

// A cut message goes on over at most this number of lines.
constexpr int most_cut_lines = 6;
// A barrier of JAX lists one task a line.
constexpr int most_tasks = 65536;
constexpr std::string_view jax_barrier = "Barrier timed out. ";
// Ranks of one group wait in calls whose numbers differ by few: a collective ends on no rank before
// all have come, and only the root of a broadcast runs ahead.
constexpr std::int64_t close_calls = 16;
constexpr std::size_t most_compared = 10000;

// "ALLREDUCE", "_ALLGATHER_BASE", "BROADCAST".
CollectiveKind watched_kind(std::string_view operation) {
  return collective_kind("nccl:" + std::string(operation));
}

// Whether a line behind a cut one is a message of its own.
bool begins_message(std::string_view plain) {
  return contains_any(plain, {"ProcessGroupNCCL.cpp:", "aught collective operation timeout",
                              "NCCL INFO ", "NCCL WARN "});
}

// The ranks of the group that an all-gather or a reduce-scatter shows; 0: none.
int ranks_by_elements(const CommCall& call) {
  std::int64_t whole = -1;
  std::int64_t part = -1;
  if (call.kind == CollectiveKind::all_gather) {
    whole = call.out_elements;
    part = call.in_elements;
  } else if (call.kind == CollectiveKind::reduce_scatter) {
    whole = call.in_elements;
    part = call.out_elements;
  }
  if (part <= 0 || whole <= part || whole % part != 0 || whole / part > 10'000'000) return 0;
  return static_cast<int>(whole / part);
}

// "AllReduce_opCount_42_bytes_104857600", of the first few such calls.
void note_call(std::string_view text, CommInput& input) {
  constexpr std::size_t most_notes = 16;
  constexpr std::size_t longest = 80;
  std::string note(text.substr(0, std::min(text.find(" datatype"), longest)));
  std::erase(note, ':');
  std::ranges::replace(note, ' ', '_');
  if (input.notes.size() < most_notes || input.notes.contains(note)) ++input.notes[note];
}

}  // namespace

struct CommLogs::State {
  explicit State(CommRecords& records)
      : into(records), processes(records), incident(records.incident) {}

  CommRecords& into;
  LogProcesses processes;
  IncidentLog incident;
  std::vector<NcclSaying> sayings;
  std::string room;
  struct Unnamed {  // a timeout of a rank with an unknown group
    WatchdogTimeout timeout;
    int place = 0;
    bool settled = false;
  };
  std::vector<Unnamed> unnamed;
  std::multimap<std::uint32_t, std::size_t> unnamed_of;  // by rank: in `unnamed`, not settled
  std::set<std::string> timeouts;                        // that are added
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> given_up;  // group, rank, number
  // Ranks, number, operation and shapes of the pairs in CommRecords::compared.
  std::set<std::tuple<int, std::optional<int>, std::int64_t, StringId, StringId, StringId>>
      mismatches;
  std::map<std::tuple<std::optional<int>, std::optional<Ns>, std::string>, std::size_t> barriers;
  std::set<std::size_t> repeated_barriers;  // that several lines name
  NcclWriter writer;                        // of the file's lines that name no process
  std::uint64_t spoken = 0;                 // lines of NCCL or a watchdog
  std::string cut;                          // a message that goes on in the next line
  int cut_lines = 0;

  void block(std::string_view text, CommInput& input);
  void line(std::string_view text, CommInput& input);
  bool message(std::string_view plain);
  void watchdog(const WatchdogLine& said);
  void mismatch(const MismatchLine& said, std::optional<int> launcher);
  void barrier(const BarrierLine& said);
  void desync(const DesyncLine& said);
  void set_up(const SetUpLine& said, std::optional<int> launcher);
  std::uint32_t group_of(std::string_view id, std::string_view name);
  std::uint32_t unnamed_group(const std::string& key, bool guessed);
  void name_groups(std::uint32_t rank, std::int64_t sequence, std::uint32_t group);
  void add_timeout(const WatchdogTimeout& timeout, int place);
  void settle_given_up();
  void settle_states();
  void name_by_call();
  void settle_unnamed();
  void settle_sizes();
  void goes_on(std::string_view text, CommInput& input);
};

// Lines with a token, and those that a cut message goes on in.
void CommLogs::State::block(std::string_view text, CommInput& input) {
  std::array<std::size_t, comm_tokens.size()> next{};
  next.fill(0);
  const auto find = [&](std::size_t token, std::size_t from) {
    const auto* const found =
        static_cast<const char*>(memmem(text.data() + from, text.size() - from,
                                        comm_tokens[token].data(), comm_tokens[token].size()));
    return found == nullptr ? text.size() : static_cast<std::size_t>(found - text.data());
  };
  for (std::size_t t = 0; t < next.size(); ++t) next[t] = find(t, 0);
  for (std::size_t at = 0; at < text.size();) {
    if (cut.empty()) {
      for (std::size_t t = 0; t < next.size(); ++t)
        if (next[t] < at) next[t] = find(t, at);
      const std::size_t first = *std::ranges::min_element(next);
      if (first == text.size()) break;
      at = text.substr(0, first).rfind('\n') + 1;  // npos + 1 is 0
    }
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view one = text.substr(at, end - at);
    if (cut.empty())
      line(one, input);
    else
      goes_on(one, input);
    at = end + 1;
  }
  incident.take(text);
}

void CommLogs::State::goes_on(std::string_view text, CommInput& input) {
  std::string_view plain = without_launcher(without_colours(text, room));
  while (!plain.empty() && (plain.front() == ' ' || plain.back() == '\r')) {
    if (plain.front() == ' ')
      plain.remove_prefix(1);
    else
      plain.remove_suffix(1);
  }
  if (cut.find(jax_barrier) != std::string::npos) {
    if (plain.starts_with("/job:") && ++cut_lines < most_tasks) {
      cut += ' ';
      cut += plain;
      return;
    }
    cut_lines = 0;
    message(std::exchange(cut, {}));
    line(text, input);
    return;
  }
  if (begins_message(plain)) {
    cut_lines = 0;
    message(std::exchange(cut, {}));
    line(text, input);
    return;
  }
  join_cut_line(cut, plain);
  const bool more = is_cut_watchdog(cut) || is_cut_status(cut) ||
                    (!parse_mismatch(cut) && cut.find("mismatch between") != std::string::npos);
  if (more && ++cut_lines < most_cut_lines) return;
  const std::string whole = std::exchange(cut, {});
  cut_lines = 0;
  if (message(whole)) ++input.notes["messages_over_several_lines"];
}

// Messages of PyTorch. False for other lines.
bool CommLogs::State::message(std::string_view plain) {
  if (const auto said = parse_watchdog(plain)) {
    watchdog(*said);
  } else if (const auto differ = parse_mismatch(plain)) {
    mismatch(*differ, launcher_rank(plain));
  } else if (const auto missed = parse_barrier(plain)) {
    barrier(*missed);
  } else if (const auto apart = parse_desync(plain)) {
    desync(*apart);
  } else if (const auto waits = parse_set_up(plain)) {
    set_up(*waits, launcher_rank(plain));
    if (waits->over) return true;
  } else {
    return false;
  }
  ++spoken;
  return true;
}

void CommLogs::State::line(std::string_view text, CommInput& input) {
  std::string_view plain = without_colours(text, room);
  if (plain.ends_with('\r')) plain.remove_suffix(1);
  split_sayings(plain, processes.hosts(), sayings);
  // A line without host and process is one of NCCL if it begins so, behind a launcher's prefix.
  if (sayings.empty() && plain.find("NCCL ") != std::string_view::npos)
    split_sayings(without_launcher(plain), processes.hosts(), sayings);
  if (sayings.empty()) {
    const bool cut_here =
        is_cut_watchdog(plain) || is_cut_status(plain) ||
        plain.find(jax_barrier) != std::string_view::npos ||
        (plain.find("Detected mismatch between collectives") != std::string_view::npos &&
         !parse_mismatch(plain));
    if (cut_here)
      cut = plain;
    else
      message(plain);
    return;
  }
  const auto rank = launcher_rank(plain);
  for (NcclSaying& saying : sayings) {
    ++spoken;
    if (saying.pid == 0 && saying.level != NcclLevel::version && writer.pid > 0) {
      saying.host = writer.host;
      saying.pid = writer.pid;
    }
    if (saying.pid == 0 && saying.level != NcclLevel::version)
      ++input.notes["lines_without_a_host_and_process"];
    if (processes.take(saying, sayings.size() == 1 ? rank : std::nullopt, input)) continue;
    const bool call = saying.text.find(": opCount ") != std::string_view::npos;
    const bool bytes = saying.text.find(" bytes ") != std::string_view::npos;
    ++input.notes[!call   ? "other_lines_of_nccl"
                  : bytes ? "calls_that_name_neither_communicator_nor_count"
                          : "calls_cut_before_their_communicator"];
    if (call && bytes) note_call(saying.text, input);
  }
}

void CommLogs::State::mismatch(const MismatchLine& said, std::optional<int> launcher) {
  const auto call_of = [&](const FingerprintLine& print) {
    CommCall call;
    call.sequence = print.sequence;
    call.name = into.strings.intern(print.operation);
    call.kind = watched_kind(print.operation);
    call.in_sizes = into.strings.intern(print.shape);
    call.in_types = into.strings.intern(print.type);
    call.in_elements = elements_of_shape(print.shape).value_or(-1);
    return call;
  };
  ComparedCalls compared{.rank = said.first.rank,
                         .call = call_of(said.first),
                         .of_group = launcher && *launcher != said.first.rank};
  if (said.second) {
    compared.other = said.second->rank;
    compared.instead = call_of(*said.second);
  }
  const bool fresh =
      mismatches
          .emplace(compared.rank, compared.other, compared.call.sequence, compared.call.name,
                   compared.call.in_sizes, compared.instead.in_sizes)
          .second;
  if (fresh && into.compared.size() < most_compared) into.compared.push_back(std::move(compared));
}

void CommLogs::State::barrier(const BarrierLine& said) {
  MissedBarrier missed{.missing = said.missing};
  missed.name = said.name;
  if (said.waits >= 0) missed.waits = said.waits;
  if (said.limit_ms >= 0 && said.limit_ms < 1'000'000'000'000)
    missed.limit = Ns(said.limit_ms * 1'000'000);
  const auto [same, fresh] = barriers.try_emplace(
      std::tuple(missed.waits, missed.limit, missed.name), into.barriers.size());
  if (fresh && into.barriers.size() < most_compared) into.barriers.push_back(std::move(missed));
  if (fresh || same->second >= into.barriers.size()) return;
  // With wait_all_ranks one line a rank, and then all of them.
  std::vector<int>& all = into.barriers[same->second].missing;
  all.insert(all.end(), missed.missing.begin(), missed.missing.end());
  repeated_barriers.insert(same->second);
}

// Each rank that waits makes the report of its group.
void CommLogs::State::desync(const DesyncLine& said) {
  const auto same = std::ranges::find(into.desync, said.collective, &DesyncReport::collective);
  if (same == into.desync.end() && into.desync.size() >= most_compared) return;
  DesyncReport& report = same == into.desync.end() ? into.desync.emplace_back() : *same;
  report.collective = said.collective;
  if (!said.operation.empty()) report.operation = said.operation;
  std::set<int>& ranks = said.kind == DesyncKind::timeout      ? report.waits
                         : said.kind == DesyncKind::unfinished ? report.unfinished
                                                               : report.missing;
  ranks.insert(said.ranks.begin(), said.ranks.end());
}

// The wait of each rank of one barrier, group or address is one, with its last count.
void CommLogs::State::set_up(const SetUpLine& said, std::optional<int> launcher) {
  const auto same = std::ranges::find_if(into.set_up, [&](const SetUpWait& w) {
    return w.kind == said.kind && w.place == said.place && w.awaited.value_or(-1) == said.awaited &&
           (said.size < 0 || w.size == said.size);
  });
  if (said.over) {
    std::erase_if(into.set_up,
                  [&](const SetUpWait& w) { return w.kind == said.kind && w.place == said.place; });
    return;
  }
  if (same == into.set_up.end() && into.set_up.size() >= most_compared) return;
  SetUpWait& wait = same == into.set_up.end() ? into.set_up.emplace_back() : *same;
  wait.kind = said.kind;
  wait.place = said.place;
  if (said.awaited >= 0) wait.awaited = static_cast<int>(said.awaited);
  if (said.size > 0) wait.size = static_cast<int>(said.size);
  wait.came = std::max(wait.came, static_cast<int>(said.came));
  if (said.limit_ms) wait.limit = Ns(*said.limit_ms * 1'000'000);
  // A line about a group has the numbers of the group. Other lines name no rank.
  const auto of_job = said.kind == SetUpKind::store_barrier && said.rank >= 0
                          ? std::optional(static_cast<int>(said.rank))
                          : launcher;
  if (of_job) into.ranks[into.rank_numbered(*of_job)].has_log = true;
  if (said.rank < 0) {
    if (launcher) wait.ranks.insert(*launcher);
  } else {
    wait.ranks.insert(static_cast<int>(said.rank));
    wait.of_group = wait.of_group || (launcher && *launcher != said.rank);
  }
}

std::uint32_t CommLogs::State::group_of(std::string_view id, std::string_view name) {
  const std::uint32_t at = into.group_keyed("name " + std::string(id));
  into.groups[at].id = id;
  if (into.groups[at].name.empty()) into.groups[at].name = name;
  return at;
}

std::uint32_t CommLogs::State::unnamed_group(const std::string& key, bool guessed) {
  const std::uint32_t at = into.group_keyed("unnamed " + key);
  into.groups[at].unnamed = true;
  into.groups[at].guessed = guessed;
  return at;
}

void CommLogs::State::add_timeout(const WatchdogTimeout& timeout, int place) {
  into.timeouts.push_back(timeout);
  if (const auto number = into.ranks[timeout.rank].number; number && place >= 0)
    into.groups[timeout.group].places.try_emplace(place, *number);
  CommSequence& s = into.sequence_of(timeout.group, timeout.rank);
  if (s.collectives.empty()) s.watchdog_only = true;
  if (!s.watchdog_only) return;
  const auto at =
      std::ranges::lower_bound(s.collectives, timeout.sequence, {}, &CommCall::sequence);
  if (at != s.collectives.end() && at->sequence == timeout.sequence) return;
  CommCall call;
  call.sequence = timeout.sequence;
  call.name = into.strings.intern(timeout.operation);
  call.kind = watched_kind(timeout.operation);
  call.state = CallState::unfinished;
  call.in_elements = timeout.in_elements.value_or(-1);
  call.out_elements = timeout.out_elements.value_or(-1);
  s.collectives.insert(at, call);
}

// Gives timeouts of this rank the name of their group. Without a number only one can be meant.
void CommLogs::State::name_groups(std::uint32_t rank, std::int64_t sequence, std::uint32_t group) {
  const auto [first, last] = unnamed_of.equal_range(rank);
  if (sequence < 0 && std::distance(first, last) > 1) return;
  for (auto at = first; at != last;) {
    Unnamed& u = unnamed[at->second];
    if (sequence >= 0 && u.timeout.sequence != sequence) {
      ++at;
      continue;
    }
    u.settled = true;
    u.timeout.group = group;
    add_timeout(u.timeout, u.place);
    at = unnamed_of.erase(at);
  }
}

void CommLogs::State::watchdog(const WatchdogLine& said) {
  const std::uint32_t rank = into.rank_numbered(said.rank);
  into.ranks[rank].has_log = true;
  std::optional<std::uint32_t> group;
  if (!said.group.empty()) {
    group = group_of(said.group, said.group_name);
    if (said.place >= 0) into.groups[*group].places.try_emplace(said.place, said.rank);
  }
  if (said.timeout) {
    const auto ns = [](std::optional<std::int64_t> ms) {
      return ms && *ms >= 0 && *ms < 1'000'000'000'000 ? std::optional(Ns(*ms * 1'000'000))
                                                       : std::nullopt;
    };
    const WatchdogTimeout timeout{.rank = rank,
                                  .group = group.value_or(0),
                                  .sequence = said.sequence,
                                  .operation = std::string(said.operation),
                                  .in_elements = said.in_elements,
                                  .out_elements = said.out_elements,
                                  .limit = ns(said.limit_ms),
                                  .ran = ns(said.ran_ms)};
    // One timeout is written several times: as an error, and as the exception that it throws.
    const std::string key = std::to_string(said.rank) + ' ' + std::string(said.group) + ' ' +
                            std::to_string(said.sequence) + ' ' + timeout.operation + ' ' +
                            std::to_string(said.ran_ms.value_or(-1));
    if (timeouts.insert(key).second) {
      if (group) {
        add_timeout(timeout, said.place);
      } else {
        unnamed_of.emplace(rank, unnamed.size());
        unnamed.push_back({timeout, said.place, false});
      }
    }
  } else if (group) {
    name_groups(rank, said.sequence, *group);
    if (said.gave_up && said.sequence >= 0) given_up.emplace(*group, rank, said.sequence);
  }
  if (!said.enqueued && !said.completed) return;
  // Without the name of its group a status says nothing of a call.
  if (!group) return;
  CommSequence& s = into.sequence_of(*group, rank);
  if (s.collectives.empty()) s.watchdog_only = true;
  GroupStatus status = s.status.value_or(GroupStatus{});
  if (said.enqueued) status.enqueued = std::max(status.enqueued, *said.enqueued);
  if (said.started) status.started = std::max(status.started, *said.started);
  if (said.completed) status.completed = std::max(status.completed, *said.completed);
  s.status = status;
}

// A rank whose lines name no group waits in the call of those ranks that name it, if the number,
// the operation and the sizes are the same, and only one group has such a call.
void CommLogs::State::name_by_call() {
  const auto same = [](const WatchdogTimeout& a, const WatchdogTimeout& b) {
    return a.sequence == b.sequence && a.operation == b.operation && a.in_elements &&
           a.in_elements == b.in_elements && a.out_elements == b.out_elements;
  };
  const std::vector<WatchdogTimeout> named = into.timeouts;
  for (Unnamed& u : unnamed) {
    if (u.settled || u.timeout.sequence < 0) continue;
    std::set<std::uint32_t> groups;
    bool apart = true;  // the rank has no timeout of its own there
    for (const WatchdogTimeout& t : named)
      if (same(t, u.timeout)) groups.insert(t.group);
    for (const WatchdogTimeout& t : named)
      apart = apart && (t.rank != u.timeout.rank || !groups.contains(t.group));
    if (groups.size() != 1 || !apart) continue;
    u.settled = true;
    u.timeout.group = *groups.begin();
    add_timeout(u.timeout, u.place);
  }
}

// Timeouts whose group no line names: those with numbers close to each other are one group, and
// those without a number one a kind of operation.
void CommLogs::State::settle_unnamed() {
  name_by_call();
  std::vector<Unnamed*> numbered;
  for (Unnamed& u : unnamed) {
    if (u.settled) continue;
    if (u.timeout.sequence >= 0) {
      numbered.push_back(&u);
      continue;
    }
    u.timeout.group = unnamed_group("without number " + u.timeout.operation, true);
    add_timeout(u.timeout, u.place);
  }
  std::ranges::stable_sort(numbered, {}, [](const Unnamed* u) { return u->timeout.sequence; });
  std::uint32_t group = 0;
  const Unnamed* before = nullptr;
  for (Unnamed* u : numbered) {
    const bool far =
        before == nullptr || u->timeout.sequence - before->timeout.sequence > close_calls;
    if (far) group = unnamed_group("from " + std::to_string(u->timeout.sequence), true);
    before = u;
    u->timeout.group = group;
    add_timeout(u->timeout, u->place);
  }
}

// A status says that a rank gave up on a call, which no other line names.
void CommLogs::State::settle_given_up() {
  std::set<std::tuple<std::uint32_t, std::uint32_t, std::int64_t>> known;
  for (const WatchdogTimeout& t : into.timeouts) known.emplace(t.group, t.rank, t.sequence);
  for (const auto& call : given_up)
    if (!known.contains(call))
      add_timeout(
          {.rank = std::get<1>(call), .group = std::get<0>(call), .sequence = std::get<2>(call)},
          -1);
}

// Whether the calls that watchdogs gave up on had started, where a status says it.
void CommLogs::State::settle_states() {
  for (CommSequence& s : into.sequences) {
    if (!s.watchdog_only || !s.status || s.status->started < 0) continue;
    for (CommCall& call : s.collectives)
      if (call.state == CallState::unfinished && call.sequence >= 0)
        call.state = call.sequence <= s.status->started ? CallState::started : CallState::scheduled;
  }
}

// The sizes of groups that their calls show.
void CommLogs::State::settle_sizes() {
  for (const CommSequence& s : into.sequences) {
    RecordedGroup& group = into.groups[s.group];
    if (group.size > 0 || group.from_log || group.places.empty()) continue;
    for (const CommCall& call : s.collectives)
      if (const int size = ranks_by_elements(call);
          size > 0 && (group.places.empty() || group.places.rbegin()->first < size)) {
        group.size = size;
        group.size_by_elements = true;
        break;
      }
  }
}

CommLogs::CommLogs(CommRecords& into) : state_(std::make_unique<State>(into)) {}
CommLogs::~CommLogs() = default;

Result<Done> CommLogs::add(ByteSource& source, CommInput& input, const StopFlag* asked,
                           bool* quiet) {
  State& state = *state_;
  const std::uint64_t before = state.spoken;
  state.cut.clear();
  state.writer = writer_in_name(input.path);
  state.incident.begin(static_cast<std::uint32_t>(state.into.inputs.size()), input.path);
  const auto bytes = for_line_blocks(
      source, "\n",
      [&](std::string_view block) -> Result<Done> {
        state.block(block, input);
        return Done{};
      },
      asked);
  if (!state.cut.empty()) state.message(std::exchange(state.cut, {}));
  const bool ended = state.incident.end();
  if (!bytes) return bytes.error();
  input.bytes += *bytes;
  if (state.spoken == before && !ended) {
    const bool ranked = quiet != nullptr && rank_in_file_name(input.path).has_value();
    if (ranked)
      *quiet = true;
    else
      state.incident.drop_last_lines();
    return Error{.what =
                     "has no lines of NCCL, no messages of a watchdog and no error that ends a "
                     "process",
                 .hint =
                     "give the output of the ranks and their launcher, or run with NCCL_DEBUG=INFO "
                     "NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING,COLL, or give dumps of the flight "
                     "recorder"};
  }
  return Done{};
}

void CommLogs::settle() {
  for (const auto& [some, key] : {std::pair(!state_->into.compared.empty(), compared_group),
                                  std::pair(!state_->into.desync.empty(), desync_group),
                                  std::pair(!state_->into.barriers.empty(), barrier_group)})
    if (some) state_->into.groups[state_->into.group_keyed(key)].unnamed = true;
  for (const std::size_t b : state_->repeated_barriers) {
    std::vector<int>& missing = state_->into.barriers[b].missing;
    std::ranges::sort(missing);
    missing.erase(std::ranges::unique(missing).begin(), missing.end());
  }
  state_->settle_unnamed();
  state_->settle_given_up();
  state_->settle_states();
  state_->settle_sizes();
  state_->processes.settle();
  state_->incident.settle();
}

}  // namespace stepscope
