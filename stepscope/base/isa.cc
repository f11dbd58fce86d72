// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace stepscope {
namespace {

constexpr std::array<std::string_view, 3> names = {"baseline", "avx2", "avx512"};

#if defined(__x86_64__)
struct Leaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

Leaf cpuid(unsigned leaf, unsigned part = 0) {
  Leaf out;
  if (__get_cpuid_count(leaf, part, &out.a, &out.b, &out.c, &out.d) == 0) return {};
  return out;
}

// The registers that the operating system saves (XCR0), if it says so.
std::uint64_t saved_registers(const Leaf& basic) {
  if ((basic.c >> 27U & 1U) == 0) return 0;  // OSXSAVE
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0U));
  return static_cast<std::uint64_t>(high) << 32U | low;
}

CpuFeatures read_features() {
  const auto bit = [](unsigned word, unsigned place) { return (word >> place & 1U) != 0; };
  const Leaf basic = cpuid(1), more = cpuid(7), further = cpuid(7, 1);
  const std::uint64_t saved = saved_registers(basic);
  const auto saves = [&](std::uint64_t mask) { return (saved & mask) == mask; };
  const bool ymm = saves(0x6), zmm = saves(0xe6), tiles = saves(0x60000);
  CpuFeatures has;
  has.intel = cpuid(0).b == 0x756e6547;  // "Genu"ineIntel
  has.popcnt = bit(basic.c, 23);
  has.pclmul = bit(basic.c, 1);
  has.bmi = bit(more.b, 3);
  has.bmi2 = bit(more.b, 8);
  has.avx2 = ymm && bit(more.b, 5) && bit(basic.c, 12);
  has.avx512 = zmm && bit(more.b, 16) && bit(more.b, 30) && bit(more.b, 17) && bit(more.b, 31);
  has.avx512_vbmi2 = has.avx512 && bit(more.c, 6);
  has.avx512_bf16 = zmm && bit(further.a, 5);
  has.amx_bf16 = tiles && bit(more.d, 22) && bit(more.d, 24);
  return has;
}
#else
CpuFeatures read_features() { return {}; }
#endif

Isa highest_of_cpu() {
  const CpuFeatures& has = cpu_features();
  if (has.avx512 && has.avx2) return Isa::avx512;
  return has.avx2 ? Isa::avx2 : Isa::baseline;
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

const CpuFeatures& cpu_features() {
  static const CpuFeatures features = read_features();
  return features;
}

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
