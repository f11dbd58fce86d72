// SPDX-License-Identifier: Apache-2.0
// Logs of llm.c and its Python twin.
#include <algorithm>
#include <array>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// "step    3/18865 | loss 10.96 (+nanz)| … | 521.40 ms | 48.7% bf16 MFU | 100604 tok/s" of llm.c,
// "step    1/12 | train loss 10.91 | … | (121.81 ms | 3 tok/s)" of its Python twin. An unknown MFU
// is -100 %.
constexpr std::array<LogField, 4> llmc_fields = {{
    {" ms", &LogRecord::wall_ns, 1e6, LogPlace::before},
    {"loss ", &LogRecord::loss},
    {" tok/s", &LogRecord::tokens_per_s, 1, LogPlace::before},
    {"% bf16 MFU", &LogRecord::mfu, percent, LogPlace::before},
}};
constexpr std::array llmc_patterns = {LogPattern{
    .word = " tok/s", .step = "step ", .fields = llmc_fields, .positive = true, .shared = true}};

struct Setting {
  std::string_view title;
  const char* name;  // named as Megatron's arguments
};
constexpr std::array<Setting, 7> llmc_settings = {{
    {"num_layers L", "num_layers"},
    {"channels C", "hidden_size"},
    {"num_heads NH", "num_attention_heads"},
    {"padded_vocab_size Vp", "padded_vocab_size"},
    {"num_parameters", "num_parameters"},
    {"sequence length T", "seq_length"},
    {"num_processes", "world_size"},
}};

// "| num_layers L          | 12     |".
bool take_llmc_setting(const LogLine& line, LogState& state) {
  const std::size_t open = line.text.find("| ");
  if (open == std::string_view::npos) return false;
  const std::string_view row = line.text.substr(open + 2);
  const std::size_t bar = row.find('|');
  if (bar == std::string_view::npos) return false;
  const std::string_view title = trimmed(row.substr(0, bar));
  const auto value = clean_number(trimmed(row.substr(bar + 1, row.find('|', bar + 1) - (bar + 1))));
  if (!value || !(*value > 0) || !(*value < 1e15)) return false;
  auto& settings = state.log.settings;
  const auto whole = [](double v) { return std::to_string(static_cast<std::int64_t>(v)); };
  if (title == "peak TFlops") {
    settings.insert_or_assign("mfu_peak", std::to_string(*value * 1e12));
    return true;
  }
  if (title == "total batch size") {  // counted in tokens
    const auto sequence = settings.find("seq_length");
    const auto tokens = sequence == settings.end() ? std::nullopt : clean_number(sequence->second);
    if (tokens && *tokens >= 1)
      settings.insert_or_assign("global_batch_size", whole(*value / *tokens));
    return true;
  }
  const auto* const known = std::ranges::find(llmc_settings, title, &Setting::title);
  if (known == llmc_settings.end()) return false;
  if (title == "sequence length T") state.begin_launch();
  settings.insert_or_assign(known->name, whole(*value));
  return true;
}

constexpr std::array llmc_words = {LogWord{"| sequence length T", take_llmc_setting},
                                   LogWord{"| total batch size", take_llmc_setting},
                                   LogWord{"| peak TFlops", take_llmc_setting},
                                   LogWord{"| padded_vocab_size Vp", take_llmc_setting},
                                   LogWord{"| num_layers L", take_llmc_setting},
                                   LogWord{"| num_heads NH", take_llmc_setting},
                                   LogWord{"| channels C", take_llmc_setting},
                                   LogWord{"| num_p", take_llmc_setting}};  // parameters, processes

}  // namespace

const LogDialect llmc_log = {
    .tool = {.name = "llm_c", .label = "llm.c", .counting = FlopCounting::llm_c},
    .words = llmc_words,
    .patterns = llmc_patterns,
    .how = "the step's time"};

}  // namespace stepscope
