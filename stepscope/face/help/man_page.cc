// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/man_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "stepscope/face/help/flag_view.h"
#include "stepscope/face/help/help_text.h"

namespace stepscope {
namespace {

// Text that roff takes as it stands: no escapes, no requests, dashes that can be copied.
std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\n')
      out += ' ';
    else
      out += c;
  }
  return out;
}

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

void options(std::string& out, const CLI::App& app) {
  for (const FlagGroup& group : flag_groups(app)) {
    out += fmt::format(".SS {}\n", roff(group.name));
    for (const FlagView& flag : group.flags) {
      std::string name = fmt::format("\\fB{}\\fR", roff(flag.name));
      if (!flag.short_name.empty())
        name = fmt::format("\\fB{}\\fR, {}", roff(flag.short_name), name);
      if (!flag.value.empty()) name += fmt::format(" \\fI{}\\fR", roff(flag.value));
      out += fmt::format(".TP\n{}\n{}\n", name, roff(flag.detail()));
    }
  }
}

void examples(std::string& out, const CLI::App& app) {
  const auto commands = examples_of(app);
  if (commands.empty()) return;
  out += ".SH EXAMPLES\n";
  for (const std::string& command : commands) {
    out += ".PP\n.nf\n.RS\n";
    constexpr std::size_t width = 66;
    for (const std::string& line : wrapped_command(command, width)) out += roff(line) + "\n";
    out += ".RE\n.fi\n";
  }
}

void exit_status(std::string& out) {
  out += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_meanings)
    out += fmt::format(".TP\n{}\n{}\n", static_cast<int>(exit.code), roff(exit.meaning));
}

void verbs_section(std::string& out, std::span<const Verb> verbs) {
  out += ".SH VERBS\n";
  std::string_view group;
  for (const Verb& verb : verbs) {
    if (verb.group.empty()) continue;
    if (verb.group != group) out += fmt::format(".SS {}\n", roff(verb.group));
    group = verb.group;
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(verb.name), roff(verb.summary));
  }
}

// One line of a Markdown table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '*' || c == '_' || c == '<') out += '\\';
    out += c;
  }
  return out;
}

std::string code(std::string_view text) {
  if (text.empty()) return {};
  std::string out = "`";
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out + "`";
}

}  // namespace

std::string man_page(const CLI::App& app, std::span<const Verb> verbs, std::string_view version) {
  const bool program = app.get_parent() == nullptr;
  const std::string name =
      program ? app.get_name() : fmt::format("{}-{}", app.get_parent()->get_name(), app.get_name());
  const auto verb = std::ranges::find(verbs, app.get_name(), &Verb::name);
  const std::string_view summary =
      verb == verbs.end() ? "where each training step goes" : verb->summary;
  std::string out = fmt::format(".TH {} 1 \"\" \"stepscope {}\" \"User Commands\"\n.nh\n.ad l\n",
                                roff(upper(name)), roff(version));
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff(name), roff(summary));
  out += fmt::format(".SH SYNOPSIS\n{}\n", roff(usage_of(app)));
  out += fmt::format(".SH DESCRIPTION\n{}\n", roff(app.get_description()));
  if (program) verbs_section(out, verbs);
  out += ".SH OPTIONS\n";
  options(out, app);
  examples(out, app);
  exit_status(out);
  out += ".SH SEE ALSO\n";
  if (!program) {
    out += ".BR stepscope (1)\n";
    if (verb != verbs.end()) out += fmt::format(".PP\ndocs/{}\n", roff(verb->page));
    return out;
  }
  std::string separator;
  for (const Verb& v : verbs) {
    if (v.group.empty()) continue;
    out += fmt::format("{}.BR {} (1)", separator, roff(fmt::format("stepscope-{}", v.name)));
    separator = ",\n";
  }
  return out + "\n";
}

std::string flags_markdown(std::span<const Verb> verbs) {
  std::string out =
      "# Flags\n\n"
      "`stepscope VERB --help` and `man stepscope-VERB` show what these pages show. Flags of the "
      "same meaning have the same name and the same syntax in all verbs. Times are written as "
      "`20ms` or `3s`, shares as `5%`, sizes as `25MB` (10^6 bytes) or `16MiB` (2^20 bytes). A "
      "type in small letters is a list of the possible values. Every verb also has `-h` (help) and "
      "`-q` (no text and no progress).\n\n"
      "| verb | task |\n|---|---|\n";
  for (const Verb& verb : verbs)
    if (!verb.group.empty())
      out += fmt::format("| [{0}](flags/{0}.md) | {1} |\n", verb.name, cell(verb.summary));
  return out + "\nAll verbs end with the same [exit codes](exit-codes.md).\n";
}

std::string flags_markdown(const CLI::App& app, const Verb& verb) {
  std::string out = fmt::format("# Flags of `{}`\n\n{}\n\n    {}\n", verb.name,
                                app.get_description(), usage_of(app));
  for (const FlagGroup& group : flag_groups(app)) {
    if (group.name == help_group) continue;
    out += fmt::format("\n**{}**\n\n| {} | meaning | default |\n|---|---|---|\n", group.name,
                       group.name == arguments_group ? "argument" : "flag");
    for (const FlagView& flag : group.flags)
      out += fmt::format("| {} | {}{}{} | {} |\n", code(flag.text()), cell(flag.what),
                         flag.repeatable ? " (repeatable)" : "",
                         flag.earlier.empty() ? "" : fmt::format(" (earlier `{}`)", flag.earlier),
                         cell(flag.preset));
  }
  const auto commands = examples_of(app);
  if (!commands.empty()) out += commands.size() == 1 ? "\nExample:\n\n" : "\nExamples:\n\n";
  for (const std::string& command : commands) out += fmt::format("    {}\n", command);
  constexpr std::string_view folder = "reference/";
  const std::string link = verb.page.starts_with(folder)
                               ? fmt::format("../{}", verb.page.substr(folder.size()))
                               : fmt::format("../../{}", verb.page);
  if (!verb.page.empty()) out += fmt::format("\nMore: [{}]({}).\n", verb.page, link);
  return out;
}

}  // namespace stepscope
