// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sweep_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stepscope/report/compare_report.h"
#include "stepscope/report/text_table.h"
#include "stepscope/words/format.h"

namespace stepscope {
namespace {

std::vector<std::string> ties_of(const Sweep& sweep) {
  std::vector<std::string> ties;
  for (const SweptValue& v : sweep.values)
    if (v.tie) ties.push_back(v.value);
  return ties;
}

std::string beside_best(const SweptValue& v) {
  if (!v.beside_best) return "best";
  return fmt::format("{:+.1f} %", (v.beside_best->ratio - 1) * 100);
}

std::string interval_of(const SweptValue& v) {
  if (!v.beside_best || !v.beside_best->interval) return "-";
  const auto [low, high] = *v.beside_best->interval;
  return fmt::format("{:+.1f} to {:+.1f} %", (low - 1) * 100, (high - 1) * 100);
}

}  // namespace

std::string sweep_sentence(const SweepResult& r) {
  const SweptValue& best = r.sweep.values[r.sweep.best];
  std::string out = fmt::format("{} = {} is fastest: a step takes {}", r.name, best.value,
                                format_time(best.arm.median_ns));
  if (r.sweep.values.size() == 1) return out + "; there is nothing beside it.";
  const std::vector<std::string> ties = ties_of(r.sweep);
  if (!r.sweep.enough_data)
    out += fmt::format("; not enough data: some values have fewer than {:g} effective steps",
                       r.options.ratio.least_effective);
  if (ties.empty()) return out + "; every other value is slower.";
  return out +
         fmt::format("; {} {} with it.", fmt::join(ties, ", "), ties.size() == 1 ? "ties" : "tie");
}

std::string sweep_text(const SweepResult& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = wrapped(printable(sweep_sentence(r)), width) + '\n';
  std::vector<std::vector<std::string>> rows;
  for (const SweptValue& v : r.sweep.values)
    rows.push_back({printable(v.value), std::to_string(v.arm.steps), format_time(v.arm.median_ns),
                    beside_best(v), interval_of(v), v.q ? fmt::format("{:.3f}", *v.q) : "-",
                    v.tie ? "tie" : ""});
  out += text_table({{printable(r.name), false},
                     {"steps"},
                     {"median"},
                     {"beside best"},
                     {"interval"},
                     {"q"},
                     {"", false}},
                    std::move(rows), width);
  for (const std::string& w : r.warnings)
    out += wrapped("note: " + shorten(printable(w), note_width), width);
  return out;
}

Json sweep_tree(const SweepResult& r) {
  Json values = Json::array();
  for (std::size_t i = 0; i < r.sweep.values.size(); ++i) {
    const SweptValue& v = r.sweep.values[i];
    Json row = {{"value", v.value}};
    Json arm = arm_tree(fmt::format("{}={}", r.name, v.value), v.arm);
    row.update(arm);
    const auto& t = v.beside_best;
    row["ratio"] = t ? t->ratio : 1;
    row["interval"] =
        t && t->interval ? Json::array({t->interval->first, t->interval->second}) : Json(nullptr);
    row["p"] = t ? real(t->p) : Json(nullptr);
    row["q"] = real(v.q);
    row["tie"] = v.tie;
    row["best"] = i == r.sweep.best;
    values.push_back(std::move(row));
  }
  return {{"schema", "stepscope.sweep/1"},
          {"version", r.version},
          {"answer", {{"sentence", sweep_sentence(r)}}},
          {"name", r.name},
          {"best", r.sweep.values[r.sweep.best].value},
          {"ties", ties_of(r.sweep)},
          {"enough_data", r.sweep.enough_data},
          {"values", std::move(values)},
          {"order", r.order},
          {"warnings", r.warnings}};
}

std::vector<CsvFile> sweep_csv(const Json& tree) {
  Json rows = tree["values"];
  for (Json& row : rows) {
    const Json interval = row["interval"];
    row["low"] = interval.is_null() ? Json(nullptr) : interval[0];
    row["high"] = interval.is_null() ? Json(nullptr) : interval[1];
    row.erase("interval");
  }
  return {csv_table("values.csv", rows)};
}

}  // namespace stepscope
