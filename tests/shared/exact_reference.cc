// SPDX-License-Identifier: Apache-2.0
#include "tests/shared/exact_reference.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/program/program.h"

namespace stepscope::shared {
namespace {

using Json = nlohmann::json;

// The reference computes in doubles. With an origin months ago, instants have steps of a quarter of
// a ns to a ns, and the lengths of up to 22,000 rows are added. Measured: at most 0.08.
constexpr double tolerance_us = 1;

struct KnownDifference {
  std::string_view set;
  std::string_view why;
};
constexpr std::array known_differences = {KnownDifference{
    "single-hta-mtia_trace_single_rank__mtia_rank_0",
    "the reference knows no MTIA categories and has no device rows; ours: mtia_ccp_events"}};

WindowTimes times_of(const Json& w) {
  const auto us = [&](const char* key) { return w.at(key).get<double>() / 1000; };
  return {(w.at("end_ns").get<double>() - w.at("start_ns").get<double>()) / 1000,
          us("busy_ns"),
          us("idle_ns"),
          us("compute_ns"),
          us("comm_ns"),
          us("copy_ns"),
          us("overlap_ns")};
}

WindowShares shares_of(const WindowTimes& t) {
  WindowShares shares;
  if (t[0] > 0) {
    shares.idle = 100 * t[2] / t[0];
    shares.compute = 100 * t[3] / t[0];
  }
  if (t[4] > 0) shares.overlap = 100 * t[6] / t[4];
  return shares;
}

// Rows of a CSV file of HolisticTraceAnalysis, by column name.
std::vector<std::map<std::string, std::string>> csv(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> head;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string> cells;
    std::istringstream text(line + ",");
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    if (head.empty()) {
      head = cells;
      continue;
    }
    auto& row = rows.emplace_back();
    for (std::size_t c = 0; c < std::min(head.size(), cells.size()); ++c) row[head[c]] = cells[c];
  }
  return rows;
}

std::optional<double> number(const std::map<std::string, std::string>& row, const char* column) {
  const auto at = row.find(column);
  if (at == row.end() || at->second.empty()) return std::nullopt;
  return std::stod(at->second);
}

// HolisticTraceAnalysis' tables of one set, by rank.
std::map<int, WindowShares> hta_shares(const std::filesystem::path& folder) {
  std::map<int, WindowShares> by_rank;
  for (const auto& row : csv(folder / "temporal_breakdown.csv")) {
    WindowShares& shares = by_rank[std::stoi(row.at("rank"))];
    shares.idle = number(row, "idle_time_pctg");
    shares.compute = number(row, "compute_time_pctg");
  }
  for (const auto& row : csv(folder / "comm_comp_overlap.csv"))
    by_rank[std::stoi(row.at("rank"))].overlap = number(row, "comp_comm_overlap_pctg");
  return by_rank;
}

// The program's answers; each run is analysed once.
class Answers {
 public:
  explicit Answers(const std::filesystem::path& folder) {
    for (TracedRun& run : runs(folder))
      for (std::size_t i = 0; i < run.files.size(); ++i)
        files_[std::filesystem::relative(run.files[i], folder / "data" / "traces").string()] = {run,
                                                                                                i};
  }

  // Null if no run has the file.
  const Json* rank_of(const std::string& file) {
    const auto at = files_.find(file);
    if (at == files_.end()) return nullptr;
    const auto& [run, place] = at->second;
    auto [answer, fresh] = answers_.try_emplace(run.name);
    if (fresh) answer->second = program::analyze(run.files).json;
    for (const Json& rank : answer->second.at("ranks"))
      if (rank.at("rank") == answer->second.at("inputs").at(place).at("rank")) return &rank;
    return nullptr;
  }

 private:
  std::map<std::string, std::pair<TracedRun, std::size_t>> files_;
  std::map<std::string, Json> answers_;
};

std::optional<WindowTimes> times_of_reference(const Json& said) {
  if (said.is_null()) return std::nullopt;
  WindowTimes times{};
  for (std::size_t q = 0; q < times.size(); ++q) times[q] = said.at(window_quantities[q]);
  return times;
}

ExactRow row_of(const std::string& set, const std::string& file, const Json& said, const Json& rank,
                const std::map<int, WindowShares>& hta) {
  ExactRow row;
  row.set = set;
  row.file = file;
  row.rank = rank.at("rank");
  if (said.contains("full")) row.reference = times_of_reference(said.at("full"));
  if (row.reference) row.reference_shares = shares_of(*row.reference);
  if (said.contains("nolast"))
    if (const auto times = times_of_reference(said.at("nolast")))
      row.without_last_step = shares_of(*times);
  row.steps = said.value("steps", std::size_t{0});
  row.fractions = said.value("float_ts", false);
  if (const Json& window = rank.at("gpu_window"); window.is_object()) {
    row.ours = times_of(window);
    row.our_shares = shares_of(*row.ours);
  }
  // HolisticTraceAnalysis numbers a file 0 if it does not find its rank.
  auto at = hta.find(said.at("rank").is_number() ? said.at("rank").get<int>() : row.rank);
  if (at == hta.end() && hta.size() == 1) at = hta.begin();
  if (at != hta.end()) row.hta = at->second;
  for (const KnownDifference& known : known_differences)
    if (known.set == set) row.reason = known.why;
  return row;
}

std::string cell(std::optional<double> v, int decimals = 2) {
  if (!v) return "-";
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, *v);
  return text.data();
}

bool near(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return std::abs(*a - *b) <= 0.0051;  // the tool prints two decimals
}

bool near(const WindowShares& a, const WindowShares& b) {
  return near(a.idle, b.idle) && near(a.compute, b.compute) && near(a.overlap, b.overlap);
}

// The reason for HolisticTraceAnalysis' error, from its code.
std::string why_hta_differs(const ExactRow& row) {
  if (!row.hta || !row.hta->idle) return "wrote no breakdown of this trace";
  if (!row.reference) return "no exact figures; it rounds starts up and ends down to whole us";
  const std::string last = "leaves the last of " + std::to_string(row.steps) + " steps out";
  if (row.steps > 1 && near(*row.hta, row.without_last_step))
    return last + "; without it the exact figures are its own";
  std::string why = row.steps > 1 ? last + "; " : "";
  if (row.set.find("nanogpt") != std::string::npos)
    why += "counts Triton's host rows as GPU work, because they carry a stream; ";
  if (row.fractions) why += "rounds starts up and ends down to whole us";
  return why.empty() ? "not known" : why;
}

}  // namespace

double ExactRow::largest_difference() const {
  if (reference.has_value() != ours.has_value()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t q = 0; reference && q < reference->size(); ++q)
    most = std::max(most, std::abs((*reference)[q] - (*ours)[q]));
  return most;
}

bool ExactRow::differs() const { return largest_difference() > tolerance_us; }

std::vector<ExactRow> exact_rows(const std::filesystem::path& folder) {
  Answers answers(folder);
  std::vector<ExactRow> rows;
  std::vector<std::filesystem::path> sets;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder / "data" / "reference" / "exact"))
    sets.push_back(entry.path());
  std::ranges::sort(sets);
  for (const auto& path : sets) {
    std::ifstream in(path);
    const Json reference = Json::parse(in);
    const std::string set = path.stem().string();
    const auto hta = hta_shares(folder / "data" / "reference" / "hta" / set);
    for (const auto& [file, said] : reference.items())
      if (const Json* rank = answers.rank_of(file))
        rows.push_back(row_of(set, file, said, *rank, hta));
  }
  return rows;
}

std::string exact_table(const std::vector<ExactRow>& rows) {
  std::string out =
      "| set | rank | span us | busy | idle | compute | comm | copies | overlap | largest "
      "difference us | |\n|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ExactRow& row : rows) {
    out += "| " + row.set + " | " + std::to_string(row.rank);
    for (std::size_t q = 0; q < window_quantities.size(); ++q)
      out += " | " + (row.ours ? cell((*row.ours)[q], 3) : "-");
    if (!row.ours && !row.reference)
      out += " | - | no device rows in either |\n";
    else
      out += " | " + cell(row.largest_difference(), 3) +
             (row.differs() ? " | differs: " + row.reason + " |\n" : " | equal |\n");
  }
  return out;
}

std::string hta_table(const std::vector<ExactRow>& rows) {
  std::string out =
      "| set | rank | idle %: HTA | exact | ours | compute %: HTA | exact | ours | overlap %: HTA "
      "| exact | ours | why HTA differs |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
  for (const ExactRow& row : rows) {
    const WindowShares none;
    const WindowShares& hta = row.hta ? *row.hta : none;
    const WindowShares& exact = row.reference_shares;
    const WindowShares& ours = row.our_shares;
    out += "| " + row.set + " | " + std::to_string(row.rank);
    for (const auto share : {&WindowShares::idle, &WindowShares::compute, &WindowShares::overlap})
      out += " | " + cell(hta.*share) + " | " + cell(exact.*share) + " | " + cell(ours.*share);
    const bool nothing = !hta.idle && !exact.idle && !ours.idle;
    out += " | ";
    out += nothing ? "no device rows" : near(hta, exact) ? "equal" : why_hta_differs(row);
    out += " |\n";
  }
  return out;
}

}  // namespace stepscope::shared
