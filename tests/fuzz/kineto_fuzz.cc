// SPDX-License-Identifier: Apache-2.0
// Any bytes through the whole reader (inflate, document, events, ranks, seal). One thread in one
// piece and two threads in tiny chunks must give the same result, and the invariants of sealed
// traces hold.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "stepscope/base/files/text_source.h"
#include "stepscope/event/trace_test_text.h"
#include "stepscope/read/kineto/kineto.h"

namespace stepscope {
namespace {

struct Outcome {
  std::string text;  // of all traces, or the error
};

Outcome outcome_of(std::string_view bytes, const ReadControl& control) {
  const auto open = [&]() -> Result<std::unique_ptr<ByteSource>> {
    return inflated(std::make_unique<TextSource>(bytes), bytes.substr(0, 4));
  };
  auto traces = read_kineto_from(open, "input", control);
  if (!traces) return {"error: " + traces.error().message()};
  Outcome outcome;
  for (Trace& trace : *traces) {
    seal(trace);
    if (const std::string broken = test::broken_rule(trace); !broken.empty()) {
      std::fprintf(stderr, "broken: %s\n%s", broken.c_str(), test::text_of(trace).c_str());
      std::abort();
    }
    outcome.text += test::text_of(trace);
  }
  return outcome;
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // The amount of text delivered before damage may depend on the size of the reads, so both read
  // text that was inflated in one.
  std::string text;
  if (auto source = inflated(std::make_unique<TextSource>(bytes), bytes.substr(0, 4));
      bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd")) {
    outcome_of(bytes, {.chunk_bytes = size + 64});
    text.resize(1 << 16);
    const auto got = source->read(text);
    text.resize(got ? *got : 0);
    bytes = text;
    size = text.size();
  }
  const Outcome whole = outcome_of(bytes, {.chunk_bytes = size + 64});
  // Starting a thread costs more than so small a read, so it is not done every time.
  const Outcome pieces =
      outcome_of(bytes, {.threads = size % 4 == 0 ? 2U : 1U, .chunk_bytes = 48 + (size % 7) * 64});
  if (whole.text != pieces.text) {
    std::fprintf(stderr, "in one piece:\n%s\nin chunks:\n%s\n", whole.text.c_str(),
                 pieces.text.c_str());
    std::abort();
  }
  return 0;
}
