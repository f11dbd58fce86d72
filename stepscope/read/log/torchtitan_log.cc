// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// Reads "step: 10  loss:  9.8934  grad_norm:  1.2345  memory: 47.61GiB(60.15%)  tps: 2,793": the
// text behind the first occurrence of each key, without blanks. Commas separate thousands.
struct Fields {
  std::string_view step{};
  std::string_view loss{};
  std::string_view memory{};
  std::string_view tps{};
  std::string_view tflops{};
  std::string_view mfu{};
};

Fields fields_of(std::string_view text) {
  Fields fields;
  std::size_t word = 0;  // start of the current word
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (is_blank(text[at])) word = at + 1;
    if (text[at] != ':' || text[at + 1] != ' ') continue;
    const std::string_view key = text.substr(word, at - word);
    std::string_view* const field = key == "loss"     ? &fields.loss
                                    : key == "memory" ? &fields.memory
                                    : key == "tps"    ? &fields.tps
                                    : key == "tflops" ? &fields.tflops
                                    : key == "mfu"    ? &fields.mfu
                                    : key == "step"   ? &fields.step
                                                      : nullptr;
    if (field == nullptr || !field->empty()) continue;
    std::size_t begin = at + 1;
    while (begin < text.size() && is_blank(text[begin])) ++begin;
    std::size_t end = begin;
    while (end < text.size() && !is_blank(text[end])) ++end;
    *field = text.substr(begin, end - begin);
    word = at = begin;  // the next key is here, so the value is missing
  }
  return fields;
}

// "step: 10  loss:  9.8934  …  tps: 2,793  tflops: 161.76  mfu: 51.85%".
bool take_torchtitan_record(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find("step: ");
  if (at == std::string_view::npos) return false;
  const std::string_view text = line.text.substr(at);
  if (line.text.substr(0, at).ends_with("validate ")) {
    state.evaluated.set();
    count_line(state.log, torchtitan_log.tool);
    return true;
  }
  const Fields fields = fields_of(text);
  const auto step = clean_number(fields.step);
  const auto rate = clean_number(fields.tps);
  if (!step || !rate || !(*step >= 0 && *step < 1e15) || !(*rate > 0)) {
    state.note("records_cut");
    return false;
  }
  LogRecord& record = state.add(torchtitan_log.tool, line);
  record.iteration = static_cast<std::int64_t>(*step);
  record.stamp = stamp_of_line(line.text);
  record.tokens_per_s_device = *rate;
  set_loss(record, clean_number(fields.loss));
  if (const auto value = clean_number(fields.tflops)) record.flops_per_s = *value * 1e12;
  if (const auto value = clean_number(fields.mfu)) record.mfu = *value / 100;
  const auto memory = number_and_unit(fields.memory);
  if (memory && memory->unit.starts_with("GiB(")) {
    record.memory_bytes = memory->number * 1024 * 1024 * 1024;
    if (const auto share = number_and_unit(memory->unit.substr(4));
        share && share->unit.starts_with("%"))
      record.memory_share = share->number / 100;
  }
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
    if (with > 80) return false;  // or not there
    settings.insert_or_assign("gpu", std::string(rest.substr(0, with)));
    return true;
  }
  // "Peak FLOPS used for computing MFU: 9.890e+14".
  if (const auto peak = clean_number_behind(text, "computing MFU: "))
    settings.insert_or_assign("mfu_peak", std::to_string(*peak));
  return true;
}

constexpr std::array torchtitan_words = {LogWord{"tps: ", take_torchtitan_record},
                                         LogWord{"Training starts at step ", take_torchtitan_start},
                                         LogWord{"device mesh with ", take_torchtitan_start},
                                         LogWord{" capacity: ", take_torchtitan_start},
                                         LogWord{"computing MFU: ", take_torchtitan_start}};

}  // namespace

const LogDialect torchtitan_log = {.tool = {.name = "torchtitan",
                                            .label = "torchtitan",
                                            .counting = FlopCounting::torchtitan,
                                            .rate_name = "tflops"},
                                   .words = torchtitan_words,
                                   .how = "time stamps of its lines",
                                   .by_stamps = true};

}  // namespace stepscope
