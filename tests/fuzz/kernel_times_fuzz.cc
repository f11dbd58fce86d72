// SPDX-License-Identifier: Apache-2.0
// Any text as times of kernels. An accepted text has kernels with sizes and times above 0.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "stepscope/read/kernels/read_kernel_times.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const auto read = parse_kernel_times({reinterpret_cast<const char*>(data), size}, "input");
  if (!read) {
    expect(!read.error().message().empty(), "an error says something");
    return 0;
  }
  expect(!read->kernels.empty(), "a file is of kernels");
  for (const KernelTime& k : read->kernels) {
    expect(k.line > 0, "a kernel has a line");
    const bool timed = k.time && k.time->count() > 0 && std::isfinite(k.time->count());
    expect(timed || k.kind == KernelKind::launch, "a kernel has a time");
    if (k.kind == KernelKind::product) expect(k.m > 0 && k.k > 0 && k.n > 0, "sides are above 0");
  }
  return 0;
}
