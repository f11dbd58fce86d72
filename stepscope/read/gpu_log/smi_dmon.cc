// SPDX-License-Identifier: Apache-2.0
// nvidia-smi dmon -o DT
#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"

namespace stepscope {
namespace {

constexpr std::array<GpuFieldName, 9> dmon_names = {{
    {"Date", GpuField::date},
    {"Time", GpuField::clock_time},
    {"gpu", GpuField::index},
    {"pwr", GpuField::power},
    {"gtemp", GpuField::temperature},
    {"sm", GpuField::utilization},
    {"fb", GpuField::memory_used},
    {"mclk", GpuField::memory_clock},
    {"pclk", GpuField::sm_clock},
}};

constexpr std::string_view dmon_blanks = " \t,";

// The columns' names behind '#'; empty for the line of their units.
std::vector<std::string_view> dmon_header(std::string_view line) {
  if (!line.starts_with('#')) return {};
  auto words = split_words(line.substr(1), dmon_blanks);
  if (std::ranges::find(words, "gpu") == words.end()) words.clear();
  return words;
}

class SmiDmon final : public GpuLogDialect {
 public:
  void take(std::string_view line, std::uint64_t byte, GpuRows& rows) override {
    line = trimmed(line);
    if (line.starts_with('#')) {
      if (const auto header = dmon_header(line); !header.empty()) read_header(header);
      return;
    }
    const auto words = split_words(line, dmon_blanks);
    if (words.size() != columns_.size()) return rows.note("wrong_cell_count", byte);
    GpuRow row;
    for (std::size_t c = 0; c < words.size(); ++c)
      if (!set_field(row, columns_[c], {}, words[c], rows.log().local_time))
        return rows.note("no_time", byte);
    rows.add(row, byte);
  }

  Result<Done> finish(GpuRows&) override {
    const auto has = [&](GpuField field) {
      return std::ranges::find(columns_, field) != columns_.end();
    };
    if (has(GpuField::date) && has(GpuField::clock_time)) return Done{};
    return Error{.what = "readings of nvidia-smi dmon without their times",
                 .hint = "record with nvidia-smi dmon -o DT"};
  }

 private:
  void read_header(std::span<const std::string_view> words) {
    columns_.clear();
    for (const std::string_view word : words) columns_.push_back(field_named(word, dmon_names));
  }

  std::vector<GpuField> columns_;
};

}  // namespace

bool is_smi_dmon(std::string_view head) {
  head = trimmed(head);
  const auto words = dmon_header(head.substr(0, head.find_first_of("\r\n")));
  // "gpu" and one of the columns that only dmon has.
  return std::ranges::any_of(words, [](std::string_view word) {
    return word == "pwr" || word == "pclk" || word == "mclk" || word == "sm" || word == "fb" ||
           word == "rxpci" || word == "pviol" || word == "sbecc";
  });
}

std::unique_ptr<GpuLogDialect> make_smi_dmon() { return std::make_unique<SmiDmon>(); }

}  // namespace stepscope
