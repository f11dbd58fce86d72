// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/ranks/gpu_match.h"

#include <algorithm>
#include <cstdio>
#include <set>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

// The distances from UTC that clocks have somewhere, in minutes.
constexpr std::array<int, 39> zones_in_use = {
    -720, -660, -600, -570, -540, -480, -420, -360, -300, -240, -210, -180, -150,
    -120, -60,  0,    60,   120,  180,  210,  240,  270,  300,  330,  345,  360,
    390,  420,  480,  525,  540,  570,  600,  630,  660,  720,  765,  780,  840};

std::string without_vendor(std::string_view name) {
  constexpr std::string_view vendor = "NVIDIA ";
  if (name.starts_with(vendor)) name.remove_prefix(vendor.size());
  return std::string(name);
}

// nsys writes uuids without "GPU-".
std::string_view bare_uuid(std::string_view uuid) {
  if (uuid.starts_with("GPU-")) uuid.remove_prefix(4);
  return uuid;
}

std::string_view short_host(std::string_view host) { return host.substr(0, host.find('.')); }

bool same_host(std::string_view a, std::string_view b) {
  return !a.empty() && !b.empty() && (a == b || short_host(a) == short_host(b));
}

// Whether a path has the word, with no letter or digit next to it.
bool names_word(std::string_view path, std::string_view word) {
  const auto inner = [&](std::size_t at) { return at < path.size() && is_alphanumeric(path[at]); };
  for (std::size_t at = path.find(word); at != std::string_view::npos; at = path.find(word, at + 1))
    if ((at == 0 || !inner(at - 1)) && !inner(at + word.size())) return true;
  return false;
}

const DeviceProperties* device_of(const GpuOwner& owner) {
  const auto at = std::ranges::find(owner.devices, owner.device, &DeviceProperties::id);
  return at == owner.devices.end() ? nullptr : &*at;
}

std::set<std::string> hosts_of(std::span<const GpuOwner> owners) {
  std::set<std::string> hosts;
  for (const GpuOwner& o : owners)
    if (!o.host.empty()) hosts.insert(o.host);
  return hosts;
}

// The only host of the ranks that the path names; empty: none, or several.
std::string host_in_path(std::string_view path, const std::set<std::string>& hosts) {
  std::string found;
  for (const std::string& host : hosts) {
    if (!names_word(path, host) && !names_word(path, short_host(host))) continue;
    if (!found.empty()) return {};
    found = host;
  }
  return found;
}

// What of a log may be which rank's.
class LogMatcher {
 public:
  LogMatcher(const GpuLog& log, std::span<const GpuOwner> owners, std::optional<int> world_size,
             bool only_log)
      : log_(log), owners_(owners), host_(host_in_path(log.path, hosts_of(owners))) {
    const auto world = static_cast<std::size_t>(
        std::max<int>(world_size.value_or(0), static_cast<int>(owners.size())));
    // All ranks of the job fit on the log's host, on a GPU each.
    std::set<int> ordinals;
    std::set<std::string> hosts;
    for (const GpuOwner& o : owners) {
      ordinals.insert(o.device);
      hosts.insert(o.host);
    }
    one_host_ = only_log && world <= log.gpus.size() && ordinals.size() == owners.size() &&
                hosts.size() == 1;
  }

  // The GPU of the owner, or why it has no GPU in this log. Neither: the log is another rank's.
  std::optional<RankGpu> gpu_of(std::size_t o, Message& problem) const {
    const GpuOwner& owner = owners_[o];
    if (log_.named_rank && *log_.named_rank != owner.rank) return std::nullopt;
    if (owner.device < 0) return std::nullopt;
    if (const auto gpu = by_uuid(owner)) return RankGpu{o, 0, *gpu, GpuMatchRule::uuid};
    if (log_.named_rank && log_.gpus.size() == 1)
      return named_alike(owner, 0, problem)
                 ? std::optional(RankGpu{o, 0, 0, GpuMatchRule::file_name})
                 : std::nullopt;
    const auto gpus = gpus_of_host(owner, problem);
    if (gpus.empty()) return std::nullopt;
    const auto gpu = by_index(owner, gpus, problem);
    if (!gpu || !named_alike(owner, *gpu, problem)) return std::nullopt;
    return RankGpu{o, 0, *gpu, GpuMatchRule::index};
  }

 private:
  std::optional<std::uint32_t> by_uuid(const GpuOwner& owner) const {
    const DeviceProperties* device = device_of(owner);
    if (device == nullptr || device->uuid.empty()) return std::nullopt;
    for (std::uint32_t g = 0; g < log_.gpus.size(); ++g)
      if (!log_.gpus[g].uuid.empty() && bare_uuid(log_.gpus[g].uuid) == bare_uuid(device->uuid))
        return g;
    return std::nullopt;
  }

  // The GPUs of the log that are on the owner's host.
  std::vector<std::uint32_t> gpus_of_host(const GpuOwner& owner, Message& problem) const {
    std::vector<std::uint32_t> gpus;
    bool unknown = false;
    for (std::uint32_t g = 0; g < log_.gpus.size(); ++g) {
      const std::string& host = log_.gpus[g].host.empty() ? host_ : log_.gpus[g].host;
      const bool here =
          host.empty() ? one_host_ || log_.named_rank.has_value() : same_host(host, owner.host);
      unknown = unknown || (host.empty() && !here);
      if (here) gpus.push_back(g);
    }
    if (gpus.empty() && unknown)
      problem = msg::gpu_log_of_unknown_host();
    else if (gpus.empty() && owner.host.empty())
      problem = msg::gpu_log_hosts_unnamed();
    return gpus;
  }

  // The ordinals of a process are the log's indices if the process sees all GPUs of the host.
  std::optional<std::uint32_t> by_index(const GpuOwner& owner,
                                        const std::vector<std::uint32_t>& gpus,
                                        Message& problem) const {
    std::set<int> indices;
    for (const std::uint32_t g : gpus)
      if (log_.gpus[g].index) indices.insert(*log_.gpus[g].index);
    const bool all_indexed = indices.size() == gpus.size() && *indices.begin() == 0 &&
                             *indices.rbegin() == static_cast<int>(gpus.size()) - 1;
    if (!all_indexed || owner.devices.size() != gpus.size()) {
      problem = msg::gpu_log_numbers_differ(
          owner.rank, value_if(!owner.devices.empty(), owner.devices.size()), gpus.size());
      return std::nullopt;
    }
    for (const std::uint32_t g : gpus)
      if (log_.gpus[g].index == owner.device) return g;
    return std::nullopt;
  }

  bool named_alike(const GpuOwner& owner, std::uint32_t gpu, Message& problem) const {
    const DeviceProperties* device = device_of(owner);
    const std::string& uuid = log_.gpus[gpu].uuid;
    if (device != nullptr && !device->uuid.empty() && !uuid.empty() &&
        bare_uuid(device->uuid) != bare_uuid(uuid)) {
      problem = msg::gpu_log_without(owner.rank, bare_uuid(device->uuid));
      return false;
    }
    const std::string& name = log_.gpus[gpu].name;
    if (device == nullptr || device->name.empty() || name.empty() ||
        without_vendor(device->name) == without_vendor(name))
      return true;
    problem = msg::gpu_log_of_other_gpu(name, owner.rank, device->name);
    return false;
  }

  const GpuLog& log_;
  std::span<const GpuOwner> owners_;
  std::string host_;
  bool one_host_ = false;
};

TimeSpan span_of(const GpuLog& log) {
  TimeSpan span{Ns::max(), Ns::min()};
  for (const GpuReading& r : log.readings) {
    span.start = std::min(span.start, r.time);
    span.end = std::max(span.end, r.time);
  }
  return span;
}

// Whether readings fall into the captures of the log's ranks. If utilization was read, at least one
// capture must show its GPU at work.
bool fits(const GpuLog& log, std::span<const GpuOwner> owners, std::span<const RankGpu> ranks,
          Ns zone) {
  bool overlap = false;
  bool utilization = false;
  bool works = false;
  for (const RankGpu& r : ranks) {
    const GpuOwner& owner = owners[r.owner];
    for (const GpuReading& reading : readings_of(log, r.gpu)) {
      const Ns time = reading.time - zone;
      if (time < owner.window.start || time > owner.window.end) continue;
      overlap = true;
      utilization = utilization || reading.utilization.has_value();
      works = works || reading.utilization.value_or(0) > 0;
    }
  }
  return overlap && (works || !utilization);
}

// "2026-11-25 10:11:12".
std::string clock_text(Ns time) {
  namespace chrono = std::chrono;
  const auto whole = chrono::floor<chrono::seconds>(chrono::sys_time<Ns>(time));
  const auto day = chrono::floor<chrono::days>(whole);
  const chrono::year_month_day date{day};
  const chrono::hh_mm_ss at{whole - day};
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02u %02d:%02d:%02d", int{date.year()},
                unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(at.hours().count()),
                static_cast<int>(at.minutes().count()), static_cast<int>(at.seconds().count()));
  return text.data();
}

// `zone`: as it was given, or nothing.
Message apart_in_words(const GpuLog& log, std::span<const GpuOwner> owners,
                       std::span<const RankGpu> ranks, const Value& zone, bool none_joins) {
  const TimeSpan read = span_of(log);
  TimeSpan captured{Ns::max(), Ns::min()};
  for (const RankGpu& r : ranks) {
    captured.start = std::min(captured.start, owners[r.owner].window.start);
    captured.end = std::max(captured.end, owners[r.owner].window.end);
  }
  return msg::gpu_log_apart(clock_text(read.start), clock_text(read.end), log.local_time,
                            clock_text(captured.start), clock_text(captured.end), zone, none_joins);
}

void decide_zone(const GpuLog& log, std::span<const GpuOwner> owners,
                 std::span<const RankGpu> ranks, std::optional<Ns> given, GpuLogUse& use) {
  if (!log.local_time || given) {
    const Ns zone = log.local_time ? *given : Ns{0};
    use.zone_source = log.local_time ? ZoneSource::given : ZoneSource::recorded;
    if (fits(log, owners, ranks, zone))
      use.zone = zone;
    else
      use.problem =
          apart_in_words(log, owners, ranks, value_if(log.local_time, zone_in_words(zone)), false);
    return;
  }
  std::vector<Ns> possible;
  for (const int minutes : zones_in_use)
    if (const Ns zone = std::chrono::minutes{minutes}; fits(log, owners, ranks, zone))
      possible.push_back(zone);
  use.zone_source = ZoneSource::only_one;
  if (possible.size() == 1) {
    use.zone = possible.front();
    return;
  }
  if (possible.empty()) {
    use.problem = apart_in_words(log, owners, ranks, {}, true);
    return;
  }
  use.problem = msg::gpu_log_in_zones(zone_in_words(possible.front()), zone_in_words(possible[1]),
                                      possible.size() > 2);
}

}  // namespace

std::span<const GpuReading> readings_of(const GpuLog& log, std::uint32_t gpu) {
  const auto [first, last] = std::ranges::equal_range(log.readings, gpu, {}, &GpuReading::gpu);
  return {first, last};
}

std::string zone_in_words(Ns zone) {
  const std::int64_t minutes = std::chrono::duration_cast<std::chrono::minutes>(zone).count();
  if (minutes == 0) return "UTC";
  const std::int64_t size = std::abs(minutes);
  std::string text = "UTC" + std::string(minutes < 0 ? "-" : "+") + std::to_string(size / 60);
  if (size % 60 != 0) text += (size % 60 < 10 ? ":0" : ":") + std::to_string(size % 60);
  return text;
}

GpuMatches match_gpus(std::span<const GpuLog> logs, std::span<const GpuOwner> owners,
                      std::optional<int> world_size, std::optional<Ns> zone) {
  GpuMatches matches;
  matches.logs.resize(logs.size());
  std::vector<bool> taken(owners.size());
  for (std::size_t l = 0; l < logs.size(); ++l) {
    GpuLogUse& use = matches.logs[l];
    const LogMatcher matcher(logs[l], owners, world_size, logs.size() == 1);
    std::vector<RankGpu> found;
    for (std::size_t o = 0; o < owners.size(); ++o) {
      Message problem;
      auto gpu = matcher.gpu_of(o, problem);
      if (use.problem.empty()) use.problem = problem;
      if (gpu && !owners[o].absolute) use.problem = msg::gpu_log_clock_relative();
      if (!gpu || taken[o] || !owners[o].absolute) continue;
      gpu->log = l;
      found.push_back(*gpu);
    }
    if (found.empty()) {
      if (use.problem.empty())
        use.problem = logs[l].named_rank ? msg::gpu_log_rank_unknown(*logs[l].named_rank)
                                         : msg::gpu_log_host_unknown();
      continue;
    }
    decide_zone(logs[l], owners, found, zone, use);
    if (!use.zone) continue;
    for (const RankGpu& r : found) taken[r.owner] = true;
    matches.ranks.insert(matches.ranks.end(), found.begin(), found.end());
  }
  std::ranges::stable_sort(matches.ranks, {}, &RankGpu::owner);
  return matches;
}

namespace {

struct Figure {
  WeightedMean GpuState::* mean;
  std::optional<float> GpuReading::* reading;
};
constexpr auto figures = std::to_array<Figure>({
    {&GpuState::sm_clock_mhz, &GpuReading::sm_clock_mhz},
    {&GpuState::memory_clock_mhz, &GpuReading::memory_clock_mhz},
    {&GpuState::power_watts, &GpuReading::power_watts},
    {&GpuState::temperature_celsius, &GpuReading::temperature_celsius},
    {&GpuState::utilization, &GpuReading::utilization},
    {&GpuState::sm_active, &GpuReading::sm_active},
    {&GpuState::tensor_active, &GpuReading::tensor_active},
    {&GpuState::dram_active, &GpuReading::dram_active},
});

void add_reading(const GpuReading& r, Ns stands, GpuState& state) {
  state.covered += stands;
  ++state.readings;
  for (const auto& [mean, reading] : figures)
    if (r.*reading) (state.*mean).add(static_cast<double>(*(r.*reading)), stands);
  for (std::size_t b = 0; b < clock_reason_count; ++b) {
    const std::uint32_t bit = bit_of(static_cast<ClockReason>(b));
    if ((r.reasons_known & bit) != 0) state.reasons[b].add((r.reasons & bit) != 0 ? 1 : 0, stands);
  }
}

// The median distance of the readings of one GPU; absent with fewer than two readings.
std::optional<Ns> median_distance(std::span<const GpuReading> readings) {
  std::vector<Ns> distances;
  for (std::size_t i = 1; i < readings.size(); ++i)
    if (const Ns d = readings[i].time - readings[i - 1].time; d > Ns{0}) distances.push_back(d);
  if (distances.empty()) return std::nullopt;
  return upper_median(distances);
}

}  // namespace

void GpuState::add(const GpuState& other) {
  span += other.span;
  covered += other.covered;
  readings += other.readings;
  for (const Figure& f : figures) (this->*f.mean).add(other.*f.mean);
  for (std::size_t b = 0; b < clock_reason_count; ++b) reasons[b].add(other.reasons[b]);
}

std::vector<GpuState> gpu_states(std::span<const GpuReading> readings, Ns zone,
                                 const ClockCorrection& correction,
                                 std::span<const TimeSpan> spans) {
  std::vector<GpuState> states(spans.size());
  for (std::size_t s = 0; s < spans.size(); ++s) states[s].span = spans[s].end - spans[s].start;
  // A single reading stands for a second, and none for more than a day.
  const Ns distance = median_distance(readings).value_or(std::chrono::milliseconds{500});
  const Ns longest = 2 * std::min<Ns>(distance, std::chrono::hours{12});
  std::size_t first = 0;  // no reading stands for a span before it
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const Ns from = correction(readings[i].time - zone);
    Ns until = from + longest;
    if (i + 1 < readings.size()) until = std::min(until, correction(readings[i + 1].time - zone));
    while (first < spans.size() && spans[first].end <= from) ++first;
    for (std::size_t s = first; s < spans.size() && spans[s].start < until; ++s) {
      const Ns stands = std::min(until, spans[s].end) - std::max(from, spans[s].start);
      if (stands > Ns{0}) add_reading(readings[i], stands, states[s]);
    }
  }
  return states;
}

}  // namespace stepscope
