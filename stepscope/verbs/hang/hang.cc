// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang.h"

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/diagnose/warnings.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/incident/incident_log.h"
#include "stepscope/read/nccl/comm_files.h"
#include "stepscope/read/rows/rank_names.h"
#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/read_profile.h"
#include "stepscope/stack/standing.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {
namespace {

// A dump that Python wrote as a signal ended it is no standing process: it is read as a log.
bool is_dump_of_threads(const std::string& path) {
  const auto source = open_source(path);
  if (!source) return false;
  std::string head(16 << 10, '\0');
  const auto got = (*source)->read(head);
  if (!got) return false;
  const std::string_view begin = std::string_view(head).substr(0, *got);
  return !contains(begin, "Fatal Python error: ") && is_thread_dump(begin);
}

// The files that are dumps of threads. The files that are named themselves are taken off `inputs`.
std::vector<std::string> thread_dumps(std::vector<std::string>& inputs) {
  std::vector<std::string> dumps;
  std::vector<Error> ignored;
  each_file(inputs, {}, ignored, [&](const std::string& path, bool) {
    if (is_dump_of_threads(path)) dumps.push_back(path);
  });
  const std::set<std::string_view> known(dumps.begin(), dumps.end());
  std::erase_if(inputs, [&](const std::string& path) { return known.contains(path); });
  return dumps;
}

std::vector<StandingProcess> processes_of(const Profile& profile, const PhaseRules& rules,
                                          const NodePhases& phases) {
  const std::vector<Standing> all = standing_of(profile, rules, phases);
  std::vector<std::string> paths;
  for (const ProfileInput& input : profile.inputs) paths.push_back(input.path);
  const auto ranks = ranks_from_names(paths, std::nullopt);
  std::vector<StandingProcess> out;
  for (const Standing& s : all) {
    StandingProcess process{.phase = rules.phases[s.phase].name,
                            .label = rules.phases[s.phase].label,
                            .frame = s.frame};
    const bool alone =
        std::ranges::count(all, s.input, &Standing::input) == 1;  // the only one of its file
    const std::string& path = paths[s.input];
    if (alone) {
      process.rank = ranks[s.input];
      if (!process.rank) process.rank = rank_in_file_name(path);
    }
    process.name =
        process.rank ? "rank " + std::to_string(*process.rank) : path.substr(path.rfind('/') + 1);
    const ProfileThread& thread = profile.threads[s.thread];
    if (!alone) process.name += ": " + (thread.process.empty() ? thread.name : thread.process);
    out.push_back(std::move(process));
  }
  return out;
}

// Where the processes of the dumps stand, and the dumps as inputs.
Result<Done> add_dumps(const std::vector<std::string>& paths, const Progress& progress,
                       HangResult& result) {
  std::vector<Profile> profiles;
  for (const std::string& path : paths) {
    if (progress.stopped()) return interrupted();
    if (auto profile = read_profile(path))
      profiles.push_back(std::move(*profile));
    else
      result.failures.push_back(profile.error());
  }
  if (profiles.empty()) return Done{};
  const auto rules = make_phase_rules();
  if (!rules) return rules.error();
  const auto profile = merged(std::move(profiles));
  if (!profile) return profile.error();
  result.standing = processes_of(*profile, *rules, phases_of(*profile, *rules));
  for (const ProfileInput& input : profile->inputs)
    result.records.inputs.push_back(
        {.path = input.path, .format = "thread dump", .bytes = input.bytes});
  return Done{};
}

}  // namespace

Result<HangResult> hang(const HangRequest& request, const Progress& progress) {
  std::vector<std::string> inputs = request.files;
  const std::vector<std::string> dumps = thread_dumps(inputs);
  HangResult result;
  std::vector<std::string> remarks;
  if (!inputs.empty()) {
    CommFiles files = read_comm_files(inputs, progress.stop, dumps);
    if (progress.stopped()) return interrupted();
    result.records = std::move(files.records);
    result.failures = std::move(files.errors);
    remarks = std::move(files.remarks);
    // A directory may hold dumps of threads alone.
    if (!dumps.empty())
      std::erase_if(result.failures,
                    [](const Error& e) { return contains(e.what, "nothing here"); });
  }
  if (const auto added = add_dumps(dumps, progress, result); !added) return added.error();
  for (Error& error : result.failures) error = with_analyze(std::move(error), "hang");
  progress.report(result.failures);
  if (result.records.inputs.empty()) return result.failures.front();
  result.account = find_hang(result.records);
  std::vector<int> seen;
  for (const StandingProcess& p : result.standing)
    if (p.rank) seen.push_back(*p.rank);
  result.incident = account_incident(result.records, seen);
  result.warnings = hang_warnings(result.records, result.account, result.incident);
  append(result.warnings, quoted(remarks));
  return result;
}

}  // namespace stepscope
