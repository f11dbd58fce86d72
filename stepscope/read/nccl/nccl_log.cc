// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/nccl_log.h"

#include <algorithm>
#include <cstring>

#include "stepscope/base/line_blocks.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/read/log/nccl_line.h"
#include "stepscope/read/nccl/nccl_processes.h"

namespace stepscope {
namespace {

constexpr std::string_view token = "NCCL";

// "[rank3]:" at the front of a line.
std::optional<int> launcher_rank_of(std::string_view line) {
  if (!line.starts_with("[rank")) return std::nullopt;
  const auto rank = number_behind(line, "[rank");
  const std::size_t end = line.find("]:");
  if (!rank || *rank < 0 || *rank > 10'000'000 || end > 16) return std::nullopt;
  return static_cast<int>(*rank);
}

// "ALLREDUCE", "_ALLGATHER_BASE", "BROADCAST".
CollectiveKind kind_of(const std::string& operation) {
  return collective_kind("nccl:" + operation);
}

}  // namespace

struct CommLogs::State {
  explicit State(CommRecords& records) : into(records), processes(records) {}

  CommRecords& into;
  LogProcesses processes;
  std::vector<NcclSaying> sayings;
  std::string room;
  struct Unnamed {  // a timeout of a rank with an unknown group
    WatchdogTimeout timeout;
    bool settled = false;
  };
  std::vector<Unnamed> unnamed;
  std::uint64_t spoken = 0;  // lines of NCCL or a watchdog

  void line(std::string_view text, CommInput& input);
  void watchdog(const WatchdogLine& said);
  std::uint32_t group_of(std::string_view id, std::string_view name);
  void name_groups(std::uint32_t rank, std::int64_t sequence, std::uint32_t group);
  void add_timeout(const WatchdogTimeout& timeout);
};

void CommLogs::State::line(std::string_view text, CommInput& input) {
  const std::string_view plain = without_colours(text, room);
  split_sayings(plain, processes.hosts(), sayings);
  if (sayings.empty()) {
    if (const auto said = parse_watchdog(plain)) {
      ++spoken;
      watchdog(*said);
    }
    return;
  }
  const auto rank = launcher_rank_of(plain);
  for (const NcclSaying& saying : sayings) {
    ++spoken;
    if (saying.host.empty() && saying.level != NcclLevel::version)
      ++input.notes["lines_without_a_host_and_process"];
    if (processes.take(saying, sayings.size() == 1 ? rank : std::nullopt, input)) continue;
    const bool call = saying.text.find(": opCount ") != std::string_view::npos;
    const bool bytes = saying.text.find(" bytes ") != std::string_view::npos;
    ++input.notes[!call   ? "other_lines_of_nccl"
                  : bytes ? "calls_that_name_neither_communicator_nor_count"
                          : "calls_cut_before_their_communicator"];
  }
}

std::uint32_t CommLogs::State::group_of(std::string_view id, std::string_view name) {
  const std::uint32_t at = into.group_keyed("name " + std::string(id));
  into.groups[at].id = id;
  if (into.groups[at].name.empty()) into.groups[at].name = name;
  return at;
}

void CommLogs::State::add_timeout(const WatchdogTimeout& timeout) {
  into.timeouts.push_back(timeout);
  CommSequence& s = into.sequence_of(timeout.group, timeout.rank);
  if (s.collectives.empty()) s.watchdog_only = true;
  if (!s.watchdog_only) return;
  const bool known = std::ranges::any_of(
      s.collectives, [&](const CommCall& c) { return c.sequence == timeout.sequence; });
  if (known) return;
  CommCall call;
  call.sequence = timeout.sequence;
  call.name = into.strings.intern(timeout.operation);
  call.kind = kind_of(timeout.operation);
  call.state = CallState::started;
  call.in_elements = timeout.in_elements.value_or(-1);
  call.out_elements = timeout.out_elements.value_or(-1);
  s.collectives.push_back(call);
  std::ranges::sort(s.collectives, {}, &CommCall::sequence);
}

// Gives timeouts of this rank the name of their group.
void CommLogs::State::name_groups(std::uint32_t rank, std::int64_t sequence, std::uint32_t group) {
  for (Unnamed& u : unnamed) {
    if (u.settled || u.timeout.rank != rank) continue;
    if (sequence >= 0 && u.timeout.sequence != sequence) continue;
    u.settled = true;
    u.timeout.group = group;
    add_timeout(u.timeout);
  }
}

void CommLogs::State::watchdog(const WatchdogLine& said) {
  const std::uint32_t rank = into.rank_numbered(said.rank);
  into.ranks[rank].has_log = true;
  std::optional<std::uint32_t> group;
  if (!said.group.empty()) group = group_of(said.group, said.group_name);
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
    if (group)
      add_timeout(timeout);
    else
      unnamed.push_back({timeout, false});
  } else if (group) {
    name_groups(rank, said.sequence, *group);
  }
  if (!said.enqueued && !said.completed) return;
  if (!group) group = group_of("0", "default_pg");  // versions without group names
  CommSequence& s = into.sequence_of(*group, rank);
  if (s.collectives.empty()) s.watchdog_only = true;
  GroupStatus status = s.status.value_or(GroupStatus{});
  if (said.enqueued) status.enqueued = std::max(status.enqueued, *said.enqueued);
  if (said.started) status.started = std::max(status.started, *said.started);
  if (said.completed) status.completed = std::max(status.completed, *said.completed);
  s.status = status;
}

CommLogs::CommLogs(CommRecords& into) : state_(std::make_unique<State>(into)) {}
CommLogs::~CommLogs() = default;

Result<Done> CommLogs::add(ByteSource& source, CommInput& input, const StopFlag* asked) {
  const std::uint64_t before = state_->spoken;
  const auto bytes = for_line_blocks(
      source, "\n",
      [&](std::string_view block) -> Result<Done> {
        const char* at = block.data();
        const char* const stop = at + block.size();
        while (at < stop) {
          const auto* const found = static_cast<const char*>(
              memmem(at, static_cast<std::size_t>(stop - at), token.data(), token.size()));
          if (found == nullptr) break;
          // One after the last end of a line before it; npos + 1 is 0.
          const char* const begin = at + (std::string_view(at, found).rfind('\n') + 1);
          const auto* finish = static_cast<const char*>(
              std::memchr(found, '\n', static_cast<std::size_t>(stop - found)));
          if (finish == nullptr) finish = stop;
          state_->line({begin, static_cast<std::size_t>(finish - begin)}, input);
          at = finish == stop ? stop : finish + 1;
        }
        return Done{};
      },
      asked);
  if (!bytes) return bytes.error();
  input.bytes += *bytes;
  if (state_->spoken == before)
    return Error{.what = "has no lines of NCCL and no messages of a watchdog",
                 .hint =
                     "run with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,ENV,TUNING,COLL, or "
                     "give dumps of the flight recorder; where threads stand (py-spy dump) is for "
                     "stepscope stacks"};
  return Done{};
}

void CommLogs::settle() {
  for (const State::Unnamed& u : state_->unnamed) {
    if (u.settled) continue;
    WatchdogTimeout timeout = u.timeout;
    timeout.group = state_->group_of("0", "default_pg");
    state_->add_timeout(timeout);
  }
  state_->processes.settle();
}

}  // namespace stepscope
