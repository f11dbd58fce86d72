// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/read_comm_benchmark.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/step_table.h"
#include "stepscope/read/nccl/benchmark_tables.h"

namespace stepscope {
namespace {

constexpr double us = 1e-6;

// No collective is faster than a nanosecond or takes years; such a figure is damage.
bool is_time(Seconds time) { return time >= Seconds{1e-9} && time <= Seconds{1e9}; }

// The line without "[1,0]<stdout>:" of Open MPI or "0: " of srun.
std::string_view without_task_label(std::string_view line) {
  constexpr std::string_view mark = "<stdout>:";
  const std::size_t at = line.substr(0, 40).find(mark);
  if (at != std::string_view::npos) line.remove_prefix(at + mark.size());
  const std::size_t colon = line.substr(0, 12).find(": ");
  if (colon != std::string_view::npos && colon > 0 && clean_integer(line.substr(0, colon)))
    line.remove_prefix(colon + 2);
  return trimmed(line);
}

void words_of(std::string_view text, std::vector<std::string_view>& words) {
  words.clear();
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const std::size_t end = std::min(text.find_first_of(" \t\r"), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

// The columns of the figures for one mode (out of place or in place).
struct TimeColumns {
  std::size_t time = 0;
  std::optional<std::size_t> algbw{};
  std::optional<std::size_t> busbw{};
  std::optional<std::size_t> wrong{};
};

// Takes each line of a text and makes the tables.
class BenchmarkReader {
 public:
  Result<Done> read(ByteSource& source) {
    const auto read = for_line_blocks(source, "\n", [&](std::string_view block) -> Result<Done> {
      StepLines lines(block);
      for (std::string_view line; lines.next(line);) {
        ++line_;
        take_names(line);
        take(without_task_label(line));
      }
      return Done{};
    });
    return read ? Result<Done>(Done{}) : read.error();
  }

  std::vector<ReadTable> tables;
  std::map<std::string, std::uint64_t> notes;  // of rows of no table

 private:
  void begin_context() {
    next_ = {};
    ranks_.clear();
    hosts_.clear();
  }

  void take_names(std::string_view line) {
    const std::string_view name = test_in(line);
    if (!name.empty()) {
      if (contains(line, "test concluded:")) {
        if (!tables.empty() && tables.back().context.test.empty())
          tables.back().context.test = name;
        return;
      }
      const bool announced = contains(line, "test starting:");
      if (announced) {
        begin_context();
        next_ = {.test = std::string(name), .announced = true};
      }
      if (!next_.announced) {
        next_.several = next_.several || (!next_.test.empty() && next_.test != name);
        next_.test = name;
      }
    }
    if (!name.empty() || contains(line, "osu_"))
      if (const auto launch = benchmark_launch(line)) next_.launch = launch;
  }

  void take(std::string_view line) {
    if (line.empty()) return;
    if (line.front() != '#') return take_row(line);
    words_of(line.substr(1), words_);
    if (words_.empty()) return;
    if (words_[0] == "Rank") return take_rank(line);
    if (line.starts_with("# OSU ")) {
      next_.test = trimmed(line.substr(1));
      next_.osu = next_.announced = true;
      return;
    }
    if (words_[0] == "size" || words_[0] == "Size") take_titles(line);
  }

  void take_titles(std::string_view line) {
    columns_.clear();
    redop_ = root_ = std::nullopt;
    count_ = words_.size();
    titled_ = true;
    osu_ = words_[0] == "Size";
    if (osu_) return take_osu_titles(line);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string_view word = words_[i];
      if (word == "time") columns_.push_back({.time = i});
      if (word == "redop") redop_ = i;
      if (word == "root") root_ = i;
      if (columns_.empty()) continue;
      if (word == "algbw") columns_.back().algbw = i;
      if (word == "busbw") columns_.back().busbw = i;
      if (word == "#wrong" || word == "error") columns_.back().wrong = i;
    }
  }

  // "# Size   Avg Latency(us)   Min Latency(us) …": the first figure is in the second column.
  void take_osu_titles(std::string_view line) {
    const std::size_t bandwidth = line.find("Bandwidth");
    const std::size_t latency = line.find("Latency");
    rate_unit_ = 0;
    if (bandwidth != std::string_view::npos && bandwidth < latency)
      rate_unit_ = line.find("GB/s") != std::string_view::npos ? 1e9 : 1e6;
    else if (latency == std::string_view::npos)
      return;
    of_collectives_ = contains(line, "Avg");
    columns_.push_back({.time = 1});
    count_ = 0;  // any number of further columns may follow
  }

  // "#  Rank  0 Group  0 Pid 123 on host device  0 [0000:07:00] NVIDIA H100".
  void take_rank(std::string_view line) {
    if (words_.size() < 6) return;
    const auto rank = clean_integer(words_[1]);
    const auto on = std::ranges::find(words_, "on");
    if (!rank || *rank < 0 || *rank > 10'000'000 || on == words_.end() || on + 1 == words_.end())
      return;
    const auto group = std::ranges::find(words_, "Group");
    if (group != words_.end() && group + 1 != words_.end())
      if (const auto number = clean_integer(*(group + 1)); number && *number > 0)
        next_.groups = true;
    ranks_.insert(*rank);
    ++hosts_[std::string(*(on + 1))];
    const std::size_t bracket = line.find("] ");
    if (next_.device.empty() && bracket != std::string_view::npos)
      next_.device = trimmed(line.substr(bracket + 2));
  }

  TableContext with_ranks(TableContext context) const {
    if (ranks_.empty()) return context;
    context.listed = static_cast<int>(*ranks_.rbegin()) + 1;
    context.whole = std::cmp_equal(ranks_.size(), context.listed);
    context.hosts = static_cast<int>(hosts_.size());
    context.same_ranks_per_host = std::ranges::all_of(
        hosts_, [&](const auto& host) { return host.second == hosts_.begin()->second; });
    return context;
  }

  // The table that a row of this size belongs to. A title or what names ranks begins a table, and
  // so do sizes that begin again: of the same test, unless titles stand between.
  ReadTable& table_of(std::int64_t size) {
    const bool again = !tables.empty() && size < tables.back().last_size;
    const bool said = !next_.test.empty() || !ranks_.empty() || next_.launch;
    if (tables.empty() || again || (titled_ && said)) {
      TableContext context;
      if (said)
        context = with_ranks(std::move(next_));
      else if (!titled_ && !tables.empty())
        context = tables.back().context;
      ReadTable& made = tables.emplace_back();
      made.context = std::move(context);
      made.out.tool = osu_ ? "OSU" : "nccl-tests";
      made.line = line_;
      // Titles without "Avg" are of messages between two ranks.
      if (osu_ && !made.context.osu && !of_collectives_) made.context.osu = true;
      begin_context();
    }
    titled_ = false;
    tables.back().last_size = size;
    return tables.back();
  }

  std::map<std::string, std::uint64_t>& notes_here() {
    return tables.empty() ? notes : tables.back().out.notes;
  }

  void take_row(std::string_view line) {
    words_of(line, words_);
    if (words_.empty() || std::isdigit(static_cast<unsigned char>(words_[0].front())) == 0) return;
    const bool by_itself = columns_.empty() || untitled_;
    if (by_itself && !take_places()) return;
    const auto size = clean_integer(words_[0]);
    // Before nccl-tests 2.13 the columns of an absent reduction or root are blank.
    const bool blank =
        !osu_ && words_.size() + 1 == count_ && redop_ && !root_ && *redop_ <= words_.size();
    if (blank) words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(*redop_), "none");
    if (osu_ ? words_.size() < 2 : words_.size() != count_ || !size) {
      if (size) ++notes_here()["rows_not_understood"];
      return;
    }
    if (!size || *size <= 0 || *size > (std::int64_t{1} << 50)) return;  // zero bytes are useless
    ReadTable& table = table_of(*size);
    if (osu_) return take_osu_row(*size, table.out);
    BenchmarkFigures& figures = table.figures;
    figures.blank = figures.blank || blank;
    if (redop_ && words_[*redop_] != "none") figures.reduces = true;
    if (root_ && words_[*root_] != "-1") figures.rooted = true;
    if (const auto count = clean_integer(words_[1]); count && words_.size() > 2)
      take_shares(*size, *count, printed_type_bytes(words_[2]), figures);
    for (std::size_t c = 0; c < columns_.size(); ++c) take_times(*size, columns_[c], c > 0, table);
  }

  // The columns of a row without titles, by its own figures.
  bool take_places() {
    const RowPlaces places = places_in_row(words_);
    if (places.times[0] == 0) return false;
    untitled_ = true;
    count_ = words_.size();
    const auto column = [](std::size_t at) { return at > 0 ? std::optional(at) : std::nullopt; };
    redop_ = column(places.redop);
    root_ = column(places.root);
    columns_.clear();
    const bool checked = places.times[1] - places.times[0] == 4;
    for (const std::size_t at : places.times)
      columns_.push_back(
          {.time = at, .algbw = at + 1, .busbw = at + 2, .wrong = column(checked ? at + 3 : 0)});
    return true;
  }

  void take_osu_row(std::int64_t size, CommBenchmark& out) {
    const auto value = clean_number(words_[1]);
    if (!value || !(*value > 0) || !std::isfinite(*value)) {
      ++out.notes["rows_not_understood"];
      return;
    }
    const Seconds time{rate_unit_ > 0 ? static_cast<double>(size) / (*value * rate_unit_)
                                      : *value * us};
    if (!is_time(time)) {
      ++out.notes["rows_not_understood"];
      return;
    }
    out.points.push_back({.bytes = Bytes{size}, .time = time});
    if (rate_unit_ > 0) {
      out.many_at_once = true;
      out.best_rate = std::max(out.best_rate.value_or(0), *value * rate_unit_);
    }
  }

  void take_times(std::int64_t size, const TimeColumns& c, bool in_place, ReadTable& table) {
    const auto time = clean_number(words_[c.time]);
    if (!time || !is_time(Seconds{*time * us})) {
      if (words_[c.time] != "N/A") ++table.out.notes["rows_not_understood"];
      return;
    }
    if (c.wrong)
      if (const auto wrong = clean_number(words_[*c.wrong]); wrong && *wrong > 1e-3) {
        ++table.out.notes["rows_with_wrong_results"];
        return;
      }
    table.out.points.push_back(
        {.bytes = Bytes{size}, .time = Seconds{*time * us}, .in_place = in_place});
    if (c.algbw && c.busbw) take_factor(words_[*c.algbw], words_[*c.busbw], table.figures);
  }

  std::vector<std::string_view> words_;
  TableContext next_;  // of the table that begins next
  std::set<std::int64_t> ranks_;
  std::map<std::string, int> hosts_;
  std::vector<TimeColumns> columns_;
  std::size_t count_ = 0;  // number of words in a row
  std::optional<std::size_t> redop_;
  std::optional<std::size_t> root_;
  bool titled_ = false;    // titles stood behind the last row
  bool untitled_ = false;  // the columns are those of a row without titles
  bool osu_ = false;
  bool of_collectives_ = false;  // OSU's titles with "Avg"
  double rate_unit_ = 0;         // bytes/s of a printed rate; 0: times are printed
  std::uint64_t line_ = 0;
};

void take_json_times(const JsonValue& row, const char* key, bool in_place, CommBenchmark& out) {
  const JsonValue* way = row.find(key);
  if (way == nullptr) return;
  const double size = json_number(row, "size").value_or(0);
  const double time = json_number(*way, "time").value_or(0);
  if (!(size >= 1 && size < 1e15) || !is_time(Seconds{time * us})) return;
  if (json_number(*way, "nwrong").value_or(0) > 0) {
    ++out.notes["rows_with_wrong_results"];
    return;
  }
  out.points.push_back({.bytes = Bytes{static_cast<std::int64_t>(size)},
                        .time = Seconds{time * us},
                        .in_place = in_place});
}

void take_devices(const JsonValue& config, std::map<std::string, int>& hosts, CommBenchmark& out) {
  const JsonValue* devices = config.find("devices");
  if (devices == nullptr) return;
  for (const JsonValue& device : devices->items) {
    ++out.ranks;
    if (const JsonValue* host = device.find("hostname")) ++hosts[host->text];
    if (const JsonValue* info = device.find("device_info"); info && out.device.empty())
      out.device = info->text;
  }
}

Result<Done> read_json(ByteSource& source, std::string_view head, std::string_view path,
                       std::optional<CollectiveKind> given, CommBenchmark& out) {
  out.tool = "nccl-tests";
  out.path = path;
  name_test(test_in(head), given, out);
  std::map<std::string, int> hosts;
  const auto take = [&](const JsonItem& item) -> Result<Done> {
    if (item.value == nullptr) return Done{};
    if (item.key == "config" && !item.inner) take_devices(*item.value, hosts, out);
    if (item.key != "results") return Done{};
    take_json_times(*item.value, "out_of_place", false, out);
    take_json_times(*item.value, "in_place", true, out);
    return Done{};
  };
  constexpr std::array<std::string_view, 2> keys = {"config", "results"};
  const auto read = for_json_items(source, path, take, {.keys = keys});
  if (!read) return read.error();
  out.hosts = static_cast<int>(hosts.size());
  for (const auto& [host, count] : hosts)
    out.same_ranks_per_host = out.same_ranks_per_host && count == hosts.begin()->second;
  return Done{};
}

}  // namespace

Result<std::vector<CommBenchmark>> parse_comm_benchmark(ByteSource& source, std::string_view head,
                                                        std::string_view path,
                                                        std::optional<CollectiveKind> given) {
  const bool json = trimmed(head.substr(0, 100)).starts_with('{');
  std::vector<ReadTable> tables;
  if (json) {
    ReadTable& table = tables.emplace_back();
    if (const auto read = read_json(source, head, path, given, table.out); !read)
      return read.error();
  } else {
    BenchmarkReader reader;
    if (const auto read = reader.read(source); !read) return read.error();
    tables = std::move(reader.tables);
    for (ReadTable& table : tables) settle_table(table, path, given);
    if (!tables.empty())
      for (const auto& [note, count] : reader.notes) tables.front().out.notes[note] += count;
  }
  if (const std::string damage = source.damage(); !damage.empty())
    return Error{.what = damage, .file = std::string(path), .hint = "copy the file again"};
  std::erase_if(tables, [](const ReadTable& t) { return t.out.points.empty(); });
  if (tables.empty())
    return Error{.what = "has no measured row of nccl-tests or of the OSU micro-benchmarks",
                 .file = std::string(path),
                 .hint = "give what all_reduce_perf or osu_allreduce printed"};
  return joined_tables(std::move(tables), path);
}

bool has_benchmark_lines(std::string_view text) {
  StepLines lines(text);
  std::vector<std::string_view> words;
  for (std::string_view line; lines.next(line);) {
    line = without_task_label(line);
    if (line.starts_with('#') && contains(line, " size ") && contains(line, " algbw ") &&
        contains(line, " busbw "))
      return true;
    if (line.empty() || std::isdigit(static_cast<unsigned char>(line.front())) == 0) continue;
    words_of(line, words);
    if (places_in_row(words).times[0] > 0) return true;
  }
  return false;
}

Result<std::vector<CommBenchmark>> parse_comm_benchmark(std::string_view text,
                                                        std::string_view path,
                                                        std::optional<CollectiveKind> given) {
  TextSource source(text);
  return parse_comm_benchmark(source, text, path, given);
}

}  // namespace stepscope
