// SPDX-License-Identifier: Apache-2.0
// `stepscope list`: what the program knows by name.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/base/quantity.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_stems.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/csv_tables.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/say/phrases.h"
#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

struct ListFlags {
  std::string what;
  OutputPaths out;  // none of its own
};

void declare(CLI::App& app, ListFlags& f) {
  app.description("Lists what other verbs take by name.");
  as_choice(app.add_option("WHAT", f.what, "Machines, models, changes or formats"),
            {"machines", "models", "changes", "formats", "scenarios"})
      ->type_name("machines|models|changes|formats")
      ->required();
  app.footer("stepscope list machines");
}

// In `unit`; null where the machine does not say it.
template <class Quantity>
Json in(const std::optional<Quantity>& quantity, double unit) {
  return quantity ? Json(static_cast<double>(quantity->value) / unit) : Json(nullptr);
}

Json machine_rows() {
  Json rows = Json::array();
  const std::vector<std::string_view> stems = machine_stems();
  const std::span<const Machine> known = machine_catalogue();  // in the order of the stems
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Machine& m = known[i];
    rows.push_back(
        {{"name", stems[i]},
         {"device", m.name},
         {"predicts", has_peak(m)},
         {"bf16_tflops", in(peak(m, Dtype::bf16), tera)},
         {"fp16_tflops", in(peak(m, Dtype::fp16), tera)},
         {"fp8_tflops", in(peak(m, Dtype::fp8), tera)},
         {"memory_gb", in(m.memory, giga)},
         {"memory_gb_per_s", in(m.memory_rate, giga)},
         {"link_gb_per_s", m.scale_up ? in(m.scale_up->per_direction, giga) : Json(nullptr)},
         {"devices_linked",
          m.scale_up && m.scale_up->domain ? Json(*m.scale_up->domain) : Json(nullptr)},
         {"network_gb_per_s", m.scale_out ? in(m.scale_out->per_direction, giga) : Json(nullptr)}});
  }
  return rows;
}

Json model_rows() {
  Json rows = Json::array();
  for (const Transformer& m : model_catalogue())
    rows.push_back({{"name", m.name},
                    {"parameters", parameter_count(m).total},
                    {"layers", m.layers},
                    {"hidden", m.hidden},
                    {"heads", m.heads},
                    {"vocabulary", m.vocabulary}});
  return rows;
}

Json change_rows() {
  Json rows = Json::array();
  for (const ScenarioHelp& s : scenario_help())
    rows.push_back({{"name", s.example}, {"meaning", s.meaning}});
  return rows;
}

Json format_rows() {
  Json rows = Json::array();
  const auto add = [&](std::string_view kind, std::string_view verbs, const auto& names) {
    for (const auto& name : names)
      rows.push_back({{"kind", kind}, {"name", std::string(name)}, {"verbs", verbs}});
  };
  std::vector<std::string> logs;
  for (const LogDialect* d : log_dialects()) logs.emplace_back(d->tool.label);
  std::vector<std::string> gpus;
  for (const GpuLogFormat& f : gpu_log_formats()) gpus.emplace_back(f.name);
  std::vector<std::string> stacks;
  for (const ProfileFormat& f : profile_formats()) stacks.emplace_back(f.name);
  using Names = std::vector<std::string_view>;
  add("trace", "analyze, whatif, compare, check, digest",
      Names{"torch.profiler (JSON)", "Nsight Systems (SQLite)", "rocprofv3 and Perfetto (pftrace)",
            "XLA (xplane.pb)", "the NCCL plugin", "digests"});
  add("log of a job", "check, compare, sweep", logs);
  add("log of GPUs", "analyze and check, with traces or times", gpus);
  add("stacks", "stacks", stacks);
  add("memory", "memory", Names{"snapshots of torch.cuda.memory._dump_snapshot"});
  add("hang", "hang", Names{"flight recorder dumps", "NCCL logs", "watchdog messages"});
  add("benchmark", "calibrate --from", Names{"nccl-tests", "OSU", "stepscope.torch.kernels"});
  return rows;
}

// Names are there to be copied: no line is shortened.
constexpr std::size_t unshortened = 1000;

std::string shown(const Json& number, std::string_view format = "{:.5g}") {
  return number.is_null() ? "-" : fmt::format(fmt::runtime(format), number.get<double>());
}

std::string machines_text(const Json& machines) {
  std::vector<std::vector<std::string>> rows;
  std::string without;  // a peak
  for (const Json& m : machines) {
    const auto name = m["name"].get<std::string>();
    if (!m["predicts"].get<bool>()) {
      without += (without.empty() ? "" : ", ") + name;
      continue;
    }
    rows.push_back({name, m["device"].get<std::string>(), shown(m["bf16_tflops"]),
                    shown(m["fp16_tflops"]), shown(m["fp8_tflops"]),
                    shown(m["memory_gb"], "{:.0f}"), shown(m["memory_gb_per_s"], "{:.4g}"),
                    shown(m["link_gb_per_s"], "{:.4g}"), shown(m["devices_linked"]),
                    shown(m["network_gb_per_s"], "{:.4g}")});
  }
  std::string out =
      "Machines, for --machine (TFLOP/s dense; GB; GB/s, links per device and direction):\n" +
      text_table({{"name", false},
                  {"device", false, unshortened},
                  {"bf16"},
                  {"fp16"},
                  {"fp8"},
                  {"memory"},
                  {"its rate"},
                  {"link"},
                  {"devices linked"},
                  {"network"}},
                 std::move(rows), unshortened);
  if (!without.empty())
    out += fmt::format(
        "Known without a rate of matrix products, so predict and plan need a machine file: {}\n",
        without);
  return out;
}

std::string models_text(const Json& models) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& m : models)
    rows.push_back({m["name"].get<std::string>(),
                    fmt::format("{:.4g}", m["parameters"].get<double>() / giga),
                    shown(m["layers"], "{:.0f}"), shown(m["hidden"], "{:.0f}"),
                    shown(m["heads"], "{:.0f}"), shown(m["vocabulary"], "{:.0f}")});
  return "Models, for predict, plan and --model (parameters in billions):\n" +
         text_table(
             {{"name", false}, {"parameters"}, {"layers"}, {"hidden"}, {"heads"}, {"vocabulary"}},
             std::move(rows), unshortened);
}

std::string changes_text(const Json& changes, std::size_t width) {
  constexpr std::size_t names = 32;
  std::string out = "Changes, for whatif --change (whatif --list explains their parts):\n";
  for (const Json& change : changes) {
    auto name = change["name"].get<std::string>();
    for (const std::string& line :
         wrapped_lines(change["meaning"].get<std::string>(), width - names - 2))
      out += fmt::format("  {:<{}}{}\n", std::exchange(name, {}), names, line);
  }
  return out;
}

std::string formats_text(const Json& formats, std::size_t width) {
  std::string out;
  for (std::size_t i = 0; i < formats.size();) {
    const std::size_t first = i;
    std::vector<std::string> names;
    for (; i < formats.size() && formats[i]["kind"] == formats[first]["kind"]; ++i)
      names.push_back(formats[i]["name"].get<std::string>());
    const auto kind = formats[first]["kind"].get<std::string>();
    out += wrapped(
        fmt::format("{} ({}): {}{}.", capitalised(kind), formats[first]["verbs"].get<std::string>(),
                    fmt::join(names, ", "), kind == "trace" ? "; each also as .gz or .zst" : ""),
        width);
  }
  return out + "docs/reference/inputs.md says what is read of each.\n";
}

Result<Answer> answer(const ListFlags& flags, const Progress& /*progress*/) {
  const std::string what = flags.what == "scenarios" ? "changes" : flags.what;
  const auto rows = std::make_shared<const Json>(what == "machines"  ? machine_rows()
                                                 : what == "models"  ? model_rows()
                                                 : what == "changes" ? change_rows()
                                                                     : format_rows());
  const auto tree = [what, rows] {
    Json listed = Json::object();
    listed[what] = *rows;
    return listed;
  };
  return Answer{.tree = tree,
                .text =
                    [what, rows](const TextOptions& options) {
                      const auto width = static_cast<std::size_t>(options.width);
                      return what == "machines"  ? machines_text(*rows)
                             : what == "models"  ? models_text(*rows)
                             : what == "changes" ? changes_text(*rows, width)
                                                 : formats_text(*rows, width);
                    },
                .tables =
                    [what](const Json& listed) {
                      return std::vector<TreeTable>{table_of(what, listed[what])};
                    }};
}

VerbRun declare_list(CLI::App& app) { return declare_answering<ListFlags>(app, answer); }

}  // namespace

extern const Verb list_verb{"list", "List machines, models, what-if changes and formats",
                            "Plan ahead", "reference/inputs.md", declare_list};

}  // namespace stepscope
