// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/log/step_number.h"

#include <array>
#include <cctype>

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

// The whole number behind a name that ends at `end`, and M of "12/M".
std::optional<StepNumber> step_behind(std::string_view line, std::size_t end) {
  const std::size_t from = line.find_first_not_of(" :=\"#[", end);
  if (from == end || from == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(from);
  const auto number = take_number<std::int64_t>(rest);
  if (!number || *number < 0 || rest.find_first_of(".eE") == 0) return std::nullopt;
  StepNumber found{.number = *number};
  if (rest.starts_with('/')) {
    rest.remove_prefix(1);
    if (const auto of = take_number<std::int64_t>(rest); of && *of >= *number) found.of = *of;
  }
  return found;
}

// The number behind a name; one with "/M" goes over others.
std::optional<StepNumber> number_named(std::string_view line, std::string_view name) {
  std::optional<StepNumber> first;
  for (std::size_t at = line.find(name); at != std::string_view::npos;
       at = line.find(name, at + 1)) {
    if (!begins_word(line, at)) continue;
    const auto number = step_behind(line, at + name.size());
    if (number && number->of > 0) return number;
    if (!first) first = number;
  }
  return first;
}

}  // namespace

StepNumber number_of_step(std::string_view line) {
  constexpr std::array<std::string_view, 9> names = {"global_step", "train_step", "current_step",
                                                     "step",        "Step",       "iteration",
                                                     "Iteration",   "iter",       "Iter"};
  constexpr std::array<std::string_view, 2> epochs = {"epoch", "Epoch"};
  StepNumber step;
  for (const std::string_view name : names)
    if (const auto number = number_named(line, name)) {
      step = *number;
      break;
    }
  for (const std::string_view name : epochs)
    if (const auto epoch = number_named(line, name); epoch && !step.epoch)
      step.epoch = epoch->number;
  return step;
}

std::int64_t continued(EpochCount& count, const StepNumber& step) {
  constexpr std::int64_t most = 1'000'000'000'000'000;
  if (step.number < 0 || step.number > most) return -1;
  if (step.epoch && count.epoch && *step.epoch > *count.epoch && step.number <= count.last) {
    const std::int64_t epochs = *step.epoch - *count.epoch;
    const bool known = step.of > 0 && epochs < most / step.of;
    count.before += known ? step.of * epochs : count.last;
    if (count.before > most) count.before = 0;
  } else if (step.epoch && count.epoch && *step.epoch < *count.epoch) {
    count.before = 0;  // another launch
  }
  if (step.epoch) count.epoch = step.epoch;
  count.last = step.number;
  return count.before + step.number;
}

}  // namespace stepscope
