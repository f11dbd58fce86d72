// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/ras_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

constexpr int most_status_ranks = 16'777'216;
constexpr std::size_t most_listed = 1 << 20;

std::string_view line_off(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// "    0         1         4         8        32        32   RUNNING  MISMATCH": ranks per
// communicator of each row of the summary, by its number.
struct SummaryRow {
  int group = 0;
  int ranks = 0;
};
std::optional<SummaryRow> summary_row(std::string_view line) {
  if (!line.starts_with(' ')) return std::nullopt;
  std::array<std::string_view, 8> words;
  std::size_t n = 0;
  for (std::string_view rest = trimmed(line); !rest.empty() && n < words.size();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    words[n++] = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
  }
  if (n != 8) return std::nullopt;
  const auto group = number_of<int>(words[0]);
  const auto ranks = number_of<int>(words[4]);
  if (!group || !ranks || *ranks < 1 || *ranks > most_status_ranks) return std::nullopt;
  const auto upper = [](std::string_view word) {
    return std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  };
  if (!upper(words[6]) || !upper(words[7])) return std::nullopt;
  return SummaryRow{*group, *ranks};
}

class RasTextReader {
 public:
  explicit RasTextReader(CommRecords& into) : into_(into) {}

  void line(std::string_view text) {
    if (const auto row = summary_row(text)) {
      sizes_[row->group] = row->ranks;
      return;
    }
    if (text.starts_with('#')) {
      section(text);
      return;
    }
    if (text == "INCOMPLETE" || text == "DEAD") {
      close();
      absence_ = RasAbsence{.what = std::string(text)};
      return;
    }
    if (text.empty() || !text.starts_with("  ")) {
      close();
      return;
    }
    detail(trimmed(text));
  }

  void close() {
    if (counts_ && counts_->levels.size() > 1) {
      std::ranges::sort(counts_->levels, std::ranges::greater{}, &RasCounts::Level::count);
      into_.ras_counts.push_back(std::move(*counts_));
    }
    counts_.reset();
    if (absence_ && absence_->count > 0) into_.ras_absences.push_back(std::move(*absence_));
    absence_.reset();
    in_counts_ = false;
  }

 private:
  // "#0-0 (fa93daea854b060b) MISMATCH".
  void section(std::string_view text) {
    close();
    const auto group = leading_number<int>(text.substr(1));
    const std::size_t open = text.find('(');
    const std::size_t shut = text.find(')');
    if (open == std::string_view::npos || shut == std::string_view::npos || shut < open) return;
    communicator_ = std::string(text.substr(open + 1, std::min<std::size_t>(shut - open - 1, 64)));
    const auto size = group ? sizes_.find(*group) : sizes_.end();
    size_ = size != sizes_.end() ? size->second : 0;
    const std::string_view what = trimmed(text.substr(shut + 1));
    if (what == "INCOMPLETE" || what == "ERROR")
      absence_ =
          RasAbsence{.communicator = communicator_, .size = size_, .what = std::string(what)};
  }

  void detail(std::string_view text) {
    constexpr std::string_view begin = "Communicator ranks have different ";
    constexpr std::string_view end = " operation counts";
    if (text.starts_with(begin)) {
      if (counts_) close();
      in_counts_ = text.ends_with(end);
      if (!in_counts_) return;  // "different status"
      std::string_view name = text.substr(begin.size());
      name.remove_suffix(end.size());
      counts_ = RasCounts{
          .communicator = communicator_,
          .size = size_,
          .operation = name == "collective" ? std::string() : std::string(name.substr(0, 40))};
      return;
    }
    if (absence_) return missing(text);
    if (in_counts_) level(text);
  }

  // "30 ranks have launched up to operation 640", "Rank 7 has launched up to operation 60 -- GPU
  // …", "Rank 12 -- GPU 4 managed by …", "… have not launched any operations".
  void level(std::string_view text) {
    const bool one = text.starts_with("Rank ");
    const auto number = one ? leading_number<int>(text.substr(5)) : leading_number<int>(text);
    if (!number || *number < 0 || *number > most_status_ranks) return;
    const auto count = number_behind(text, "launched up to operation ");
    const bool none = contains(text, "not launched any operations");
    if (count || none) {
      counts_->levels.push_back({.count = count.value_or(0), .ranks = one ? 1 : *number});
      if (one) counts_->levels.back().listed.push_back(*number);
    } else if (one && !counts_->levels.empty() &&
               counts_->levels.back().listed.size() < most_listed) {
      counts_->levels.back().listed.push_back(*number);
    }
  }

  // "Missing communicator data from 2 ranks", "1 job process is considered dead (…)", "Process 42
  // on node a managing GPU 3", "Rank 3 -- GPU …", "2 ranks reported …", "Rank 3 reported …".
  void missing(std::string_view text) {
    if (const auto n = number_behind(text, "Missing communicator data from ")) {
      absence_->count = static_cast<int>(std::clamp<std::int64_t>(*n, 0, most_status_ranks));
    } else if (contains(text, "considered dead")) {
      absence_->count = std::clamp(leading_number<int>(text).value_or(0), 0, most_status_ranks);
    } else if (contains(text, "nitialization error") || contains(text, "synchronous error")) {
      if (const auto on = number_behind(text, " on "))
        absence_->count += static_cast<int>(std::clamp<std::int64_t>(*on, 0, most_status_ranks));
    } else if (text.starts_with("Rank ")) {
      const auto rank = leading_number<int>(text.substr(5));
      if (rank && *rank >= 0 && absence_->ranks.size() < most_listed)
        absence_->ranks.push_back(*rank);
    } else if (text.starts_with("Process ") && absence_->processes.size() < 64) {
      absence_->processes.emplace_back(text.substr(0, 200));
    }
  }

  CommRecords& into_;
  std::map<int, int> sizes_;  // ranks per communicator, by the summary's group
  std::string communicator_;
  int size_ = 0;
  bool in_counts_ = false;
  std::optional<RasCounts> counts_;
  std::optional<RasAbsence> absence_;
};

// Operations whose counts differ between the ranks that answered.
void add_counts(const RasCommunicator& c, CommRecords& into) {
  using enum CollectiveKind;
  constexpr std::array<std::pair<CollectiveKind, std::string_view>, 8> kinds = {
      {{broadcast, "Broadcast"},
       {reduce, "Reduce"},
       {all_gather, "AllGather"},
       {reduce_scatter, "ReduceScatter"},
       {all_reduce, "AllReduce"},
       {all_to_all, "AlltoAll"},
       {gather, "Gather"},
       {scatter, "Scatter"}}};
  for (const auto& [kind, name] : kinds) {
    std::map<std::uint64_t, std::vector<int>, std::greater<>> by_count;
    for (const RasRank& r : c.ranks)
      by_count[r.calls[static_cast<std::size_t>(kind)]].push_back(r.rank);
    if (by_count.size() < 2) continue;
    RasCounts counts{.communicator = c.id, .size = c.size, .operation = std::string(name)};
    for (auto& [count, ranks] : by_count)
      counts.levels.push_back({.count = static_cast<std::int64_t>(
                                   std::min<std::uint64_t>(count, std::uint64_t{1} << 62U)),
                               .ranks = static_cast<int>(ranks.size()),
                               .listed = std::move(ranks)});
    into.ras_counts.push_back(std::move(counts));
  }
}

}  // namespace

bool is_ras_text(std::string_view head) {
  return contains(head, "Job summary\n===") && contains(head, "\nCommunicators...");
}

bool add_ras_text(std::string_view text, CommRecords& into) {
  if (!is_ras_text(text.substr(0, 64 << 10))) return false;
  RasTextReader reader(into);
  while (!text.empty()) reader.line(line_off(text));
  reader.close();
  return true;
}

void add_ras_status(const RasStatus& status, CommRecords& into) {
  for (const RasCommunicator& c : status.communicators) {
    add_counts(c, into);
    RasAbsence incomplete{.communicator = c.id, .size = c.size, .what = "INCOMPLETE"};
    RasAbsence dead{.communicator = c.id, .size = c.size, .what = "DEAD"};
    for (const RasRank& r : c.missing) {
      RasAbsence& of = r.dead ? dead : incomplete;
      of.ranks.push_back(r.rank);
      if (r.pid >= 0 && of.processes.size() < 64)
        of.processes.push_back("process " + std::to_string(r.pid) + " on " + r.host);
    }
    for (RasAbsence* absence : {&dead, &incomplete}) {
      absence->count = static_cast<int>(absence->ranks.size());
      if (absence->count > 0) into.ras_absences.push_back(std::move(*absence));
    }
  }
}

}  // namespace stepscope
