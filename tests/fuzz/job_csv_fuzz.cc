// SPDX-License-Identifier: Apache-2.0
// Any bytes as a job's table in CSV and as its meta file, followed by the analysis of the rows. Its
// figures are finite, and the numbers of the graph are those of the table.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/base/text_test_source.h"
#include "stepscope/read/job_table/job_csv.h"
#include "stepscope/read/job_table/job_meta.h"

namespace stepscope {
namespace {

bool sound(const StragglerJob& job) {
  const bool finite = std::isfinite(job.s) && std::isfinite(job.waste) &&
                      std::isfinite(job.s_host) && std::isfinite(job.m_w.rem.value_or(0)) &&
                      std::isfinite(job.m_s.rem.value_or(0));
  const double share = job.m_w.share().value_or(0);
  return finite && !job.steps.empty() && !job.workers.empty() && share >= 0 && share <= 1;
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto meta = parse_job_meta(text, "input");
  TextSource source(text);
  const auto table = read_job_csv(source, "input");
  if (!table) return 0;
  const auto job = analyze_straggler_job(*table, meta ? *meta : JobMeta{});
  if (job && !sound(*job)) std::abort();
  return 0;
}
