// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/mpi_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace stepscope {

namespace {

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

// Our library. Null: there is no such MPI. MPI's symbols must be global: its own plugins and our
// library use them.
Result<void*> load(const MpiInterface& interface) {
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
  return ours;
}

// The interface of the MPI that has launched this process comes first.
Result<void*> load_any() {
  const bool hydra = std::getenv("PMI_RANK") != nullptr;
  for (const MpiInterface& interface :
       hydra ? std::array{mpich, open_mpi} : std::array{open_mpi, mpich}) {
    Result<void*> loaded = load(interface);
    if (!loaded || *loaded != nullptr) return loaded;
  }
  return Error{.what =
                   "no MPI is found: neither libmpi.so.40 (Open MPI) nor libmpi.so.12 (MPICH) "
                   "can be loaded",
               .hint = "put the folder of your MPI's library on LD_LIBRARY_PATH"};
}

}  // namespace

Result<void*> loaded_mpi_function(const char* name) {
  static const Result<void*> library = load_any();
  if (!library) return library.error();
  void* const found = dlsym(*library, name);
  check(found != nullptr, std::string("the part of stepscope for MPI has no ") + name);
  return found;
}

Error no_mpi_in_this_build() {
  return {.what = "this build of stepscope has no MPI",
          .hint = "install libopenmpi-dev and openmpi-bin, and build again"};
}

Result<const MpiJob*> mpi_job() {
#if defined(STEPSCOPE_HAS_MPI)
  return stepscope_mpi_job();
#elif defined(STEPSCOPE_LOADS_MPI)
  const auto entry = loaded_mpi_function("stepscope_mpi_job");
  if (!entry) return entry.error();
  return reinterpret_cast<const MpiJob* (*)()>(*entry)();
#else
  return no_mpi_in_this_build();
#endif
}

}  // namespace stepscope
