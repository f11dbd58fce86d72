// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/isa.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <string>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> names = {"baseline", "avx2", "avx512"};

// __builtin_cpu_supports also checks that the operating system saves the wide registers.
Isa highest_of_cpu() {
  __builtin_cpu_init();
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512 && avx2) return Isa::avx512;
  return avx2 ? Isa::avx2 : Isa::baseline;
}

Isa highest() {
  static const Isa level = std::min(highest_of_cpu(), isa_limit().value_or(Isa::avx512));
  return level;
}

std::atomic<Isa>& current() {
  static std::atomic<Isa> isa = highest();
  return isa;
}

}  // namespace

std::string_view isa_name(Isa isa) { return names[static_cast<std::size_t>(isa)]; }

Result<std::optional<Isa>> isa_limit_from_environment() {
  const char* text = std::getenv("STEPSCOPE_ISA");
  if (text == nullptr || *text == '\0') return std::optional<Isa>();
  const auto* const at = std::ranges::find(names, std::string_view(text));
  if (at == names.end()) {
    return Error{.what = "STEPSCOPE_ISA is \"" + std::string(text) + "\"",
                 .hint = "set it to baseline, avx2 or avx512, or unset it"};
  }
  return std::optional(static_cast<Isa>(at - names.begin()));
}

std::optional<Isa> isa_limit() {
  static const std::optional<Isa> limit = [] {
    const auto read = isa_limit_from_environment();
    check(read.has_value(), "STEPSCOPE_ISA is neither baseline, avx2 nor avx512");
    return *read;
  }();
  return limit;
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
  check(isa <= highest(), "this machine or STEPSCOPE_ISA lacks the instructions asked for");
  current().store(isa, std::memory_order_relaxed);
}

}  // namespace stepscope
