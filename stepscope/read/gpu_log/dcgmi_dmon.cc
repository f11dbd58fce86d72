// SPDX-License-Identifier: Apache-2.0
// dcgmi dmon. The columns' names are the short names of DCGM's fields (dcgm_fields.cpp).
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"
#include "stepscope/read/gpu_log/monitor_time.h"

namespace stepscope {
namespace {

constexpr std::array<GpuFieldName, 12> dcgm_names = {{
    {"SMCLK", GpuField::sm_clock},       // 100
    {"MMCLK", GpuField::memory_clock},   // 101
    {"DVCCTR", GpuField::reasons},       // 112
    {"SMMAX", GpuField::max_sm_clock},   // 113
    {"TMPTR", GpuField::temperature},    // 150
    {"POWER", GpuField::power},          // 155
    {"PMLMT", GpuField::power_limit},    // 160
    {"GPUTL", GpuField::utilization},    // 203
    {"FBUSD", GpuField::memory_used},    // 252
    {"SMACT", GpuField::sm_active},      // 1002
    {"TENSO", GpuField::tensor_active},  // 1004
    {"DRAMA", GpuField::dram_active},    // 1005
}};
constexpr std::string_view entity_word = "#Entity";

constexpr std::string_view dcgm_blanks = " \t";

class DcgmiDmon final : public GpuLogDialect {
 public:
  void take(std::string_view line, std::uint64_t byte, GpuRows& rows) override {
    if (const std::size_t at = line.find(entity_word); at != std::string_view::npos)
      return read_header(line.substr(at + entity_word.size()));
    const std::size_t at = line.find("GPU ");
    if (at == std::string_view::npos) {
      // "ID" stands below "#Entity"; instances and switches have rows of their own.
      if (line.find_first_of("0123456789") != std::string_view::npos) rows.note("no_gpu", byte);
      return;
    }
    GpuRow row;
    const std::string_view time = trimmed(line.substr(0, at));
    if (time.empty()) {
      ++without_time_;
      return rows.note("no_time", byte);
    }
    auto words = split_words(line.substr(at + 4), dcgm_blanks);
    if (words.size() != columns_.size() + 1) return rows.note("wrong_cell_count", byte);
    if (!set_field(row, GpuField::time, {}, time, rows.log().local_time))
      return rows.note("no_time", byte);
    set_field(row, GpuField::index, {}, words[0], rows.log().local_time);
    for (std::size_t c = 0; c < columns_.size(); ++c)
      set_field(row, columns_[c], {}, words[c + 1], rows.log().local_time);
    rows.add(row, byte);
  }

  Result<Done> finish(GpuRows& rows) override {
    if (without_time_ == 0 || !rows.log().readings.empty()) return Done{};
    return Error{.what = "readings of dcgmi dmon without their times, which dcgmi does not write",
                 .hint = "record with dcgmi dmon … | ts '%Y-%m-%d %H:%M:%.S%z'"};
  }

 private:
  void read_header(std::string_view names) {
    columns_.clear();
    for (const std::string_view word : split_words(names, dcgm_blanks))
      columns_.push_back(field_named(word, dcgm_names));
  }

  std::vector<GpuField> columns_;
  std::uint64_t without_time_ = 0;
};

}  // namespace

bool is_dcgmi_dmon(std::string_view head) {
  const std::size_t at = head.find(entity_word);
  if (at == std::string_view::npos) return false;
  const std::string_view before = trimmed(head.substr(0, at));
  return before.empty() || monitor_time(before).has_value();
}

std::unique_ptr<GpuLogDialect> make_dcgmi_dmon() { return std::make_unique<DcgmiDmon>(); }

}  // namespace stepscope
