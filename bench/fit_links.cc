// SPDX-License-Identifier: Apache-2.0
// bench/fit_links FILE.csv [--write DIR]: fits the timing of each machine's links to the measured
// collectives of FILE, prints it, and with --write puts it into the machine files of DIR.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "collective_rows.h"

namespace {

using namespace stepscope;
using namespace stepscope::bench;
using Json = nlohmann::ordered_json;

struct Twin {
  std::string_view machine;
  std::string_view of;  // has the same links
};
constexpr std::array<Twin, 4> twins = {{{"A100-40GB SXM", "A100-80GB SXM"},
                                        {"V100-16GB SXM2", "V100-32GB SXM2"},
                                        {"H100-80GB SXM", "H200 SXM"},
                                        {"H100-96GB SXM HBM2e (Meta Grand Teton)", "H200 SXM"}}};

// Three digits: no fit is more precise.
double rounded(double value) {
  const double scale = std::pow(10, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

std::optional<Json> timing_json(const LinkTiming& timing, const std::string& source) {
  Json json;
  for (std::size_t p = 0; p < link_parameter_count; ++p) {
    if (timing.values[p]) json[std::string(link_parameters[p].name)] = rounded(*timing.values[p]);
  }
  if (json.empty()) return std::nullopt;
  json["source"] = source;
  return json;
}

std::string sources_of(const CollectiveRows& all, std::size_t machine) {
  std::set<std::string> names;
  for (const CollectiveRow& row : all.rows) {
    if (row.machine == machine) names.insert(row.source);
  }
  std::string text = "bench/fit_links over ";
  for (const std::string& name : names) text += (name == *names.begin() ? "" : "; ") + name;
  return text;
}

bool is_of(const std::string& file_name, const std::string& machine) {
  if (file_name == machine) return true;
  for (const Twin& twin : twins) {
    if (twin.machine == file_name && twin.of == machine) return true;
  }
  return false;
}

bool write(const std::string& directory, const std::string& machine, const std::optional<Json>& up,
           const std::optional<Json>& out) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    Json json = Json::parse(in, nullptr, false);
    if (!json.is_object() || !is_of(json.value("name", ""), machine)) continue;
    if (up) json["scale_up"]["timing"] = *up;
    if (out) json["scale_out"]["timing"] = *out;
    std::ofstream to(entry.path());
    to << json.dump(2) << '\n';
    if (!to.flush()) return false;
  }
  return true;
}

int fit_all(const CollectiveRows& all, const std::string& directory) {
  for (std::size_t m = 0; m < all.machines.size(); ++m) {
    std::vector<CollectiveTiming> timings;
    for (const CollectiveRow& row : all.rows) {
      if (row.machine == m) timings.push_back(row.timing);
    }
    const LinkFit fit = fit_links(unmeasured(*all.machines[m]), timings, {.starts = 12});
    const auto up = timing_json(fit.up, sources_of(all, m));
    const auto out = timing_json(fit.out, sources_of(all, m));
    fmt::print("{}: {} timings, mean error {:.1f} %\n", all.machines[m]->name, timings.size(),
               100 * fit.mean_error);
    if (up) fmt::print("  scale_up.timing {}\n", up->dump());
    if (out) fmt::print("  scale_out.timing {}\n", out->dump());
    if (directory.empty() || write(directory, all.machines[m]->name, up, out)) continue;
    fmt::print(stderr, "fit_links: cannot write into {}\n", directory);
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() != 1 && !(args.size() == 3 && args[1] == "--write")) {
    fmt::print(stderr, "usage: fit_links FILE.csv [--write data/machines]\n");
    return 2;
  }
  const auto rows = read_collectives(args[0]);
  if (!rows) {
    fmt::print(stderr, "fit_links: {}\n", rows.error().message());
    return 1;
  }
  for (const auto& [reason, count] : rows->left_out)
    fmt::print("left out: {} ({})\n", reason, count);
  return fit_all(*rows, args.size() == 3 ? args[2] : "");
}
