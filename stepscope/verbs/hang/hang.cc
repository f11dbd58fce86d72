// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/hang.h"

#include <utility>

#include "stepscope/diagnose/warnings.h"
#include "stepscope/read/nccl/comm_files.h"
#include "stepscope/verbs/inputs/other_verbs.h"

namespace stepscope {

Result<HangResult> hang(const HangRequest& request, const Progress& progress) {
  CommFiles files = read_comm_files(request.files, progress.stop);
  if (progress.stopped()) return interrupted();
  for (Error& error : files.errors) error = with_analyze(std::move(error));
  HangResult result{.records = std::move(files.records), .failures = std::move(files.errors)};
  progress.report(result.failures);
  if (result.records.inputs.empty()) return result.failures.front();
  result.account = find_hang(result.records);
  result.warnings = hang_warnings(result.records, result.account);
  append(result.warnings, quoted(files.remarks));
  return result;
}

}  // namespace stepscope
