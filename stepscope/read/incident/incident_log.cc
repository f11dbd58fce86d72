// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/incident_log.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"
#include "stepscope/read/incident/device_line.h"
#include "stepscope/read/incident/ended_line.h"
#include "stepscope/read/incident/event_words.h"
#include "stepscope/read/incident/framework_oom.h"
#include "stepscope/read/incident/horovod_stall.h"
#include "stepscope/read/incident/incident_line.h"
#include "stepscope/read/incident/job_arguments.h"
#include "stepscope/read/incident/job_step.h"
#include "stepscope/read/incident/kernel_line.h"
#include "stepscope/read/incident/library_line.h"
#include "stepscope/read/incident/lines_around.h"
#include "stepscope/read/incident/oom_line.h"
#include "stepscope/read/incident/python_frame.h"
#include "stepscope/read/incident/same_end.h"
#include "stepscope/read/incident/smi_table.h"

namespace stepscope {
namespace {

constexpr std::size_t most_events = 5000;
constexpr std::size_t most_ooms_kept = 1000;
constexpr std::size_t most_ranks = 65536;
constexpr std::size_t longest_rest_of_header = 200;
constexpr int lines_looked_back = 30;
constexpr int lines_of_crash = 2000;
constexpr std::size_t lines_of_fields = 60;

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

std::optional<IncidentEvent> IncidentLog::event_in(std::string_view line) {
  for (const auto& of : {parse_kernel_line, parse_library_error, parse_incident, parse_ended})
    if (auto event = of(line)) return event;
  return std::nullopt;
}

void IncidentLog::begin(std::uint32_t input, std::string_view path) {
  input_ = input;
  path_ = path;
  file_rank_ = rank_in_file_name(path);
  lines_ = 0;
  found_ = 0;
  first_ = into_.events.size();
  latest_.reset();
  labelled_ = false;
  other_ranks_ = false;
  by_name_.clear();
  open_.clear();
  names_.clear();
  joined_until_ = 0;
  known_.clear();
  last_oom_.reset();
  stats_.reset();
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
  join_same_ends(into_.events, first_);
  return found_ > 0;
}

void IncidentLog::drop_last_lines() {
  std::erase_if(into_.last_lines, [&](const auto& l) { return l.second.input == input_; });
}

void IncidentLog::take(std::string_view block) {
  if (lines_ == 0) {
    labelled_ = is_labelled(block);
    names_ = launcher_names(block);
  }
  std::vector<std::size_t> begins;
  std::vector<std::string_view> words(event_words.begin(), event_words.end());
  words.insert(words.end(), more_oom_words.begin(), more_oom_words.end());
  for (const std::string_view word : words)
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
    of.whole = one_line(rest);
    const NamedLine named = split_name(of.whole, names_);
    of.text = named.text;
    of.name = named.name;
    of.behind = rest;
    line(of);
    if (const auto rank = launcher_rank(of.text, labelled_)) {
      last[*rank] = of;
      other_ranks_ = other_ranks_ || rank != file_rank_;
    }
    at = block.size() - rest.size();
  }
  for (const auto& [rank, of] : last) keep_last(rank, of);
  if (labelled_) keep_last_of_labels(block);
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

// A line without what its launcher has put in front of it.
std::string_view IncidentLog::plain(std::string_view line) const {
  return without_launcher(split_name(line, names_).text);
}

// The process that writes a line, as far as its prefix shows.
std::string IncidentLog::stream_of(std::string_view line) const {
  const NamedLine named = split_name(line, names_);
  std::string out(named.name);
  if (const auto rank = launcher_rank(named.text, labelled_))
    out += " rank " + std::to_string(*rank);
  else if (const auto local = launcher_local_rank(named.text))
    out += " local rank " + std::to_string(*local);
  return out;
}

void IncidentLog::line(const OfLine& of) {
  const std::string stream = stream_of(of.whole);
  const std::string_view text = without_launcher(of.text);
  // A terminal's copy may have a whole program on one line.
  const auto traceback = behind(text, "Traceback (most recent call last)");
  if (traceback && traceback->size() < longest_rest_of_header) {
    if (open_.size() >= most_ranks) return;
    Traceback& open = open_[stream] = {};
    (void)time_of(of);  // the exception is not earlier than the lines in front of the traceback
    // "-- Process 1 terminated with the following error:" of torch.multiprocessing.
    std::string_view before = of.before;
    const std::string_view last = trimmed(plain(last_line_of(before)));
    if (contains(last, " terminated with the following error"))
      if (const auto local = number_behind(last, "Process ");
          local && *local >= 0 && *local < 1'000'000)
        open.local_rank = static_cast<int>(*local);
    // "… ERROR - model_agent.py:489 - Rank[2] failed." of LMDeploy.
    if (contains(last, "] failed"))
      if (const auto rank = number_behind(last, " Rank["); rank && *rank >= 0 && *rank < 10'000'000)
        open.rank = static_cast<int>(*rank);
    return;
  }
  if (const auto at = open_.find(stream); at != open_.end()) {
    bool done = false;
    Traceback& open = at->second;
    traceback_line(of, open, done);
    if (done) open_.erase(stream);
    if (done || text.starts_with(' ') || text.empty()) return;
  }
  if (contains(of.text, "collective operation timeout")) {
    watchdog(of);
    return;
  }
  if (allocator_stats(of)) return;
  if (auto oom = parse_oom(of.text)) {
    out_of_memory(std::move(*oom), of, place_before(of).value_or(std::string()));
    return;
  }
  if (is_cann_code(trimmed(text)) && of.number <= joined_until_) return;
  if (const auto step = begin_of_step(of.text)) {
    begin_step(step->labelled);
    return;
  }
  if (const auto idle = idle_in_table(of.text, of.behind)) {
    add(*idle, of);
    return;
  }
  if (const auto event = event_in(of.text)) {
    add_each(*event, of);
    return;
  }
  if (exception_alone(of) || exception_of_cpp(of)) return;
  for (const StalledRank& stalled : horovod_stall(text, of.behind))
    add({.kind = IncidentKind::absent, .rank = stalled.rank, .text = cut_text(stalled.operation)},
        of);
  read_job_arguments(of.text, path_, into_);
}

// Another step of the script begins: tasks that have ended are not the ranks of this one.
void IncidentLog::begin_step(bool labelled) {
  labelled_ = labelled;
  for (std::size_t e = first_; e < into_.events.size(); ++e) {
    IncidentEvent& event = into_.events[e];
    if (!is_end_of_tasks(event.text)) continue;
    event.earlier_step = true;
    event.rank.reset();
  }
  // The same end of a task of this step is another one.
  std::erase_if(known_, [&](const auto& key) { return into_.events[key.second].earlier_step; });
}

// One line of srun may name many tasks.
void IncidentLog::add_each(const IncidentEvent& event, const OfLine& of) {
  std::vector<int> tasks = event.rank ? std::vector<int>() : ended_tasks(of.text);
  // A list that does not fit stays one event, so that a line costs no more than others.
  if (tasks_ + tasks.size() > most_events) tasks.clear();
  tasks_ += tasks.size();
  for (const int task : tasks) {
    IncidentEvent one = event;
    one.rank = task;
    add(std::move(one), of);
  }
  if (tasks.empty()) add(event, of);
}

// The last line of each task of srun --label, also if no line of it has an event.
void IncidentLog::keep_last_of_labels(std::string_view block) {
  std::map<int, OfLine> last;
  OfLine of{.text = {}, .number = lines_, .before = {}, .behind = {}};
  for (std::string_view rest = block; !rest.empty();) {
    of.whole = of.text = one_line(rest);
    ++of.number;
    const auto rank = launcher_rank(of.text, true);
    if (rank && !trimmed(without_launcher(of.text)).empty()) last[*rank] = of;
  }
  for (const auto& [rank, line] : last) keep_last(rank, line);
}

// "all_reduce (distributed_c10d.py:2501)": where the thread was that a signal ended. Python writes
// "Current thread 0x… (most recent call first):" and its frames behind the signal.
std::string IncidentLog::place_of_crash(std::string_view behind) const {
  for (int i = 0; i < lines_of_crash && !behind.empty(); ++i) {
    const std::string_view one = plain(one_line(behind));
    if (contains(one, "Fatal Python error")) break;
    if (!one.starts_with("Current thread 0x")) continue;
    return faulthandler_place(plain(one_line(behind))).value_or(std::string());
  }
  return {};
}

// What stands on the lines around an event.
void IncidentLog::complete(IncidentEvent& event, const OfLine& of) const {
  if (event.kind == IncidentKind::signal && contains(of.text, "Fatal Python error"))
    event.where = place_of_crash(of.behind);
  if (has_fields_behind(event, of.text)) {
    std::vector<std::string_view> lines;
    for (std::string_view rest = of.behind; lines.size() < lines_of_fields && !rest.empty();)
      lines.push_back(trimmed(plain(one_line(rest))));
    take_fields(event, of.text, lines);
  }
  // The driver may say over several lines that a device is lost.
  std::string_view before = of.before;
  const bool lost = event.kind == IncidentKind::device_error && event.where.empty() &&
                    contains(of.text, "fallen off the bus");
  for (int i = 0; lost && i < 3 && event.where.empty() && !before.empty(); ++i)
    event.where = address_of_gpu(last_line_of(before));
  if (event.host.empty()) event.host = of.name;
  if (event.host.empty()) event.host = host_of_syslog(of.text);
  // A terminal may have wrapped the line of a watchdog; HCCL's error has its rank in front.
  before = of.before;
  if (event.kind == IncidentKind::stuck && !event.rank && !launcher_rank(of.text))
    event.rank = launcher_rank(last_line_of(before));
  for (int i = 0; event.kind == IncidentKind::timeout && !event.rank && i < 4; ++i)
    if (const auto rank = number_behind(last_line_of(before), " RankID:");
        rank && *rank >= 0 && *rank < 10'000'000)
      event.rank = static_cast<int>(*rank);
}

void IncidentLog::out_of_memory(OomMessage message, const OfLine& of, std::string where) {
  message = whole_oom(std::move(message), of.text, of.behind,
                      [&](std::string_view one) { return plain(one); });
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
  last_oom_ = static_cast<std::size_t>(same - into_.ooms.begin());
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
  // An allocator that tries again ends nothing, and memory of the host is not that of a device.
  const bool of_device = message.space == OomSpace::device;
  if (!of_device) e.kind = IncidentKind::exception;
  if (message.retried || (!of_device && !is_exception_line(without_launcher(of.text))))
    ++found_;
  else
    add(std::move(e), of);
  // A log whose beginning is cut may have the sizes of an allocator before its name.
  if (stats_ && lacks(*stats_, message.request) && give_stats(message, *stats_)) stats_.reset();
  if (into_.ooms.size() < most_ooms_kept) into_.ooms.push_back(std::move(message));
}

// What an allocator writes about itself behind its message.
bool IncidentLog::allocator_stats(const OfLine& of) {
  const auto stats = bfc_stats(of.text, of.behind);
  if (!stats) return false;
  if (!last_oom_)
    stats_ = stats;
  else if (*last_oom_ < into_.ooms.size())
    (void)give_stats(into_.ooms[*last_oom_], *stats);
  return true;
}

void IncidentLog::watchdog(const OfLine& of) {
  std::string joined(of.text);
  std::string_view rest = of.behind;
  for (int i = 0; i < joined_lines && is_cut_watchdog(joined) && !rest.empty(); ++i)
    join_cut_line(joined, trimmed(plain(one_line(rest))));
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
  e.text = said->operation.empty() ? std::string("call") : std::string(said->operation);
  if (said->sequence >= 0) e.text += ' ' + std::to_string(said->sequence);
  add(std::move(e), of);
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
  // A watchdog of a device's error names the rank of its group.
  // The label of a task stands in front of what the scheduler says of the job, too.
  const auto launched =
      event.kind == IncidentKind::cancelled ? std::nullopt : launcher_rank(of.text, labelled_);
  const bool of_group =
      event.kind == IncidentKind::device_error || event.kind == IncidentKind::exception;
  if (launched && (!event.rank || of_group)) event.rank = launched;
  if (of_group && event.rank && event.rank != file_rank_) other_ranks_ = true;
  complete(event, of);
  if (!event.rank && !event.local_rank) event.local_rank = launcher_local_rank(of.text);
  const bool by_name = !event.rank && !event.local_rank && file_rank_;
  if (by_name) event.rank = file_rank_;
  if (event.text.empty()) event.text = cut_text(without_launcher(of.text));
  // The table of torchrun's ChildFailedError has time, host and rank on the lines before.
  if (trimmed(without_launcher(of.text)).starts_with("exitcode  : ")) {
    std::vector<std::string_view> rows;
    for (std::string_view before = of.before; rows.size() < 4 && !before.empty();)
      rows.push_back(trimmed(plain(last_line_of(before))));
    take_rows_of_table(event, rows);
  }
  std::vector<NcclSaying> said;
  if (event.kind == IncidentKind::network || event.kind == IncidentKind::shared_memory)
    split_sayings(without_launcher(of.text), {}, said);
  if (!said.empty()) {
    if (!said.front().host.empty()) {
      event.host = said.front().host;
      event.pid = said.front().pid;
    }
    event.text = cut_text(said.front().text);
  }
  std::string key = std::string(name_of(event.kind)) + ' ' +
                    std::to_string(event.rank.value_or(-1)) + ' ' +
                    std::to_string(event.local_rank.value_or(-1)) + ' ' +
                    std::to_string(event.pid.value_or(-1)) + ' ' + event.host + ' ';
  // A watchdog says the same in several lines; errors of an adapter differ in their sizes.
  if (event.kind == IncidentKind::network && event.code)
    key += std::to_string(*event.code);
  else if (event.kind != IncidentKind::absent)
    key += event.text;
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
