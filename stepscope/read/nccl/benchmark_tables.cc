// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/benchmark_tables.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

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

CollectiveKind kind_of(std::string_view test) {
  for (const TestName& t : nccl_tests)
    if (t.name == test) return t.kind;
  return CollectiveKind::unknown;
}

void settle_osu(ReadTable& table) {
  CommBenchmark& out = table.out;
  const TableContext& context = table.context;
  out.test = context.test;
  if (context.osu) out.kind = CollectiveKind::send_recv;
  for (const OsuName& t : osu_tests)
    if (out.test.find(t.name) != std::string::npos) {
      out.kind = t.kind;
      out.per_rank = t.per_rank;
      break;
    }
  if (context.launch) {
    out.ranks = context.launch->ranks;
    out.hosts = context.launch->hosts;
  }
  if (out.kind == CollectiveKind::send_recv) out.ranks = 2;
}

// All ranks of a group are listed, or some lines of the list are not in the text. The figures
// decide where the list says another size than they allow.
void settle_ranks(ReadTable& table) {
  CommBenchmark& out = table.out;
  const TableContext& context = table.context;
  const int listed = context.listed;
  const int launched = context.launch ? context.launch->ranks : 0;
  const int told = ranks_by_figures(table.figures, out.kind);
  const auto fits = [&](int n) { return n > 0 && may_be_of(table.figures, out.kind, n); };
  out.ranks = fits(listed) || (listed > 0 && told == 0) ? listed : fits(launched) ? launched : told;
  if (out.ranks > 0 && out.ranks == listed && context.whole) {
    out.hosts = context.hosts;
    out.same_ranks_per_host = context.same_ranks_per_host;
  } else if (out.ranks > 0 && out.ranks == launched) {
    out.hosts = context.launch->hosts;
  }
  if (listed > 0 && !context.whole) ++out.notes["lists_some_of_its_ranks"];
  if (out.ranks > 0 && out.ranks == told && out.ranks != listed && out.ranks != launched)
    ++out.notes[told == table.figures.shares ? "ranks_told_by_sizes_and_counts"
                                             : "ranks_told_by_the_ratio_of_busbw_to_algbw"];
  if (listed > 0 && out.ranks == listed && !fits(listed))
    ++out.notes["busbw_is_not_that_of_the_listed_ranks"];
  if (context.groups) ++out.notes["several_groups_at_once"];
}

struct JoinedTables {
  std::size_t at = 0;                                       // of the benchmark that they are
  std::map<std::pair<std::int64_t, bool>, double> times{};  // the first of each size
};

// How many times longer a table takes than those before, at the sizes of both: the median.
std::optional<double> times_as_long(JoinedTables& before, const CommBenchmark& b) {
  std::vector<double> ratios;
  for (const BenchmarkPoint& p : b.points) {
    const auto [found, fresh] =
        before.times.try_emplace({p.bytes.value, p.in_place}, p.time.count());
    if (!fresh) ratios.push_back(p.time.count() / found->second);
  }
  if (ratios.empty()) return std::nullopt;
  std::ranges::nth_element(ratios, ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2));
  return ratios[ratios.size() / 2];
}

std::string name_of_table(const CommBenchmark& b) {
  return std::string(collective_kind_names[static_cast<std::size_t>(b.kind)]);
}

bool is_of_a_kind(const ReadTable& table) { return table.out.kind != CollectiveKind::unknown; }

Error no_collective(const std::vector<ReadTable>& tables, std::string_view path) {
  Error error{.what = "does not say which collective it measured",
              .file = std::string(path),
              .hint =
                  "give --collective NAME, or put the test's name into the file's: "
                  "all_gather_perf.txt"};
  if (tables.size() < 2) return error;
  const auto at = std::ranges::find_if_not(tables, is_of_a_kind);
  error.what = "has " + std::to_string(tables.size()) + " tables, and that from line " +
               std::to_string(at->line) + " on does not say which collective it measured";
  error.hint = "give each table as a file of its own, with --collective NAME";
  return error;
}

}  // namespace

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

void name_test(std::string_view test, std::optional<CollectiveKind> given, CommBenchmark& out) {
  if (test.empty()) test = test_in(out.path);
  if (test.empty()) {
    out.kind = given.value_or(out.kind);
    return;
  }
  out.test = std::string(test) + "_perf";
  out.kind = kind_of(test);
}

void settle_table(ReadTable& table, std::string_view path, std::optional<CollectiveKind> given) {
  CommBenchmark& out = table.out;
  const TableContext& context = table.context;
  out.path = path;
  out.device = context.device;
  if (out.tool == "OSU") {
    settle_osu(table);
    if (out.kind == CollectiveKind::unknown) out.kind = given.value_or(out.kind);
    return;
  }
  name_test(context.several ? std::string_view() : context.test, given, out);
  if (out.kind == CollectiveKind::unknown && out.test.empty())
    out.kind = kind_by_figures(table.figures, context.groups ? 0 : context.listed);
  settle_ranks(table);
}

// Repeated tests of one place are one benchmark. Whether two tests are of one place is only known
// where the text names the hosts; else their times have to agree.
Result<std::vector<CommBenchmark>> joined_tables(std::vector<ReadTable> tables,
                                                 std::string_view path) {
  // A test of another pattern, such as the hypercube, is named and has no kind.
  if (std::ranges::any_of(tables, is_of_a_kind))
    std::erase_if(tables, [](const ReadTable& t) {
      return !is_of_a_kind(t) && !t.out.test.empty() && t.out.tool != "OSU";
    });
  if (!std::ranges::all_of(tables, is_of_a_kind)) return no_collective(tables, path);
  constexpr double as_long = 1.5;
  using Key = std::tuple<std::string, CollectiveKind, int, int, bool, bool, bool>;
  std::map<Key, JoinedTables> by_key;
  std::vector<CommBenchmark> all;
  for (ReadTable& table : tables) {
    CommBenchmark& b = table.out;
    if (b.points.empty()) continue;
    const Key key{b.tool,     b.kind,        b.ranks, b.hosts, b.same_ranks_per_host,
                  b.per_rank, b.many_at_once};
    const auto [found, fresh] = by_key.try_emplace(key);
    const auto ratio = times_as_long(found->second, b);
    if (fresh) {
      found->second.at = all.size();
      all.push_back(std::move(b));
      continue;
    }
    CommBenchmark& into = all[found->second.at];
    if (b.hosts == 0 && ratio && (*ratio > as_long || *ratio < 1 / as_long))
      return Error{.what = "has two tables of " + name_of_table(b) +
                           " whose times differ at equal sizes (the second begins in line " +
                           std::to_string(table.line) +
                           "), and does not say on which hosts each ran",
                   .file = std::string(path),
                   .hint = "give each table as a file of its own, with --ranks N and --nodes N"};
    auto& repeats = into.notes["tables_of_the_same_test"];
    repeats = std::max<std::uint64_t>(repeats, 1) + 1;
    into.points.insert(into.points.end(), b.points.begin(), b.points.end());
    for (const auto& [note, count] : b.notes) into.notes[note] += count;
    if (b.best_rate) into.best_rate = std::max(into.best_rate.value_or(0), *b.best_rate);
  }
  return all;
}

}  // namespace stepscope
