// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/launched_rank.h"

#include <array>
#include <cstdlib>

#include "stepscope/base/number_text.h"

namespace stepscope {

namespace {

std::optional<int> environment_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const auto number = number_of<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

}  // namespace

std::optional<LaunchedRank> launched_rank() {
  struct Launcher {
    const char* rank;
    const char* ranks;
  };
  constexpr std::array launchers = {Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                    Launcher{"PMI_RANK", "PMI_SIZE"}};
  for (const auto& [rank, ranks] : launchers)
    if (const auto own = environment_number(rank))
      return LaunchedRank{*own, environment_number(ranks).value_or(0)};
  // A batch script has SLURM_PROCID too, but is not a step.
  if (const auto own = environment_number("SLURM_PROCID");
      own && environment_number("SLURM_STEP_ID"))
    return LaunchedRank{*own, environment_number("SLURM_STEP_NUM_TASKS").value_or(0)};
  if (const auto own = environment_number("PMIX_RANK")) return LaunchedRank{*own, 0};
  return std::nullopt;
}

}  // namespace stepscope
