// SPDX-License-Identifier: Apache-2.0
// Any text as the log of a training job, read whole and in small reads. Both give the same steps,
// which have positive times and are in launches that cover them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "stepscope/analysis/runs/log_account.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void look(const JobLog& log) {
  const LogSteps steps = steps_of(log);
  for (const LogStep& s : steps.steps) {
    expect(std::isfinite(s.wall_ns) && s.wall_ns > 0, "a step takes time");
    expect(s.steps >= 1, "a time is of one step or more");
    expect(s.record <= log.records.size(), "a step has a record");
  }
  expect(steps.steps.empty() == steps.launches.empty(), "steps are of a launch");
  expect(std::ranges::is_sorted(steps.launches), "launches follow each other");
  for (const std::size_t first : steps.launches)
    expect(first < steps.steps.size(), "a launch has a step");
  const LogAccount account = account_of(log, steps);
  expect(account.launches.size() == steps.launches.size(), "each launch is told");
  for (const LogTimerRow& t : account.timers) expect(t.count > 0, "a timer has a time");
  for (const LogChange& c : account.changes)
    expect(c.record < steps.steps.size() && c.after_ns > 0, "a change is at a step");
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto whole = parse_job_log(text, "input");
  if (whole) look(*whole);
  TextSource source(text);
  const auto streamed = read_job_log(source, "input");
  if (streamed) look(*streamed);
  // A trainer's JSON is detected before streaming.
  if (whole && streamed && whole->text_bytes == streamed->text_bytes && size < (1 << 20))
    expect(text.find("\"log_history\"") != std::string_view::npos ||
               text.find("\"best_model_checkpoint\"") != std::string_view::npos ||
               whole->records.size() == streamed->records.size(),
           "a log in parts is the same log");
  return 0;
}
