// SPDX-License-Identifier: Apache-2.0
// `stepscope list`: what the program knows by name.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_stems.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"
#include "stepscope/face/help/verb.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/read/gpu_log/gpu_log_dialects.h"
#include "stepscope/read/log/log_dialect.h"
#include "stepscope/stack/profile_format.h"

namespace stepscope {
namespace {

struct ListFlags {
  std::string what;
};

void declare(CLI::App& app, ListFlags& f) {
  app.description("Lists what other verbs take by name.");
  as_choice(app.add_option("WHAT", f.what, "Machines, models, scenarios or formats"),
            {"machines", "models", "scenarios", "formats"})
      ->required();
  app.footer("stepscope list machines");
}

std::string tera(const std::optional<FlopRate>& rate) {
  return rate ? fmt::format("{:.5g}", rate->value / 1e12) : "-";
}

std::string giga(const std::optional<ByteRate>& rate) {
  return rate ? fmt::format("{:.4g}", rate->value / 1e9) : "-";
}

// Names are there to be copied: no line is shortened.
constexpr std::size_t unshortened = 1000;

std::string machines() {
  std::vector<std::vector<std::string>> rows;
  const std::vector<std::string_view> stems = machine_stems();
  const std::span<const Machine> known = machine_catalogue();  // in the order of the stems
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Machine& m = known[i];
    rows.push_back(
        {std::string(stems[i]), m.name, tera(peak(m, Dtype::bf16)), tera(peak(m, Dtype::fp8)),
         m.memory ? fmt::format("{:.0f}", static_cast<double>(m.memory->value) / 1e9) : "-",
         giga(m.memory_rate), m.scale_up ? giga(m.scale_up->per_direction) : "-",
         m.scale_up && m.scale_up->domain ? std::to_string(*m.scale_up->domain) : "-",
         m.scale_out ? giga(m.scale_out->per_direction) : "-"});
  }
  return "Machines, for --machine (TFLOP/s dense; GB; GB/s, links per device and direction):\n" +
         text_table({{"name", false},
                     {"device", false, unshortened},
                     {"bf16"},
                     {"fp8"},
                     {"memory"},
                     {"its rate"},
                     {"link"},
                     {"devices linked"},
                     {"network"}},
                    std::move(rows), unshortened);
}

std::string models() {
  std::vector<std::vector<std::string>> rows;
  for (const Transformer& m : model_catalogue()) {
    const ParameterCount count = parameter_count(m);
    rows.push_back({m.name, fmt::format("{:.4g}", static_cast<double>(count.total) / 1e9),
                    std::to_string(m.layers), std::to_string(m.hidden), std::to_string(m.heads),
                    std::to_string(m.vocabulary)});
  }
  return "Models, for predict, plan and --model (parameters in billions):\n" +
         text_table(
             {{"name", false}, {"parameters"}, {"layers"}, {"hidden"}, {"heads"}, {"vocabulary"}},
             std::move(rows), unshortened);
}

std::string scenarios(std::size_t width) {
  constexpr std::size_t names = 32;
  std::string out = "Changes, for whatif --change (whatif --list explains their parts):\n";
  for (const ScenarioHelp& s : scenario_help()) {
    std::string name(s.example);
    for (const std::string& line : wrapped_lines(s.meaning, width - names - 2))
      out += fmt::format("  {:<{}}{}\n", std::exchange(name, {}), names, line);
  }
  return out;
}

std::string formats(std::size_t width) {
  std::vector<std::string> logs;
  for (const LogDialect* d : log_dialects()) logs.emplace_back(d->tool.label);
  std::vector<std::string> stacks;
  for (const ProfileFormat& f : profile_formats()) stacks.emplace_back(f.name);
  std::vector<std::string> gpus;
  for (const GpuLogFormat& f : gpu_log_formats()) gpus.emplace_back(f.name);
  const auto line = [&](const char* what, const char* verbs, const std::string& names) {
    return wrapped(fmt::format("{} ({}): {}.", what, verbs, names), width);
  };
  return line("Traces", "analyze, whatif, compare, check, digest",
              "torch.profiler (JSON), Nsight Systems (SQLite), rocprofv3 and Perfetto (pftrace), "
              "XLA (xplane.pb), the NCCL plugin, digests; each also as .gz or .zst") +
         line("Logs of jobs", "check, compare, sweep", fmt::format("{}", fmt::join(logs, ", "))) +
         line("Logs of GPUs", "analyze and check, with traces or times",
              fmt::format("{}", fmt::join(gpus, ", "))) +
         line("Stacks", "stacks", fmt::format("{}", fmt::join(stacks, ", "))) +
         line("Memory", "memory", "snapshots of torch.cuda.memory._dump_snapshot") +
         line("Hangs", "hang", "flight recorder dumps, NCCL logs, watchdog messages") +
         line("Benchmarks", "calibrate --from", "nccl-tests, OSU, stepscope.torch.kernels") +
         "docs/reference/inputs.md says what is read of each.\n";
}

int list(const ListFlags& flags) {
  const auto width = static_cast<std::size_t>(terminal_width());
  print_text(flags.what == "machines"    ? machines()
             : flags.what == "models"    ? models()
             : flags.what == "scenarios" ? scenarios(width)
                                         : formats(width));
  Failures failures;
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

VerbRun declare_list(CLI::App& app) {
  const auto flags = std::make_shared<ListFlags>();
  declare(app, *flags);
  return {[flags] { return list(*flags); }};
}

}  // namespace

extern const Verb list_verb{"list", "List machines, models, what-if changes and formats",
                            "Predict and search", "reference/inputs.md", declare_list};

}  // namespace stepscope
