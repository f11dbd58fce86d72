// SPDX-License-Identifier: Apache-2.0
// `stepscope help`, `completion` and `man`: what the declared flags say of themselves.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "stepscope/base/output_file.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/face/help/completion.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"
#include "stepscope/face/help/man_page.h"
#include "stepscope/face/help/suggest.h"
#include "stepscope/face/outputs.h"
#include "stepscope/face/terminal.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/version.h"
#include "stepscope/say/vocabulary.h"

namespace stepscope {
namespace {

int printed(const std::string& text) {
  Failures failures;
  print_text(text);
  flush_output(failures);
  return failures.any() ? exit_failed : exit_done;
}

// The program where `verb` is empty; null where there is no such verb.
const CLI::App* app_of(const CLI::App& program, const std::string& verb) {
  return verb.empty() ? &program : find_verb(program, verb);
}

int refused_verb(const CLI::App& program, const std::string& verb) {
  return refused({.what = unknown_verb(program, verb)});
}

// The terms of the vocabulary whose key or label is `word`; all of them for "terms". Empty: none.
std::string terms_text(std::string_view word, std::size_t width) {
  std::string out;
  for (const TermGroup& group : term_groups()) {
    std::string rows;
    for (const Term& t : terms_of(group.name))
      if (word == "terms" || t.key == word || t.label == word)
        rows += wrapped(fmt::format("  {} ({}){}{}", t.label, t.key,
                                    t.explanation.empty() ? "" : ": ", t.explanation),
                        width);
    if (!rows.empty()) out += fmt::format("{}{}\n{}", out.empty() ? "" : "\n", group.title, rows);
  }
  return out;
}

struct ManFlags {
  std::string verb;
  std::string folder;
  bool markdown = false;
};

int write_all(const CLI::App& program, const std::string& folder) {
  Failures failures;
  const auto write = [&](const CLI::App& app, const std::string& name) {
    failures.keep(write_file((std::filesystem::path(folder) / (name + ".1")).string(),
                             man_page(app, verb_table(), version())));
  };
  write(program, "stepscope");
  for (const Verb& verb : verb_table())
    if (!verb.group.empty())
      write(*program.get_subcommand(std::string(verb.name)),
            fmt::format("stepscope-{}", verb.name));
  return failures.any() ? exit_failed : exit_done;
}

int man(const CLI::App& program, const ManFlags& flags) {
  if (!flags.folder.empty()) return write_all(program, flags.folder);
  const CLI::App* app = app_of(program, flags.verb);
  if (app == nullptr) return refused_verb(program, flags.verb);
  if (!flags.markdown) return printed(man_page(*app, verb_table(), version()));
  if (app == &program) return printed(flags_markdown(verb_table()));
  return printed(flags_markdown(*app, *std::ranges::find(verb_table(), flags.verb, &Verb::name)));
}

VerbRun declare_help(CLI::App& app) {
  auto verb = std::make_shared<std::string>();
  app.description(
      "Shows the verbs of the program, the flags of one verb, or the meaning of a term. `help "
      "terms` lists all terms.");
  app.add_option("VERB", *verb, "Verb or term to show")->type_name("VERB|TERM");
  app.footer("stepscope help analyze\nstepscope help busbw");
  return {.command = [verb, &app] {
    const CLI::App& program = *app.get_parent();
    const CLI::App* shown = app_of(program, *verb);
    if (shown == nullptr)
      if (const std::string terms = terms_text(*verb, help_width()); !terms.empty())
        return printed(terms);
    if (shown == nullptr) return refused_verb(program, *verb);
    return printed(help_text(*shown, verb_table(), help_width()));
  }};
}

VerbRun declare_completion(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.description(
      "Prints a script that makes a shell complete verbs, flags, values and files of stepscope. An "
      "installed stepscope has the scripts where the shells look for them.");
  as_choice(app.add_option("SHELL", *shell, "Shell: bash, zsh or fish")->required(),
            {"bash", "zsh", "fish"});
  app.footer("source <(stepscope completion bash)");
  return {.command = [shell, &app] {
    const CLI::App& program = *app.get_parent();
    if (*shell == "bash") return printed(bash_completion(program, verb_table()));
    if (*shell == "zsh") return printed(zsh_completion(program, verb_table()));
    return printed(fish_completion(program, verb_table()));
  }};
}

VerbRun declare_man(CLI::App& app) {
  auto flags = std::make_shared<ManFlags>();
  app.description("Prints the man page of the program or of one verb.");
  app.add_option("VERB", flags->verb, "Verb to show")->type_name("VERB");
  app.add_option("--all", flags->folder, "Write all man pages into this directory")
      ->type_name("DIR")
      ->group("Outputs");
  app.add_flag("--markdown", flags->markdown, "Print the page of docs/reference instead")
      ->group("Outputs");
  return {.command = [flags, &app] { return man(*app.get_parent(), *flags); }};
}

}  // namespace

extern const Verb help_verb{"help", "Show the help of the program or of a verb", "This program",
                            "reference/flags.md", declare_help};

extern const Verb completion_verb{"completion", "Print the completion script of a shell",
                                  "This program", "reference/flags.md", declare_completion};

extern const Verb man_verb{"man", "Print man pages", "", "reference/flags.md", declare_man};

}  // namespace stepscope
