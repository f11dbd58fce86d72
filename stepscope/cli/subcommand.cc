// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/subcommand.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "stepscope/analysis/replay/scenario.h"
#include "stepscope/base/isa.h"
#include "stepscope/cli/command_line.h"
#include "stepscope/cost/machine/machine_stems.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"
#include "stepscope/face/help/slips.h"
#include "stepscope/face/help/suggest.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/format.h"
#ifdef STEPSCOPE_ENGINE
#include "engine/nn/network/presets.h"
#include "engine/train/calibrate_here.h"
#endif

// The verbs in the order of `stepscope --help`. Each defines its row, NAME_verb, with its flags.
#define STEPSCOPE_VERBS(VERB) \
  VERB(analyze)               \
  VERB(whatif)                \
  VERB(check)                 \
  VERB(digest)                \
  VERB(memory)                \
  VERB(stacks)                \
  VERB(hang)                  \
  VERB(live)                  \
  VERB(compare)               \
  VERB(sweep)                 \
  VERB(runs)                  \
  VERB(predict)               \
  VERB(project)               \
  VERB(plan)                  \
  VERB(calibrate)             \
  VERB(list)                  \
  VERB(train)                 \
  VERB(mcp)                   \
  VERB(help)                  \
  VERB(completion)            \
  VERB(man)

namespace stepscope {

#define STEPSCOPE_DECLARED(name) extern const Verb name##_verb;
STEPSCOPE_VERBS(STEPSCOPE_DECLARED)
#undef STEPSCOPE_DECLARED

namespace {

// What a word in the type name of a flag may be.
std::vector<std::string> names_for(std::string_view word) {
  std::vector<std::string> names;
  if (word == "MACHINE")
    for (const std::string_view stem : machine_stems()) names.emplace_back(stem);
  if (word == "MODEL")
    for (const Transformer& model : model_catalogue()) names.push_back(model.name);
#ifdef STEPSCOPE_ENGINE
  if (word == "PRESET")
    for (const nn::NamedPreset& preset : nn::network_presets()) names.emplace_back(preset.name);
#endif
  if (word == "CHANGE")
    for (const ScenarioHelp& s : scenario_help()) names.emplace_back(s.example);
  return names;
}

int wrong_usage(const std::string& sentence) {
  say("stepscope: {}\n", printable(sentence));
  return exit_usage;
}

// The verb that the command line names, or null.
const CLI::App* parsed_verb(const CLI::App& app) {
  const auto verbs = app.get_subcommands();
  return verbs.empty() ? nullptr : verbs.front();
}

// "a, b or c" of "a|b|c".
std::string words_of_choice(std::string words) {
  for (std::size_t bar = words.find('|'); bar != std::string::npos; bar = words.find('|'))
    words.replace(bar, 1, words.find('|', bar + 1) == std::string::npos ? " or " : ", ");
  return words;
}

// The parser's sentence with a remedy. It names the argument or flag first.
std::string remedied(const CLI::App& verb, const CLI::ParseError& error) {
  const std::string said = error.what();
  const std::string name = said.substr(0, said.find_first_of(": "));
  const auto usage = [&] { return "write " + usage_of(verb); };
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return verb.remaining().front() + " is one argument too many; " + usage();
  const CLI::Option* option = verb.get_option_no_throw(name);
  const std::size_t given = option == nullptr ? 0 : option->count();
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr && option != nullptr)
    return name + " is missing; " +
           (option->get_type_name().find('|') == std::string::npos
                ? usage()
                : "it is one of " + words_of_choice(option->get_type_name()));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && option != nullptr)
    return given > 1 ? name + " is given " + std::to_string(given) + " times; give it once"
                     : name + " has no value; write " + name + ' ' + option->get_type_name();
  return said + "; stepscope help " + verb.get_name() + " lists the flags";
}

// The help or the version.
int shown(const CLI::App& app, const CLI::Success& asked) {
  std::ostringstream text;
  const int code = app.exit(asked, text, text);
  print_text(text.str());
  Failures failures;
  flush_output(failures);
  return failures.any() ? exit_failed : code;
}

// One line, as every other error. A slip and an unknown flag are said first: what stands behind
// them was taken for an argument.
int refuse(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* verb = parsed_verb(app);
  for (const std::string& left : app.remaining())
    if (left.starts_with('-'))
      return wrong_usage("stepscope has no flag " + left +
                         (verb == nullptr ? "; -V shows the version, -h the help"
                                          : "; flags stand behind the verb"));
  if (verb == nullptr)
    return wrong_usage(std::string(error.what()) + "; stepscope --help lists verbs");
  if (const std::string slip = slip_in(*verb); !slip.empty()) return wrong_usage(slip);
  for (const std::string& left : verb->remaining())
    if (left.size() > 1 && left.starts_with('-')) return wrong_usage(unknown_flag(*verb, left));
  return wrong_usage(remedied(*verb, error));
}

}  // namespace

std::span<const Verb> verb_table() {
#define STEPSCOPE_ROW(name) name##_verb,
  static const std::array table = {STEPSCOPE_VERBS(STEPSCOPE_ROW)};
#undef STEPSCOPE_ROW
  return table;
}

CommandLine declare_command_line(std::size_t width) {
  offer_names(names_for);
#ifdef STEPSCOPE_ENGINE
  offer_measuring(calibrate_here);
#endif
  CommandLine line;
  line.app = std::make_unique<CLI::App>(
      "stepscope: where does each training step go, what would a change buy, and did it help?",
      "stepscope");
  CLI::App& app = *line.app;
  app.formatter(help_formatter(verb_table(), width));
  app.set_help_flag("-h,--help", "Show this help")->group(help_group);
  app.set_version_flag("-V,--version", std::string(version()), "Show the version")
      ->group(help_group);
  app.require_subcommand(1);
  app.footer(
      "stepscope analyze traces/ --html report.html\n"
      "stepscope whatif traces/ --change bandwidth:2\n"
      "stepscope compare before.csv after.csv --max-regression 2%\n"
      "stepscope plan llama-3-8b --machine h100_sxm_80gb --gpus 64 --global-batch 256 --seq 8192");
  for (const Verb& verb : verb_table()) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    sub->get_help_ptr()->group(help_group);
    if (verb.group.empty())
      sub->group("");
    else
      sub->add_flag_callback("-q,--quiet", be_quiet, "Print no text and no progress")
          ->group(help_group);
    line.runs.push_back(verb.declare(*sub));
  }
  return line;
}

namespace {

// Says why the command ends. It allocates nothing where memory is out.
int say_failure(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::fputs(
        "stepscope: out of memory; give a part of the input, or a machine with more memory\n",
        stderr);
  } catch (const std::exception& error) {
    say("stepscope: {}; this is a bug of stepscope, please report it\n", printable(error.what()));
  }
  return exit_failed;
}

// A thread that the command does not wait for has thrown.
[[noreturn]] void end_command() { std::_Exit(say_failure(std::current_exception())); }

}  // namespace

int run_command_line(int argc, char** argv) try {
  std::set_terminate(end_command);
  if (const auto limit = isa_limit_from_environment(); !limit)
    return wrong_usage(limit.error().message());
  const CommandLine line = declare_command_line(help_width());
  CLI::App& app = *line.app;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first.empty()) return wrong_usage("a verb is missing; stepscope --help lists verbs");
  std::vector<char*> words(argv, argv + argc);
  if (!first.starts_with('-') && find_verb(app, first) == nullptr) {
    // Files alone are to be analysed.
    std::error_code failed;
    if (!std::filesystem::exists(first, failed)) return wrong_usage(unknown_verb(app, first));
    static char analyze[] = "analyze";
    words.insert(words.begin() + 1, analyze);
  }
  try {
    app.parse(static_cast<int>(words.size()), words.data());
  } catch (const CLI::Success& asked) {
    return shown(app, asked);
  } catch (const CLI::ParseError& error) {
    return refuse(app, error);
  }
  if (const std::string slip = slip_in(*parsed_verb(app)); !slip.empty()) return wrong_usage(slip);
  if (const auto safe = check_outputs(*parsed_verb(app)); !safe)
    return wrong_usage(safe.error().message());
  const std::span<const Verb> verbs = verb_table();
  for (std::size_t i = 0; i < verbs.size(); ++i)
    if (app.got_subcommand(std::string(verbs[i].name))) return line.runs[i].command();
  return exit_usage;
} catch (...) {
  return say_failure(std::current_exception());
}

}  // namespace stepscope
