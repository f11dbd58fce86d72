// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_number.h"

#include <array>
#include <cctype>
#include <optional>

#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

bool is_letter_of_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// "a.step" and "a:step" are places in a source.
bool begins_word(std::string_view line, std::size_t at) {
  if (at == 0) return true;
  const char before = line[at - 1];
  if (is_letter_of_word(before)) return false;
  const bool of_place = before == '.' || before == ':';
  return !of_place || at < 2 || !is_letter_of_word(line[at - 2]);
}

struct CountedStep {
  std::int64_t number = 0;
  bool of_all = false;  // "12/500"
};

std::optional<CountedStep> step_behind(std::string_view line, std::size_t end) {
  constexpr std::int64_t most = 1'000'000'000'000'000;
  const std::size_t from = line.find_first_not_of(" :=\"#[", end);
  if (from == end || from == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(from);
  const auto number = take_number<std::int64_t>(rest);
  if (!number || *number < 0 || *number > most || rest.find_first_of(".eE") == 0)
    return std::nullopt;
  if (!rest.starts_with('/')) return CountedStep{.number = *number};
  const auto all = leading_number<std::int64_t>(rest.substr(1));
  return CountedStep{.number = *number, .of_all = all && *all > 0 && *all >= *number};
}

// The number behind a name; one with "/M" goes over others.
std::optional<std::int64_t> number_named(std::string_view line, std::string_view name) {
  std::optional<std::int64_t> first;
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    if (!begins_word(line, at)) continue;
    const auto step = step_behind(line, at + name.size());
    if (step && step->of_all) return step->number;
    if (!first && step) first = step->number;
  }
  return first;
}

}  // namespace

std::int64_t number_of_step(std::string_view line) {
  constexpr std::array<std::string_view, 9> names = {"global_step", "train_step", "current_step",
                                                     "step",        "Step",       "iteration",
                                                     "Iteration",   "iter",       "Iter"};
  for (const std::string_view name : names)
    if (const auto number = number_named(line, name)) return *number;
  return -1;
}

}  // namespace stepscope
