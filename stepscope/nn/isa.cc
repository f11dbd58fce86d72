// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/isa.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>

#include "stepscope/base/result.h"

namespace stepscope::nn {
namespace {

// __builtin_cpu_supports also asks whether the system saves the wide registers.
Isa highest() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && avx2) return Isa::avx512;
  return avx2 ? Isa::avx2 : Isa::baseline;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa = highest();
  return isa;
}

}  // namespace

std::string_view isa_name(Isa isa) {
  constexpr std::array<std::string_view, 3> names = {"baseline", "avx2", "avx512"};
  return names[static_cast<std::size_t>(isa)];
}

std::vector<Isa> available_isas() {
  std::vector<Isa> out;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (isa <= highest()) out.push_back(isa);
  }
  return out;
}

Isa isa() { return current().load(std::memory_order_relaxed); }

void use_isa(Isa isa) {
  check(isa <= highest(), "this machine lacks the instructions asked for");
  current().store(isa, std::memory_order_relaxed);
}

}  // namespace stepscope::nn
