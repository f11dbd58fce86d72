// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_ranks.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "stepscope/base/number_text.h"
#include "stepscope/read/nsys/nsys_nccl.h"

namespace stepscope {
namespace {

std::optional<int> number(std::string_view text) {
  const auto value = number_of<int>(text);
  return value && *value >= 0 && *value <= most_nsys_ranks ? value : std::nullopt;
}

template <std::size_t n>
std::optional<int> from_environment(const NsysExport& nsys,
                                    const std::array<std::string_view, n>& names) {
  for (const std::string_view name : names) {
    const auto at = nsys.environment.find(std::string(name));
    if (at == nsys.environment.end()) continue;
    if (const auto value = number(at->second)) return value;
  }
  return std::nullopt;
}

// --nnodes=2 or --nnodes 2; '-' may replace '_', as in torchrun.
std::optional<int> argument(const NsysExport& nsys, std::string_view name) {
  for (std::size_t i = 0; i < nsys.arguments.size(); ++i) {
    std::string text = nsys.arguments[i].substr(0, nsys.arguments[i].find('='));
    std::ranges::replace(text, '-', '_');
    if (text != "__" + std::string(name)) continue;
    const std::size_t equals = nsys.arguments[i].find('=');
    if (equals != std::string::npos) return number(nsys.arguments[i].substr(equals + 1));
    if (i + 1 < nsys.arguments.size()) return number(nsys.arguments[i + 1]);
  }
  return std::nullopt;
}

struct Launcher {
  std::optional<int> node;      // index of this node
  std::optional<int> per_node;  // processes per node
  std::optional<int> world;
};

Launcher launcher_of(const NsysExport& nsys) {
  constexpr std::array<std::string_view, 4> worlds = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
                                                      "PMI_SIZE", "SLURM_NTASKS"};
  constexpr std::array<std::string_view, 3> nodes = {"GROUP_RANK", "NODE_RANK", "SLURM_NODEID"};
  Launcher launcher;
  launcher.per_node = argument(nsys, "nproc_per_node");
  launcher.node = argument(nsys, "node_rank");
  if (!launcher.node) launcher.node = from_environment(nsys, nodes);
  // Under torchrun the environment of the launcher is about launchers, not ranks.
  const auto count = argument(nsys, "nnodes");
  if (launcher.per_node) {
    const std::int64_t all = std::int64_t{count.value_or(1)} * *launcher.per_node;
    if ((count || launcher.node.value_or(0) == 0) && all > 0 && all <= most_nsys_ranks)
      launcher.world = static_cast<int>(all);
    if (!count) launcher.world.reset();
  } else {
    launcher.world = from_environment(nsys, worlds);
  }
  return launcher;
}

// The widest communicator of a process is the world's.
const NcclCommunicator* widest_group(const NsysProcess& process) {
  const NcclCommunicator* widest = nullptr;
  for (const auto& [id, known] : process.communicators)
    if (known.rank >= 0 && (widest == nullptr || known.ranks > widest->ranks)) widest = &known;
  return widest;
}

int first_device(const NsysProcess& process) {
  int device = most_nsys_ranks;
  for (const auto& [context, of] : process.device_of) device = std::min(device, of);
  return device;
}

// Whether each process has a rank and all ranks differ.
bool all_differ(const std::vector<std::unique_ptr<NsysProcess>>& processes) {
  std::set<int> ranks;
  return std::ranges::all_of(processes, [&](const auto& p) {
    const auto& rank = p->trace.metadata.rank;
    return rank && ranks.insert(*rank).second;
  });
}

// The ranks of a communicator, in its order. If this export lacks one of its processes, the list
// stays empty.
void name_groups(const std::vector<std::unique_ptr<NsysProcess>>& processes) {
  std::map<std::uint64_t, std::map<int, int>> members;  // communicator → index → rank
  for (const auto& process : processes)
    for (const auto& [id, known] : process->communicators)
      if (known.rank >= 0 && process->trace.metadata.rank)
        members[id][known.rank] = *process->trace.metadata.rank;
  for (const auto& process : processes) {
    for (const auto& [id, known] : process->communicators) {
      ProcessGroup group;
      group.name = nccl_group_name(id);
      group.backend = "nccl";
      group.size = known.ranks;
      const std::map<int, int>& places = members[id];
      if (known.ranks > 0 && places.size() == static_cast<std::size_t>(known.ranks))
        for (const auto& [place, rank] : places) group.ranks.push_back(rank);
      process->trace.metadata.groups.push_back(std::move(group));
    }
  }
}

}  // namespace

void find_nsys_ranks(NsysExport& nsys, NsysProcesses& processes) {
  constexpr std::array<std::string_view, 5> own = {"RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                                   "PMI_RANK", "SLURM_PROCID"};
  auto& all = processes.all();
  const Launcher launcher = launcher_of(nsys);
  std::optional<int> world = launcher.world;
  for (const auto& process : all) {
    std::optional<int>& rank = process->trace.metadata.rank;
    rank = process->rank_by_name;
    const NcclCommunicator* widest = widest_group(*process);
    if (widest != nullptr && !launcher.world) world = std::max(world.value_or(0), widest->ranks);
    if (!rank && widest != nullptr && (!world || widest->ranks >= *world)) rank = widest->rank;
  }
  if (all.size() == 1 && !all[0]->trace.metadata.rank && !launcher.per_node)
    all[0]->trace.metadata.rank = from_environment(nsys, own);
  if (all.size() > 1 && !all_differ(all)) {
    std::ranges::sort(all, {}, [](const auto& p) {
      return std::tuple(first_device(*p), p->pid(), p->global_pid);
    });
    const bool known = launcher.node && launcher.per_node;
    const int first = known ? *launcher.node * std::min(*launcher.per_node, 4096) : 0;
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i]->trace.metadata.rank = known || launcher.node.value_or(0) == 0
                                        ? std::optional(first + static_cast<int>(i))
                                        : std::nullopt;
    nsys.note("ranks_by_order_of_devices");
  }
  for (const auto& process : all) {
    const int rank = process->trace.metadata.rank.value_or(0);
    if (world && *world > rank) process->trace.metadata.world_size = world;
  }
  std::ranges::sort(all, {}, [](const auto& p) {
    return std::tuple(p->trace.metadata.rank, first_device(*p), p->global_pid);
  });
  name_groups(all);
}

}  // namespace stepscope
