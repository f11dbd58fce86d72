// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/gpu_log/gpu_rows.h"

#include <algorithm>
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/gpu_log/monitor_time.h"

namespace stepscope {
namespace {

constexpr double most_value = 1e9;  // of any reading: MHz, W, °C, MiB

std::optional<float> reading_of(std::string_view cell) {
  const auto number = number_of_cell(cell);
  return number ? std::optional(static_cast<float>(*number)) : std::nullopt;
}

std::optional<float> share_of(std::string_view cell) {
  const auto share = reading_of(cell);
  return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
}

std::optional<int> index_of(std::string_view cell) {
  const auto number = number_of_cell(cell);
  if (!number || *number != std::trunc(*number) || *number < 0 || *number > 1'000'000)
    return std::nullopt;
  return static_cast<int>(*number);
}

void set_reason(GpuReading& reading, ClockReason reason, std::string_view cell) {
  const bool off = cell == "Not Active" || cell == "0";
  if (!off && cell != "Active" && cell != "1") return;
  reading.reasons_known |= bit_of(reason);
  if (!off) reading.reasons |= bit_of(reason);
}

// Date and time of day stand in two cells.
void set_instant(GpuRow& row, GpuField field, Ns part) {
  row.reading.time += part;
  row.timed = row.timed || field == GpuField::clock_time;
}

bool holds_a_reading(const GpuReading& r) {
  return r.sm_clock_mhz || r.memory_clock_mhz || r.power_watts || r.temperature_celsius ||
         r.utilization || r.memory_used || r.sm_active || r.tensor_active || r.dram_active ||
         r.reasons_known != 0;
}

}  // namespace

GpuField field_named(std::string_view name, std::span<const GpuFieldName> known) {
  const auto at = std::ranges::find(known, name, &GpuFieldName::name);
  return at == known.end() ? GpuField::none : at->field;
}

std::vector<std::string_view> split_words(std::string_view line, std::string_view ends) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t end = std::min(line.find_first_of(ends, at), line.size());
    if (end > at) words.push_back(line.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::optional<double> number_of_cell(std::string_view cell) {
  cell = trimmed(cell);
  const auto value = take_number<double>(cell);
  if (!value || !(std::abs(*value) <= most_value)) return std::nullopt;
  const std::string_view unit = trimmed(cell);
  for (const std::string_view known : {"", "MHz", "W", "%", "MiB", "MB", "C"})
    if (unit == known) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> mask_of_cell(std::string_view cell) {
  cell = trimmed(cell);
  const bool hex = cell.starts_with("0x") || cell.starts_with("0X");
  if (hex) cell.remove_prefix(2);
  if (const auto mask = number_of<std::uint64_t>(cell, hex ? 16 : 10)) return mask;
  // As a real number: "4.0", "4e+00".
  const auto real = hex ? std::nullopt : number_of_cell(cell);
  if (!real || *real < 0 || *real != std::trunc(*real)) return std::nullopt;
  return static_cast<std::uint64_t>(*real);
}

bool set_field(GpuRow& row, GpuField field, ClockReason reason, std::string_view cell,
               bool& local_time) {
  cell = trimmed(cell);
  GpuReading& r = row.reading;
  switch (field) {
    case GpuField::none:
      break;
    case GpuField::time: {
      const auto time = monitor_time(cell);
      if (!time) return false;
      local_time = local_time || !time->zoned;
      r.time = time->time;
      row.timed = true;
      break;
    }
    case GpuField::date:
    case GpuField::clock_time: {
      const bool day = field == GpuField::date;
      const auto time =
          monitor_time(day ? std::string(cell) + " 00:00:00" : "1972-01-01 " + std::string(cell));
      if (!time || time->zoned) return false;
      local_time = true;
      const Ns midnight = std::chrono::sys_days(std::chrono::year(1972) / 1 / 1).time_since_epoch();
      set_instant(row, field, day ? time->time : time->time - midnight);
      break;
    }
    case GpuField::index:
      row.gpu.index = index_of(cell);
      break;
    case GpuField::uuid:
      if (cell.starts_with("GPU-")) row.gpu.uuid = cell;
      break;
    case GpuField::name:
      row.gpu.name = cell;
      break;
    case GpuField::sm_clock:
      r.sm_clock_mhz = reading_of(cell);
      break;
    case GpuField::max_sm_clock:
      row.gpu.max_sm_clock_mhz = number_of_cell(cell);
      break;
    case GpuField::memory_clock:
      r.memory_clock_mhz = reading_of(cell);
      break;
    case GpuField::power:
      r.power_watts = reading_of(cell);
      break;
    case GpuField::power_limit:
      row.gpu.power_limit_watts = number_of_cell(cell);
      break;
    case GpuField::temperature:
      r.temperature_celsius = reading_of(cell);
      break;
    case GpuField::utilization:
      if (const auto percent = number_of_cell(cell); percent && *percent >= 0 && *percent <= 100)
        r.utilization = static_cast<float>(*percent / 100);
      break;
    case GpuField::memory_used:
      if (const auto mib = number_of_cell(cell); mib && *mib >= 0 && *mib < 1e9)
        r.memory_used = Bytes{std::llround(*mib * 1024 * 1024)};
      break;
    case GpuField::sm_active:
      r.sm_active = share_of(cell);
      break;
    case GpuField::tensor_active:
      r.tensor_active = share_of(cell);
      break;
    case GpuField::dram_active:
      r.dram_active = share_of(cell);
      break;
    case GpuField::reasons:
      if (const auto mask = mask_of_cell(cell)) {
        r.reasons |= static_cast<std::uint32_t>(*mask & all_clock_reasons);
        r.reasons_known = all_clock_reasons;
      }
      break;
    case GpuField::reason:
      set_reason(r, reason, cell);
      break;
  }
  return true;
}

void GpuRows::note(const std::string& reason, std::uint64_t byte) { log_.notes.add(reason, byte); }

void GpuRows::add(const GpuRow& row, std::uint64_t byte) {
  if (!row.timed) return note("no_time", byte);
  if (!row.gpu.index && row.gpu.uuid.empty()) return note("no_gpu", byte);
  if (!holds_a_reading(row.reading)) return note("no_reading", byte);
  const auto key = std::tuple(row.gpu.host, row.gpu.uuid, row.gpu.index.value_or(-1));
  const auto fresh = static_cast<std::uint32_t>(log_.gpus.size());
  auto at = place_.find(key);
  if (at == place_.end()) {
    if (log_.gpus.size() == most_gpus) return note("too_many_gpus", byte);
    at = place_.emplace(key, fresh).first;
    log_.gpus.push_back(row.gpu);
  }
  LoggedGpu& gpu = log_.gpus[at->second];
  if (gpu.name.empty()) gpu.name = row.gpu.name;
  if (!gpu.max_sm_clock_mhz) gpu.max_sm_clock_mhz = row.gpu.max_sm_clock_mhz;
  if (!gpu.power_limit_watts) gpu.power_limit_watts = row.gpu.power_limit_watts;
  ++log_.notes.events;
  log_.readings.push_back(row.reading);
  log_.readings.back().gpu = at->second;
}

}  // namespace stepscope
