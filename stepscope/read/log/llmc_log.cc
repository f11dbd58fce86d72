// SPDX-License-Identifier: Apache-2.0
// Logs of llm.c, its Python twin, and nanoGPT.
#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/read/log/log_dialect.h"

namespace stepscope {
namespace {

// The number that ends where `unit` begins: "521.30" from "| 521.30 ms |".
std::optional<double> number_before(std::string_view text, std::string_view unit) {
  const std::size_t end = text.find(unit);
  if (end == std::string_view::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && !is_blank(text[begin - 1]) && text[begin - 1] != '(' &&
         text[begin - 1] != '|')
    --begin;
  return clean_number(text.substr(begin, end - begin));
}

bool is_step_time(const std::optional<double>& ms) { return ms && *ms > 0 && std::isfinite(*ms); }

// The text behind the last `key` before `time`. A truncated line may precede another one.
std::optional<std::string_view> behind_key(std::string_view text, std::string_view key,
                                           std::string_view time) {
  const std::size_t end = text.find(time);
  const std::size_t at =
      end == std::string_view::npos ? std::string_view::npos : text.rfind(key, end);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + key.size());
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  return text;
}

// Adds a step of `tool`, unless its number was cut.
LogRecord* add_step(const LogTool& tool, const LogLine& line, std::string_view step, double ms,
                    LogState& state) {
  const auto iteration = clean_integer(step.substr(0, step.find_first_of("/ :")));
  if (!iteration || *iteration < 0) {
    state.note("records_cut");
    return nullptr;
  }
  LogRecord& record = state.add(tool, line);
  record.iteration = *iteration;
  record.wall_ns = ms * 1e6;
  count_line(state.log, tool);
  return &record;
}

// An unknown MFU is printed as -100 %.
void take_mfu(LogRecord& record, std::optional<double> percent) {
  if (percent && *percent > 0) record.mfu = *percent / 100;
}

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

// "step    3/18865 | loss 10.96 (+nanz)| … | 521.40 ms | 48.7% bf16 MFU | 100604 tok/s" of llm.c,
// "step    1/12 | train loss 10.91 | … | (121.81 ms | 3 tok/s)" of its Python twin.
bool take_llmc_record(const LogLine& line, LogState& state) {
  const auto text = behind_key(line.text, "step ", " ms");
  const auto ms = text ? number_before(*text, " ms") : std::nullopt;
  if (!is_step_time(ms)) return false;
  LogRecord* const record = add_step(llmc_log.tool, line, *text, *ms, state);
  if (record == nullptr) return false;
  set_loss(*record, clean_number_behind(*text, "loss "));
  const auto rate = number_before(*text, " tok/s");
  if (rate && *rate > 0) record->tokens_per_s = *rate;
  take_mfu(*record, number_before(*text, "% bf16 MFU"));
  return true;
}

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

// "iter 100: loss 3.2145, time 135.12ms, mfu 17.51%".
bool take_nanogpt_record(const LogLine& line, LogState& state) {
  const auto text = behind_key(line.text, "iter ", "ms, mfu ");
  const auto ms = text ? number_before(*text, "ms, mfu ") : std::nullopt;
  if (!is_step_time(ms)) return false;
  LogRecord* const record = add_step(nanogpt_log.tool, line, *text, *ms, state);
  if (record == nullptr) return false;
  set_loss(*record, clean_number_behind(*text, "loss ", " ,"));
  take_mfu(*record, clean_number_behind(*text, "mfu "));
  state.log.settings.try_emplace("mfu_peak", "312000000000000");  // for every device
  return true;
}

constexpr std::array llmc_words = {LogWord{" tok/s", take_llmc_record},
                                   LogWord{"| sequence length T", take_llmc_setting},
                                   LogWord{"| total batch size", take_llmc_setting},
                                   LogWord{"| peak TFlops", take_llmc_setting},
                                   LogWord{"| padded_vocab_size Vp", take_llmc_setting},
                                   LogWord{"| num_layers L", take_llmc_setting},
                                   LogWord{"| num_heads NH", take_llmc_setting},
                                   LogWord{"| channels C", take_llmc_setting},
                                   LogWord{"| num_p", take_llmc_setting}};  // parameters, processes
constexpr std::array nanogpt_words = {LogWord{"ms, mfu ", take_nanogpt_record}};

}  // namespace

const LogDialect llmc_log = {
    .tool = {.name = "llm_c", .label = "llm.c", .counting = FlopCounting::llm_c},
    .words = llmc_words,
    .how = "the step's time"};

const LogDialect nanogpt_log = {
    .tool = {.name = "nanogpt", .label = "nanoGPT", .counting = FlopCounting::nanogpt},
    .words = nanogpt_words,
    .how = "the step's time"};

}  // namespace stepscope
