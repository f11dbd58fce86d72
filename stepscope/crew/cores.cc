// SPDX-License-Identifier: Apache-2.0
#include "stepscope/crew/cores.h"

#include <sched.h>

#include <bit>

namespace stepscope {

CoreMask core_mask() {
  CoreMask mask{};
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return mask;
  for (std::size_t core = 0; core < mask.size() * 64 && core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) mask[core / 64] |= std::uint64_t{1} << (core % 64);
  }
  return mask;
}

bool run_on(const CoreMask& mask) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (std::size_t core = 0; core < mask.size() * 64 && core < CPU_SETSIZE; ++core)
    if ((mask[core / 64] >> (core % 64) & 1) != 0) CPU_SET(core, &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0;
}

int count_cores(const CoreMask& mask) {
  int cores = 0;
  for (const std::uint64_t word : mask) cores += std::popcount(word);
  return cores;
}

}  // namespace stepscope
