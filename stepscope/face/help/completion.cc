// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "stepscope/face/help/flag_view.h"

namespace stepscope {
namespace {

std::vector<const CLI::App*> listed(const CLI::App& program, std::span<const Verb> verbs) {
  std::vector<const CLI::App*> apps;
  for (const Verb& verb : verbs)
    if (!verb.group.empty()) apps.push_back(program.get_subcommand(std::string(verb.name)));
  return apps;
}

std::string verb_names(std::span<const Verb> verbs) {
  std::vector<std::string_view> names;
  for (const Verb& verb : verbs)
    if (!verb.group.empty()) names.push_back(verb.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// `text` between single quotes of a shell.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// "VERB" stands for the verbs: the argument of help.
std::vector<std::string> choices_of(const FlagView& flag, std::span<const Verb> verbs) {
  std::vector<std::string> choices = flag.choices;
  if (flag.argument && flag.name == "VERB")
    for (const Verb& verb : verbs)
      if (!verb.group.empty()) choices.emplace_back(verb.name);
  return choices;
}

// The command that fills COMPREPLY with the values of a flag or an argument.
std::string bash_values(const FlagView& flag, std::span<const Verb> verbs) {
  const std::string words = fmt::format("{}", fmt::join(choices_of(flag, verbs), " "));
  if (flag.file) return fmt::format("_stepscope_files '{}'", words);
  if (flag.directory) return "_stepscope_directories";
  return words.empty() ? ":" : fmt::format("_stepscope_words '{}'", words);
}

void bash_verb(std::string& out, const CLI::App& app, std::span<const Verb> verbs) {
  std::vector<std::string> names;
  std::string arguments = ":";
  out += fmt::format("    {})\n      case $prev in\n", app.get_name());
  for (const FlagView& flag : flags_of(app)) {
    if (flag.argument) {
      arguments = bash_values(flag, verbs);
      continue;
    }
    names.push_back(flag.name);
    if (!flag.value.empty())
      out += fmt::format("        {}) {}; return ;;\n", flag.name, bash_values(flag, verbs));
  }
  out += fmt::format(
      "      esac\n"
      "      if [[ $cur == -* ]]; then _stepscope_words '{}'; else {}; fi ;;\n",
      fmt::join(names, " "), arguments);
}

constexpr const char* bash_begin =
    R"(# Completion of stepscope for bash, printed by "stepscope completion bash".
_stepscope_words() {
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
}
_stepscope_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"; compgen -f -- "$cur")
}
_stepscope_directories() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -d -- "$cur")
}
_stepscope() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb='' i
  COMPREPLY=()
  # --flag=value is three words.
  if [[ $cur == = ]]; then cur=''; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then verb=${COMP_WORDS[i]}; break; fi
  done
  case $verb in
)";

constexpr const char* bash_end = R"(  esac
}
complete -F _stepscope stepscope
)";

// What _arguments shows of a description: a colon or a bracket would end it.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_values(const FlagView& flag, std::span<const Verb> verbs) {
  const std::string words = fmt::format("{}", fmt::join(choices_of(flag, verbs), " "));
  if (flag.file && !words.empty()) return " _stepscope_words_or_files " + words;
  if (flag.file) return "_files";
  if (flag.directory) return "_files -/";
  return words.empty() ? " " : fmt::format("({})", words);
}

void zsh_flags(std::string& out, const CLI::App& app, std::span<const Verb> verbs) {
  for (const FlagView& flag : flags_of(app)) {
    std::string spec;
    if (flag.argument) {
      spec = fmt::format("{}:{}:{}", flag.name.ends_with("...") ? "*" : "", zsh_text(flag.name),
                         zsh_values(flag, verbs));
    } else {
      spec = fmt::format("{}{}[{}]", flag.repeatable ? "*" : "", flag.name, zsh_text(flag.what));
      if (!flag.value.empty())
        spec += fmt::format(":{}:{}", zsh_text(flag.value), zsh_values(flag, verbs));
    }
    out += fmt::format(" \\\n        {}", in_quotes(spec));
  }
  out += "\n";
}

}  // namespace

std::string bash_completion(const CLI::App& program, std::span<const Verb> verbs) {
  std::vector<std::string> own;
  for (const FlagView& flag : flags_of(program)) own.push_back(flag.name);
  std::string out = bash_begin;
  out +=
      fmt::format("    '') _stepscope_words '{} {}' ;;\n", verb_names(verbs), fmt::join(own, " "));
  for (const CLI::App* app : listed(program, verbs)) bash_verb(out, *app, verbs);
  return out + bash_end;
}

std::string zsh_completion(const CLI::App& program, std::span<const Verb> verbs) {
  std::string out =
      "#compdef stepscope\n"
      "# Completion of stepscope for zsh, printed by \"stepscope completion zsh\".\n"
      "_stepscope_words_or_files() {\n"
      "  _alternative \"words:word:($*)\" 'files:file:_files'\n"
      "}\n"
      "_stepscope() {\n"
      "  local curcontext=$curcontext state line\n"
      "  local -a verbs=(\n";
  for (const Verb& verb : verbs)
    if (!verb.group.empty())
      out += fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", verb.name, verb.summary)));
  out += "  )\n  _arguments -C '1:verb:->verb' '*::argument:->rest'";
  zsh_flags(out, program, verbs);
  out +=
      "  case $state in\n"
      "    verb) _describe verb verbs ;;\n"
      "    rest)\n"
      "      case $words[1] in\n";
  for (const CLI::App* app : listed(program, verbs)) {
    out += fmt::format("      {}) _arguments", app->get_name());
    zsh_flags(out, *app, verbs);
    out += "        ;;\n";
  }
  return out +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [[ $funcstack[1] == _stepscope ]]; then _stepscope \"$@\"; else compdef _stepscope "
         "stepscope; fi\n";
}

std::string fish_completion(const CLI::App& program, std::span<const Verb> verbs) {
  std::string out =
      "# Completion of stepscope for fish, printed by \"stepscope completion fish\".\n"
      "complete -c stepscope -f\n";
  for (const FlagView& flag : flags_of(program))
    out += fmt::format("complete -c stepscope -n __fish_use_subcommand -s {} -l {} -d {}\n",
                       flag.short_name.substr(1), flag.name.substr(2), in_quotes(flag.what));
  for (const Verb& verb : verbs)
    if (!verb.group.empty())
      out += fmt::format("complete -c stepscope -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                         in_quotes(verb.summary));
  for (const CLI::App* app : listed(program, verbs))
    for (const FlagView& flag : flags_of(*app)) {
      out +=
          fmt::format("complete -c stepscope -n '__fish_seen_subcommand_from {}'", app->get_name());
      if (!flag.argument) out += fmt::format(" -l {}", flag.name.substr(2));
      if (!flag.value.empty()) out += " -r";
      if (flag.file) out += " -F";
      if (flag.directory) out += " -x -a '(__fish_complete_directories)'";
      if (const auto words = choices_of(flag, verbs); !words.empty())
        out += fmt::format(" -a {}", in_quotes(fmt::format("{}", fmt::join(words, " "))));
      out += fmt::format(" -d {}\n", in_quotes(flag.what));
    }
  return out;
}

}  // namespace stepscope
