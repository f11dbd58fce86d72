// SPDX-License-Identifier: Apache-2.0
// make_memory_snapshot KIND SEED FORM > FILE: writes a snapshot of a simulated allocator. KIND is
// "training", "large" (some hundred thousand events), "noise", "expandable" or "short" (too little
// memory); FORM is "pickle", "json" or "page".
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/memory/simulated_training.h"
#include "tests/memory/written_snapshot.h"

int main(int argc, char** argv) {
  using namespace stepscope::testing;
  if (argc != 4) {
    std::fputs("make_memory_snapshot KIND SEED FORM\n", stderr);
    return 2;
  }
  const std::string_view kind = argv[1];
  const auto seed = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  const std::string_view form = argv[3];
  const SimRun run =
      kind == "training" ? simulated_training({.layers = 12, .steps = 3, .width = 4'000'000}, seed)
      : kind == "large"  ? simulated_training({.layers = 60, .steps = 600, .width = 400'000}, seed)
      : kind == "expandable" ? simulated_noise(3000, true, std::int64_t{8} << 30, seed)
      : kind == "short"      ? simulated_noise(3000, false, std::int64_t{400} << 20, seed)
                             : simulated_noise(3000, false, std::int64_t{8} << 30, seed);
  const std::string pickle = pickled(run.allocator);
  const std::string out = form == "json"   ? as_json(run.allocator)
                          : form == "page" ? as_page(pickle)
                                           : pickle;
  return std::fwrite(out.data(), 1, out.size(), stdout) == out.size() ? 0 : 1;
}
