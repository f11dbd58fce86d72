// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/base/number_text.h"
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step: 10  loss:  9.8934  grad_norm:  1.2345  memory: 47.61GiB(60.15%)  tps: 2,793  tflops:
// 161.76 mfu: 51.85%". Commas separate thousands.
constexpr std::array<LogField, 6> torchtitan_fields = {{
    {" tps: ", &LogRecord::tokens_per_s_device},
    {" loss: ", &LogRecord::loss},
    {" tflops: ", &LogRecord::flops_per_s, 1e12},
    {" mfu: ", &LogRecord::mfu, percent},
    {"GiB(", &LogRecord::memory_bytes, 1024.0 * 1024 * 1024, LogPlace::before},
    {"GiB(", &LogRecord::memory_share, percent},
}};
constexpr LogPattern torchtitan_pattern = {
    .word = "tps: ", .step = "step: ", .fields = torchtitan_fields, .ends = " \t", .stamped = true};

bool take_torchtitan_record(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find(torchtitan_pattern.step);
  if (at == std::string_view::npos) return false;
  if (!line.text.substr(0, at).ends_with("validate "))
    return take_record(torchtitan_log.tool, torchtitan_pattern, line, state) != nullptr;
  state.evaluated.set();
  count_line(state.log, torchtitan_log.tool);
  return true;
}

// Lines before the first step: batch, sequence, mesh, device, peak.
bool take_torchtitan_start(const LogLine& line, LogState& state) {
  const std::string_view text = line.text;
  auto& settings = state.log.settings;
  if (text.find("Training starts at step ") != std::string_view::npos) {
    state.begin_launch();
    const auto keep = [&](std::string_view key, const char* name) {
      const auto value = clean_number_behind(text, key);
      if (value && std::isfinite(*value))
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
    std::string_view sizes = text.substr(open + 1);
    do {
      const auto size = take_number<std::int64_t>(sizes);
      if (!size || *size < 1 || *size > 1'000'000) return false;
      devices = std::min<std::int64_t>(devices * *size, 1'000'000'000);
      sizes.remove_prefix(std::min(sizes.find_first_not_of(", "), sizes.size()));
    } while (!sizes.empty() && !sizes.starts_with(']'));
    settings.insert_or_assign("world_size", std::to_string(devices));
    return true;
  }
  // "CUDA capacity: NVIDIA H100 80GB HBM3 with 79.10GiB memory".
  constexpr std::string_view capacity = "capacity: ";
  if (const std::size_t at = text.find(capacity); at != std::string_view::npos) {
    const std::string_view rest = text.substr(at + capacity.size());
    const std::size_t with = rest.find(" with ");
    if (with > 80) return false;  // or not there
    settings.insert_or_assign("gpu", std::string(rest.substr(0, with)));
    return true;
  }
  // "Peak FLOPS used for computing MFU: 9.890e+14".
  if (const auto peak = clean_number_behind(text, "computing MFU: "))
    settings.insert_or_assign("mfu_peak", std::to_string(*peak));
  return true;
}

constexpr std::array torchtitan_words = {LogWord{torchtitan_pattern.word, take_torchtitan_record},
                                         LogWord{"Training starts at step ", take_torchtitan_start},
                                         LogWord{"device mesh with ", take_torchtitan_start},
                                         LogWord{" capacity: ", take_torchtitan_start},
                                         LogWord{"computing MFU: ", take_torchtitan_start}};

}  // namespace

const LogDialect torchtitan_log = {.tool = {.name = "torchtitan",
                                            .label = "torchtitan",
                                            .counting = FlopCounting::torchtitan,
                                            .rate_name = "tflops"},
                                   .words = torchtitan_words};

}  // namespace stepscope
