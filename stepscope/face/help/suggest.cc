// SPDX-License-Identifier: Apache-2.0
#include "stepscope/face/help/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <initializer_list>
#include <utility>

#include "stepscope/face/help/flag_view.h"

namespace stepscope {
namespace {

constexpr std::size_t longest = 100;  // letters that are compared

std::string in_small_letters(std::string_view text) {
  std::string out(text.substr(0, longest));
  std::ranges::transform(out, out.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return out;
}

// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? last : ", ", words[i]);
  return out;
}

std::string did_you_mean(const std::vector<std::string>& names) {
  return fmt::format("did you mean {}?", joined(names, " or "));
}

// Short names allow fewer wrong letters; `longest` where `known` is nothing that was meant.
std::size_t remoteness(std::string_view name, std::string_view known) {
  const std::size_t distance = edit_distance(name, known);
  if (distance <= std::max<std::size_t>(1, std::min(name.size(), known.size()) / 3))
    return distance;
  constexpr std::size_t fewest = 3;   // letters of a beginning that is long enough
  constexpr std::size_t remote = 10;  // more than any distance above
  const std::size_t shared = std::min(name.size(), known.size());
  if (shared >= fewest && name.substr(0, shared) == known.substr(0, shared))
    return remote + std::max(name.size(), known.size()) - shared;
  return longest;
}

std::string_view without_dashes(std::string_view flag) {
  flag.remove_prefix(std::min(flag.find_first_not_of('-'), flag.size()));
  return flag.substr(0, flag.find('='));
}

bool has_flag(const CLI::App& verb, std::string_view name) {
  return std::ranges::any_of(flags_of(verb), [&](const FlagView& f) { return f.name == name; });
}

// What a flag that other programs have is here; empty of any other.
std::string flag_elsewhere(const CLI::App& verb, std::string_view flag) {
  const std::string name = in_small_letters(without_dashes(flag));
  const auto is_one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  if (is_one_of({"version"})) return "stepscope --version shows it";
  if (is_one_of({"silent", "progress", "no-progress"}))
    return "progress is drawn on a terminal only, and --quiet leaves it out";
  if (is_one_of({"color", "colour", "no-color", "no-colour"}))
    return "colours are for a terminal only, and NO_COLOR=1 turns them off";
  if (is_one_of({"v", "verbose"}) && has_flag(verb, "--json"))
    return "it has no longer text: --json writes all figures";
  if (!is_one_of({"o", "out", "output", "output-dir", "format", "outfile", "save"})) return {};
  std::vector<std::string> outputs;
  for (const FlagView& f : flags_of(verb))
    for (const std::string_view output : {"--json", "--html", "--csv"})
      if (f.name == output) outputs.push_back(f.name + " " + f.value);
  return outputs.empty() ? std::string() : "write " + joined(outputs, " or ");
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  a = a.substr(0, longest);
  b = b.substr(0, longest);
  // Rows of the table of all prefixes: two rows back, one back, this one.
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::vector<std::string> likely_names(std::string_view name, std::span<const std::string> known) {
  const std::string small = in_small_letters(name);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string& k : known)
    if (const std::size_t far = remoteness(small, in_small_letters(k)); far < longest)
      near.emplace_back(far, k);
  std::ranges::stable_sort(near, {}, &std::pair<std::size_t, std::string>::first);
  std::vector<std::string> names;
  constexpr std::size_t max_names = 3;
  for (const auto& [far, k] : near)
    if (names.size() < max_names && far <= near.front().first + 1) names.push_back(k);
  return names;
}

std::string unknown_verb(const CLI::App& program, std::string_view name) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : program.get_subcommands(nullptr))
    if (!verb->get_group().empty()) verbs.push_back(verb->get_name());
  const auto near = likely_names(name, verbs);
  if (name == "version") return "there is no verb version; stepscope --version shows it";
  return fmt::format("there is no verb {}; {}", name,
                     near.empty() ? "stepscope --help lists them" : did_you_mean(near));
}

std::string unknown_flag(const CLI::App& verb, std::string_view flag) {
  flag = flag.substr(0, flag.find('='));
  std::vector<std::string> here;
  for (const FlagView& f : flags_of(verb))
    if (!f.argument) here.emplace_back(without_dashes(f.name));
  std::vector<std::string> there;
  for (const CLI::App* other : verb.get_parent()->get_subcommands(nullptr))
    if (other != &verb && !other->get_group().empty() && has_flag(*other, flag))
      there.push_back(other->get_name());
  auto near = likely_names(without_dashes(flag), here);
  if (!there.empty())  // it is no slip then
    std::erase_if(near, [&](const std::string& name) {
      return edit_distance(name, without_dashes(flag)) > 1;
    });
  for (std::string& name : near) name.insert(0, "--");
  std::string remedy = near.empty() || flag == "-v" ? flag_elsewhere(verb, flag) : std::string();
  if (!remedy.empty()) return fmt::format("{} has no flag {}; {}", verb.get_name(), flag, remedy);
  if (!there.empty()) remedy = fmt::format("it is a flag of {}", joined(there, " and "));
  if (!near.empty()) remedy += (remedy.empty() ? "" : "; ") + did_you_mean(near);
  if (remedy.empty()) remedy = fmt::format("stepscope help {} lists the flags", verb.get_name());
  return fmt::format("{} has no flag {}; {}", verb.get_name(), flag, remedy);
}

}  // namespace stepscope
