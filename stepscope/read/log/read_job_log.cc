// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/read_job_log.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "stepscope/base/line_blocks.h"
#include "stepscope/read/bytes/token_scan.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/log/log_dialects.h"
#include "stepscope/read/log/nccl_line.h"

namespace stepscope {
namespace {

using Take = bool (*)(const LogLine& line, LogState& state);

bool take_evaluation(const LogLine& /*line*/, LogState& state) {
  state.evaluated.set();
  return true;
}

bool take_checkpoint(const LogLine& /*line*/, LogState& state) {
  state.saved.set();
  return true;
}

bool take_rank_timers(const LogLine& line, LogState& state) {
  if (!trimmed(line.text).starts_with("times across ranks (ms)")) return false;
  state.table = LogState::Table::timers_by_rank;
  state.table_name.clear();
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

// A word that lines of a dialect hold, and who reads them. Of several words of one reader in a line
// the first counts.
struct Word {
  std::string_view word;
  Take take;
};

constexpr std::array<Word, 41> words = {{
    {"per iteration (", take_megatron_record},
    {"time (ms) |", take_timers},
    {"...: ", take_timers},
    {"times across ranks (ms)", take_rank_timers},
    {" .....", take_setting},
    {"(new size: ", take_vocabulary},
    {"validation loss at ", take_evaluation},
    {"val loss ", take_evaluation},
    {"aving checkpoint", take_checkpoint},
    {"aving the checkpoint", take_checkpoint},
    {"aving model checkpoint", take_checkpoint},
    {"aved checkpoint", take_checkpoint},
    {"AvgSamplesPerSec=", take_deepspeed_throughput},
    {"comm op: ", take_deepspeed_operation},
    {"Comm. Op ", take_deepspeed_table},
    {"Flops Profiler --", take_deepspeed_table},
    {"tps: ", take_torchtitan_record},
    {"Training starts at step ", take_torchtitan_start},
    {"device mesh with ", take_torchtitan_start},
    {" capacity: ", take_torchtitan_start},
    {"computing MFU: ", take_torchtitan_start},
    {"{'loss'", take_hugging_face_dict},
    {"{'eval_", take_hugging_face_dict},
    {"{'train_", take_hugging_face_dict},
    {"it/s]", take_progress_bar},
    {"s/it]", take_progress_bar},
    {"it/s, ", take_progress_bar},  // what is behind it is the program's
    {"s/it, ", take_progress_bar},
    {"train_step_timing in s", take_nemo_record},
    {"completed step: ", take_maxtext_record},
    {" tok/s", take_llmc_record},
    {"| sequence length T", take_llmc_setting},
    {"| total batch size", take_llmc_setting},
    {"| peak TFlops", take_llmc_setting},
    {"| padded_vocab_size Vp", take_llmc_setting},
    {"| num_layers L", take_llmc_setting},
    {"| num_heads NH", take_llmc_setting},
    {"| channels C", take_llmc_setting},
    {"| num_p", take_llmc_setting},  // parameters, processes
    {"ms, mfu ", take_nanogpt_record},
    {"  loss ", take_stepscope_record},
}};
constexpr std::array<Word, 3> more_words = {{
    {"step_time", take_named_time},
    {"iteration_time", take_named_time},
    {"iter_time", take_named_time},
}};

const TokenScan& scan() {
  static const TokenScan made = [] {
    std::vector<std::string_view> all;
    for (const Word& w : words) all.push_back(w.word);
    for (const Word& w : more_words) all.push_back(w.word);
    return TokenScan(all);
  }();
  return made;
}

Take reader_of(std::size_t word) {
  return word < words.size() ? words[word].take : more_words[word - words.size()].take;
}

class LogReader {
 public:
  LogReader(JobLog& log, TimeUnit assumed) : state_{.log = log, .assumed = assumed} {}

  // Whole lines.
  void feed(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      if (state_.table != LogState::Table::none) {
        const std::size_t end = line_end(text, at);
        const std::string_view line = text.substr(at, end - at);
        const std::string_view plain = without_colours(line, room_);
        if (take_deepspeed_table({.text = plain, .rank = -1}, state_)) {
          at = end + 1;
          continue;
        }
      }
      const TokenScan::Hit hit = scan().next(text, at);
      if (hit.at == std::string_view::npos) return;
      at = take_line(text, at, hit);
    }
  }

 private:
  // In pieces: the lines of a progress bar end in '\r' alone, and the next '\n' is far.
  static std::size_t line_end(std::string_view text, std::size_t from) {
    constexpr std::size_t piece = 512;
    for (std::size_t at = from; at < text.size(); at += piece) {
      const std::string_view part = text.substr(at, piece);
      const std::string_view line = part.substr(0, part.find('\n'));
      const std::size_t end = std::min(line.find('\r'), line.size());
      if (end < part.size()) return at + end;
    }
    return text.size();
  }
  static std::size_t line_begin(std::string_view text, std::size_t from, std::size_t at) {
    const auto behind = [&](std::size_t begin, char c) {
      const void* found = memrchr(text.data() + begin, c, at - begin);
      return found == nullptr
                 ? begin
                 : static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1;
    };
    return behind(behind(from, '\n'), '\r');
  }

  // Where the next line begins.
  std::size_t take_line(std::string_view text, std::size_t from, TokenScan::Hit hit) {
    const std::size_t begin = line_begin(text, from, hit.at);
    const std::size_t end = line_end(text, hit.at);
    const std::string_view line = text.substr(begin, end - begin);
    const std::string_view plain = without_colours(line, room_);
    const LogLine taken{.text = plain, .rank = rank_of_line(plain)};
    std::array<Take, 4> done{};
    std::size_t count = 0;
    while (hit.at != std::string_view::npos && hit.at < end && count < done.size()) {
      const Take take = reader_of(hit.word);
      if (std::find(done.begin(), done.begin() + static_cast<std::ptrdiff_t>(count), take) ==
          done.begin() + static_cast<std::ptrdiff_t>(count)) {
        done[count++] = take;
        take(taken, state_);
      }
      hit = scan().next(text.substr(0, end), hit.at + 1);
    }
    return end + 1;
  }

  LogState state_;
  std::string room_;
};

Error no_step(std::string_view path) {
  return {.what = "names no step time",
          .file = std::string(path),
          .hint =
              "give a log of Megatron-LM, NeMo, MaxText, DeepSpeed, torchtitan, the Hugging Face "
              "Trainer, llm.c, nanoGPT or stepscope train, lines with step_time_ms=…, one number a "
              "line, a CSV with a column such as step_time_ms, or what stepscope train --json "
              "writes"};
}

// The bar that trains is the one that runs longest; lines without a number come at its place.
void settle_bars(JobLog& log) {
  std::int64_t total = 0;
  double longest = -1;
  for (const LogRecord& r : log.records)
    if (r.of_steps > 0 && r.elapsed_s.value_or(0) > longest) {
      longest = *r.elapsed_s;
      total = r.of_steps;
    }
  const std::size_t others = std::erase_if(
      log.records, [&](const LogRecord& r) { return r.of_steps > 0 && r.of_steps != total; });
  if (others > 0) log.notes["lines_of_other_progress_bars"] += others;
  std::int64_t done = -1;
  for (LogRecord& r : log.records) {
    if (r.tool != LogTool::hugging_face) continue;
    if (r.of_steps > 0) done = r.iteration;
    if (r.iteration < 0) r.iteration = done;
  }
}

Result<JobLog> settled(JobLog log, std::string_view path) {
  settle_bars(log);
  const bool runs = log.run_s && log.run_steps_per_s;
  if (log.records.empty() && !runs && log.communication.empty() && log.profiles.empty())
    return no_step(path);
  return log;
}

}  // namespace

bool is_trainer_state(std::string_view head) {
  return head.find("\"log_history\"") != std::string_view::npos ||
         head.find("\"best_model_checkpoint\"") != std::string_view::npos;
}

Result<JobLog> parse_job_log(std::string_view text, std::string_view path, TimeUnit assumed) {
  JobLog log;
  if (trimmed(text.substr(0, 512)).starts_with('{') && is_trainer_state(text.substr(0, 4096))) {
    if (auto taken = take_trainer_state(text, path, log); !taken) return taken.error();
    return settled(std::move(log), path);
  }
  log.text_bytes = text.size();
  LogReader(log, assumed).feed(text);
  return settled(std::move(log), path);
}

Result<JobLog> read_job_log(ByteSource& source, std::string_view path, TimeUnit assumed) {
  JobLog log;
  LogReader reader(log, assumed);
  const auto bytes = for_line_blocks(source, "\r\n", [&](std::string_view b) { reader.feed(b); });
  if (!bytes) return bytes.error();
  log.text_bytes += *bytes;
  log.truncated = !source.damage().empty();
  return settled(std::move(log), path);
}

Result<JobLog> read_job_log(const std::string& path, TimeUnit assumed) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::array<char, 4096> head{};
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  const std::string_view first(head.data(), *got);
  if (trimmed(first).starts_with('{') && is_trainer_state(first)) {
    const auto text = read_text_file(path);
    return text ? parse_job_log(*text, path, assumed) : Result<JobLog>(text.error());
  }
  source = open_source(path);
  if (!source) return source.error();
  return read_job_log(**source, path, assumed);
}

}  // namespace stepscope
