// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/counter_figures.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "stepscope/analysis/steps/steps.h"

namespace stepscope {
namespace {

constexpr double most_counted = 1e18;

bool is_share_of_peak(std::string_view metric) {
  return metric.find(".pct_of_peak_sustained_") != std::string_view::npos;
}

// A kernel's counters by name.
class CounterLookup {
 public:
  CounterLookup(const StringPool& strings, std::span<const KernelCounter> counters) {
    for (const KernelCounter& c : counters)
      if (std::isfinite(c.mean) && c.mean >= 0 && c.mean <= most_counted)
        values_.emplace(strings[c.metric], c.mean);
  }
  [[nodiscard]] std::optional<double> value(std::string_view metric) const {
    const auto at = values_.find(metric);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  // The largest share of its peak of the metrics that begin so.
  [[nodiscard]] std::optional<double> share(std::string_view begin) const {
    std::optional<double> most;
    for (auto at = values_.lower_bound(begin); at != values_.end() && at->first.starts_with(begin);
         ++at)
      if (is_share_of_peak(at->first)) most = std::max(most.value_or(0), at->second / 100);
    return most;
  }
  [[nodiscard]] std::optional<double> percent(std::string_view metric) const {
    const auto v = value(metric);
    return v && *v <= 100 ? std::optional(*v / 100) : std::nullopt;
  }

 private:
  std::map<std::string_view, double> values_;
};

std::optional<Bytes> bytes_of(std::optional<double> value) {
  return value ? std::optional(Bytes{std::llround(*value)}) : std::nullopt;
}

std::optional<double> hit_rate(std::optional<double> hits, std::optional<double> misses) {
  if (!hits || !misses || *hits + *misses <= 0) return std::nullopt;
  return *hits / (*hits + *misses);
}

// Instructions of threads whose results count: an FMA is two operations.
std::optional<Flops> flops_of(const CounterLookup& c, std::string_view kind) {
  const auto count = [&](std::string_view op) {
    return c.value("smsp__sass_thread_inst_executed_op_" + std::string(kind) + std::string(op) +
                   "_pred_on.sum");
  };
  const auto add = count("add");
  const auto mul = count("mul");
  const auto fma = count("fma");
  if (!add || !mul || !fma) return std::nullopt;
  return Flops{*add + *mul + 2 * *fma};
}

std::optional<ByteRate> rate_of(const CounterLookup& c, std::string_view metric,
                                std::optional<Bytes> bytes, std::optional<double> ns) {
  if (const auto rate = c.value(std::string(metric) + ".per_second")) return ByteRate{*rate};
  if (!bytes || !ns || *ns <= 0) return std::nullopt;
  return ByteRate{static_cast<double>(bytes->value) / *ns * ns_per_s};
}

enum class Sampled : std::uint8_t { tensor, sm, dram_read, dram_write, clock };
constexpr std::size_t sampled_count = 5;

struct SampledMetric {
  std::string_view begin;
  std::string_view end;
  Sampled figure;
};
// Nsight Systems writes its clocks in Hz, whatever the unit in the name.
constexpr std::array<SampledMetric, 9> sampled_metrics = {{
    {"Tensor Active [", "Throughput %]", Sampled::tensor},
    {"SMs Active [", "Throughput %]", Sampled::sm},
    {"DRAM Read ", "[Throughput %]", Sampled::dram_read},
    {"DRAM Write ", "[Throughput %]", Sampled::dram_write},
    {"GPC Clock Frequency [", "MHz]", Sampled::clock},
    {"sm__pipe_tensor_cycles_active", "", Sampled::tensor},
    {"sm__cycles_active", "", Sampled::sm},
    {"dram__read_throughput", "", Sampled::dram_read},
    {"dram__write_throughput", "", Sampled::dram_write},
}};

std::optional<Sampled> sampled_figure(std::string_view metric) {
  for (const SampledMetric& m : sampled_metrics)
    if (metric.starts_with(m.begin) &&
        (m.end.empty() ? is_share_of_peak(metric) : metric.ends_with(m.end)))
      return m.figure;
  return std::nullopt;
}

struct SampleSum {
  double sum = 0;
  std::size_t count = 0;
};
using SampleSums = std::array<SampleSum, sampled_count>;

SampledFigures figures_of(const SampleSums& sums) {
  SampledFigures f;
  const auto mean = [&](Sampled figure) -> std::optional<double> {
    const SampleSum& s = sums[static_cast<std::size_t>(figure)];
    f.samples = std::max(f.samples, s.count);
    return s.count == 0 ? std::nullopt : std::optional(s.sum / static_cast<double>(s.count));
  };
  f.tensor_active = mean(Sampled::tensor);
  f.sm_active = mean(Sampled::sm);
  f.dram_read_share = mean(Sampled::dram_read);
  f.dram_write_share = mean(Sampled::dram_write);
  f.sm_clock_mhz = mean(Sampled::clock);
  return f;
}

}  // namespace

bool KernelFigures::any() const {
  return tensor_active || tensor_instructions || sm_share || dram_share || dram_read ||
         dram_write || dram_read_rate || dram_write_rate || l2_hit_rate || l1_hit_rate || fp32 ||
         fp64;
}

KernelFigures kernel_figures(const StringPool& strings, std::span<const KernelCounter> counters,
                             std::optional<Ns> mean_run) {
  const CounterLookup c(strings, counters);
  KernelFigures f;
  f.tensor_active = c.share("sm__pipe_tensor_cycles_active");
  if (!f.tensor_active) f.tensor_active = c.share("sm__pipe_tensor_");
  if (!f.tensor_active) f.tensor_active = c.share("sm__inst_executed_pipe_tensor");
  f.tensor_instructions = c.value("sm__inst_executed_pipe_tensor.sum");
  if (!f.tensor_instructions) f.tensor_instructions = c.value("kineto__tensor_core_insts");
  f.sm_share = c.share("sm__throughput");
  f.dram_share = c.share("dram__throughput");
  f.dram_read = bytes_of(c.value("dram__bytes_read.sum"));
  f.dram_write = bytes_of(c.value("dram__bytes_write.sum"));
  std::optional<double> ns = c.value("gpu__time_duration.sum");
  if (!ns && mean_run) ns = static_cast<double>(mean_run->count());
  f.dram_read_rate = rate_of(c, "dram__bytes_read.sum", f.dram_read, ns);
  f.dram_write_rate = rate_of(c, "dram__bytes_write.sum", f.dram_write, ns);
  f.l2_hit_rate = c.percent("lts__t_sector_hit_rate.pct");
  if (!f.l2_hit_rate)
    f.l2_hit_rate = hit_rate(c.value("lts__t_sectors_lookup_hit.sum"),
                             c.value("lts__t_sectors_lookup_miss.sum"));
  f.l1_hit_rate = c.percent("l1tex__t_sector_hit_rate.pct");
  f.fp32 = flops_of(c, "f");
  f.fp64 = flops_of(c, "d");
  return f;
}

KernelFigures kernel_figures(const StringPool& strings, const KernelRow& kernel) {
  return kernel_figures(strings, kernel.counters,
                        kernel.count > 0 ? std::optional(kernel.mean()) : std::nullopt);
}

std::optional<CounterSamples> counter_samples(const Trace& trace, std::span<const Step> steps) {
  std::map<StringId, std::optional<Sampled>> figure_of;
  std::vector<SampleSums> sums(steps.size());
  SampleSums whole;
  bool any = false;
  const Counters& counters = trace.counters;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    if (counters.slice[i] != no_slice) continue;
    const auto [known, fresh] = figure_of.try_emplace(counters.metric[i]);
    if (fresh) known->second = sampled_figure(trace.strings[counters.metric[i]]);
    if (!known->second) continue;
    const auto step = step_at(steps, counters.time[i]);
    if (!step) continue;
    double value = counters.value[i];
    if (!std::isfinite(value) || value < 0) continue;
    constexpr double hz = 1e6;
    if (*known->second == Sampled::clock)
      value = value >= hz ? value / hz : value;
    else if (value > 100)
      continue;
    else
      value /= 100;
    const auto figure = static_cast<std::size_t>(*known->second);
    for (SampleSum* sum : {&sums[*step][figure], &whole[figure]}) {
      sum->sum += value;
      ++sum->count;
    }
    any = true;
  }
  if (!any) return std::nullopt;
  CounterSamples samples{.whole = figures_of(whole)};
  for (const SampleSums& s : sums) samples.steps.push_back(figures_of(s));
  return samples;
}

}  // namespace stepscope
