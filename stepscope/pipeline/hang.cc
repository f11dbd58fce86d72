// SPDX-License-Identifier: Apache-2.0
#include "stepscope/pipeline/hang.h"

#include "stepscope/diagnose/warnings.h"
#include "stepscope/read/nccl/comm_files.h"
#include "stepscope/say/say.h"

namespace stepscope {

Result<HangResult> hang(const HangRequest& request, const Progress& progress) {
  CommFiles files = read_comm_files(request.files, progress.stop);
  if (progress.stopped()) return interrupted();
  HangResult result{.records = std::move(files.records), .failures = std::move(files.errors)};
  progress.report(result.failures);
  if (result.records.inputs.empty()) return result.failures.front();
  result.account = find_hang(result.records);
  result.warnings = say_all(hang_warnings(result.records, result.account));
  result.warnings.insert(result.warnings.end(), files.remarks.begin(), files.remarks.end());
  return result;
}

}  // namespace stepscope
