// SPDX-License-Identifier: Apache-2.0
// `stepscope stacks`: host profiles, and which phase of training their threads are in.
#include <fmt/format.h>

#include <memory>

#include "stepscope/base/json_reader.h"
#include "stepscope/base/output_file.h"
#include "stepscope/cli/outputs.h"
#include "stepscope/cli/stacks_trace.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/report/html.h"
#include "stepscope/report/json_report.h"
#include "stepscope/report/stacks_report.h"
#include "stepscope/stack/profile_builder.h"
#include "stepscope/stack/read_profile.h"

namespace stepscope {
namespace {

constexpr std::size_t drawn_nodes = 8000;

struct StacksFlags {
  std::vector<std::string> profiles;
  std::string format;
  std::string against;
  std::vector<std::string> rules;
  std::string lasti;
  bool top_down = false;
  bool bottom_up = false;
  double least = 1;  // percent
  std::string json;
  std::string html;
  std::string csv;
  StacksTraceFlags trace;
};

void declare(CLI::App& app, StacksFlags& f) {
  app.add_option("PROFILE", f.profiles,
                 "Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not")
      ->required();
  app.add_option("--format", f.format, "What the profiles are, where it is not recognised")
      ->check(CLI::IsMember(
          std::vector<std::string>(profile_format_names().begin(), profile_format_names().end())))
      ->type_name("NAME");
  app.add_option("--against", f.against, "An earlier profile to compare with: what changed")
      ->type_name("PROFILE");
  app.add_option(
         "--rules", f.rules,
         "Phases of your own, before the built-in ones (docs/reference/phase-rules.md; repeatable)")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--lasti", f.lasti,
                 "A table of CPython instructions: source lines of frames like fetch [0x36a]")
      ->type_name("FILE");
  app.add_flag("--top-down", f.top_down, "The call tree, callers above callees");
  app.add_flag("--bottom-up", f.bottom_up, "The call tree, callees above callers");
  app.add_option("--min-percent", f.least, "Smallest part that a tree shows (default 1)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("N");
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.html, "Write one self-contained page with the flame graph")
      ->type_name("FILE");
  app.add_option("--csv", f.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  declare(app, f.trace);
  app.footer("Example: stepscope stacks rank0.collapsed --html stacks.html");
}

// What the report refers to.
struct Stacks {
  Profile profile;
  PhaseRules rules;
  std::optional<InstructionTable> table;
  NodePhases phases;
  std::optional<Profile> before{};
  NodePhases before_phases;
  std::unique_ptr<TraceBeside> beside{};
  StacksReport report;
};

Result<PhaseRules> read_rules(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = read_text(path);
    if (!text) return text.error();
    texts.push_back(std::move(*text));
  }
  std::vector<RuleFile> files;
  for (std::size_t i = 0; i < paths.size(); ++i) files.push_back({paths[i], texts[i]});
  return make_phase_rules(files);
}

Result<std::unique_ptr<Stacks>> open_rules(const StacksFlags& flags) {
  auto s = std::make_unique<Stacks>();
  auto rules = read_rules(flags.rules);
  if (!rules) return rules.error();
  s->rules = std::move(*rules);
  if (!flags.lasti.empty()) {
    const auto text = read_text(flags.lasti);
    if (!text) return text.error();
    auto table = InstructionTable::parse(*text, flags.lasti);
    if (!table) return table.error();
    s->table = std::move(*table);
    s->report.lasti = flags.lasti;
  }
  return s;
}

// The profiles that can be read; the others are failures.
std::vector<Profile> read_all(const std::vector<std::string>& paths, const ProfileOptions& options,
                              Failures& failures) {
  std::vector<Profile> read;
  for (const std::string& path : paths) {
    auto profile = read_profile(path, options);
    if (profile)
      read.push_back(std::move(*profile));
    else
      failures.add(profile.error());
  }
  return read;
}

void fill(Stacks& s) {
  StacksReport& r = s.report;
  const InstructionTable* table = s.table ? &*s.table : nullptr;
  s.phases = phases_of(s.profile, s.rules, table);
  r.version = STEPSCOPE_VERSION;
  r.profile = &s.profile;
  r.rules = &s.rules;
  r.phases = &s.phases;
  r.summary = summarize(s.profile, s.rules, s.phases);
  r.warnings = input_remarks(s.profile);
  if (s.phases.unresolved > 0 && table != nullptr)
    r.warnings.push_back(fmt::format("the table of instructions tells no line for {} of {} frames",
                                     s.phases.unresolved, s.phases.unresolved + s.phases.resolved));
  if (s.phases.unresolved > 0 && table == nullptr)
    r.warnings.push_back(
        fmt::format("{} frames have a CPython instruction; --lasti FILE tells their source lines",
                    s.phases.unresolved));
  if (!s.before) {
    r.flame = flame_graph(s.profile, s.phases, drawn_nodes);
    return;
  }
  s.before_phases = phases_of(*s.before, s.rules, table);
  r.before = StacksBefore{&*s.before, summarize(*s.before, s.rules, s.before_phases)};
  r.flame = flame_difference(s.profile, s.phases, *s.before, s.before_phases, drawn_nodes).graph;
  for (const std::string& remark : input_remarks(*s.before)) r.warnings.push_back(remark);
}

void write_outputs(const StacksFlags& flags, const StacksReport& report, Failures& failures) {
  if (!flags.json.empty() || !flags.html.empty()) {
    const std::string json = json_text(stacks_tree(report));
    write_json_text(flags.json, json, failures);
    if (!flags.html.empty()) failures.keep(write_file(flags.html, render_html(json)));
  }
  if (!flags.csv.empty()) write_tables(flags.csv, stacks_csv(report), failures);
}

Result<Done> read_before(const StacksFlags& flags, Stacks& s) {
  if (flags.against.empty()) return Done{};
  auto before = read_profile(flags.against, {.format = flags.format});
  if (!before) return before.error();
  const auto unit = [](WeightUnit u) { return weight_unit_names[static_cast<std::size_t>(u)]; };
  if (before->unit != s.profile.unit)
    return Error{.what = fmt::format("counts {}, the other profile {}", unit(before->unit),
                                     unit(s.profile.unit)),
                 .file = flags.against,
                 .hint = "compare profiles of one unit"};
  s.before = std::move(*before);
  return Done{};
}

int answer(StacksFlags& flags) {
  if (const auto resolved = resolve(flags.trace, flags.profiles); !resolved)
    return refused(resolved.error());
  auto opened = open_rules(flags);
  if (!opened) return refused(opened.error());
  Stacks& s = **opened;
  Failures failures;
  const bool beside = !flags.trace.traces.request.inputs.empty();
  auto profiles =
      read_all(flags.profiles, {.format = flags.format, .keep_samples = beside}, failures);
  if (profiles.empty()) return exit_failed;
  auto one = merged(std::move(profiles));
  if (!one) return refused(one.error());
  s.profile = std::move(*one);
  failures.keep(read_before(flags, s));
  fill(s);
  if (beside) s.beside = read_beside(flags.trace, failures);
  if (beside && stop_on_signals().requested()) return exit_interrupted;
  if (s.beside)
    s.report.trace = join_profiles(flags.trace, s.profile, s.phases, *s.beside, failures);
  if (flags.json != "-")
    fmt::print("{}", stacks_text(s.report, {.text = {.width = terminal_width(),
                                                     .colour = wants_colour(),
                                                     .details = flags.html},
                                            .top_down = flags.top_down,
                                            .bottom_up = flags.bottom_up,
                                            .least = flags.least / 100}));
  write_outputs(flags, s.report, failures);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

}  // namespace

std::function<int()> declare_stacks(CLI::App& app) {
  auto flags = std::make_shared<StacksFlags>();
  declare(app, *flags);
  return [flags] { return answer(*flags); };
}

}  // namespace stepscope
