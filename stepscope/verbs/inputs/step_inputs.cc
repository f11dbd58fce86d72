// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/step_inputs.h"

#include <algorithm>

#include "stepscope/base/ascii.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/files/formats.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {
namespace {

// Whether a reader of traces other than that of Chrome's JSON, the last, knows these first bytes.
// Messages have small numbers, and text does not; its first line end may look like their tag.
bool is_other_trace(std::string_view head) {
  const bool numbers = std::ranges::any_of(head, [](char c) { return c >= 0 && c < '\b'; });
  return numbers && std::ranges::any_of(formats().first(formats().size() - 1),
                                        [&](const Format& f) { return f.matches(head); });
}

}  // namespace

bool has_events(std::string_view head) {
  return contains(head, "\"traceEvents\"") || contains(head, "\"ph\"");
}

Result<StepFileKind> kind_of_steps(const std::string& path, const StepReading& reading,
                                   const StopFlag* stop) {
  if (!reading.pattern.empty()) return StepFileKind::log;
  const auto kind = step_file_kind(path);
  if (!kind) return kind;
  const auto head = head_of_file(path);
  if (!head) return head.error();
  if (is_other_trace(head->text)) return StepFileKind::trace;
  if (*kind != StepFileKind::trace) return kind;
  const std::string_view text = trimmed(head->text);
  const bool json = text.starts_with('{') || text.starts_with('[');
  // A log has lines.
  const bool lines = head->whole || contains(text, "\n");
  if (!json || has_events(text) || !lines) return StepFileKind::trace;
  const auto log = read_job_log(path, reading, stop);
  // A row alone may not give a time, and the reader of logs can say so.
  const bool of_log = log && (head->whole || !steps_of(*log).steps.empty());
  return of_log ? StepFileKind::log : StepFileKind::trace;
}

}  // namespace stepscope
