// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/terminal/counter_text.h"

#include <fmt/format.h>

#include <vector>

#include "stepscope/report/terminal/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/kernel_name.h"

namespace stepscope {
namespace {

constexpr std::size_t most_counter_rows = 8;

std::string share_or_dash(std::optional<double> share) {
  return share ? format_percent(*share) : "-";
}
std::string rate_or_dash(std::optional<ByteRate> rate) {
  return rate ? format_digits(rate->value / giga) : "-";
}

std::string sampled_text(const JobResult& job, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  std::size_t all = 0;
  for (const RankResult& r : job.ranks) {
    if (!r.samples || ++all > most_counter_rows) continue;
    const SampledFigures& f = r.samples->whole;
    rows.push_back({std::to_string(r.rank), share_or_dash(f.tensor_active),
                    share_or_dash(f.sm_active), share_or_dash(f.dram_read_share),
                    share_or_dash(f.dram_write_share),
                    f.sm_clock_mhz ? fmt::format("{:.2f}", *f.sm_clock_mhz / 1000) : "-",
                    std::to_string(f.samples)});
  }
  if (rows.empty()) return {};
  return "Sampled counters in the steps (% of the peak, GHz)\n" +
         text_table({{.title = "rank"},
                     {.title = "tensor cores"},
                     {.title = "SMs active"},
                     {.title = "DRAM read"},
                     {.title = "DRAM write"},
                     {.title = "clock"},
                     {.title = "samples"}},
                    std::move(rows), width) +
         (all > most_counter_rows ? fmt::format("  … and {} more\n", all - most_counter_rows) : "");
}

std::string profiled_text(const JobResult& job, std::size_t width) {
  for (const RankResult& r : job.ranks) {
    std::vector<std::vector<std::string>> rows;
    std::size_t all = 0;
    for (const KernelRow& k : r.kernels.kernels) {
      const KernelFigures f = kernel_figures(*r.strings, k);
      if (!f.any() || ++all > most_counter_rows) continue;
      rows.push_back({printable(short_kernel_name((*r.strings)[k.name])),
                      share_or_dash(f.tensor_active), share_or_dash(f.dram_share),
                      rate_or_dash(f.dram_read_rate), rate_or_dash(f.dram_write_rate),
                      share_or_dash(f.l2_hit_rate), f.fp32 ? format_count(f.fp32->value) : "-"});
    }
    if (rows.empty()) continue;
    return fmt::format("Profiled kernels of rank {} (means over runs; rates in GB/s)\n", r.rank) +
           text_table({{.title = "kernel", .right = false, .longest = 44},
                       {.title = "tensor cores"},
                       {.title = "DRAM"},
                       {.title = "read"},
                       {.title = "write"},
                       {.title = "L2 hits"},
                       {.title = "fp32 FLOPs"}},
                      std::move(rows), width) +
           (all > most_counter_rows ? fmt::format("  … and {} more\n", all - most_counter_rows)
                                    : "");
  }
  return {};
}

}  // namespace

std::string counters_text(const JobResult& job, std::size_t width) {
  return sampled_text(job, width) + profiled_text(job, width);
}

}  // namespace stepscope
