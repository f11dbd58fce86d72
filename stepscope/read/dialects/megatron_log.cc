// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "stepscope/read/log/log_dialect.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

// "iteration       10/ 1716613", after a date or other words.
std::optional<std::int64_t> iteration_in(std::string_view field) {
  constexpr std::string_view key = "iteration ";
  const std::size_t slash = field.rfind('/');
  if (slash == std::string_view::npos || !clean_integer(field.substr(slash + 1)))
    return std::nullopt;
  const std::size_t at = field.rfind(key);
  if (at == std::string_view::npos || at + key.size() > slash) return std::nullopt;
  const auto iteration = clean_integer(field.substr(at + key.size(), slash - at - key.size()));
  return iteration && *iteration >= 0 ? iteration : std::nullopt;
}

// The unit in "elapsed time per iteration (ms)", in ns.
std::optional<double> unit_of(std::string_view key) {
  constexpr std::string_view elapsed = "elapsed time per iteration (";
  if (!key.ends_with(')')) return std::nullopt;
  const std::size_t at = key.find(elapsed);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view unit = key.substr(at + elapsed.size());
  unit.remove_suffix(1);
  const auto known = time_unit(unit);
  return known ? std::optional(ns_per(*known)) : std::nullopt;
}

std::int64_t whole(double value) {
  return value >= 0 && value < 1e15 ? static_cast<std::int64_t>(value) : 0;
}

std::int32_t count(double value) {
  return value >= 0 && value < 2e9 ? static_cast<std::int32_t>(value) : 0;
}

constexpr std::array<LogField, 9> megatron_fields = {{
    {"lm loss", &LogRecord::loss},
    {"lm-loss", &LogRecord::loss},  // Megatron-DeepSpeed with pipelines
    {"lm_loss", &LogRecord::loss},  // GPT-NeoX
    {"global batch size", &LogRecord::batch},
    {"throughput per GPU (TFLOP/s/GPU)", &LogRecord::flops_per_s, 1e12},
    {"samples per second", &LogRecord::samples_per_s},
    {"tokens per gpu per second (tgs)", &LogRecord::tokens_per_s_device},
    {"tokens per GPU (tokens/s/GPU)", &LogRecord::tokens_per_s_device},
    {"Tokens per second per GPU (Tok/s/GPU)", &LogRecord::tokens_per_s_device},
}};

void take_figure(std::string_view key, double value, LogRecord& record, LogState& state) {
  if (const auto unit = unit_of(key)) {
    record.wall_ns = value * *unit;
  } else if (key == "total loss") {
    if (!record.loss) set_loss(record, value);
  } else if (key == "TFLOPs") {  // Megatron-DeepSpeed; it counts differently
    record.flops_per_s = value * 1e12;
    state.log.settings.try_emplace("rate_field", "TFLOPs");
  } else if (key == "number of skipped iterations") {
    record.skipped = count(value);
  } else if (key == "number of nan iterations") {
    record.not_finite = std::max(record.not_finite, count(value));
  } else if (key == "actual seqlen" || key == "seq length") {
    state.log.settings.try_emplace("seq_length", std::to_string(whole(value)));
  } else if (const auto* const field = std::ranges::find(megatron_fields, key, &LogField::name);
             field != megatron_fields.end()) {
    set_amount(record, *field, value);
  }
}

// Primus prints the last step's figure and a mean: "9480.0/9500.0". The first one is the step's.
bool take_twofold(std::string_view field, LogRecord& record, LogState& state) {
  const std::size_t colon = field.rfind(": ");
  if (colon == std::string_view::npos) return false;
  const std::string_view key = trimmed(field.substr(0, colon));
  const std::string_view value = field.substr(colon + 2);
  const std::size_t slash = value.find('/');
  if (slash == std::string_view::npos) return false;
  if (key.find("mem usage/free/total/usage_ratio") != std::string_view::npos) {
    const auto used = number_and_unit(value.substr(0, slash));
    if (!used || used->unit != "GB" || !(used->number >= 0)) return false;
    record.memory_bytes = used->number * gib_bytes;
    if (const auto share = clean_number(value.substr(value.rfind('/') + 1)))
      record.memory_share = *share / 100;
    return true;
  }
  const auto first = clean_number(value.substr(0, slash));
  if (!first || !clean_number(value.substr(slash + 1))) return false;
  if (unit_of(key)) record.tool = &primus_log.tool;
  take_figure(key, *first, record, state);
  return true;
}

// A record needs an iteration and a time. Records without them are counted.
void close(const LogRecord& record, LogState& state) {
  if (!record.wall_ns || record.iteration < 0) state.note("records_cut");
}

constexpr std::string_view world_size_words = "using world size: ";
constexpr std::string_view effective_words = "Effective Tera Flops per GPU: ";

constexpr std::array<std::string_view, 31> wanted = {"num_layers",
                                                     "hidden_size",
                                                     "ffn_hidden_size",
                                                     "num_attention_heads",
                                                     "num_query_groups",
                                                     "group_query_attention",
                                                     "kv_channels",
                                                     "seq_length",
                                                     "padded_vocab_size",
                                                     "vocab_size",
                                                     "world_size",
                                                     "params_dtype",
                                                     "fp16",
                                                     "bf16",
                                                     "fp16_enabled",
                                                     "bfloat16_enabled",
                                                     "global_batch_size",
                                                     "micro_batch_size",
                                                     "swiglu",
                                                     "untie_embeddings_and_output_weights",
                                                     "num_experts",
                                                     "multi_latent_attention",
                                                     "window_size",
                                                     "checkpoint_activations",
                                                     "recompute_granularity",
                                                     "recompute_activations",
                                                     "tensor_model_parallel_size",
                                                     "pipeline_model_parallel_size",
                                                     "train_batch_size",
                                                     "steps_per_print",
                                                     "log_interval"};

// " iteration 100/ 1000 | consumed samples: … | elapsed time per iteration (ms): 1234.5 | …" from
// Megatron-LM and Megatron-DeepSpeed.
bool take_megatron_record(const LogLine& line, LogState& state) {
  std::optional rest = line.text;
  LogRecord* record = nullptr;
  for (std::string_view field; take_field(rest, field);) {
    if (const auto iteration = iteration_in(field)) {
      if (record != nullptr) close(*record, state);
      record = &state.add(megatron_log.tool, line);
      record->iteration = *iteration;
      record->stamp = stamp_of_line(field);
      continue;
    }
    if (record != nullptr && take_twofold(field, *record, state)) continue;
    const auto [key, value] = named_number(field);
    if (!value) {
      if (!field.empty()) state.note("fields_not_understood");
      continue;
    }
    if (record == nullptr) {
      if (!unit_of(key)) continue;
      record = &state.add(megatron_log.tool, line);  // its iteration number was cut off
    }
    take_figure(key, *value, *record, state);
  }
  if (record == nullptr) return false;
  close(*record, state);
  count_line(state.log, *record->tool);
  return true;
}

// "    forward-backward ....: (1203.11, 1204.56)", or with one number.
bool take_timer(const LogLine& line, LogState& state) {
  const std::size_t dots = line.text.find("...: ");
  if (dots == std::string_view::npos) return false;
  const std::string_view name = trimmed(line.text.substr(0, line.text.find(" .")));
  std::string_view value = trimmed(line.text.substr(dots + 5));
  if (value.starts_with('(') && value.ends_with(')')) {
    value = value.substr(1, value.size() - 2);
    const std::size_t comma = value.find(", ");
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 2);
  }
  const auto ms = clean_number(value);
  if (!ms || !std::isfinite(*ms) || name.empty() || contains(name, " ")) return false;
  state.time(megatron_log.tool, name, *ms);
  return true;
}

// DeepSpeed's world_size is the data-parallel size: the least number of devices.
bool take_data_parallel_size(std::string_view value, LogState& state) {
  const auto size = clean_integer(value);
  std::string& known = state.log.settings["world_size"];
  if (size && *size > clean_integer(known).value_or(0)) known = value;
  return true;
}

// "using world size: 64, data-parallel-size: 1, tensor-model-parallel size: 4 …"
bool take_world_size(const LogLine& line, LogState& state) {
  const std::size_t at = line.text.find(world_size_words);
  const std::string_view rest = line.text.substr(at + world_size_words.size());
  const auto size = clean_integer(rest.substr(0, rest.find_first_of(", \r")));
  if (!size || *size <= 0) return false;
  state.begin_launch();
  state.log.settings.insert_or_assign("world_size", std::to_string(*size));
  return true;
}

// "Effective Tera Flops per GPU: 41.31 and total parameters 52.005 B", behind the line of its step
// (DeepSpeed's Megatron-LM with ZeRO).
bool take_effective_rate(const LogLine& line, LogState& state) {
  const auto rate = clean_number_behind(line.text, effective_words);
  if (!rate || !(*rate > 0) || state.log.records.empty()) return false;
  LogRecord& record = state.log.records.back();
  if (record.tool != &megatron_log.tool || record.flops_per_s) return false;
  record.flops_per_s = *rate * 1e12;
  state.log.settings.insert_or_assign("rate_field", std::string(effective_rate));
  return true;
}

// "  hidden_size ........ 768": arguments about the model and the devices.
bool take_setting(const LogLine& line, LogState& state) {
  std::string_view text = trimmed(line.text);
  const std::size_t dots = text.find(" ..");
  if (dots == std::string_view::npos) return false;
  std::string_view name = text.substr(0, dots);
  if (const std::size_t blank = name.rfind(' '); blank != std::string_view::npos)
    name.remove_prefix(blank + 1);
  if (std::ranges::find(wanted, name) == wanted.end()) return false;
  std::string_view value = text.substr(dots + 1);
  value = trimmed(value.substr(std::min(value.find_first_not_of('.'), value.size())));
  if (value.empty() || value.size() > 60) return false;
  if (name == "world_size" || name == "num_layers") state.begin_launch();
  if (name == "world_size" && contains(line.text, "[config.py:"))
    return take_data_parallel_size(value, state);
  state.log.settings.insert_or_assign(std::string(name), std::string(value));
  return true;
}

// " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)".
bool take_vocabulary(const LogLine& line, LogState& state) {
  constexpr std::string_view key = "new size: ";
  const std::string_view rest = line.text.substr(line.text.find(key) + key.size());
  const auto size = clean_integer(rest.substr(0, rest.find(')')));
  if (size && *size > 0)
    state.log.settings.insert_or_assign("padded_vocab_size", std::to_string(*size));
  return true;
}

// A line of a table of timers: "forward-backward:", then "  rank 0: 1203.11".
bool follow_rank_timers(const LogLine& line, LogState& state) {
  const std::string_view plain = trimmed(line.text);
  if (plain.empty()) return true;
  if (plain.ends_with(':') && plain.find(' ') == std::string_view::npos) {
    state.table_name = plain.substr(0, plain.size() - 1);
    return true;
  }
  if (!plain.starts_with("rank ") || state.table_name.empty()) return false;
  const std::size_t colon = plain.find(": ");
  const auto ms =
      colon == std::string_view::npos ? std::nullopt : clean_number(plain.substr(colon + 2));
  if (ms && std::isfinite(*ms)) state.time(megatron_log.tool, state.table_name, *ms);
  return ms.has_value();
}

bool take_rank_timers(const LogLine& line, LogState& state) {
  if (!trimmed(line.text).starts_with("times across ranks (ms)")) return false;
  state.follow = follow_rank_timers;
  state.table_name.clear();
  return true;
}

constexpr std::array megatron_words = {LogWord{"per iteration (", take_megatron_record},
                                       LogWord{"...: ", take_timer},
                                       LogWord{"times across ranks (ms)", take_rank_timers},
                                       LogWord{" .....", take_setting},
                                       LogWord{"(new size: ", take_vocabulary},
                                       LogWord{world_size_words, take_world_size},
                                       LogWord{effective_words, take_effective_rate}};

}  // namespace

const LogDialect megatron_log = {
    .tool = {.name = "megatron", .label = "Megatron-LM", .counting = FlopCounting::megatron},
    .words = megatron_words,
    .how = "elapsed time per iteration",
    .means = true,
    .whole_step =
        "give the whole log: Megatron-LM prints \"iteration … elapsed time per "
        "iteration\" every --log-interval iterations"};

}  // namespace stepscope
