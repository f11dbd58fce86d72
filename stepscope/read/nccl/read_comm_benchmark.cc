// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/read_comm_benchmark.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <vector>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/line_blocks.h"
#include "stepscope/read/bytes/json_members.h"
#include "stepscope/read/log/log_line.h"
#include "stepscope/read/log/step_table.h"

namespace stepscope {
namespace {

constexpr double us = 1e-6;

// No collective is faster than a nanosecond or takes years; such a figure is damage.
bool is_time(Seconds time) { return time >= Seconds{1e-9} && time <= Seconds{1e9}; }

struct TestName {
  std::string_view name;
  CollectiveKind kind;
};

// Names of the nccl-tests programs, without "_perf".
constexpr std::array<TestName, 10> nccl_tests = {{
    {"all_reduce", CollectiveKind::all_reduce},
    {"all_gather", CollectiveKind::all_gather},
    {"reduce_scatter", CollectiveKind::reduce_scatter},
    {"alltoall", CollectiveKind::all_to_all},
    {"broadcast", CollectiveKind::broadcast},
    {"sendrecv", CollectiveKind::send_recv},
    {"scatter", CollectiveKind::scatter},
    {"gather", CollectiveKind::gather},
    {"reduce", CollectiveKind::reduce},
    {"hypercube", CollectiveKind::unknown},
}};

// Names in OSU's titles. A name that contains another precedes it.
struct OsuName {
  std::string_view name;
  CollectiveKind kind;
  bool per_rank;
};
constexpr std::array<OsuName, 9> osu_tests = {{
    {"Reduce_scatter", CollectiveKind::reduce_scatter, false},
    {"Allreduce", CollectiveKind::all_reduce, false},
    {"Allgather", CollectiveKind::all_gather, true},
    {"All-to-All", CollectiveKind::all_to_all, true},
    {"Alltoall", CollectiveKind::all_to_all, true},
    {"Broadcast", CollectiveKind::broadcast, false},
    {"Scatter", CollectiveKind::scatter, true},
    {"Gather", CollectiveKind::gather, true},
    {"Reduce", CollectiveKind::reduce, false},
}};

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

// "all_reduce" from ".../all_reduce_perf": the first such word in a text.
std::string_view test_in(std::string_view text) {
  for (std::size_t at = text.find("_perf"); at != std::string_view::npos;
       at = text.find("_perf", at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_word_letter(text[begin - 1])) --begin;
    const std::string_view name = text.substr(begin, at - begin);
    if (std::ranges::any_of(nccl_tests, [&](const TestName& t) { return t.name == name; }))
      return name;
  }
  return {};
}

CollectiveKind kind_of(std::string_view test) {
  for (const TestName& t : nccl_tests)
    if (t.name == test) return t.kind;
  return CollectiveKind::unknown;
}

// The columns of the figures for one mode (out of place or in place).
struct TimeColumns {
  std::size_t time = 0;
  std::optional<std::size_t> algbw{};
  std::optional<std::size_t> busbw{};
  std::optional<std::size_t> wrong{};
};

class BenchmarkReader {
 public:
  explicit BenchmarkReader(CommBenchmark& out) : out_(out) {}

  Result<Done> read(ByteSource& source) {
    const auto read = for_line_blocks(source, "\n", [&](std::string_view block) -> Result<Done> {
      StepLines lines(block);
      for (std::string_view line; lines.next(line);) {
        if (test_.empty()) test_ = test_in(line);
        take(without_task_label(line));
      }
      return Done{};
    });
    if (!read) return read.error();
    settle();
    return Done{};
  }

 private:
  void take(std::string_view line) {
    if (line.empty()) return;
    if (line.front() != '#') return take_row(line);
    words_of(line.substr(1), words_);
    if (words_.empty()) return;
    if (words_[0] == "Rank") return take_rank(line);
    if (line.starts_with("# OSU ")) {
      out_.tool = "OSU";
      out_.test = trimmed(line.substr(1));
      return;
    }
    if (words_[0] == "size" || words_[0] == "Size") take_titles(line);
    if (line.find("version ") != std::string_view::npos && words_[0] == "nccl-tests")
      out_.tool = "nccl-tests";
  }

  void take_titles(std::string_view line) {
    columns_.clear();
    count_ = words_.size();
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
    if (out_.tool.empty()) out_.tool = "nccl-tests";
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
    columns_.push_back({.time = 1});
    count_ = 0;  // any number of further columns may follow
    if (out_.tool.empty()) out_.tool = "OSU";
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
      if (const auto number = clean_integer(*(group + 1)); number && *number > 0) groups_ = true;
    ranks_.insert(*rank);
    ++hosts_[std::string(*(on + 1))];
    const std::size_t bracket = line.find("] ");
    if (out_.device.empty() && bracket != std::string_view::npos)
      out_.device = trimmed(line.substr(bracket + 2));
  }

  void take_row(std::string_view line) {
    if (columns_.empty()) return;
    words_of(line, words_);
    if (words_.empty() || std::isdigit(static_cast<unsigned char>(words_[0].front())) == 0) return;
    const auto size = clean_integer(words_[0]);
    // Before nccl-tests 2.13 the columns of an absent reduction or root are blank.
    if (!osu_ && words_.size() + 1 == count_ && redop_ && !root_ && *redop_ <= words_.size()) {
      words_.insert(words_.begin() + static_cast<std::ptrdiff_t>(*redop_), "none");
      blank_ = true;
    }
    if (osu_ ? words_.size() < 2 : words_.size() != count_ || !size) {
      if (size) ++out_.notes["rows_not_understood"];
      return;
    }
    if (!size || *size <= 0 || *size > (std::int64_t{1} << 50)) return;  // zero bytes are useless
    if (osu_) return take_osu_row(*size);
    if (redop_ && words_[*redop_] != "none") reduces_ = true;
    if (root_ && words_[*root_] != "-1") rooted_ = true;
    for (std::size_t c = 0; c < columns_.size(); ++c) take_times(*size, columns_[c], c > 0);
  }

  void take_osu_row(std::int64_t size) {
    const auto value = clean_number(words_[1]);
    if (!value || !(*value > 0) || !std::isfinite(*value)) {
      ++out_.notes["rows_not_understood"];
      return;
    }
    const Seconds time{rate_unit_ > 0 ? static_cast<double>(size) / (*value * rate_unit_)
                                      : *value * us};
    if (!is_time(time)) {
      ++out_.notes["rows_not_understood"];
      return;
    }
    out_.points.push_back({.bytes = Bytes{size}, .time = time});
    if (rate_unit_ > 0) {
      out_.many_at_once = true;
      out_.best_rate = std::max(out_.best_rate.value_or(0), *value * rate_unit_);
    }
  }

  void take_times(std::int64_t size, const TimeColumns& c, bool in_place) {
    const auto time = clean_number(words_[c.time]);
    if (!time || !is_time(Seconds{*time * us})) {
      if (words_[c.time] != "N/A") ++out_.notes["rows_not_understood"];
      return;
    }
    if (c.wrong)
      if (const auto wrong = clean_number(words_[*c.wrong]); wrong && *wrong > 1e-3) {
        ++out_.notes["rows_with_wrong_results"];
        return;
      }
    out_.points.push_back(
        {.bytes = Bytes{size}, .time = Seconds{*time * us}, .in_place = in_place});
    if (!c.algbw || !c.busbw) return;
    const auto algbw = clean_number(words_[*c.algbw]);
    const auto busbw = clean_number(words_[*c.busbw]);
    // Values have two decimals, so the largest rates give the most precise factor.
    if (algbw && busbw && *algbw > best_algbw_ && *algbw >= 1) {
      best_algbw_ = *algbw;
      factor_ = *busbw / *algbw;
    }
  }

  void settle() {
    if (out_.tool == "OSU") {
      out_.kind = CollectiveKind::send_recv;
      for (const OsuName& t : osu_tests)
        if (out_.test.find(t.name) != std::string::npos) {
          out_.kind = t.kind;
          out_.per_rank = t.per_rank;
          break;
        }
      if (out_.kind == CollectiveKind::send_recv) out_.ranks = 2;
      return;
    }
    if (test_.empty()) test_ = test_in(out_.path);
    if (!test_.empty()) {
      out_.test = test_ + "_perf";
      out_.kind = kind_of(test_);
    }
    out_.ranks = static_cast<int>(ranks_.size());
    out_.hosts = static_cast<int>(hosts_.size());
    for (const auto& [host, count] : hosts_)
      out_.same_ranks_per_host = out_.same_ranks_per_host && count == hosts_.begin()->second;
    if (groups_) ++out_.notes["several_groups_at_once"];
    if (out_.kind == CollectiveKind::unknown) tell_kind();
    if (out_.ranks == 0) tell_ranks();
  }

  // Determines the kind from reduction, root and factor. All-gather and all-to-all look alike, but
  // only all-to-all and send and receive once had a column for a reduction that they leave blank.
  // Where a test reduces without a root, the factor of all-reduce is 1 or more and that of
  // reduce-scatter less than 1, with any number of ranks.
  void tell_kind() {
    constexpr double near_one = 0.05;
    if (best_algbw_ <= 0) return;
    const int n = out_.ranks;
    const auto is = [&](CollectiveKind kind) {
      const auto factor = busbw_factor(kind, n);
      return factor && std::fabs(factor_ - *factor) < 0.01;
    };
    if (blank_)
      out_.kind = n > 2 && is(CollectiveKind::all_to_all)  ? CollectiveKind::all_to_all
                  : n > 2 && is(CollectiveKind::send_recv) ? CollectiveKind::send_recv
                                                           : CollectiveKind::unknown;
    else if (rooted_)
      out_.kind = reduces_ ? CollectiveKind::reduce : CollectiveKind::broadcast;
    else if (reduces_ && (factor_ > 1 + near_one || (n > 2 && is(CollectiveKind::all_reduce))))
      out_.kind = CollectiveKind::all_reduce;
    else if (reduces_ && (factor_ < 1 - near_one || (n > 2 && is(CollectiveKind::reduce_scatter))))
      out_.kind = CollectiveKind::reduce_scatter;
  }

  void tell_ranks() {
    if (best_algbw_ <= 0) return;
    double n = 0;
    if (out_.kind == CollectiveKind::all_reduce && factor_ < 2) n = 2 / (2 - factor_);
    const auto one = busbw_factor(out_.kind, 2);
    if (one && *one == 0.5 && factor_ < 1) n = 1 / (1 - factor_);
    // Two decimals are enough for small n.
    const double whole = std::round(n);
    if (whole >= 2 && whole <= 64 && std::fabs(n - whole) < 0.1) {
      out_.ranks = static_cast<int>(whole);
      ++out_.notes["ranks_told_by_the_ratio_of_busbw_to_algbw"];
    }
  }

  CommBenchmark& out_;
  std::vector<std::string_view> words_;
  std::string test_;
  std::vector<TimeColumns> columns_;
  std::size_t count_ = 0;  // number of words in a row
  std::optional<std::size_t> redop_;
  std::optional<std::size_t> root_;
  bool osu_ = false;
  double rate_unit_ = 0;  // bytes/s of a printed rate; 0: times are printed
  bool reduces_ = false;
  bool rooted_ = false;
  bool blank_ = false;  // a column for the reduction, and none in the rows
  bool groups_ = false;
  std::set<std::int64_t> ranks_;
  std::map<std::string, int> hosts_;
  double best_algbw_ = 0;
  double factor_ = 0;
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
                       CommBenchmark& out) {
  out.tool = "nccl-tests";
  const std::string_view test = test_in(head);
  out.kind = kind_of(test);
  if (!test.empty()) out.test = std::string(test) + "_perf";
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

Result<CommBenchmark> parse_comm_benchmark(ByteSource& source, std::string_view head,
                                           std::string_view path) {
  CommBenchmark out;
  out.path = path;
  const bool json = trimmed(head.substr(0, 100)).starts_with('{');
  const auto read = json ? read_json(source, head, path, out) : BenchmarkReader(out).read(source);
  if (!read) return read.error();
  if (const std::string damage = source.damage(); !damage.empty())
    return Error{.what = damage, .file = std::string(path), .hint = "copy the file again"};
  if (out.points.empty())
    return Error{.what = "has no measured row of nccl-tests or of the OSU micro-benchmarks",
                 .file = std::string(path),
                 .hint = "give what all_reduce_perf or osu_allreduce printed"};
  if (out.kind == CollectiveKind::unknown) {
    const std::string_view by_name = test_in(path);
    out.kind = kind_of(by_name);
    if (!by_name.empty()) out.test = std::string(by_name) + "_perf";
  }
  if (out.kind == CollectiveKind::unknown)
    return Error{.what = "does not say which collective it measured",
                 .file = std::string(path),
                 .hint = "put the test's name into the file's: all_gather_perf.txt"};
  return out;
}

bool has_benchmark_titles(std::string_view text) {
  StepLines lines(text);
  for (std::string_view line; lines.next(line);) {
    line = without_task_label(line);
    if (line.starts_with('#') && contains(line, " size ") && contains(line, " algbw ") &&
        contains(line, " busbw "))
      return true;
  }
  return false;
}

Result<CommBenchmark> parse_comm_benchmark(std::string_view text, std::string_view path) {
  TextSource source(text);
  return parse_comm_benchmark(source, text, path);
}

}  // namespace stepscope
