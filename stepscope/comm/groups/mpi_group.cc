// SPDX-License-Identifier: Apache-2.0
#include "stepscope/comm/groups/mpi_group.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "stepscope/base/number_text.h"
#include "stepscope/comm/groups/mpi_library.h"

#ifdef STEPSCOPE_LOADS_MPI
#include <dlfcn.h>

#include <filesystem>
#endif

namespace stepscope {

namespace {

std::optional<int> environment_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const auto number = number_of<int>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

using Library = Result<const comm::MpiLibrary*>;

#if defined(STEPSCOPE_HAS_MPI)

Library library() { return stepscope_mpi_library(); }

#elif defined(STEPSCOPE_LOADS_MPI)

// A binary interface of MPI: names of the library of an installation, and our library that calls
// it.
struct MpiInterface {
  const char* name;
  std::array<const char*, 2> mpi;
  const char* ours;
};
constexpr MpiInterface open_mpi = {
    "Open MPI", {"libmpi.so.40", "libmpi.so.40"}, "libstepscope-openmpi.so"};
constexpr MpiInterface mpich = {
    "MPICH", {"libmpi.so.12", "libmpich.so.12"}, "libstepscope-mpich.so"};

// Null: there is no such MPI. MPI's symbols must be global: its own plugins and our library use
// them.
Library load(const MpiInterface& interface) {
  const auto opens = [](const char* file) {
    return dlopen(file, RTLD_NOW | RTLD_GLOBAL) != nullptr;
  };
  if (std::ranges::none_of(interface.mpi, opens)) return nullptr;
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  const auto file = program.parent_path().parent_path() / "lib" / "stepscope" / interface.ours;
  void* const ours = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (ours == nullptr) {
    return Error{.what = std::string("the part of stepscope for ") + interface.name +
                         " cannot be loaded: " + dlerror(),
                 .hint = "install stepscope again; " + file.string() + " is part of it"};
  }
  using Entry = const comm::MpiLibrary* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(ours, "stepscope_mpi_library"));
  check(entry != nullptr, std::string(interface.ours) + " has no stepscope_mpi_library");
  return entry();
}

// The interface of the MPI that has launched this process comes first.
Library load_any() {
  const bool hydra = std::getenv("PMI_RANK") != nullptr;
  for (const MpiInterface& interface :
       hydra ? std::array{mpich, open_mpi} : std::array{open_mpi, mpich}) {
    Library loaded = load(interface);
    if (!loaded || *loaded != nullptr) return loaded;
  }
  return Error{.what =
                   "no MPI is found: neither libmpi.so.40 (Open MPI) nor libmpi.so.12 (MPICH) "
                   "can be loaded",
               .hint = "put the folder of your MPI's library on LD_LIBRARY_PATH"};
}

Library library() {
  static const Library loaded = load_any();
  return loaded;
}

#else

Library library() {
  return Error{.what = "this build of stepscope has no MPI",
               .hint = "install libopenmpi-dev and openmpi-bin, and build again"};
}

#endif

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

Result<std::unique_ptr<Communicator>> make_mpi_group(const MpiOptions& options) {
  const auto found = library();
  if (!found) return found.error();
  return (*found)->make_group(options);
}

int mpi_ranks_of_host() {
  const auto found = library();
  return found ? (*found)->ranks_of_host() : 0;
}

int mpi_first_of_host() {
  const auto found = library();
  return found ? (*found)->first_of_host() : 0;
}

void abandon_mpi() noexcept {
  if (const auto found = library()) (*found)->abandon();
}

}  // namespace stepscope
