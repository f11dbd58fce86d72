// SPDX-License-Identifier: Apache-2.0
// What launchers write in front of each line of a process: its rank, its host, its pod.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace stepscope {

// The rank of the job in front of a line: "[rank3]:", "[1,3]<stdout>:" of mpirun --tag-output,
// "Worker[rank=3]: " of NeMo RL, "(Worker_TP3 pid=7) " of vLLM, and "3: " in the output of srun
// --label.
[[nodiscard]] std::optional<int> launcher_rank(std::string_view line, bool labelled = false);
// Whether a text is the output of srun --label: nearly all of its lines begin with "3: ".
[[nodiscard]] bool is_labelled(std::string_view text);
// "[default3]:" of torchrun: the rank on its host.
[[nodiscard]] std::optional<int> launcher_local_rank(std::string_view line);
// The line without such prefixes, those of Ray ("(RayWorker pid=1, ip=…)"), of kubectl ("[pod/a/b]
// "), those with the name of a stream ("n1 [stderr] "), time stamps of Kubernetes and the level,
// time and place of vLLM's logger; blanks in front of the text remain.
[[nodiscard]] std::string_view without_launcher(std::string_view line);

// Names in front of the lines of a file, which only the file as a whole shows: hosts of pdsh ("n1:
// text"), containers of docker compose ("trainer-1  | text").
using LauncherNames = std::set<std::string, std::less<>>;
[[nodiscard]] LauncherNames launcher_names(std::string_view text);

struct NamedLine {
  std::string_view name{};  // of a host, pod or container; empty: none
  std::string_view text{};
};
[[nodiscard]] NamedLine split_name(std::string_view line, const LauncherNames& known);

}  // namespace stepscope
