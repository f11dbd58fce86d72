// SPDX-License-Identifier: Apache-2.0
// Any bytes through the reader of rocprofv3's JSON: in one window and in tiny ones, which must give
// the same; what must hold of every sealed trace holds, and an error says something.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "stepscope/base/text_source.h"
#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/rocprof.h"

namespace stepscope {
namespace {

std::string text_of_all(std::string_view bytes, std::size_t window) {
  TextSource source(bytes);
  auto traces = read_rocprof_from(source, "input", {.chunk_bytes = window});
  if (!traces) {
    if (traces.error().message().empty()) std::abort();
    return "error: " + traces.error().message();
  }
  std::string text;
  for (Trace& trace : *traces) {
    seal(trace);
    if (const std::string broken = test::broken_rule(trace); !broken.empty()) {
      std::fprintf(stderr, "broken: %s\n%s", broken.c_str(), test::text_of(trace).c_str());
      std::abort();
    }
    text += test::text_of(trace);
  }
  return text;
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  static_cast<void>(is_rocprof(bytes));
  if (text_of_all(bytes, size + 64) != text_of_all(bytes, 1 + size % 61)) std::abort();
  return 0;
}
