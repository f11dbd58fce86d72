// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/parameters.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "stepscope/cost/plan/plan_fields.h"

namespace stepscope::binding {
namespace {

constexpr auto classes = std::to_array<OptionClass>({
    {"Plan", "plan", "How a job divides its work: degrees of parallelism, memory, kernels, batch.",
     "plan ds-config"},
    {"Job", "job", "What traces and model do not say of a job: its machines, FLOPs and prices.",
     "peak-tflops peak-dtype price gpus-per-node nodes model-flops-per-step recorded-machine model "
     "machine global-batch seq"},
    {"Reading", "reading", "How traces, logs and lists of step times are read.",
     "filter-time step-annotation kernel-rules gpu-log-zone groups tp pp dp unit log-pattern "
     "threads"},
    {"Statistics", "statistics", "Bounds of a comparison.", "warm-up alpha floor"},
    {"Launching", "launching", "How a command is launched.", "timeout keep"},
    {"Search", "search", "Bounds and outputs of a search of plans.",
     "max top memory-headroom search-offload flags threads"},
    {"Details", "details", "What a prediction shows in addition.", "layers conventions explain"},
    {"Collective", "collective", "A collective to predict.", "collective bytes group"},
    {"Join", "join", "How a profile of stacks and a trace are joined.", "rank offset gapless"},
    {"Trees", "trees", "Which call trees the text shows.", "min-share top-down bottom-up"},
});

constexpr auto functions = std::to_array<VerbParameters>({
    {"analyze", "steps ranks model machine global-batch seq", "Plan Job Reading"},
    {"whatif", "change machine steps ranks", "Reading"},
    {"project", "gpus machine model recorded steps ranks", "Plan Job Reading"},
    {"check", "model machine global-batch seq gpus recompute unit", "Job Reading"},
    {"digest", "out threads", ""},
    // One reading; stepscope.follow() reads again and again.
    {"live", "silent stuck", "Reading", "once interval for on openmetrics serve token-file plain"},
    {"hang", "", ""},
    {"memory", "top", ""},
    {"stacks", "against trace steps format rules lasti", "Join Trees Reading"},
    {"compare", "a b run launches max-regression order unit", "Launching Statistics Reading"},
    {"sweep", "vary launches unit", "Launching Statistics Reading"},
    {"runs", "history commit tag baseline max-regression unit", "Job Statistics Reading",
     "restore out"},  // Runs.restore
    {"predict", "machine gpus global-batch seq vary", "Plan Job Details Collective"},
    {"plan", "machine gpus global-batch seq fix against", "Plan Job Search"},
});

// Flags of the text, of the exit code and of the files that the command writes. What stands in
// their place is a method of the result or a page; nothing is without one.
struct OutputFlag {
  std::string_view flag;
  std::string_view method;
};
constexpr auto outputs = std::to_array<OutputFlag>({
    {"json", "to_json()"},
    {"html", "save_html()"},
    {"csv", "tables"},
    {"verbose", "text(verbose=True)"},
    {"brief", "text(brief=True)"},
    {"list", "docs/reference/changes.md"},
    {"perfetto", ""},
    {"write-machine", ""},
    {"timeline", ""},
    {"chakra", ""},
    {"goal", ""},
    {"goal-recorded-times", ""},
    {"inconclusive", ""},
    {"help", ""},
});

bool has_word(std::string_view text, std::string_view word) {
  const auto words = words_in(text);
  return std::ranges::find(words, word) != words.end();
}

}  // namespace

std::vector<std::string> words_in(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::string field_name(std::string_view options, std::string_view flag) {
  if (options == "Plan" && flag == "plan") return "file";
  if (options == "Collective" && flag == "collective") return "name";
  std::string name(flag);
  std::ranges::replace(name, '-', '_');
  return name;
}

std::span<const OptionClass> option_classes() { return classes; }

const OptionClass* option_class(std::string_view name) {
  const auto found = std::ranges::find(classes, name, &OptionClass::name);
  return found == classes.end() ? nullptr : &*found;
}

std::vector<std::string> flags_of(const OptionClass& options) {
  std::vector<std::string> flags = words_in(options.flags);
  if (options.name == "Plan")
    for (const PlanField& field : plan_fields())
      if (!field.name.empty()) flags.emplace_back(field.name);
  return flags;
}

const VerbParameters* parameters_of(std::string_view verb) {
  const auto found = std::ranges::find(functions, verb, &VerbParameters::verb);
  return found == functions.end() ? nullptr : &*found;
}

std::optional<PythonFlag> python_flag(std::string_view verb, std::string_view flag) {
  const VerbParameters* function = parameters_of(verb);
  if (function == nullptr || has_word(function->left_out, flag)) return std::nullopt;
  const auto output = std::ranges::find(outputs, flag, &OutputFlag::flag);
  if (output != outputs.end()) {
    if (output->method.empty()) return std::nullopt;
    return PythonFlag{.options = {}, .name = {}, .method = output->method};
  }
  if (has_word(function->flags, flag)) return PythonFlag{{}, field_name({}, flag), {}};
  for (const std::string& name : words_in(function->options)) {
    const OptionClass* options = option_class(name);
    const std::vector<std::string> flags = flags_of(*options);
    if (std::ranges::find(flags, flag) == flags.end()) continue;
    if (flag == options->parameter) return PythonFlag{{}, field_name({}, flag), {}};
    return PythonFlag{options->name, field_name(options->name, flag), {}};
  }
  return std::nullopt;
}

}  // namespace stepscope::binding
