// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>

#include "stepscope/read/log_dialects.h"

namespace stepscope {
namespace {

// "  tps: 2,793  ": commas are of thousands here, so only blanks end a number.
std::optional<double> field(std::string_view text, std::string_view key) {
  return clean_number_behind(text, key, " \t");
}

}  // namespace

bool take_torchtitan_record(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find("step: ");
  if (at == std::string_view::npos) return false;
  const std::string_view text = line.text.substr(at);
  if (line.text.substr(0, at).ends_with("validate ")) {
    state.evaluated.set();
    ++state.log.lines[static_cast<std::size_t>(LogTool::torchtitan)];
    return true;
  }
  const auto step = field(text, "step: ");
  const auto rate = field(text, " tps: ");
  if (!step || !rate || !(*step >= 0 && *step < 1e15) || !(*rate > 0)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(LogTool::torchtitan, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.stamp = stamp_of_line(line.text);
  record.tokens_per_s_device = *rate;
  record.loss = field(text, " loss: ");
  if (record.loss && !std::isfinite(*record.loss)) record.not_finite = 1;
  record.gradient_norm = field(text, " grad_norm: ");
  if (const auto value = field(text, " tflops: ")) record.flops_per_s = *value * 1e12;
  if (const auto value = field(text, " mfu: ")) record.mfu = *value / 100;
  constexpr std::string_view memory = " memory: ";
  if (const std::size_t key = text.find(memory); key != std::string_view::npos) {
    const auto value = number_and_unit(text.substr(key + memory.size()));
    if (value && value->unit.starts_with("GiB(")) {
      record.memory_bytes = value->number * 1024 * 1024 * 1024;
      if (const auto share = number_and_unit(value->unit.substr(4));
          share && share->unit.starts_with("%"))
        record.memory_share = share->number / 100;
    }
  }
  ++state.log.lines[static_cast<std::size_t>(LogTool::torchtitan)];
  return true;
}

bool take_torchtitan_start(const LogLine& line, LogState& state) {
  const std::string_view text = line.text;
  auto& settings = state.log.settings;
  if (text.find("Training starts at step ") != std::string_view::npos) {
    state.begin_launch();
    const auto keep = [&](std::string_view key, const char* name) {
      if (const auto value = clean_number_behind(text, key))
        settings.insert_or_assign(
            name, std::to_string(static_cast<std::int64_t>(std::clamp(*value, 0.0, 1e12))));
    };
    keep("global batch size ", "global_batch_size");
    keep("sequence length ", "seq_length");
    return true;
  }
  // "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]".
  if (const std::size_t at = text.find("device mesh with "); at != std::string_view::npos) {
    const std::size_t open = text.rfind('[');
    if (open == std::string_view::npos || open < at) return false;
    std::int64_t devices = 1;
    const char* p = text.data() + open + 1;
    const char* const end = text.data() + text.size();
    for (bool more = true; more;) {
      std::int64_t size = 0;
      const auto [stop, error] = std::from_chars(p, end, size);
      if (error != std::errc() || size < 1 || size > 1'000'000) return false;
      devices = std::min<std::int64_t>(devices * size, 1'000'000'000);
      p = stop;
      while (p != end && (*p == ',' || *p == ' ')) ++p;
      more = p != end && *p != ']';
    }
    settings.insert_or_assign("world_size", std::to_string(devices));
    return true;
  }
  // "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory".
  constexpr std::string_view capacity = "capacity: ";
  if (const std::size_t at = text.find(capacity); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + capacity.size());
    const std::size_t with = rest.find(" with ");
    if (with == std::string_view::npos || with > 80) return false;
    settings.insert_or_assign("gpu", std::string(rest.substr(0, with)));
    return true;
  }
  // "Peak FLOPS used for computing MFU: 9.890e+14".
  if (const auto peak = clean_number_behind(text, "computing MFU: "))
    settings.insert_or_assign("mfu_peak", std::to_string(*peak));
  return true;
}

}  // namespace stepscope
