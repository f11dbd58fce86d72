// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/files/one_job.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>

#include "stepscope/event/name_rules.h"
#include "stepscope/read/rows/rank_names.h"

namespace stepscope {
namespace {

constexpr Ns apart_in_time = std::chrono::seconds{10};
constexpr Ns apart_on_two_hosts = std::chrono::minutes{10};

// The facts that show whether two files are of one job.
struct Capture {
  std::set<int> ranks{};  // by the metadata
  std::optional<int> name_rank{};
  std::optional<int> world{};
  bool epoch = false;
  Ns begin = Ns::max();
  Ns end = Ns::min();
  std::string host{};
  std::set<std::int64_t> processes{};
  std::set<std::string_view> devices{};
  bool communicates = false;
  std::uint64_t steps = 0;
};

std::uint64_t marked_steps(const Trace& trace) {
  std::uint64_t steps = 0;
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i)
    if (trace.strings[StringId{i}].starts_with("ProfilerStep#")) ++steps;
  return steps;
}

bool communicates(const Trace& trace) {
  if (!trace.collectives.empty()) return true;
  std::vector<bool> seen(trace.strings.size());
  const Slices& s = trace.slices;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto name = index(s.name[i]);
    if (seen[name] || s.category[i] == Category::python_function) continue;
    seen[name] = true;
    if (collective_kind(trace.strings[s.name[i]]) != CollectiveKind::none) return true;
  }
  return false;
}

void take(const Trace& trace, Capture& c) {
  const Metadata& m = trace.metadata;
  if (m.rank) c.ranks.insert(*m.rank);
  if (m.world_size) c.world = std::max(c.world.value_or(0), *m.world_size);
  c.epoch = m.clock == Clock::unix_epoch;
  if (const auto host = m.texts.find("host_name"); host != m.texts.end()) c.host = host->second;
  for (const DeviceProperties& device : m.devices)
    if (!device.name.empty()) c.devices.insert(device.name);
  const Slices& s = trace.slices;
  for (std::size_t i = 0; i < s.size(); ++i) {
    // The profiler's own row may extend beyond the recorded events.
    if (s.category[i] == Category::trace_window) continue;
    const bool of_process = s.category[i] == Category::cpu_op ||
                            s.category[i] == Category::runtime || s.category[i] == Category::driver;
    if (of_process) c.processes.insert(trace.track(s.track[i]).pid);
    c.begin = std::min(c.begin, s.start[i]);
    c.end = std::max(c.end, s.start[i] + s.dur[i]);
  }
  c.communicates = c.communicates || communicates(trace);
  c.steps = std::max(c.steps, marked_steps(trace));
}

template <class T>
bool share_any(const std::set<T>& a, const std::set<T>& b) {
  return std::ranges::any_of(a, [&](const T& value) { return b.contains(value); });
}

// 0 or less: the captures overlap, or their clocks cannot show it.
Ns time_between(const Capture& a, const Capture& b) {
  if (!a.epoch || !b.epoch || a.begin > a.end || b.begin > b.end) return Ns{0};
  return std::max(a.begin, b.begin) - std::min(a.end, b.end);
}

bool of_one_world(const Capture& a, const Capture& b) {
  return !a.ranks.empty() && !b.ranks.empty() && a.world && a.world == b.world;
}

std::string when(Ns between) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(between).count();
  return "it was captured at another time (" + std::to_string(seconds) + " s between them)";
}

// Why they cannot be of one job; empty: they can.
std::string why_other_job(const Capture& a, const Capture& b) {
  if (a.world && b.world && a.world != b.world)
    return "its job has " + std::to_string(*b.world) + " ranks, the other's " +
           std::to_string(*a.world);
  const Ns between = time_between(a, b);
  const bool same_rank =
      share_any(a.ranks, b.ranks) || (a.ranks.empty() && b.ranks.empty() && a.name_rank &&
                                      b.name_rank && *a.name_rank == *b.name_rank);
  if (same_rank) {
    // Windows of one process are joined; two files of one rank and time are an error that names
    // both (read_trace.h).
    const bool other_process =
        !a.processes.empty() && !b.processes.empty() && !share_any(a.processes, b.processes);
    if (between > Ns{0} && other_process)
      return "both are the same rank, and it is another process at another time";
    if (a.ranks.empty()) return "both names say the same rank";
    return {};
  }
  const bool one_host = !a.host.empty() && a.host == b.host;
  const bool two_hosts = a.communicates && b.communicates && !one_host;
  if (between > (two_hosts ? apart_on_two_hosts : apart_in_time)) return when(between);
  if (!a.devices.empty() && !b.devices.empty() && !share_any(a.devices, b.devices) &&
      !of_one_world(a, b))
    return "its device is " + std::string(*b.devices.begin()) + ", the other's " +
           std::string(*a.devices.begin());
  return {};
}

bool tied(const Capture& a, const Capture& b) {
  return (!a.ranks.empty() && !b.ranks.empty()) || (a.name_rank && b.name_rank) ||
         (a.communicates && b.communicates && a.epoch && b.epoch);
}

std::vector<Capture> captures_of(const std::vector<FileTraces>& files,
                                 const std::vector<std::string>& paths) {
  std::vector<Capture> captures(files.size());
  std::vector<std::string> readable;
  std::optional<int> world;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (const Trace& trace : files[i]) take(trace, captures[i]);
    if (files[i].empty()) continue;
    readable.push_back(paths[i]);
    if (captures[i].world) world = std::max(world.value_or(0), *captures[i].world);
  }
  const auto together = ranks_from_names(readable, world);
  std::size_t at = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    captures[i].name_rank = together[at++];
    if (!captures[i].name_rank)
      captures[i].name_rank = ranks_from_names({&paths[i], 1}, std::nullopt).front();
  }
  return captures;
}

struct Group {
  std::vector<std::size_t> files;
  // Whether each file has ranks of its own and the same world; these ranks, and the last begin and
  // the first end of the captures on the epoch's clock.
  bool one_world = true;
  std::set<int> ranks{};
  Ns last_begin = Ns::min();
  Ns first_end = Ns::max();
};

// True only if why_other_job() is empty and tied() for each file of the group. Its cost does not
// grow with their number.
bool surely_with(const Group& group, const Capture& first, const Capture& c) {
  return group.one_world && of_one_world(first, c) && !share_any(c.ranks, group.ranks) &&
         (!c.epoch || c.begin > c.end ||
          std::max(group.last_begin, c.begin) - std::min(group.first_end, c.end) <= apart_in_time);
}

void add(Group& group, std::size_t file, const std::vector<Capture>& captures) {
  group.files.push_back(file);
  const Capture& c = captures[file];
  group.one_world = group.one_world && of_one_world(captures[group.files.front()], c);
  group.ranks.insert(c.ranks.begin(), c.ranks.end());
  if (!c.epoch || c.begin > c.end) return;
  group.last_begin = std::max(group.last_begin, c.begin);
  group.first_end = std::min(group.first_end, c.end);
}

// Each file goes to the first group that it may join: it is apart from no member and tied to at
// least one. Without such a group it begins a new one.
std::vector<Group> groups_of(const std::vector<FileTraces>& files,
                             const std::vector<Capture>& captures) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].empty()) continue;
    const Capture& own = captures[i];
    const auto is_with = [&](const Group& group) {
      if (surely_with(group, captures[group.files.front()], own)) return true;
      return std::ranges::all_of(
                 group.files,
                 [&](std::size_t k) { return why_other_job(captures[k], own).empty(); }) &&
             std::ranges::any_of(group.files,
                                 [&](std::size_t k) { return tied(captures[k], own); });
    };
    auto home = std::ranges::find_if(groups, is_with);
    if (home == groups.end()) home = groups.insert(home, Group{});
    add(*home, i, captures);
  }
  return groups;
}

RecordedJob recorded_job(const Group& group, const std::vector<Capture>& captures) {
  RecordedJob job{.files = group.files};
  for (const std::size_t i : group.files) {
    const Capture& c = captures[i];
    if (c.world) job.world = std::max(job.world.value_or(0), *c.world);
    job.steps = std::max(job.steps, c.steps);
    if (c.epoch && c.begin <= c.end) job.begin = std::min(job.begin.value_or(c.begin), c.begin);
  }
  return job;
}

}  // namespace

JobsOfFiles jobs_of(const std::vector<FileTraces>& files, const std::vector<std::string>& paths) {
  JobsOfFiles out{.left_out = std::vector<std::optional<std::string>>(files.size()), .jobs = {}};
  if (files.size() < 2) return out;
  const std::vector<Capture> captures = captures_of(files, paths);
  const auto groups = groups_of(files, captures);
  const auto job =
      std::ranges::max_element(groups, {}, [](const Group& g) { return g.files.size(); });
  if (job == groups.end()) return out;
  out.jobs.push_back(recorded_job(*job, captures));
  for (const Group& group : groups) {
    if (&group == &*job) continue;
    out.jobs.push_back(recorded_job(group, captures));
    for (const std::size_t i : group.files) {
      std::size_t other = job->files.front();
      std::string why;
      for (auto k = job->files.begin(); k != job->files.end() && why.empty(); ++k) {
        why = why_other_job(captures[*k], captures[i]);
        if (!why.empty()) other = *k;
      }
      const Capture& first = captures[other];
      if (why.empty() && first.communicates && captures[i].communicates)
        why =
            "neither ranks nor clocks tie it to that one; put ranks into the names, as rank0.json";
      if (why.empty()) why = "neither a rank of its own nor a collective ties it to that one";
      out.left_out[i] = "belongs to another job than " + paths[other] + ": " + why;
    }
  }
  return out;
}

}  // namespace stepscope
