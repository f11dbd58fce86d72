// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/merged_trace.h"

#include <string_view>

#include "stepscope/write/chrome_trace.h"
#include "stepscope/write/perfetto_trace.h"

namespace stepscope {

Result<Done> write_merged_trace(std::span<const RankToWrite> ranks, const std::string& path,
                                const StopFlag* stop) {
  std::string_view name = path;
  if (name.ends_with(".gz")) name.remove_suffix(3);
  const bool native = name.ends_with(".pftrace") || name.ends_with(".perfetto-trace");
  return native ? write_perfetto_trace(ranks, path, stop) : write_chrome_trace(ranks, path, stop);
}

}  // namespace stepscope
