// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/flag_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

std::vector<std::string> between(std::string_view text, char separator) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) out.push_back(part);
  return out;
}

// Words of a type name in small letters are values; those in capitals say what stands there.
bool literal(const std::string& word) {
  return std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

// Names for a word of a type name.
std::vector<std::string> (*offered)(std::string_view word) = nullptr;

void read_type(const std::string& type, FlagView& view) {
  for (const std::string& word : between(type, '|')) {
    if (word == "FILE" || word == "PATH") view.file = true;
    if (word == "DIR") view.directory = true;
    if (offered != nullptr)
      for (std::string& name : offered(word)) view.choices.push_back(std::move(name));
    if (literal(word)) view.choices.push_back(word);
  }
}

FlagView view_of(const CLI::Option& option) {
  FlagView view;
  view.what = option.get_description();
  view.preset = option.get_default_str();
  view.argument = option.get_positional();
  view.required = option.get_required();
  const bool several = option.get_items_expected_max() > 1;
  const bool in_a_row = several && (option.get_positional() || option.get_allow_extra_args());
  const bool takes_value = option.get_items_expected_max() > 0;
  if (takes_value) read_type(option.get_type_name(), view);
  const std::string more = in_a_row && !option.get_type_name().ends_with("...") ? "..." : "";
  if (view.argument) {
    view.name = option.get_name(true) + more;
    return view;
  }
  view.name = option.get_name();
  if (option.get_lnames().size() > 1) view.earlier = "--" + option.get_lnames()[1];
  if (!option.get_snames().empty()) view.short_name = "-" + option.get_snames().front();
  if (takes_value) view.value = option.get_type_name() + more;
  view.repeatable = takes_value && (several || option.get_multi_option_policy() ==
                                                   CLI::MultiOptionPolicy::TakeAll);
  return view;
}

}  // namespace

void offer_names(std::vector<std::string> (*names)(std::string_view word)) { offered = names; }

std::string FlagView::text() const {
  return fmt::format("{}{}{}{}", short_name, short_name.empty() ? "" : ", ", name,
                     value.empty() ? "" : " " + value);
}

std::string FlagView::detail() const {
  std::string out = what;
  if (repeatable) out += " (repeatable)";
  const bool is_on = value.empty() && !argument;  // a switch whose default is true
  if (!preset.empty())
    out += is_on ? fmt::format(" [default: on, {}=false turns it off]", name)
                 : fmt::format(" [default: {}]", preset);
  return out;
}

std::vector<FlagGroup> flag_groups(const CLI::App& app) {
  std::vector<FlagGroup> groups = {{arguments_group, {}}, {common_group, {}}};
  FlagGroup help{help_group, {}};
  for (const CLI::Option* option : app.get_options()) {
    const std::string& name = option->get_group();
    if (name.empty()) continue;
    FlagView view = view_of(*option);
    if (name == help_group) {
      help.flags.push_back(std::move(view));
      continue;
    }
    auto group =
        std::ranges::find(groups, view.argument ? arguments_group : name, &FlagGroup::name);
    if (group == groups.end()) group = groups.insert(groups.end(), {name, {}});
    group->flags.push_back(std::move(view));
  }
  groups.push_back(std::move(help));
  std::erase_if(groups, [](const FlagGroup& group) { return group.flags.empty(); });
  return groups;
}

std::vector<FlagView> flags_of(const CLI::App& app) {
  std::vector<FlagView> all;
  for (FlagGroup& group : flag_groups(app)) std::ranges::move(group.flags, std::back_inserter(all));
  return all;
}

std::string usage_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return app.get_name() + " VERB [flags]";
  std::string out = fmt::format("{} {}", app.get_parent()->get_name(), app.get_name());
  std::string arguments;
  std::string required;
  for (const FlagView& flag : flags_of(app)) {
    if (flag.argument)
      arguments += fmt::format(fmt::runtime(flag.required ? " {}" : " [{}]"), flag.name);
    if (!flag.argument && flag.required) required += " " + flag.name + " " + flag.value;
  }
  // Behind required flags an argument may be a command with flags of its own.
  return required.empty() ? out + arguments + " [flags]" : out + required + " [flags]" + arguments;
}

std::vector<std::string> examples_of(const CLI::App& app) {
  return between(app.get_footer(), '\n');
}

const CLI::App* find_verb(const CLI::App& program, std::string_view name) {
  const auto verbs =
      program.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return verbs.empty() ? nullptr : verbs.front();
}

void mark_common(CLI::App& app, std::initializer_list<const char*> names) {
  check(names.size() <= most_common_flags, "at most ten flags are common");
  for (const char* name : names) app.get_option(name)->group(common_group);
}

}  // namespace stepscope
