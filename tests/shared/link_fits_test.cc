// SPDX-License-Identifier: Apache-2.0
// Transfer time by size, fitted to published NCCL timings and to transfers of real runs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "stepscope/stats/alpha_beta.h"
#include "stepscope/stats/summary.h"
#include "tests/program/program.h"
#include "tests/shared/shared_data.h"

namespace stepscope::shared {
namespace {

class LinkFits : public SharedData {};

// A line of a table with possibly quoted texts.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

// Timings in us by system, operation, GPUs and nodes.
std::map<std::string, std::vector<SizedTime>> curves(const std::filesystem::path& file) {
  std::map<std::string, std::vector<SizedTime>> found;
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    const auto c = cells_of(line);
    if (c.size() < 9 || c[7].empty()) continue;
    found[c[1] + " | " + c[2] + " | " + c[3] + " GPUs | " + c[4] + " nodes"].push_back(
        {std::stod(c[6]), std::stod(c[7])});
  }
  return found;
}

TEST_F(LinkFits, PublishedTimingsAreFittedWithinAFewPercent) {
  std::printf(
      "| system | operation | GPUs | nodes | sizes | pieces | mean %% | max %% | start us, GB/s |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  std::vector<double> means;
  std::size_t rows = 0;
  for (const auto& [name, calls] : curves(root / "data" / "collectives.csv")) {
    const AlphaBetaAnswer answer = fit_alpha_beta(calls);
    rows += answer.calls;
    if (!answer.fit) {
      std::printf("| %s | %zu | refused |\n", name.c_str(), answer.sizes);
      EXPECT_LT(answer.sizes, least_sizes_of_piece) << name;
      continue;
    }
    std::string pieces;
    for (const AlphaBetaPiece& p : answer.fit->pieces) {
      char text[64];
      std::snprintf(text, sizeof text, "%.0f, %.1f; ", p.start, p.slope > 0 ? 1e-3 / p.slope : 0.0);
      pieces += text;
    }
    std::printf("| %s | %zu | %zu | %.2f | %.1f | %s|\n", name.c_str(), answer.fit->sizes,
                answer.fit->pieces.size(), 100 * answer.fit->mean_error,
                100 * answer.fit->max_error, pieces.c_str());
    means.push_back(answer.fit->mean_error);
    EXPECT_LT(answer.fit->mean_error, 0.10) << name;
  }
  EXPECT_GT(rows, 6700U);
  ASSERT_GT(means.size(), 20U);
  const double middle = *median(std::span<const double>(means));
  std::printf("%zu curves of %zu timings: median of the mean errors %.2f %%, worst %.2f %%\n",
              means.size(), rows, 100 * middle, 100 * std::ranges::max(means));
  EXPECT_LT(middle, 0.03);
}

// Every other size is held out and predicted.
TEST_F(LinkFits, HeldOutSizesArePredicted) {
  std::vector<double> errors;
  for (const auto& [name, calls] : curves(root / "data" / "collectives.csv")) {
    const auto points = typical_times(calls);
    std::vector<SizedTime> kept;
    std::vector<SizedTime> left;
    for (std::size_t i = 0; i < points.size(); ++i) (i % 2 == 0 ? kept : left).push_back(points[i]);
    const auto answer = fit_alpha_beta(kept);
    if (!answer.fit || left.empty()) continue;
    double sum = 0;
    for (const SizedTime& p : left)
      sum += std::abs(*predicted_time(*answer.fit, p.size) / p.time - 1);
    errors.push_back(sum / static_cast<double>(left.size()));
  }
  ASSERT_FALSE(errors.empty());
  const double middle = *median(std::span<const double>(errors));
  std::printf("held-out sizes: median error of %zu curves %.2f %%, worst %.2f %%\n", errors.size(),
              100 * middle, 100 * std::ranges::max(errors));
  EXPECT_LT(middle, 0.12);
}

TEST_F(LinkFits, RealRunsSayWhatTheirTransfersTell) {
  std::printf(
      "| run | collective | n | placement | calls | sizes | mean %% | max %% | or why not |\n"
      "|---|---|---|---|---|---|---|---|---|\n");
  std::size_t fits = 0;
  for (const TracedRun& run : runs(root)) {
    if (run.files.size() < 2) continue;
    const auto [outcome, json] = program::analyze(run.files);
    ASSERT_EQ(outcome.exit_code, 0) << run.name;
    for (const auto& f : json.at("link_fits")) {
      const bool fitted = f.at("refused").is_null();
      EXPECT_EQ(fitted, !f.at("pieces").empty());
      EXPECT_EQ(fitted, f.at("mean_error").is_number());
      if (fitted) ++fits;
      const auto share = [&](const char* key) {
        return fitted ? 100 * f.at(key).get<double>() : 0.0;
      };
      std::printf("| %s | %s | %d | %s | %d | %d | %.1f | %.1f | %s |\n", run.name.c_str(),
                  f.at("name").get<std::string>().c_str(), f.at("group_size").get<int>(),
                  f.at("placement").get<std::string>().c_str(), f.at("calls").get<int>(),
                  f.at("sizes").get<int>(), share("mean_error"), share("max_error"),
                  fitted ? "" : f.at("refused").get<std::string>().c_str());
    }
  }
  EXPECT_GT(fits, 0U);
}

}  // namespace
}  // namespace stepscope::shared
