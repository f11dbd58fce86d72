// SPDX-License-Identifier: Apache-2.0
// The meta file beside a job's table of operations: flat YAML, one `key: value` a line. The keys
// are trial_name, run_id, dp_size, pp_size, tp_size, dsp_size, vpp_size and world_size.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Comments, blank lines, `---` and other keys are skipped. Errors: any other YAML (lists, nested or
// folded values, anchors, tags; the error names it), a size that is not a positive number, and a
// world size that is not dp x pp x tp x dsp.
[[nodiscard]] Result<JobMeta> parse_job_meta(std::string_view text, const std::string& path);

}  // namespace stepscope
