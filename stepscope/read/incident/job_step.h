// SPDX-License-Identifier: Apache-2.0
// Steps of a job script under Slurm: where one begins, and which tasks of it ended.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace stepscope {

// "+ srun -l --ntasks=8 python train.py" in the trace of a shell (bash -x).
struct ScriptStep {
  bool labelled = false;  // each line of its output has the number of its task in front
};
[[nodiscard]] std::optional<ScriptStep> begin_of_step(std::string_view line);

// Whether srun says in the line how tasks ended: "srun: error: n3: tasks 2,4-6: Exited with exit
// code 1".
[[nodiscard]] bool is_end_of_tasks(std::string_view line);
// Their numbers, ascending. Empty for a list of more than 5,000.
[[nodiscard]] std::vector<int> ended_tasks(std::string_view line);

}  // namespace stepscope
