// SPDX-License-Identifier: Apache-2.0
// Any bytes as the JSON of rocprofv3.
#include <cstddef>
#include <cstdint>

#include "stepscope/read/kineto/rocprof.h"
#include "tests/fuzz/trace_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_rocprof(bytes));
  fuzz::run_trace_reader(read_rocprof_from, bytes);
  return 0;
}
