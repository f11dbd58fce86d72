// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/help_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stepscope/face/help/flag_view.h"

namespace stepscope {
namespace {

constexpr std::size_t flag_columns = 28;  // where descriptions begin
constexpr std::size_t verb_columns = 14;

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void paragraph(std::string& out, std::string_view text, std::size_t width) {
  for (const std::string& line : wrapped_lines(text, width)) out += line + "\n";
}

// "  left      right", the right side from `column` on, below the left one where that is too long.
void row(std::string& out, std::string_view left, std::string_view right, std::size_t column,
         std::size_t width) {
  std::string line = fmt::format("  {}", left);
  if (columns(line) + 2 > column) {
    out += line + "\n";
    line.clear();
  }
  for (const std::string& part : wrapped_lines(right, width - column)) {
    line.append(column - columns(line), ' ');
    out += line + part + "\n";
    line.clear();
  }
  if (!line.empty()) out += line + "\n";
}

void examples(std::string& out, const CLI::App& app, std::size_t width) {
  const auto commands = examples_of(app);
  if (commands.empty()) return;
  out += commands.size() == 1 ? "\nExample:\n" : "\nExamples:\n";
  for (const std::string& command : commands)
    for (const std::string& line : wrapped_command(command, width - 2)) out += "  " + line + "\n";
}

void flags(std::string& out, const CLI::App& app, std::size_t width) {
  for (const FlagGroup& group : flag_groups(app)) {
    out += fmt::format("\n{}:\n", group.name);
    for (const FlagView& flag : group.flags)
      row(out, flag.text(), flag.detail(), flag_columns, width);
  }
}

void exit_codes(std::string& out, std::size_t width) {
  std::string text = "Exit codes:";
  for (const ExitMeaning& exit : exit_meanings)
    text += fmt::format("{} {} {}", exit.code == exit_done ? "" : ",", static_cast<int>(exit.code),
                        exit.brief);
  out += "\n";
  paragraph(out, text, width);
}

std::string help_of_program(const CLI::App& app, std::span<const Verb> verbs, std::size_t width) {
  std::string out;
  paragraph(out, app.get_description(), width);
  out += fmt::format("\nUsage: {}\n", usage_of(app));
  std::string_view group;
  for (const Verb& verb : verbs) {
    if (verb.group.empty()) continue;
    if (verb.group != group) out += fmt::format("\n{}:\n", verb.group);
    group = verb.group;
    row(out, verb.name, verb.summary, verb_columns, width);
  }
  flags(out, app, width);
  examples(out, app, width);
  exit_codes(out, width);
  out += "\nstepscope help VERB shows the flags of a verb.\n";
  return out;
}

class HelpFormatter : public CLI::FormatterBase {
 public:
  HelpFormatter(std::span<const Verb> verbs, std::size_t width) : verbs_(verbs), width_(width) {}
  std::string make_help(const CLI::App* app, std::string /*name*/,
                        CLI::AppFormatMode /*mode*/) const override {
    return help_text(*app, verbs_, width_);
  }

 private:
  std::span<const Verb> verbs_;
  std::size_t width_;
};

}  // namespace

std::vector<std::string> wrapped_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (!line.empty() && columns(line) + 1 + columns(word) > width)
      lines.push_back(std::exchange(line, {}));
    if (!line.empty()) line += ' ';
    line += word;
    at = end + 1;
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> wrapped_command(std::string_view command, std::size_t width) {
  std::vector<std::string> words;
  bool quoted = false;
  bool open = false;  // the last word goes on
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) {
      open = false;
      continue;
    }
    if (!std::exchange(open, true)) words.emplace_back();
    words.back() += c;
  }
  // A flag and its value stay together.
  std::vector<std::string> parts;
  for (const std::string& word : words)
    if (!parts.empty() && parts.back().starts_with("--") && parts.back() != "--" &&
        parts.back().find(' ') == std::string::npos && !word.starts_with('-'))
      parts.back() += " " + word;
    else
      parts.push_back(word);
  std::vector<std::string> lines;
  std::string line;
  for (const std::string& part : parts) {
    if (!line.empty() && columns(line) + 1 + columns(part) + 2 > width) {
      lines.push_back(line + " \\");
      line = "    " + part;
    } else {
      line += (line.empty() ? "" : " ") + part;
    }
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

std::string help_text(const CLI::App& app, std::span<const Verb> verbs, std::size_t width) {
  if (app.get_parent() == nullptr) return help_of_program(app, verbs, width);
  std::string out;
  paragraph(out, app.get_description(), width);
  out += "\n";
  for (const std::string& line : wrapped_lines("Usage: " + usage_of(app), width))
    out += line + "\n";
  flags(out, app, width);
  examples(out, app, width);
  exit_codes(out, width);
  const auto verb = std::ranges::find(verbs, app.get_name(), &Verb::name);
  if (verb != verbs.end()) out += fmt::format("More: docs/{}\n", verb->page);
  return out;
}

std::shared_ptr<CLI::FormatterBase> help_formatter(std::span<const Verb> verbs, std::size_t width) {
  return std::make_shared<HelpFormatter>(verbs, width);
}

}  // namespace stepscope
