// SPDX-License-Identifier: Apache-2.0
// Copies and memsets by direction, from the names of CUDA ("Memcpy HtoD (Pinned -> Device)"), old
// ROCm ("CopyHostToDevice"), rocprofv3 ("MEMORY_COPY_HOST_TO_DEVICE") and XPU ("Memcpy M2D").
#include <algorithm>
#include <array>
#include <tuple>

#include "stepscope/analysis/steps/steps.h"
#include "stepscope/analysis/work/device_memory.h"

namespace stepscope {
namespace {

struct Direction {
  std::string_view word;
  std::string_view name;
};
constexpr auto directions = std::to_array<Direction>({{"HtoD", "HtoD"},
                                                      {"DtoH", "DtoH"},
                                                      {"DtoD", "DtoD"},
                                                      {"PtoP", "PtoP"},
                                                      {"HtoH", "HtoH"},
                                                      {"HostToDevice", "HtoD"},
                                                      {"DeviceToHost", "DtoH"},
                                                      {"DeviceToDevice", "DtoD"},
                                                      {"HOST_TO_DEVICE", "HtoD"},
                                                      {"DEVICE_TO_HOST", "DtoH"},
                                                      {"DEVICE_TO_DEVICE", "DtoD"},
                                                      {"HOST_TO_HOST", "HtoH"},
                                                      {"H2D", "HtoD"},
                                                      {"D2H", "DtoH"},
                                                      {"D2D", "DtoD"},
                                                      {"M2D", "HtoD"},
                                                      {"D2M", "DtoH"}});

std::string direction_of(std::string_view name, Category category) {
  if (category == Category::memset) return "memset";
  const auto found = std::ranges::find_if(
      directions, [&](const Direction& d) { return name.find(d.word) != std::string_view::npos; });
  if (found != directions.end()) return std::string(found->name);
  return std::string(name.substr(0, name.find(" (")));
}

std::optional<bool> pinned_in(std::string_view name) {
  if (name.find("Pinned") != std::string_view::npos) return true;
  if (name.find("Pageable") != std::string_view::npos) return false;
  return std::nullopt;
}

struct CopySums {
  CopyRow row;
  std::uint64_t with_bytes = 0;
  Bytes bytes{};
  Ns time_with_bytes{};
};

}  // namespace

std::vector<CopyRow> copy_table(const Trace& trace, const RankIndex& rank,
                                std::span<const Step> steps) {
  const Slices& s = trace.slices;
  std::vector<CopySums> sums;
  std::vector<std::uint32_t> place(trace.strings.size(), no_row);  // by name
  const auto row_of = [&](SliceId op) -> CopySums& {
    std::uint32_t& at = place[index(s.name[index(op)])];
    if (at == no_row) {
      CopyRow row;
      row.direction = direction_of(trace.name(op), s.category[index(op)]);
      row.pinned = pinned_in(trace.name(op));
      const auto same = std::ranges::find_if(sums, [&](const CopySums& x) {
        return x.row.direction == row.direction && x.row.pinned == row.pinned;
      });
      at = static_cast<std::uint32_t>(same - sums.begin());
      if (same == sums.end()) sums.push_back({row, 0, {}, {}});
    }
    return sums[at];
  };
  for (const DeviceLane& lane : rank.devices) {
    for (const SliceId op : lane.ops) {
      const std::uint32_t i = index(op);
      if (s.category[i] == Category::kernel || !step_at(steps, s.start[i])) continue;
      CopySums& sum = row_of(op);
      ++sum.row.count;
      sum.row.total += s.dur[i];
      if (s.detail[i] >= trace.copies.size() || trace.copies.bytes[s.detail[i]].value < 0) continue;
      ++sum.with_bytes;
      sum.bytes += trace.copies.bytes[s.detail[i]];
      sum.time_with_bytes += s.dur[i];
    }
  }
  std::vector<CopyRow> rows;
  for (CopySums& sum : sums) {
    if (sum.with_bytes == sum.row.count) sum.row.bytes = sum.bytes;
    if (sum.time_with_bytes > Ns{}) sum.row.bandwidth = sum.bytes / seconds(sum.time_with_bytes);
    rows.push_back(std::move(sum.row));
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &CopyRow::total);
  return rows;
}

}  // namespace stepscope
