// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/step_inputs.h"

#include "stepscope/base/ascii.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/log/read_job_log.h"

namespace stepscope {

bool has_events(std::string_view head) {
  return contains(head, "\"traceEvents\"") || contains(head, "\"ph\"");
}

Result<StepFileKind> kind_of_steps(const std::string& path, const StepReading& reading,
                                   const StopFlag* stop) {
  if (!reading.pattern.empty()) return StepFileKind::log;
  const auto kind = step_file_kind(path);
  if (!kind || *kind != StepFileKind::trace) return kind;
  const auto head = head_of_file(path);
  if (!head) return head.error();
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
