// SPDX-License-Identifier: Apache-2.0
// Any bytes as collapsed stacks. Plain text is also read line by line into a map of whole stacks,
// which must have the same weights.
#include "stepscope/stack/profile_format.h"
#include "tests/fuzz/profile_fuzz.h"

namespace stepscope::fuzz {
namespace {

double weight_of_lines(std::string_view text) {
  double sum = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    std::string_view stack;
    double count = 0;
    if (!line.starts_with('#') && split_collapsed(line, stack, count)) sum += count;
  }
  return sum;
}

}  // namespace
}  // namespace stepscope::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  if (!fuzz::run(data, size, "collapsed")) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const bool other = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
                     text.starts_with("\xEF\xBB\xBF");
  if (other) return 0;
  const auto p = test::profile_of(text, {.format = "collapsed"});
  const double all = fuzz::weight_of_lines(text);
  fuzz::expect(std::abs(p->tree.total[0] - all) <= 1e-9 * std::max(1.0, all), "lines sum to all");
  return 0;
}
