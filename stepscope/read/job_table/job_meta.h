// SPDX-License-Identifier: Apache-2.0
// The meta file beside a job's table of operations: flat YAML, `key: value` a line, of the keys
// trial_name, run_id, dp_size, pp_size, tp_size, dsp_size, vpp_size and world_size.
#pragma once

#include <string>
#include <string_view>

#include "stepscope/base/result.h"
#include "stepscope/event/job_operations.h"

namespace stepscope {

// Comments, blank lines and `---` are passed over, keys of other names too. Any other YAML (lists,
// nested or folded values, anchors, tags) is refused by name, as is a size that is no positive
// number and a world size that is not dp x pp x tp x dsp.
[[nodiscard]] Result<JobMeta> parse_job_meta(std::string_view text, const std::string& path);

}  // namespace stepscope
