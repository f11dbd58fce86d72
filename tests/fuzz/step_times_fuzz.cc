// SPDX-License-Identifier: Apache-2.0
// Any text as a list of step times and as the output of `stepscope train`. An accepted one holds
// only positive times, has a cause for each or none at all, and survives being written as a table
// and read back.
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stepscope/base/files/text_source.h"
#include "stepscope/read/log/step_times.h"
#include "stepscope/read/log/train_summary.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::string as_table(const StepTimes& times) {
  std::string text = "step_time_ns\n";
  char number[32];
  for (const double ns : times.wall_ns) {
    std::snprintf(number, sizeof number, "%.17g\n", ns);
    text += number;
  }
  return text;
}

void try_unit(std::string_view text, TimeUnit unit) {
  const auto times = parse_step_times(text, "input", unit);
  if (!times) return expect(!times.error().message().empty(), "an error says something");
  expect(!times->wall_ns.empty(), "a list has a step");
  expect(times->causes.empty() || times->causes.size() == times->wall_ns.size(),
         "causes are parallel to steps");
  for (const double ns : times->wall_ns) expect(std::isfinite(ns) && ns > 0, "a step takes time");
  const auto again = parse_step_times(as_table(*times), "again");
  expect(again && again->wall_ns == times->wall_ns && !again->unit_assumed,
         "a written table is read back to the same");
}

// As a file whose kind is detected.
void try_file(std::string_view text) {
  const int file = memfd_create("input", 0);
  expect(file >= 0 && write(file, text.data(), text.size()) == std::ssize(text),
         "memory is a file");
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  const auto times = read_step_times(path);
  expect(times || !times.error().message().empty(), "an error says something");
  const auto summary = read_train_summary(path);
  expect(summary || !summary.error().message().empty(), "an error says something");
  close(file);
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try_unit(text, TimeUnit::ms);
  try_unit(text, TimeUnit::s);
  try_file(text);
  TextSource source(text);
  if (const auto summary = parse_train_summary(source, "input"))
    for (const auto& [rank, sums] : summary->ranks) expect(rank >= 0, "a rank has a number");
  return 0;
}
