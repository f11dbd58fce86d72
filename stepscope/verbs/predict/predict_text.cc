// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/predict/predict_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"
#include "stepscope/say/wording.h"
#include "stepscope/verbs/predict/peak_budget.h"
#include "stepscope/verbs/predict/predict_sentence.h"
#include "stepscope/verbs/sections/account.h"
#include "stepscope/verbs/sections/plan_words.h"

namespace stepscope {
namespace {

std::string headline(const PredictResult& r) {
  const std::string trained =
      trains_all(r.plan.trained)
          ? std::string()
          : fmt::format(", {} trained", format_count(static_cast<double>(r.trained_parameters)));
  return fmt::format("{} · {} parameters{} · {} × {}\n{}\n", printable(r.model.name),
                     format_count(static_cast<double>(r.parameters.total)), trained, r.plan.devices,
                     printable(r.machine.name), say(plan_in_words(r.plan)));
}

std::string waterfall(const PredictResult& r) {
  const double step = r.cost.step().count();
  std::vector<AccountLine> lines;
  for (std::size_t t = 0; t < step_term_count; ++t)
    lines.push_back({std::string(words_of(static_cast<StepTerm>(t), r.model)),
                     r.cost.seconds[t] * ns_per_s, r.cost.seconds[t] / step * 100});
  return "Where the step goes:\n" + account_text(std::move(lines));
}

std::string peak_account(const PredictResult& r) {
  const double step = r.cost.step().count();
  std::vector<AccountLine> lines;
  for (const PeakRow& row : peak_budget(r))
    lines.push_back({row.label, row.seconds * ns_per_s, row.seconds / step * 100});
  return "Where 100 % of the peak goes:\n" + account_text(std::move(lines));
}

std::string memory_bars(const PredictResult& r, std::size_t width) {
  const double total = r.cost.memory.total();
  const double whole = r.machine.memory ? static_cast<double>(r.machine.memory->value) : total;
  const auto& bytes_of = r.cost.memory.bytes;
  const auto most = static_cast<std::size_t>(std::ranges::max_element(bytes_of) - bytes_of.begin());
  std::string out = fmt::format("Memory of the fullest device ({} of {}): {}", r.cost.fullest,
                                r.plan.pp, format_bytes(total));
  if (r.machine.memory)
    out +=
        total <= whole
            ? fmt::format(" of {}, {} to spare", format_bytes(whole), format_bytes(whole - total))
            : fmt::format(" of {}: {} TOO MUCH", format_bytes(whole), format_bytes(total - whole));
  if (total > 0)
    out += ", " + say(msg::largest_of_memory(words_of(static_cast<MemoryTerm>(most)),
                                             Percent{bytes_of[most] / total}));
  out = wrapped(out, width);
  out += fmt::format("  {:<32} {:>8}  {:>7}", "", "", "of all");
  if (r.machine.memory) out += fmt::format("  {:>7}", "of " + format_bytes(whole));
  out += '\n';
  for (std::size_t t = 0; t < memory_term_count; ++t) {
    const double bytes = r.cost.memory.bytes[t];
    if (bytes <= 0) continue;
    out += fmt::format("  {:<32} {:>8}  {:>7}", words_of(static_cast<MemoryTerm>(t)),
                       format_bytes(bytes), format_percent(bytes / total));
    if (r.machine.memory) out += fmt::format("  {:>7}", format_percent(bytes / whole));
    out += fmt::format("  {}\n", bar(bytes / whole, 20));
  }
  const Machine& m = r.machine;
  const auto away = [&out](std::string_view where, double bytes, const std::optional<Bytes>& room) {
    if (bytes <= 0) return;
    out += fmt::format("  {:<32} {:>8}", where, format_bytes(bytes));
    if (room) {
      const auto all = static_cast<double>(room->value);
      out += fmt::format(" of {}", format_bytes(all));
      if (bytes > all) out += fmt::format(": {} TOO MUCH", format_bytes(bytes - all));
    }
    out += '\n';
  };
  away("in host memory", r.cost.memory.host_bytes, m.host ? m.host->memory : std::nullopt);
  away("on NVMe", r.cost.memory.nvme_bytes, m.nvme ? m.nvme->capacity : std::nullopt);
  return out;
}

std::string rates(const PredictResult& r) {
  std::string out =
      fmt::format("{} tokens/s · {} tokens/s a device", format_count(r.cost.tokens_per_second),
                  format_count(r.cost.tokens_per_second / static_cast<double>(r.plan.devices)));
  if (r.price_per_gpu_hour) {
    const double an_hour = *r.price_per_gpu_hour * static_cast<double>(r.plan.devices);
    out += fmt::format(" · {:.2f} a step · {:.2f} for 1 G tokens",
                       an_hour / 3600 * r.cost.step().count(),
                       an_hour / 3600 / r.cost.tokens_per_second * 1e9);
  }
  out += "\nMFU by convention:";
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    out += fmt::format("{} {} {}", c == 0 ? "" : " ·",
                       convention_name(r.model, static_cast<FlopsConvention>(c)),
                       format_percent(r.cost.mfu[c]));
  return out + fmt::format(" · HFU {}\n", format_percent(r.hfu));
}

std::string bytes_or_none(double bytes) { return bytes > 0 ? format_bytes(bytes) : "-"; }

std::string time_or_none(double seconds) {
  return seconds > 0 ? format_time(seconds * ns_per_s) : "-";
}

std::string count_or_none(double n) { return n > 0 ? format_count(n) : "-"; }

// Flops with a unit that fits.
std::string flops(Flops f) {
  return f.value >= 1e12 ? format_digits(f.value / 1e12) + " T" : count_or_none(f.value);
}

constexpr std::size_t least_layers_width = 320;

std::vector<std::string> operation_cells(const OperationRow& o) {
  const Pass& f = o.operation.forward;
  const Pass& b = o.operation.backward;
  return {std::string(o.part),
          std::string(o.operation.name),
          name_of(operation_class_names, o.operation.kind),
          std::to_string(o.count),
          flops(f.matrix),
          flops(b.matrix),
          flops(f.vector),
          flops(b.vector),
          bytes_or_none(f.bytes()),
          bytes_or_none(b.bytes()),
          bytes_or_none(o.operation.kept_bytes),
          count_or_none(o.operation.parameters),
          bytes_or_none(communicated_bytes(f)),
          bytes_or_none(communicated_bytes(b)),
          collectives_in_words(o.ideal.forward.sent_by),
          collectives_in_words(o.ideal.backward.sent_by),
          format_digits(o.intensity()),
          time_or_none(o.forward),
          time_or_none(o.backward),
          time_or_none(o.communication_forward),
          time_or_none(o.communication_backward)};
}

std::vector<std::string> sum_cells(const OperationSum& s) {
  return {std::string(s.part),
          "sum",
          "",
          std::to_string(s.count),
          flops(s.matrix_forward),
          flops(s.matrix_backward),
          flops(s.vector_forward),
          flops(s.vector_backward),
          bytes_or_none(s.bytes_forward),
          bytes_or_none(s.bytes_backward),
          bytes_or_none(s.kept_bytes),
          count_or_none(s.parameters),
          bytes_or_none(s.sent_forward),
          bytes_or_none(s.sent_backward),
          "",
          "",
          "",
          time_or_none(s.forward),
          time_or_none(s.backward),
          time_or_none(s.communication_forward),
          time_or_none(s.communication_backward)};
}

// With --vary the tables are of one of the plans: ", of tp=1, the first of 3 plans".
std::string of_first_plan(const PredictResult& r) {
  if (r.comparison.empty()) return {};
  return fmt::format(", of {}, the first of {} plans", r.comparison.front().label,
                     r.comparison.size());
}

std::string layers_table(const PredictResult& r, std::size_t width) {
  std::vector<Column> columns = {{"part", false},
                                 {"operation", false},
                                 {"class", false},
                                 {"count"},
                                 {"matrix fwd"},
                                 {"bwd"},
                                 {"vector fwd"},
                                 {"bwd"},
                                 {"memory fwd"},
                                 {"bwd"},
                                 {"kept"},
                                 {"weights"},
                                 {"sent fwd"},
                                 {"bwd"},
                                 {"sent by fwd", false},
                                 {"bwd", false},
                                 {"flop/B"},
                                 {"time fwd"},
                                 {"bwd"},
                                 {"comm fwd"},
                                 {"bwd"}};
  std::vector<std::vector<std::string>> rows;
  for (const OperationRow& o : r.operations) rows.push_back(operation_cells(o));
  for (const OperationSum& s : operation_sums(r.operations)) rows.push_back(sum_cells(s));
  return fmt::format(
             "Operations of one micro-batch on one device{} (FLOPs, bytes; times alone). Sums are "
             "over all layers of the part:\n",
             of_first_plan(r)) +
         text_table(std::move(columns), std::move(rows), std::max(width, least_layers_width));
}

std::string digits(double value) { return fmt::format("{:.6f}", value); }
std::string ms(Seconds t) { return digits(t.count() * 1e3); }

// One row of a table by a text's conventions. Columns in the order of table_columns.
std::vector<std::string> table_cells(const LayerRow& row, std::string_view name) {
  const PassRow& f = row.forward;
  const PassRow& b = row.backward;
  const std::int64_t group = std::max(f.group, b.group);
  const auto sent = [](const PassRow& p) {
    return p.group > 0 ? digits(p.sent_bytes / 1e9) : std::string();
  };
  const auto share = [](const PassRow& p) {
    return digits(share_or_zero(p.communication.count(), p.total().count()));
  };
  return {std::string(name),
          digits(f.flops.value / 1e12),
          digits(b.flops.value / 1e12),
          digits(row.input_bytes / 1e9),
          digits(row.other_bytes / 1e9),
          digits(row.output_bytes / 1e9),
          digits(row.kept_bytes / 1e9),
          digits(row.weight_bytes / 1e9),
          digits(row.gradient_bytes / 1e9),
          digits(row.weight_gradient_bytes / 1e9),
          digits(f.bytes / 1e9),
          digits(b.bytes / 1e9),
          sent(f),
          collectives_in_words(f.sent_by),
          tiers_in_words(f),
          sent(b),
          collectives_in_words(b.sent_by),
          tiers_in_words(b),
          group > 0 ? std::to_string(group) : "",
          ms(f.compute),
          ms(b.compute),
          ms(f.memory),
          ms(b.memory),
          digits(f.intensity()),
          ms(f.roofline()),
          ms(b.roofline()),
          ms(f.communication),
          ms(b.communication),
          ms(f.total()),
          ms(b.total()),
          share(f),
          share(b)};
}

std::vector<std::string> table_sum_cells(const LayerSum& s, std::int64_t layers) {
  const PassSum& f = s.forward;
  const PassSum& b = s.backward;
  const auto share = [](const PassSum& p) {
    return digits(share_or_zero(p.communication.count(), p.total().count()));
  };
  return {fmt::format("sum of {} layers", layers),
          digits(f.flops.value / 1e12),
          digits(b.flops.value / 1e12),
          "",
          "",
          "",
          digits(s.kept_bytes / 1e9),
          digits(s.weight_bytes / 1e9),
          "",
          digits(s.weight_gradient_bytes / 1e9),
          digits(f.bytes / 1e9),
          digits(b.bytes / 1e9),
          digits(f.sent_bytes / 1e9),
          "",
          "",
          digits(b.sent_bytes / 1e9),
          "",
          "",
          "",
          "",
          "",
          "",
          "",
          "",
          ms(f.roofline),
          ms(b.roofline),
          ms(f.communication),
          ms(b.communication),
          ms(f.total()),
          ms(b.total()),
          share(f),
          share(b)};
}

std::vector<Column> table_columns() {
  return {{"layer", false},
          {"TFLOP fwd"},
          {"TFLOP bwd"},
          {"GB in"},
          {"GB other"},
          {"GB out"},
          {"GB kept"},
          {"GB weights"},
          {"GB gradients"},
          {"GB weight gradients"},
          {"GB moved fwd"},
          {"GB moved bwd"},
          {"GB sent fwd"},
          {"sent fwd by", false},
          {"tier fwd", false},
          {"GB sent bwd"},
          {"sent bwd by", false},
          {"tier bwd", false},
          {"group"},
          {"ms compute fwd"},
          {"ms compute bwd"},
          {"ms memory fwd"},
          {"ms memory bwd"},
          {"intensity"},
          {"ms roofline fwd"},
          {"ms roofline bwd"},
          {"ms comm fwd"},
          {"ms comm bwd"},
          {"ms total fwd"},
          {"ms total bwd"},
          {"comm share fwd"},
          {"comm share bwd"}};
}

std::string convention_tables(const PredictResult& r, std::size_t width) {
  std::string out;
  for (const LayerTable& t : r.layer_tables) {
    std::vector<std::vector<std::string>> rows;
    for (const LayerRow& row : t.rows)
      rows.push_back(table_cells(row, row_name(*r.conventions, row.name)));
    rows.push_back(table_sum_cells(t.sum, t.layers));
    if (!out.empty()) out += '\n';
    out +=
        wrapped(fmt::format("{} by the conventions \"{}\": one of {} layers of {} ({} heads), one "
                            "micro-batch, one device{} (TFLOP, GB, ms at the rated peaks):",
                            t.name, r.conventions->name, t.layers, r.model.hidden, r.model.heads,
                            of_first_plan(r)),
                width);
    out += folded_table(table_columns(), std::move(rows), width);
  }
  return out;
}

// What ZeRO divides: all that a parameter needs without activations.
double state_bytes(const Memory& memory) {
  double sum = 0;
  for (const MemoryTerm t :
       {MemoryTerm::parameters, MemoryTerm::gradients, MemoryTerm::master, MemoryTerm::optimizer})
    sum += memory.bytes[static_cast<std::size_t>(t)];
  return sum;
}

// The bubble of the pipeline compared with that of equal stages.
std::string bubble_text(const PredictResult& r, std::size_t width) {
  if (!r.equal_stages) return {};
  const EqualStages& e = *r.equal_stages;
  constexpr double uneven = 1.01;
  return wrapped(say_stopped(joined(
                     msg::sentences,
                     {msg::bubble_of_equal_stages(r.plan.pp * r.plan.pipeline.virtual_stages,
                                                  micro_batches(r.plan),
                                                  value_if(!r.equal_bubble.empty(), r.equal_bubble),
                                                  Percent{e.bubble}, Percent{1 - e.bubble}),
                      msg::bubble_of_these_stages(e.busiest, Percent{e.own},
                                                  value_if(e.ratio >= uneven, Digits{e.ratio}))})),
                 width);
}

// Several axes have a column each, because labels of several settings are too long for a table.
std::string comparison_table(const PredictResult& r, std::size_t width) {
  std::vector<Column> columns;
  if (r.axes.size() < 2) columns.push_back({"plan", false});
  for (const std::string& axis : r.axes)
    if (r.axes.size() > 1) columns.push_back({axis, false});
  const std::size_t settings = columns.size();
  for (const char* title : {"dp", "step", "MFU", "tokens/s", "memory", "states", "reduced",
                            "in layers", "dp sends", "exposed"})
    columns.push_back({title});
  columns.push_back({"", false, 80});
  std::vector<std::vector<std::string>> rows;
  double first_states = 0;
  for (const ComparedPlan& p : r.comparison) {
    std::vector<std::string>& row = rows.emplace_back(p.values);
    if (settings == 1) row.assign(1, p.label);
    if (!p.cost) {
      row.push_back(std::to_string(p.plan.dp));
      row.resize(columns.size() - 1, "-");
      row.push_back(worded(p.why_not));
      continue;
    }
    const StepCost& c = *p.cost;
    const double memory = c.memory.total();
    const double states = state_bytes(c.memory);
    if (first_states <= 0) first_states = states;
    const double exposed = c[StepTerm::tensor] + c[StepTerm::context] + c[StepTerm::expert] +
                           c[StepTerm::pipeline] + c[StepTerm::data];
    const bool fits = !shortage(c.memory, r.machine).any();
    for (std::string cell :
         {std::to_string(p.plan.dp), format_time(c.step().count() * ns_per_s),
          format_percent(c.mfu[0]), format_count(c.tokens_per_second), format_bytes(memory),
          bytes_or_none(states), states > 0 ? format_digits(first_states / states) + " ×" : "-",
          bytes_or_none(p.communicated_bytes), bytes_or_none(p.data_bytes), time_or_none(exposed),
          std::string(fits ? "" : "does not fit")})
      row.push_back(std::move(cell));
  }
  // A short remark does not give way to the figures.
  constexpr std::size_t short_remark = std::string_view("does not fit").size();
  columns.back().right =
      std::ranges::all_of(rows, [](const auto& row) { return row.back().size() <= short_remark; });
  return wrapped(
             "Compared (states: parameters, gradients, master weights and optimizer states; "
             "reduced: those of the first plan over these):",
             width) +
         text_table(std::move(columns), std::move(rows), width);
}

}  // namespace

std::string predict_text(const PredictResult& r, const PredictTextOptions& options) {
  const auto width = static_cast<std::size_t>(options.text.width);
  const std::string_view bold = options.text.colour ? "\033[1m" : "";
  const std::string_view plain = options.text.colour ? "\033[0m" : "";
  std::string out = headline(r) + '\n';
  out += fmt::format("{}{}{}", bold, wrapped(predict_sentence(r), width), plain);
  out += wrapped(interval_in_words(r.cost), width) + '\n';
  out += waterfall(r) + bubble_text(r, width) + '\n' + peak_account(r) + '\n' +
         memory_bars(r, width) + '\n' + rates(r);
  if (!r.comparison.empty()) out += '\n' + comparison_table(r, width);
  if (options.layers)
    out += '\n' + (r.layer_tables.empty() ? layers_table(r, width) : convention_tables(r, width));
  out += details_line(options.text);
  out += notes_text(predict_warnings(r), width);
  return out;
}

}  // namespace stepscope
