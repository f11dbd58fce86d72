// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/incident_log.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/incident/ended_line.h"
#include "stepscope/read/incident/incident_line.h"
#include "stepscope/read/incident/oom_line.h"
#include "stepscope/read/log/nccl_line.h"

namespace stepscope {
namespace {

constexpr std::size_t most_events = 5000;
constexpr std::size_t most_ooms_kept = 1000;
constexpr std::size_t longest_event_text = 300;
constexpr std::size_t most_ranks = 65536;
constexpr std::uint64_t longest_traceback = 400;  // lines
constexpr int joined_lines = 6;
constexpr int lines_looked_back = 30;

// Words of the lines that are looked at. Each is a part of what one of the readers looks for.
constexpr std::array<std::string_view, 65> event_words = {"ut of memory",
                                                          "Out Of Memory",
                                                          "oom_kill event",
                                                          "oom-kill event",
                                                          "OOMKilled",
                                                          "OutOfMemory",
                                                          "CUBLAS_STATUS_A",
                                                          "Traceback (most",
                                                          "what():",
                                                          "NVRM: Xid",
                                                          "Got completion from",
                                                          "exitcode",
                                                          "exit code",
                                                          "exited on signal",
                                                          "srun: error",
                                                          "CANCELLED AT",
                                                          "killed by signal",
                                                          "Fatal Python error",
                                                          "aught signal",
                                                          "(core dumped)",
                                                          "watchdog got stuck",
                                                          "operation timeout",
                                                          "ErrorMemoryAlloc",
                                                          "[rank",
                                                          "world_size",
                                                          "world size",
                                                          "WORLD_SIZE",
                                                          "World size",
                                                          "World Size",
                                                          "All distributed processes registered",
                                                          "OUT_OF_MEMORY",
                                                          "model_parallel_size",
                                                          "batch_size",
                                                          "seq_length",
                                                          "recompute_granularity",
                                                          "zero_optimization_stage",
                                                          "Killed",
                                                          "Terminated",
                                                          "Segmentation fault",
                                                          "Bus error",
                                                          "killed  ",
                                                          "exit status",
                                                          "Exit Code",
                                                          "exitCode",
                                                          "exit_code",
                                                          "status code",
                                                          "return code",
                                                          "died with <Signals",
                                                          "terminated with signal",
                                                          "received by PID",
                                                          "low on resource: memory",
                                                          "TERM_",
                                                          "memory limit",
                                                          "PBS: job killed",
                                                          "killed due to",
                                                          "A worker died",
                                                          "onnect to ",
                                                          "to connect failed",
                                                          "has already checked in",
                                                          "Ran out of memory in",
                                                          "Attempting to allocate",
                                                          "NOT allocate memory block",
                                                          " heartbeat timeout. ",
                                                          "Notify register times out",
                                                          "name_or_path"};

// Arguments that `predict` takes as well.
constexpr std::array<std::string_view, 11> wanted_settings = {"tensor_model_parallel_size",
                                                              "pipeline_model_parallel_size",
                                                              "train_micro_batch_size_per_gpu",
                                                              "micro_batch_size",
                                                              "global_batch_size",
                                                              "train_batch_size",
                                                              "seq_length",
                                                              "recompute_granularity",
                                                              "zero_optimization_stage",
                                                              "model_name_or_path",
                                                              "_name_or_path"};

std::string_view one_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string_view last_line_of(std::string_view& text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  const std::size_t begin = text.rfind('\n') + 1;  // npos + 1 is 0
  const std::string_view line = text.substr(begin);
  text = text.substr(0, begin);
  return line;
}

// A frame of the program, not of a library: "train.py:120" of `  File "/w/train.py", line 120, in
// f`.
std::optional<std::string> frame_place(std::string_view text) {
  const auto rest = behind(text, "File \"");
  if (!rest) return std::nullopt;
  const std::size_t quote = rest->find('"');
  const auto number = number_behind(*rest, "\", line ");
  if (quote == std::string_view::npos || !number) return std::nullopt;
  const std::string_view file = rest->substr(0, quote);
  if (contains_any(file, {"-packages/", "/lib/python", "<frozen", "/torch/"})) return std::nullopt;
  return std::string(file.substr(file.rfind('/') + 1).substr(0, 100)) + ":" +
         std::to_string(*number);
}

// An error of Ascend's libraries has its rank and its reason on the next lines: "[ERROR] …
// RankID:3) ERR02200 DIST call hccl api failed.", "EJ0001: TIME Failed to initialize …". Adds the
// reason to `text`, and returns the rank.
std::optional<int> add_reason_of_cann(std::string_view behind_it, std::string& text) {
  std::optional<int> rank;
  if (!contains_any(text, {"HCCL error", "torch_npu/"})) return rank;
  for (int i = 0; i < joined_lines && !behind_it.empty(); ++i) {
    const std::string_view more = trimmed(without_launcher(one_line(behind_it)));
    if (const auto number = number_behind(more, "RankID:"); number && *number >= 0)
      rank = static_cast<int>(std::min<std::int64_t>(*number, 10'000'000));
    const bool reason = more.size() > 8 && more[0] == 'E' && std::isupper(more[1]) != 0 &&
                        std::ranges::all_of(more.substr(2, 4), is_digit) && more[6] == ':';
    if (!reason) continue;
    text += "; ";
    text += more;
    break;
  }
  return rank;
}

std::optional<IncidentEvent> event_in(std::string_view line) {
  auto event = parse_incident(line);
  return event ? event : parse_ended(line);
}

std::string cut_text(std::string_view text) {
  const std::string_view whole = trimmed(text);
  std::string kept(whole.substr(0, longest_event_text));
  return whole.size() > kept.size() ? kept + "…" : kept;
}

}  // namespace

std::optional<int> rank_in_file_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = name.size(); at-- > 0;) {
    const std::string_view word = name.substr(at, 4);
    if (word != "rank" && word != "Rank" && word != "RANK") continue;
    std::string_view rest = name.substr(at + 4);
    while (!rest.empty() && contains("_-.=", rest.substr(0, 1))) rest.remove_prefix(1);
    const auto rank = leading_number<int>(rest);
    if (rank && *rank >= 0 && *rank < 10'000'000) return rank;
  }
  return std::nullopt;
}

void IncidentLog::begin(std::uint32_t input, std::string_view path) {
  input_ = input;
  path_ = path;
  file_rank_ = rank_in_file_name(path);
  lines_ = 0;
  found_ = 0;
  latest_.reset();
  labelled_ = false;
  other_ranks_ = false;
  by_name_.clear();
  open_.clear();
  known_.clear();
}

bool IncidentLog::end() {
  open_.clear();
  if (file_rank_ && other_ranks_) {
    for (const std::size_t e : by_name_) into_.events[e].rank.reset();
    for (OomMessage& m : into_.ooms)
      if (m.input == input_ && m.rank == file_rank_) m.rank.reset();
    const auto last = into_.last_lines.find(*file_rank_);
    if (last != into_.last_lines.end() && last->second.input == input_)
      into_.last_lines.erase(last);
  }
  return found_ > 0;
}

void IncidentLog::drop_last_lines() {
  std::erase_if(into_.last_lines, [&](const auto& l) { return l.second.input == input_; });
}

void IncidentLog::take(std::string_view block) {
  if (lines_ == 0) labelled_ = is_labelled(block);
  std::vector<std::size_t> begins;
  for (const std::string_view word : event_words)
    for (std::size_t at = 0; at < block.size();) {
      const void* found = memmem(block.data() + at, block.size() - at, word.data(), word.size());
      if (found == nullptr) break;
      const auto place = static_cast<std::size_t>(static_cast<const char*>(found) - block.data());
      begins.push_back(block.substr(0, place).rfind('\n') + 1);
      at = std::min(block.find('\n', place), block.size());
    }
  std::ranges::sort(begins);
  std::size_t counted = 0;  // bytes whose lines are in `number`
  std::uint64_t number = lines_ + 1;
  std::size_t next = 0;  // in begins
  std::size_t at = 0;
  std::map<int, OfLine> last;  // of this block
  OfLine latest{};
  while (at < block.size()) {
    while (next < begins.size() && begins[next] < at) ++next;
    if (open_.empty()) {
      if (next == begins.size()) break;
      at = begins[next];
    }
    number += static_cast<std::uint64_t>(
        std::count(block.begin() + static_cast<std::ptrdiff_t>(counted),
                   block.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    counted = at;
    std::string_view rest = block.substr(at);
    OfLine of{.text = {}, .number = number, .before = block.substr(0, at), .behind = {}};
    of.text = one_line(rest);
    of.behind = rest;
    line(of);
    if (const auto rank = launcher_rank(of.text, labelled_)) {
      last[*rank] = of;
      other_ranks_ = other_ranks_ || rank != file_rank_;
    }
    at = block.size() - rest.size();
  }
  for (const auto& [rank, of] : last) keep_last(rank, of);
  const auto ends = static_cast<std::uint64_t>(std::ranges::count(block, '\n'));
  if (file_rank_) {
    std::string_view text = block;
    for (int tries = 0; tries < 5 && !text.empty(); ++tries) {
      latest.text = last_line_of(text);
      latest.before = text;
      latest.number = lines_ + 1 + static_cast<std::uint64_t>(std::ranges::count(text, '\n'));
      if (trimmed(latest.text).empty()) continue;
      keep_last(*file_rank_, latest);
      break;
    }
  }
  lines_ += ends;
}

void IncidentLog::line(const OfLine& of) {
  const int prefix = launcher_rank(of.text, labelled_).value_or(-1);
  const std::string_view text = without_launcher(of.text);
  if (contains(text, "Traceback (most recent call last)")) {
    if (open_.size() < most_ranks) open_[prefix] = {};
    return;
  }
  if (const auto at = open_.find(prefix); at != open_.end()) {
    bool done = false;
    Traceback& open = at->second;
    traceback_line(of, open, done);
    if (done) open_.erase(prefix);
    if (done || text.starts_with(' ') || text.empty()) return;
  }
  if (contains(of.text, "collective operation timeout")) {
    watchdog(of);
    return;
  }
  if (auto oom = parse_oom(of.text)) {
    out_of_memory(std::move(*oom), of, {});
    return;
  }
  if (auto event = event_in(of.text)) {
    add(std::move(*event), of);
    return;
  }
  world_size(of.text);
  setting(of.text);
}

// A frame, code, or the exception, which ends the traceback.
void IncidentLog::traceback_line(const OfLine& of, Traceback& open, bool& done) {
  const std::string_view text = without_launcher(of.text);
  if (++open.lines > longest_traceback) {
    done = true;
    return;
  }
  if (text.empty() || text.starts_with(' ') || text.starts_with('\t')) {
    if (auto place = frame_place(text)) open.where = std::move(*place);
    return;
  }
  if (!is_exception_line(text)) return;
  done = true;
  if (auto oom = parse_oom(text))
    out_of_memory(std::move(*oom), of, std::move(open.where));
  else
    exception(of, text, std::move(open.where));
}

void IncidentLog::exception(const OfLine& of, std::string_view first, std::string where) {
  // An error of NCCL has its kind and NCCL's own last error on the next lines.
  std::string text(first);
  std::string_view rest = of.behind;
  for (int i = 0; contains(first, "NCCL error") && i < joined_lines && !rest.empty(); ++i) {
    const std::string_view more = trimmed(without_launcher(one_line(rest)));
    if (more.empty() || is_exception_line(more) || contains(more, "Exception raised")) break;
    text += more.starts_with("Last error") ? "; " : text.ends_with(':') ? " " : "; ";
    text += more;
  }
  const std::optional<int> device_rank = add_reason_of_cann(of.behind, text);
  IncidentEvent e{.kind = IncidentKind::exception, .follows = is_consequence(text)};
  e.rank = device_rank;
  if (contains_any(text, {"CUDA error: ", "HIP error: "})) e.kind = IncidentKind::device_error;
  // An exception that says how another process ended.
  if (const auto ended = event_in(text)) {
    if (ended->kind == IncidentKind::host_memory) e = *ended;
    if (ended->kind == IncidentKind::signal && e.follows) e = *ended;
    if (ended->kind == IncidentKind::signal) e.code = ended->code;
  }
  e.text = cut_text(text);
  e.where = std::move(where);
  add(std::move(e), of);
}

void IncidentLog::out_of_memory(OomMessage message, const OfLine& of, std::string where) {
  // A terminal or a page may have cut the message into lines.
  if (is_cut_oom(message)) {
    std::string joined(of.text);
    std::string_view rest = of.behind;
    for (int i = 0; i < joined_lines && !rest.empty(); ++i) {
      const std::string_view more = trimmed(without_launcher(one_line(rest)));
      if (more.empty() || !contains_any(more, {"GPU", "free", "allocat", "capacity", "in use",
                                               "reserved", "of which", "Process", "PyTorch"}))
        break;
      joined += ' ';
      joined += more;
      auto whole = parse_oom(joined);
      if (!whole) break;
      const bool cut = is_cut_oom(*whole);
      message = std::move(*whole);
      if (!cut) break;
    }
  }
  // XLA lists what the program takes: "    arguments        15.90G".
  std::string_view list = of.behind;
  for (int i = 0; message.needed && i < joined_lines && !list.empty(); ++i) {
    const std::string_view row = trimmed(without_launcher(one_line(list)));
    if (row.starts_with("arguments "))
      message.arguments =
          size_at_front(row.substr(row.find_first_of("0123456789") == std::string_view::npos
                                       ? row.size()
                                       : row.find_first_of("0123456789")));
  }
  message.where = where;
  message.input = input_;
  message.line = of.number;
  message.rank = launcher_rank(of.text, labelled_);
  if (!message.rank) message.rank = file_rank_;
  const auto same = std::ranges::find_if(into_.ooms, [&](const OomMessage& m) {
    return m.input == message.input && m.rank == message.rank && m.device == message.device &&
           m.request == message.request && m.free == message.free && m.needed == message.needed &&
           m.allocated == message.allocated;
  });
  if (same != into_.ooms.end()) {
    ++same->times;
    if (same->where.empty()) same->where = std::move(where);
    ++found_;
    return;
  }
  IncidentEvent e{.kind = IncidentKind::device_memory};
  if (message.request) e.code = message.request->value;
  e.text = cut_text(without_launcher(of.text));
  e.where = std::move(where);
  add(std::move(e), of);
  if (into_.ooms.size() < most_ooms_kept) into_.ooms.push_back(std::move(message));
}

void IncidentLog::watchdog(const OfLine& of) {
  std::string joined(of.text);
  std::string_view rest = of.behind;
  for (int i = 0; i < joined_lines && is_cut_watchdog(joined) && !rest.empty(); ++i)
    join_cut_line(joined, trimmed(without_launcher(one_line(rest))));
  auto said = parse_watchdog(joined);
  // A copied message may lack its rank.
  const bool ranked = said.has_value();
  std::string named;
  if (!said) {
    named = "[Rank 0] " + joined;
    said = parse_watchdog(named);
  }
  if (!said || !said->timeout) return;
  IncidentEvent e{.kind = IncidentKind::timeout};
  e.rank = launcher_rank(of.text, labelled_);
  if (!e.rank && ranked) e.rank = said->rank;
  if (e.rank && e.rank != file_rank_) other_ranks_ = true;
  e.code = said->ran_ms;
  e.text = std::string(said->operation);
  if (said->sequence >= 0) e.text += ' ' + std::to_string(said->sequence);
  add(std::move(e), of);
}

// "world_size ..... 16", "world size: 16", "WORLD_SIZE=16"; Lightning's "All distributed processes
// registered. Starting with 16 processes".
void IncidentLog::world_size(std::string_view text) {
  std::optional<int> size;
  for (const std::string_view key :
       {"world_size", "world size", "WORLD_SIZE", "World size", "World Size"}) {
    const auto rest = behind(text, key);
    if (!rest) continue;
    std::string_view number = *rest;
    while (!number.empty() && contains(" .:='\"", number.substr(0, 1))) number.remove_prefix(1);
    size = leading_number<int>(number);
    break;
  }
  if (!size && contains(text, "All distributed processes registered"))
    if (const auto rest = behind(text, "Starting with ")) size = leading_number<int>(*rest);
  if (size && *size > 1 && *size < 10'000'000 && into_.world_sizes.size() < 100)
    into_.world_sizes.try_emplace(*size, path_);
}

// "  micro_batch_size .......... 2", "train_batch_size: 16", "\"_name_or_path\": \"org/model\"".
void IncidentLog::setting(std::string_view text) {
  for (const std::string_view name : wanted_settings) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    const bool begins = at == 0 || contains(" \t\"'(,{-", text.substr(at - 1, 1));
    std::string_view value = text.substr(at + name.size());
    if (!begins || value.empty() || !contains(" \t.=:\"'", value.substr(0, 1))) continue;
    while (!value.empty() && contains(" \t.=:\"'", value.substr(0, 1))) value.remove_prefix(1);
    value = value.substr(0, std::min(value.find_first_of(" \t,\"'})"), value.size()));
    if (value.empty() || value.size() > 120) continue;
    into_.settings.insert_or_assign(std::string(name), std::string(value));
    return;
  }
}

std::optional<WrittenTime> IncidentLog::time_of(const OfLine& of) {
  if (auto time = written_time(of.text)) {
    latest_ = time;
    return time;
  }
  std::string_view before = of.before;
  for (int i = 0; i < lines_looked_back && !before.empty(); ++i)
    if (auto time = written_time(last_line_of(before))) {
      latest_ = time;
      break;
    }
  std::optional<WrittenTime> time = latest_;
  if (time) time->after = true;
  return time;
}

void IncidentLog::keep_last(int rank, const OfLine& of) {
  if (into_.last_lines.size() >= most_ranks && !into_.last_lines.contains(rank)) return;
  LastLine last{.time = written_time(of.text),
                .text = cut_text(without_launcher(of.text)),
                .input = input_,
                .line = of.number};
  LastLine& kept = into_.last_lines[rank];
  // With several files the later time counts, else the later file.
  if (kept.time && last.time && kept.input != last.input &&
      kept.time->no_year == last.time->no_year && kept.time->time > last.time->time)
    return;
  kept = std::move(last);
}

void IncidentLog::add(IncidentEvent event, const OfLine& of) {
  ++found_;
  if (!event.rank) event.rank = launcher_rank(of.text, labelled_);
  if (!event.rank && !event.local_rank) event.local_rank = launcher_local_rank(of.text);
  const bool by_name = !event.rank && !event.local_rank && file_rank_;
  if (by_name) event.rank = file_rank_;
  if (event.text.empty()) event.text = cut_text(without_launcher(of.text));
  // The table of torchrun's ChildFailedError has time, host and rank on the lines before.
  if (trimmed(without_launcher(of.text)).starts_with("exitcode  : ")) {
    std::string_view before = of.before;
    for (int i = 0; i < 4 && !before.empty(); ++i) {
      const std::string_view field = trimmed(without_launcher(last_line_of(before)));
      if (field.starts_with("rank      : ")) {
        event.rank = leading_number<int>(field.substr(12));
        if (const auto local = number_behind(field, "local_rank: "))
          event.local_rank = static_cast<int>(std::clamp<std::int64_t>(*local, 0, 1'000'000));
      } else if (field.starts_with("host      : ")) {
        event.host = field.substr(12, 200);
      } else if (field.starts_with("time      : ")) {
        std::string stamp(field.substr(12, 19));  // 2026-11-30_12:00:00
        if (stamp.size() > 10 && stamp[10] == '_') stamp[10] = ' ';
        event.time = written_time(stamp);
      } else {
        break;
      }
    }
  }
  std::vector<NcclSaying> said;
  if (event.kind == IncidentKind::network) split_sayings(of.text, {}, said);
  if (!said.empty()) {
    event.host = said.front().host;
    event.pid = said.front().pid;
    event.text = cut_text(said.front().text);
  }
  std::string key = std::string(name_of(event.kind)) + ' ' +
                    std::to_string(event.rank.value_or(-1)) + ' ' +
                    std::to_string(event.local_rank.value_or(-1)) + ' ' +
                    std::to_string(event.pid.value_or(-1)) + ' ' + event.host + ' ';
  // A watchdog says the same in several lines; errors of an adapter differ in their sizes.
  key +=
      event.kind == IncidentKind::network && event.code ? std::to_string(*event.code) : event.text;
  if (const auto same = known_.find(key); same != known_.end()) {
    ++into_.events[same->second].times;
    return;
  }
  if (into_.events.size() >= most_events) {
    ++into_.left_out;
    return;
  }
  if (!event.time) event.time = time_of(of);
  event.input = input_;
  event.line = of.number;
  if (by_name) by_name_.push_back(into_.events.size());
  known_.emplace(std::move(key), into_.events.size());
  into_.events.push_back(std::move(event));
}

void IncidentLog::settle() {
  std::set<int> years;
  const auto date_of = [](const WrittenTime& t) {
    return std::chrono::year_month_day(
        std::chrono::floor<std::chrono::days>(std::chrono::sys_time<Ns>(t.time)));
  };
  for (const IncidentEvent& e : into_.events)
    if (e.time && !e.time->no_year) years.insert(static_cast<int>(date_of(*e.time).year()));
  if (years.size() != 1) return;
  const std::chrono::year year(*years.begin());
  const auto dated = [&](std::optional<WrittenTime>& t) {
    if (!t || !t->no_year) return;
    const auto date = date_of(*t);
    const std::chrono::year_month_day moved{year, date.month(), date.day()};
    if (!moved.ok()) return;
    t->time += std::chrono::sys_days(moved) - std::chrono::sys_days(date);
    t->no_year = false;
  };
  for (IncidentEvent& e : into_.events) dated(e.time);
  for (auto& [rank, last] : into_.last_lines) dated(last.time);
}

}  // namespace stepscope
