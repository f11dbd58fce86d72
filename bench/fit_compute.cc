// SPDX-License-Identifier: Apache-2.0
// bench/fit_compute FILE.csv [--write DIR] [--only WORD]: fits the machines' compute curves to the
// published training runs of FILE, all sources together, prints them, and with --write puts them
// into the machine files of DIR. With --only, parameters whose name holds WORD are fitted, and the
// others stay as in the catalogue.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "training_model.h"

namespace {

using namespace stepscope;
using namespace stepscope::bench;
using Json = nlohmann::ordered_json;

// Three digits: no fit is more precise.
double rounded(double value) {
  const double scale = std::pow(10, 2 - std::floor(std::log10(value)));
  return std::round(value * scale) / scale;
}

std::string sources_of(const TrainingRows& data, std::string_view curve) {
  std::set<std::string> names;
  for (const TrainingRow& row : data.rows) {
    if (curve_of(data.systems[row.system].catalogue->name) == curve) names.insert(row.source);
  }
  std::string text = "bench/fit_compute over ";
  for (const std::string& name : names) text += (name == *names.begin() ? "" : "; ") + name;
  return text;
}

// The fit's result for this machine; null if no row ran on its chip.
Json curves(const TrainingRows& data, std::span<const FitParameter> parameters,
            std::span<const double> values, const std::string& machine) {
  const std::string_view curve = curve_of(machine);
  Json json;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const FitParameter& p = parameters[i];
    if (p.parameter || !concerns(p, machine)) continue;
    Json& shares = json[p.vendor      ? "vendor_attention_efficiency"
                        : p.attention ? "attention_efficiency"
                                      : "matmul_efficiency"];
    shares[std::string(name(p.format))] = rounded(values[i]);
    if (p.format == Dtype::bf16) shares["fp16"] = rounded(values[i]);
  }
  if (json.is_null()) return json;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const FitParameter& p = parameters[i];
    if (!p.parameter || !concerns(p, machine)) continue;
    json[compute_parameters[static_cast<std::size_t>(*p.parameter)].name] = rounded(values[i]);
  }
  json["source"] = sources_of(data, curve);
  if (curve != machine) json["source"] = json["source"].get<std::string>() + " (the same chip's)";
  return json;
}

bool write(const std::string& directory, const TrainingRows& data,
           std::span<const FitParameter> parameters, std::span<const double> values) {
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    Json json = Json::parse(in, nullptr, false);
    if (!json.is_object()) continue;
    Json fitted = curves(data, parameters, values, json.value("name", ""));
    if (fitted.is_null()) continue;
    for (const auto& [key, value] : fitted.items()) json["compute"][key] = value;
    std::ofstream to(entry.path());
    to << json.dump(2) << '\n';
    if (!to.flush()) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  std::string only;
  if (const auto at = std::ranges::find(args, "--only"); at != args.end() && at + 1 != args.end()) {
    only = *(at + 1);
    args.erase(at, at + 2);
  }
  if (args.size() != 1 && !(args.size() == 3 && args[1] == "--write")) {
    fmt::print(stderr, "usage: fit_compute FILE.csv [--write data/machines] [--only WORD]\n");
    return 2;
  }
  auto data = read_training_rows({args[0]});
  if (!data) {
    fmt::print(stderr, "fit_compute: {}\n", data.error().message());
    return 1;
  }
  decide_recompute(*data);
  std::vector<FitParameter> parameters = fit_parameters(*data);
  std::erase_if(parameters,
                [&](const FitParameter& p) { return p.name.find(only) == p.name.npos; });
  std::vector<double> prior;
  for (const FitParameter& p : parameters) prior.push_back(p.prior);
  const TrainingModel model(*data);
  // Skip rows whose micro-batch is a guess.
  std::vector<bool> used;
  for (const TrainingRow& row : data->rows) used.push_back(!row.searches_micro_batch && row.tuned);
  const std::vector<double> values = fit(model, parameters, used, prior, 60);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    fmt::print("{:44} {:9.3g}  (prior {:.3g})\n", parameters[i].name, values[i],
               parameters[i].prior);
  }
  if (args.size() == 3 && !write(args[2], *data, parameters, values)) {
    fmt::print(stderr, "fit_compute: cannot write into {}\n", args[2]);
    return 1;
  }
  return 0;
}
