// SPDX-License-Identifier: Apache-2.0
// bench/accuracy FILE.csv... [--json OUT] [--as-stated]: compares the model of steps with published
// training runs. With --as-stated, rows recompute as their column says, even if that is in doubt.
// For each source the error of
//   catalogue  the unchanged machine files
//   folds      curves fitted without the predicted fifth of the rows: all rows that share
//              a layer's shape on the same devices are in the same fifth
//   source     curves fitted without the predicted source
//   HFU        one share of the peak for each GPU model, the median of the other sources
//   Calculon   as published for the same runs (docs/dev/benchmarks.md)
// and of peak memory where it was published.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accuracy_score.h"
#include "stepscope/cost/step/step_interval.h"
#include "stepscope/stats/summary.h"
#include "training_model.h"

namespace {

using namespace stepscope;
using namespace stepscope::bench;

enum class Method : std::uint8_t { catalogue, folds, source, hfu };
constexpr std::array<std::string_view, 4> method_names = {"catalogue", "folds", "source", "HFU"};
constexpr std::size_t folds = 5;
constexpr int iterations = 40;

// Measured with stock Calculon on these collections: error and regret in percent.
struct PeerFigure {
  std::string_view word;  // in the part's name
  std::string_view also;
  double mape;
  double bias;
  std::optional<double> regret;
};
constexpr std::array<PeerFigure, 6> calculon = {{{"vTrain", "one node", 42.4, -42.4, 12.7},
                                                 {"vTrain", "several nodes", 17.6, -11.5, 1.3},
                                                 {"BLOOM", "", 32.4, -32.4, 7.0},
                                                 {"SC21", "", 12.8, -12.8, {}},
                                                 {"Korthikanti", "", 5.7, -5.5, {}},
                                                 {"MT-NLG", "", 32.2, -32.2, {}}}};

struct Bench {
  TrainingRows data;
  bool as_stated = false;
  std::array<std::vector<double>, method_names.size()> steps;  // one a row and method
  std::vector<double> memory;                                  // bytes per row, by the catalogue
  std::vector<std::array<double, step_term_count>> terms{};    // of the catalogue's prediction
  std::vector<std::array<double, memory_term_count>> memory_terms{};
};

std::vector<double>& steps(Bench& bench, Method m) {
  return bench.steps[static_cast<std::size_t>(m)];
}

// Fits to the rows outside `held` and predicts the others.
void hold_out(const TrainingModel& model, const TrainingRows& data,
              std::span<const FitParameter> parameters, const std::vector<double>& start,
              const std::vector<bool>& held, std::vector<double>& into) {
  std::vector<bool> used;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const TrainingRow& row = data.rows[i];
    used.push_back(!held[i] && !row.searches_micro_batch && row.tuned);
  }
  const std::vector<double> values = fit(model, parameters, used, start, iterations);
  const std::vector<Prediction> predicted = model.predict(parameters, values, held);
  for (std::size_t i = 0; i < held.size(); ++i) {
    if (held[i]) into[i] = predicted[i].step;
  }
}

// Shapes are distributed over the folds in turn, in the order of their names.
std::vector<std::size_t> folds_of(const TrainingRows& data) {
  std::map<std::string, std::size_t> shapes;
  for (const TrainingRow& row : data.rows) shapes[row.shape] = 0;
  std::size_t next = 0;
  for (auto& [shape, fold] : shapes) fold = next++ % folds;
  std::vector<std::size_t> all;
  for (const TrainingRow& row : data.rows) all.push_back(shapes[row.shape]);
  return all;
}

void cross_validate(Bench& bench, const TrainingModel& model) {
  const TrainingRows& data = bench.data;
  const std::vector<FitParameter> parameters = fit_parameters(data);
  std::vector<double> prior;
  for (const FitParameter& p : parameters) prior.push_back(p.prior);
  const std::vector<std::size_t> fold = folds_of(data);
  for (std::size_t f = 0; f < folds; ++f) {
    std::vector<bool> held;
    for (const std::size_t of : fold) held.push_back(of == f);
    hold_out(model, data, parameters, prior, held, steps(bench, Method::folds));
  }
  std::set<std::string> sources;
  for (const TrainingRow& row : data.rows) sources.insert(row.source);
  for (const std::string& source : sources) {
    std::vector<bool> held;
    for (const TrainingRow& row : data.rows) held.push_back(row.source == source);
    hold_out(model, data, parameters, prior, held, steps(bench, Method::source));
  }
}

std::string percent(std::optional<double> value) {
  return value ? fmt::format("{:.1f}", 100 * *value) : "-";
}

void print_part(Bench& bench, const Part& part) {
  fmt::print("\n{}\n", part.name);
  for (std::size_t m = 0; m < method_names.size(); ++m) {
    const Score s = score(bench.data, part.rows, bench.steps[m]);
    if (s.count == 0) continue;
    fmt::print("  {:10} {:5} {:7} {:7} {:7} {:7} {:6} {:7} {:7}\n", method_names[m], s.count,
               percent(s.mape), percent(s.median), percent(s.bias), percent(s.worst),
               s.rank ? fmt::format("{:.2f}", *s.rank) : "-", percent(s.regret),
               percent(s.worst_regret));
  }
  for (const PeerFigure& p : calculon) {
    if (part.name.find(p.word) == part.name.npos || part.name.find(p.also) == part.name.npos) {
      continue;
    }
    fmt::print("  {:10} {:5} {:7.1f} {:7} {:7.1f} {:7} {:6} {:7}\n", "Calculon", "", p.mape, "-",
               p.bias, "-", "-", p.regret ? fmt::format("{:.1f}", *p.regret) : "-");
    break;
  }
}

void print_memory(const Bench& bench, const std::vector<Part>& parts) {
  fmt::print("\npeak memory, %           n    MAPE    bias   worst\n");
  for (const Part& part : parts) {
    std::vector<double> errors;
    for (const std::size_t i : part.rows) {
      const auto& measured = bench.data.rows[i].peak_memory;
      if (measured) errors.push_back(bench.memory[i] / *measured - 1);
    }
    if (errors.empty()) continue;
    std::vector<double> absolute;
    for (const double e : errors) absolute.push_back(std::abs(e));
    const double worst =
        *std::ranges::max_element(errors, {}, [](double e) { return std::abs(e); });
    fmt::print("  {:20} {:4} {:7} {:7} {:7}\n", part.name.substr(0, 20), errors.size(),
               percent(mean(absolute)), percent(mean(errors)), percent(worst));
  }
}

// How often the measured step lies in the interval around a prediction without the run's source:
// with the shipped widths, and with widths that the other sources of this table give. Few sources
// give too narrow a width for another: `here` is the quantile times the least factor with which the
// widths of the others cover as much as they say.
void print_intervals(Bench& bench) {
  constexpr std::size_t kinds = run_kind_names.size();
  struct Miss {
    std::string source;
    double size = 0;
  };
  std::array<std::vector<Miss>, kinds> misses;
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const TrainingRow& row = bench.data.rows[i];
    const double step = steps(bench, Method::source)[i];
    if (!row.tuned || step <= 0) continue;
    misses[static_cast<std::size_t>(run_kind(row.model, row.plan))].push_back(
        {row.source, std::abs(std::log(row.step / step))});
  }
  // The quantile of misses outside `left_out`, every source weighing the same.
  const auto width = [](std::vector<Miss> all, const std::string& left_out) {
    std::erase_if(all, [&](const Miss& m) { return m.source == left_out; });
    std::map<std::string, double> rows;
    for (const Miss& m : all) ++rows[m.source];
    std::ranges::sort(all, {}, &Miss::size);
    double weight = 0;
    for (const Miss& m : all) {
      weight += 1 / rows[m.source];
      if (weight >= interval_coverage * static_cast<double>(rows.size())) return m.size;
    }
    return 0.0;
  };
  fmt::print(
      "\nintervals            n  sources  width  here   covers, %: rows  sources  left out  "
      "factor\n");
  for (std::size_t k = 0; k < kinds; ++k) {
    if (misses[k].empty()) continue;
    std::map<std::string, std::array<double, 2>> by_source;  // rows, within shipped
    std::map<std::string, double> of_others;
    for (const Miss& m : misses[k]) {
      auto& [rows, within] = by_source[m.source];
      ++rows;
      within += m.size <= interval_widths[k] ? 1 : 0;
      if (!of_others.contains(m.source)) of_others[m.source] = width(misses[k], m.source);
    }
    const auto covered = [&](double factor) {  // with each source left out; the mean over sources
      double share = 0;
      for (const Miss& m : misses[k])
        if (m.size <= factor * of_others[m.source])
          share += 1 / by_source[m.source][0] / static_cast<double>(by_source.size());
      return share;
    };
    double factor = 1;
    while (covered(factor) < interval_coverage && factor < 3) factor += 0.01;
    double rows = 0;
    double within = 0;
    double mean_of_sources = 0;
    const auto sources = static_cast<double>(by_source.size());
    for (const auto& [source, counts] : by_source) {
      rows += counts[0];
      within += counts[1];
      mean_of_sources += counts[1] / counts[0] / sources;
    }
    fmt::print("  {:19} {:4}  {:6}  {:5.3f}  {:5.3f}  {:14.0f}  {:7.0f}  {:8.0f}  {:6.2f}\n",
               run_kind_names[k], rows, sources, interval_widths[k], factor * width(misses[k], ""),
               100 * within / rows, 100 * mean_of_sources, 100 * covered(factor), factor);
  }
}

// Tuned runs that the shipped catalogue misses by more than 15 %, with the largest terms.
void print_misses(Bench& bench) {
  constexpr double miss = 0.15;
  constexpr std::size_t most_terms = 4;
  fmt::print("\nmisses above 15 % (catalogue), and the largest terms of the prediction\n");
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const TrainingRow& row = bench.data.rows[i];
    const double step = steps(bench, Method::catalogue)[i];
    const double error = step / row.step - 1;
    if (!row.tuned || step <= 0 || std::abs(error) <= miss) continue;
    std::vector<std::size_t> order(step_term_count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater{}, [&](std::size_t t) { return bench.terms[i][t]; });
    fmt::print("  {:+6.1f}  {:8} {:36} {:>5} x {:24}", 100 * error, row.id,
               row.model.name.substr(0, 36), row.plan.devices,
               bench.data.systems[row.system].machine.name.substr(0, 24));
    for (std::size_t t = 0; t < most_terms; ++t) {
      fmt::print(" {} {:.0f} %", step_term_names[order[t]], 100 * bench.terms[i][order[t]] / step);
    }
    fmt::print("\n");
  }
}

bool write_json(Bench& bench, const std::string& path) {
  nlohmann::ordered_json all;
  for (std::size_t i = 0; i < bench.data.rows.size(); ++i) {
    const TrainingRow& row = bench.data.rows[i];
    nlohmann::ordered_json one{{"line", row.line},
                               {"id", row.id},
                               {"source", row.source},
                               {"machine", bench.data.systems[row.system].machine.name},
                               {"tp", row.plan.tp},
                               {"pp", row.plan.pp},
                               {"dp", row.plan.dp},
                               {"micro_batch", row.plan.batch.micro},
                               {"micro_batch_searched", row.searches_micro_batch},
                               {"tuned", row.tuned},
                               {"measured_s", row.step}};
    for (std::size_t m = 0; m < method_names.size(); ++m) {
      const double s = bench.steps[m][i];
      if (s > 0) one[std::string(method_names[m]) + "_s"] = s;
    }
    for (std::size_t t = 0; t < step_term_count; ++t) {
      one["terms_s"][std::string(step_term_names[t])] = bench.terms[i][t];
    }
    one["memory_bytes"] = bench.memory[i];
    for (std::size_t t = 0; t < memory_term_count; ++t) {
      one["memory_terms_bytes"][std::string(memory_term_names[t])] = bench.memory_terms[i][t];
    }
    if (row.peak_memory) one["measured_memory_bytes"] = *row.peak_memory;
    all["rows"].push_back(std::move(one));
  }
  for (const auto& [reason, count] : bench.data.left_out) all["left_out"][reason] = count;
  std::ofstream out(path);
  out << all.dump(1) << '\n';
  return static_cast<bool>(out.flush());
}

void run(Bench& bench) {
  if (!bench.as_stated) decide_recompute(bench.data);
  search_micro_batches(bench.data);
  const TrainingModel model(bench.data);
  const std::size_t n = bench.data.rows.size();
  for (auto& list : bench.steps) list.assign(n, 0.0);
  bench.memory.assign(n, 0.0);
  const std::vector<Prediction> shipped = model.predict();
  for (std::size_t i = 0; i < n; ++i) {
    steps(bench, Method::catalogue)[i] = shipped[i].step;
    bench.memory[i] = shipped[i].memory;
    bench.terms.push_back(shipped[i].terms);
    bench.memory_terms.push_back(shipped[i].memory_terms);
  }
  cross_validate(bench, model);
  steps(bench, Method::hfu) = constant_hfu(bench.data);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  const bool as_stated = std::erase(args, "--as-stated") > 0;
  std::optional<std::string> json;
  if (const auto at = std::ranges::find(args, "--json"); at != args.end() && at + 1 != args.end()) {
    json = *(at + 1);
    args.erase(at, at + 2);
  }
  if (args.empty() || args[0].starts_with("--")) {
    fmt::print(stderr, "usage: accuracy FILE.csv... [--json OUT] [--as-stated]\n");
    return 2;
  }
  auto data = read_training_rows(args);
  if (!data) {
    fmt::print(stderr, "accuracy: {}\n", data.error().message());
    return 1;
  }
  Bench bench{.data = *std::move(data), .as_stated = as_stated, .steps = {}, .memory = {}};
  run(bench);
  const std::vector<Part> parts = parts_of(bench.data);
  fmt::print("step time, %     n    MAPE  median    bias   worst   rank  regret   worst\n");
  for (const Part& part : parts) print_part(bench, part);
  print_memory(bench, parts);
  print_intervals(bench);
  print_misses(bench);
  std::size_t rejected = 0;
  for (const auto& [reason, count] : bench.data.left_out) rejected += count;
  fmt::print("\n{} rows predicted, {} not:\n", bench.data.rows.size(), rejected);
  for (const auto& [reason, count] : bench.data.left_out) fmt::print("  {:4}  {}\n", count, reason);
  if (json && !write_json(bench, *json)) {
    fmt::print(stderr, "accuracy: cannot write {}\n", *json);
    return 1;
  }
  return 0;
}
