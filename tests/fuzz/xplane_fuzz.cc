// SPDX-License-Identifier: Apache-2.0
// Any bytes as a profile of XLA.
#include <cstddef>
#include <cstdint>

#include "stepscope/read/kineto/xplane.h"
#include "tests/fuzz/trace_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_xplane(bytes));
  fuzz::run_trace_reader(read_xplane_from, bytes);
  return 0;
}
