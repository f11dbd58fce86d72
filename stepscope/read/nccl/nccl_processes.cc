// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/nccl_processes.h"

#include <algorithm>
#include <set>
#include <utility>

#include "stepscope/base/number_text.h"
#include "stepscope/event/name_rules.h"

namespace stepscope {
namespace {

// The lines of `Init timings` of one communicator are combined by their longest total.
void keep_longest(std::optional<double>& seconds, std::string_view text) {
  const auto total = behind(text, " total ");
  const auto value = total ? leading_number<double>(*total) : std::nullopt;
  if (value) seconds = std::max(seconds.value_or(0), *value);
}

// Replaces runs of blanks by one space.
std::string narrowed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

void merge_setup(LocalComm& into, LocalComm& from) {
  into.channels = std::max(into.channels, from.channels);
  into.pair_channels = std::max(into.pair_channels, from.pair_channels);
  into.nodes = std::max(into.nodes, from.nodes);
  into.rings.merge(from.rings);
  for (auto& [channel, hops] : from.ring_hops) into.ring_hops[channel].merge(hops);
  if (into.trees.empty()) into.trees = from.trees;
  for (const auto& [name, count] : from.transports) into.transports[name] += count;
  if (from.init_seconds) into.init_seconds = from.init_seconds;
  from = LocalComm{};
}

// The first process whose host ends as this one does, as far as the shorter of both goes.
std::optional<std::uint32_t> same_end(const HostsByEnd& hosts, std::string_view from_end) {
  std::optional<std::uint32_t> first;
  const auto keep = [&](std::uint32_t p) { first = std::min(first.value_or(p), p); };
  auto longer = hosts.lower_bound(from_end);
  for (; longer != hosts.end() && longer->first.starts_with(from_end); ++longer)
    keep(longer->second);
  const std::size_t longest = hosts.empty() ? 0 : std::min<std::size_t>(from_end.size(), 256);
  for (std::size_t size = 0; size < longest; ++size)
    if (const auto at = hosts.find(from_end.substr(0, size)); at != hosts.end()) keep(at->second);
  return first;
}

// Whether a host's name is what two lines that were written at once left of another one: its begin
// and its end.
bool is_rest_of(std::string_view rest, std::string_view host) {
  if (rest.empty() || rest.size() >= host.size()) return false;
  const auto begin = static_cast<std::size_t>(std::ranges::mismatch(rest, host).in1 - rest.begin());
  return begin > 0 && host.ends_with(rest.substr(begin));
}

}  // namespace

std::uint32_t LogProcesses::process_of(const NcclSaying& saying) {
  name_.assign(saying.host);
  name_ += ':';
  name_ += std::to_string(saying.pid);
  const auto known = by_name_.find(name_);
  if (known != by_name_.end()) return known->second;
  // Truncated lines may put letters of another line before a host, now or at its first appearance.
  HostsByEnd& same_pid = by_pid_[saying.pid];
  const std::string from_end(saying.host.rbegin(), saying.host.rend());
  if (const auto like = saying.pid == 0 ? std::nullopt : same_end(same_pid, from_end)) {
    std::string& host = processes_[*like].host;
    if (saying.host.size() < host.size()) {
      hosts_.erase(host);
      same_pid.erase(std::string(host.rbegin(), host.rend()));
      host = saying.host;
      hosts_.insert(host);
      same_pid.emplace(from_end, *like);
    }
    by_name_.emplace(name_, *like);
    return *like;
  }
  const auto at = static_cast<std::uint32_t>(processes_.size());
  by_name_.emplace(name_, at);
  same_pid.emplace(from_end, at);
  hosts_.emplace(saying.host);
  LogProcess process;
  process.host = saying.host;
  process.pid = saying.pid;
  processes_.push_back(std::move(process));
  return at;
}

bool LogProcesses::take(const NcclSaying& saying, std::optional<int> launcher_rank,
                        CommInput& input) {
  if (saying.level == NcclLevel::version) {
    const std::size_t end = std::min(saying.text.find_first_of(" \t"), saying.text.size());
    if (end > 0 && saying.text.front() >= '0' && saying.text.front() <= '9')
      ++into_.nccl.versions[std::string(saying.text.substr(0, end))];
    return true;
  }
  const std::uint32_t process = process_of(saying);
  tid_ = saying.tid;
  if (saying.device) {
    LogProcess& p = processes_[process];
    p.several_devices = p.several_devices || (p.device && p.device != saying.device);
    p.device = saying.device;
  }
  if (launcher_rank) processes_[process].launcher_rank = launcher_rank;
  if (saying.level == NcclLevel::warn) {
    // The rank is unknown yet. The process is stored here, and settle() replaces it by the rank.
    LogMessage message{
        .rank = process, .text = std::string(saying.text), .times = 1, .device = saying.device};
    const auto same = std::ranges::find_if(into_.messages, [&](const LogMessage& m) {
      return m.rank == message.rank && m.text == message.text && m.device == message.device;
    });
    if (same != into_.messages.end())
      ++same->times;
    else if (into_.messages.size() < 1000)
      into_.messages.push_back(std::move(message));
    return true;
  }
  if (saying.level == NcclLevel::call) return false;
  if (const auto call = parse_call(saying.text)) return take_call(process, *call, input);
  if (const auto comm = parse_comm(saying.text)) return take_comm(process, *comm);
  if (const auto choice = parse_choice(saying.text)) return take_choice(*choice);
  return take_setup(process, saying.text);
}

bool LogProcesses::take_call(std::uint32_t process, const NcclCallLine& line, CommInput& input) {
  if (!line.communicator) return false;
  LogProcess& p = processes_[process];
  const auto [at, fresh] =
      p.open.try_emplace(*line.communicator, static_cast<std::uint32_t>(comms_.size()));
  if (fresh) {
    LocalComm comm;
    comm.process = process;
    comm.ranks = line.ranks;
    comms_.push_back(std::move(comm));
  }
  p.latest = at->second;
  LocalComm& comm = comms_[at->second];
  if (comm.ranks == 0) comm.ranks = line.ranks;
  if (comm.first_op_count < 0) comm.first_op_count = line.op_count;
  CommCall call;
  call.sequence = line.op_count;
  call.position = p.calls++;
  call.name = into_.strings.intern(line.operation);
  name_.clear();
  name_.append("nccl:").append(line.operation);
  call.kind = collective_kind(name_);
  call.in_elements = line.count;
  call.in_types = into_.strings.intern(nccl_type_name(line.type));
  const bool pair = call.kind == CollectiveKind::send || call.kind == CollectiveKind::recv;
  arguments_.clear();
  using enum CollectiveKind;
  if (call.kind == all_reduce || call.kind == reduce || call.kind == reduce_scatter)
    arguments_.append(nccl_reduction_name(line.reduction));
  if (call.kind == reduce || call.kind == broadcast || call.kind == gather ||
      call.kind == scatter) {
    if (!arguments_.empty()) arguments_ += ", ";
    arguments_ += "root " + std::to_string(line.root);
  }
  if (pair) call.peer = line.root;
  call.arguments = into_.strings.intern(arguments_);
  std::vector<CommCall>& list = pair ? comm.pairs : comm.collectives;
  if (!list.empty() && list.back().sequence == call.sequence)
    call.ordinal = list.back().ordinal + 1;
  list.push_back(call);
  ++input.calls;
  return true;
}

bool LogProcesses::take_comm(std::uint32_t process, const NcclCommLine& line) {
  LogProcess& p = processes_[process];
  const auto known = p.open.find(line.communicator);
  if (line.ended) {
    if (known != p.open.end()) {
      comms_[known->second].ended = true;
      p.open.erase(known);
    }
    return true;
  }
  std::uint32_t at = 0;
  const bool same = known != p.open.end() &&
                    (comms_[known->second].id.empty() || line.id.empty() ||
                     comms_[known->second].id == line.id) &&
                    !(line.start && comms_[known->second].complete);
  if (same) {
    at = known->second;
  } else {
    at = static_cast<std::uint32_t>(comms_.size());
    LocalComm comm;
    comm.process = process;
    comms_.push_back(std::move(comm));
    p.open[line.communicator] = at;
  }
  LocalComm& comm = comms_[at];
  comm.rank = line.rank;
  comm.ranks = line.ranks;
  if (line.nodes > 0) comm.nodes = line.nodes;
  if (!line.id.empty()) comm.id = line.id;
  if (!line.parent.empty()) comm.parent = line.parent;
  if (!line.bus.empty()) comm.bus = line.bus;
  if (line.start) {
    p.says_start = true;
    p.opening[tid_] = at;
  }
  if (line.complete) {
    comm.complete = true;
    merge_setup(comm, p.pending);
    p.pending_links.clear();
    std::erase_if(p.opening, [&](const auto& o) { return o.second == at; });
    p.latest = at;
  }
  return true;
}

bool LogProcesses::take_choice(const NcclChoiceLine& line) {
  const std::string key = line.operation + ' ' + line.algorithm + ' ' + line.protocol;
  const auto [at, fresh] = choices_.try_emplace(key, into_.nccl.choices.size());
  if (fresh)
    into_.nccl.choices.push_back({.operation = line.operation,
                                  .algorithm = line.algorithm,
                                  .protocol = line.protocol,
                                  .calls = 0,
                                  .least_bytes = line.bytes,
                                  .most_bytes = line.bytes});
  NcclChoice& choice = into_.nccl.choices[at->second];
  ++choice.calls;
  choice.least_bytes = std::min(choice.least_bytes, line.bytes);
  choice.most_bytes = std::max(choice.most_bytes, line.bytes);
  return true;
}

// The communicator that connection lines without a communicator belong to: the one being opened, by
// the thread that writes; without START lines, the next to complete; the last one if ranks connect
// at their first call.
LocalComm& LogProcesses::target(std::uint32_t process) {
  LogProcess& p = processes_[process];
  if (!p.opening.empty()) {
    const auto own = p.opening.find(tid_);
    if (own != p.opening.end()) return comms_[own->second];
    std::uint32_t latest = 0;
    for (const auto& [tid, comm] : p.opening) latest = std::max(latest, comm);
    return comms_[latest];
  }
  if (p.says_start && p.latest) return comms_[*p.latest];
  return p.pending;
}

bool LogProcesses::take_channel(std::uint32_t process, std::string_view text) {
  const auto number = number_behind(text, "Channel ");
  const std::size_t colon = text.find(" : ");
  if (!number || *number < 0 || *number > 1000 || colon == std::string_view::npos) return false;
  const std::string_view rest = text.substr(colon + 3);
  LocalComm& comm = target(process);
  if (const auto via = behind(rest, " via ")) {
    const std::string transport = narrowed(via->substr(0, 60));
    ++comm.transports[transport];
    LogProcess& p = processes_[process];
    if (&comm == &p.pending)
      ++p.pending_links[logged_link(static_cast<int>(*number), rest, transport)];
    return true;
  }
  std::string ring = narrowed(rest);
  const auto before = comm.rings.find(static_cast<int>(*number));
  if (before != comm.rings.end() && before->second != ring)
    begin_loose_ring(processes_[process], comm);
  comm.rings[static_cast<int>(*number)] = std::move(ring);
  return true;
}

// What is pending is of another communicator than the lines before.
void LogProcesses::begin_loose_ring(LogProcess& process, LocalComm& comm) {
  if (&comm != &process.pending || process.earlier_rings.size() >= 1000) return;
  LocalComm earlier;
  earlier.rings = std::exchange(comm.rings, {});
  earlier.ring_hops = std::exchange(comm.ring_hops, {});
  process.earlier_rings.push_back(std::move(earlier));
}

// "Ring 00 : 3 -> 0 -> 1": of one rank, or the whole ring.
bool LogProcesses::take_ring(std::uint32_t process, std::string_view text) {
  const auto channel = number_behind(text, "Ring ");
  const std::size_t colon = text.find(" : ");
  if (!channel || *channel < 0 || *channel > 1000 || colon == std::string_view::npos) return false;
  std::string_view rest = text.substr(colon + 3);
  auto from = number_behind(rest, "");
  if (!from) return false;
  std::map<int, int> own;
  while (const auto next = behind(rest, "-> ")) {
    rest = *next;
    const auto to = number_behind(rest, "");
    if (!to) break;
    own.try_emplace(static_cast<int>(*from), static_cast<int>(*to));
    from = to;
  }
  LocalComm& comm = target(process);
  const auto before = comm.ring_hops.find(static_cast<int>(*channel));
  if (before != comm.ring_hops.end() && before->second != own)
    begin_loose_ring(processes_[process], comm);
  comm.ring_hops[static_cast<int>(*channel)].insert(own.begin(), own.end());
  return true;
}

bool LogProcesses::take_setup(std::uint32_t process, std::string_view text) {
  LogProcess& p = processes_[process];
  if (text.starts_with("Channel ")) return take_channel(process, text);
  if (text.starts_with("Ring ")) return take_ring(process, text);
  if (text.starts_with("Trees ")) {
    target(process).trees = narrowed(text.substr(6));
    return true;
  }
  if (text.find(" coll channels, ") != std::string_view::npos) {
    LocalComm& comm = target(process);
    comm.channels = static_cast<int>(number_behind(text, "").value_or(0));
    const std::size_t pairs = text.find(" p2p channels,");
    const std::size_t comma = text.substr(0, pairs).rfind(", ");
    if (pairs != std::string_view::npos && comma != std::string_view::npos)
      comm.pair_channels = static_cast<int>(number_behind(text.substr(comma), ", ").value_or(0));
    return true;
  }
  if (text.starts_with("Init timings")) {
    keep_longest(target(process).init_seconds, text);
    return true;
  }
  constexpr std::string_view set = " set by environment to ";
  if (const std::size_t at = text.find(set); text.starts_with("NCCL_") && at < 80) {
    std::string value(text.substr(at + set.size()));
    if (value.ends_with('.')) value.pop_back();
    p.environment[std::string(text.substr(0, at))] = std::move(value);
    return true;
  }
  if (text.starts_with("Using network ")) {
    p.network = text.substr(14);
    return true;
  }
  if (text.starts_with("NET/") && text.find(" : Using ") != std::string_view::npos) {
    ++into_.nccl.networks[narrowed(text)];
    return true;
  }
  return false;
}

// Groups communicators that are one: by id, else by size and order in each process.
std::vector<std::vector<std::uint32_t>> LogProcesses::joined(bool& ambiguous) const {
  std::map<std::string, std::vector<std::uint32_t>> by_key;
  // By GPU too: a process that drives several opens one communicator on each.
  std::vector<std::map<std::pair<std::string, int>, int>> nth(processes_.size());
  for (std::uint32_t c = 0; c < comms_.size(); ++c) {
    const LocalComm& comm = comms_[c];
    std::string key;
    if (!comm.id.empty())
      key = "id " + comm.id + ' ' + std::to_string(comm.ranks);
    else if (comm.ranks == 1)
      key = "alone " + std::to_string(c);
    else
      key = "of " + std::to_string(comm.ranks) + ' ' +
            std::to_string(nth[comm.process][{comm.bus, comm.ranks}]++);
    by_key[key].push_back(c);
  }
  std::vector<std::vector<std::uint32_t>> groups;
  for (const auto& [key, comms] : by_key) {
    std::set<int> ranks;
    const bool once = std::ranges::all_of(comms, [&](std::uint32_t c) {
      return comms_[c].rank < 0 || ranks.insert(comms_[c].rank).second;
    });
    const int size = comms_[comms.front()].ranks;
    if (once && (size == 0 || comms.size() <= static_cast<std::size_t>(size))) {
      groups.push_back(comms);
      continue;
    }
    ambiguous = true;
    for (const std::uint32_t c : comms) groups.push_back({c});
  }
  return groups;
}

// A process is one rank, unless it has two of the ranks of a communicator: then each of its GPUs is
// one.
void LogProcesses::find_actors(const std::vector<std::vector<std::uint32_t>>& groups) {
  std::set<std::uint32_t> several;
  for (const auto& comms : groups) {
    std::set<std::uint32_t> seen;
    for (const std::uint32_t c : comms)
      if (!seen.insert(comms_[c].process).second) several.insert(comms_[c].process);
  }
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> index;
  actor_of_.resize(comms_.size());
  for (std::uint32_t c = 0; c < comms_.size(); ++c) {
    const LocalComm& comm = comms_[c];
    std::string bus;
    if (several.contains(comm.process))
      bus = comm.bus.empty() ? "communicator " + std::to_string(c) : comm.bus;
    const auto [at, fresh] =
        index.try_emplace({comm.process, bus}, static_cast<std::uint32_t>(actors_.size()));
    if (fresh) actors_.push_back({.process = comm.process, .bus = bus});
    actor_of_[c] = at->second;
  }
  std::set<std::uint32_t> present;
  for (const LogActor& a : actors_) present.insert(a.process);
  const auto is_piece = [&](const LogProcess& p) {
    return std::ranges::any_of(present, [&](std::uint32_t other) {
      const LogProcess& whole = processes_[other];
      return p.pid == 0 || (p.pid == whole.pid && is_rest_of(p.host, whole.host));
    });
  };
  const std::size_t named = present.size();
  for (std::uint32_t p = 0; p < processes_.size(); ++p)
    if (!present.contains(p) && (named == 0 || !is_piece(processes_[p])))
      actors_.push_back({.process = p});
}

// An actor's rank in the job is its rank in the largest communicator if all share one, else the
// launcher's prefix of its lines.
std::vector<std::uint32_t> LogProcesses::ranks_of_actors(
    const std::vector<std::vector<std::uint32_t>>& groups) {
  int world = 0;
  for (const LocalComm& c : comms_)
    if (c.rank >= 0) world = std::max(world, c.ranks);
  std::map<std::uint32_t, int> numbers;
  std::set<int> taken;
  bool one = true;
  for (const auto& comms : groups)
    for (const std::uint32_t c : comms) {
      const LocalComm& comm = comms_[c];
      if (comm.ranks != world || comm.rank < 0) continue;
      const auto [at, fresh] = numbers.try_emplace(actor_of_[c], comm.rank);
      if (fresh) one = one && taken.insert(comm.rank).second;
    }
  if (!one) numbers.clear();
  std::set<int> launched;
  bool launchers = true;
  for (const LogProcess& p : processes_)
    if (p.launcher_rank) launchers = launchers && launched.insert(*p.launcher_rank).second;
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t a = 0; a < actors_.size(); ++a) {
    const LogProcess& p = processes_[actors_[a].process];
    std::optional<int> number;
    if (const auto at = numbers.find(a); at != numbers.end())
      number = at->second;
    else if (numbers.empty() && launchers && actors_[a].bus.empty())
      number = p.launcher_rank;
    if (number) {
      ranks.push_back(into_.rank_numbered(*number));
    } else {
      std::string label = p.pid == 0 ? "a process" : "process " + std::to_string(p.pid);
      if (!p.host.empty()) label += " on " + p.host;
      if (!actors_[a].bus.empty())
        label += ", GPU " + actors_[a].bus;
      else if (p.device && !p.several_devices)
        label += ", device " + std::to_string(*p.device);
      ranks.push_back(static_cast<std::uint32_t>(into_.ranks.size()));
      into_.ranks.push_back({.number = std::nullopt, .label = std::move(label)});
    }
    into_.ranks[ranks.back()].has_log = true;
  }
  return ranks;
}

void LogProcesses::add_group(const std::vector<std::uint32_t>& comms,
                             const std::vector<std::uint32_t>& ranks) {
  const LocalComm& first = comms_[comms.front()];
  const std::uint32_t at =
      into_.group_keyed("log " + first.id + ' ' + std::to_string(into_.groups.size()));
  RecordedGroup& group = into_.groups[at];
  group.id = first.id;
  group.from_log = true;
  group.size = first.ranks;
  std::map<int, int> members;  // index → rank of the job
  for (const std::uint32_t c : comms)
    if (const auto number = into_.ranks[ranks[actor_of_[c]]].number; number && comms_[c].rank >= 0)
      members[comms_[c].rank] = *number;
  if (members.size() == static_cast<std::size_t>(first.ranks)) {
    for (const auto& [place, number] : members) group.members.push_back(number);
    group.members_recorded = true;
  }
  for (const std::uint32_t c : comms) {
    LocalComm& comm = comms_[c];
    CommSequence& s = into_.sequence_of(at, ranks[actor_of_[c]]);
    s.collectives = std::move(comm.collectives);
    s.pairs = std::move(comm.pairs);
    s.from_start = comm.first_op_count <= 0;
  }
}

void LogProcesses::add_setup(const std::vector<std::uint32_t>& comms) {
  LoggedCommunicator out;
  const LocalComm& first = comms_[comms.front()];
  out.id = first.id;
  out.ranks = first.ranks;
  if (!first.parent.empty()) out.parent = first.parent;
  for (const std::uint32_t c : comms) {
    const LocalComm& comm = comms_[c];
    out.members.push_back({.process = comm.process,
                           .rank = comm.rank,
                           .bus = comm.bus,
                           .trees = comm.trees,
                           .complete = comm.complete,
                           .ended = comm.ended});
    out.nodes = std::max(out.nodes, comm.nodes);
    out.channels = std::max(out.channels, comm.channels);
    out.pair_channels = std::max(out.pair_channels, comm.pair_channels);
    for (const auto& [channel, ring] : comm.rings) out.rings.try_emplace(channel, ring);
    for (const auto& [channel, hops] : comm.ring_hops)
      out.ring_hops[channel].insert(hops.begin(), hops.end());
    if (comm.rank == 0 && !comm.trees.empty()) out.trees.push_back(comm.trees);
    for (const auto& [name, count] : comm.transports) out.transports[name] += count;
    if (comm.init_seconds)
      out.init_seconds = std::max(out.init_seconds.value_or(0), *comm.init_seconds);
  }
  std::ranges::sort(out.members, {}, &NcclMember::rank);
  into_.nccl.communicators.push_back(std::move(out));
}

// Returns the number of lines.
std::uint64_t LogProcesses::add_loose() {
  std::uint64_t lines = 0;
  std::vector<std::pair<std::string, LoggedLinks>> links;
  const auto add_rings = [&](std::uint32_t process, LocalComm& comm) {
    lines += comm.rings.size() + comm.ring_hops.size();
    for (const auto& [transport, count] : comm.transports) lines += count;
    if (comm.rings.empty() && comm.ring_hops.empty()) return;
    LoggedCommunicator out;
    const auto count_rank = [&](std::int64_t rank) {
      if (rank >= out.ranks && rank < 10'000'000) out.ranks = static_cast<int>(rank) + 1;
    };
    for (const auto& [channel, ring] : comm.rings)
      for (std::optional<std::string_view> rest = ring; rest; rest = behind(*rest, " "))
        count_rank(leading_number<std::int64_t>(*rest).value_or(-1));
    for (const auto& [channel, hops] : comm.ring_hops)
      for (const auto& [from, to] : hops) count_rank(std::max(from, to));
    // A ring that is not closed may have more ranks than its lines name.
    const bool closed = std::ranges::all_of(comm.ring_hops, [](const auto& channel) {
      return std::ranges::all_of(
          channel.second, [&](const auto& hop) { return channel.second.contains(hop.second); });
    });
    if (comm.rings.empty() && !closed) out.ranks = 0;
    out.rings = std::move(comm.rings);
    out.ring_hops = std::move(comm.ring_hops);
    out.members.push_back({.process = process});
    into_.nccl.loose_rings.push_back(std::move(out));
  };
  for (std::uint32_t i = 0; i < processes_.size(); ++i) {
    LogProcess& p = processes_[i];
    for (LocalComm& earlier : p.earlier_rings) add_rings(i, earlier);
    add_rings(i, p.pending);
    if (!p.pending_links.empty()) links.emplace_back(p.host, std::move(p.pending_links));
  }
  into_.nccl.loose_connections = loose_connections(links);
  return lines;
}

void LogProcesses::settle() {
  bool ambiguous = false;
  const auto groups = joined(ambiguous);
  find_actors(groups);
  const std::vector<std::uint32_t> ranks = ranks_of_actors(groups);
  for (const LogProcess& p : processes_)
    into_.nccl.processes.push_back({.host = p.host,
                                    .pid = p.pid,
                                    .device = p.several_devices ? std::nullopt : p.device,
                                    .environment = p.environment,
                                    .network = p.network});
  for (const auto& comms : groups) {
    add_setup(comms);
    add_group(comms, ranks);
  }
  // A message names its process. In a process with several ranks it names no rank.
  std::vector<std::optional<std::uint32_t>> rank_of(processes_.size());
  std::vector<int> actors(processes_.size());
  for (std::uint32_t a = 0; a < actors_.size(); ++a) {
    rank_of[actors_[a].process] = ranks[a];
    ++actors[actors_[a].process];
  }
  for (LogMessage& m : into_.messages) {
    if (!m.rank) continue;
    // In front of the text, as in its line.
    if (m.device && processes_[*m.rank].several_devices)
      m.text = "[" + std::to_string(*m.device) + "] " + m.text;
    m.rank = actors[*m.rank] == 1 ? rank_of[*m.rank] : std::nullopt;
  }
  if (into_.inputs.empty()) return;
  auto& notes = into_.inputs.back().notes;
  if (ambiguous) notes["communicators_of_one_size_that_cannot_be_told_apart"] = 1;
  if (const std::uint64_t lines = add_loose(); lines > 0)
    notes["rings_and_channels_without_the_Init_lines_of_a_communicator"] = lines;
}

}  // namespace stepscope
