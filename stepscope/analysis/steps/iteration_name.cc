// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/steps/iteration_name.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <utility>
#include <vector>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// Position of the number in "name#12", "name 12", "name_12/100" and "name12", if `text` is such a
// name.
std::optional<std::size_t> number_behind(std::string_view text, std::size_t name_size) {
  const std::size_t at = text.find_first_not_of(" _-:=#[(", name_size);
  if (at == std::string_view::npos || !is_digit(text[at])) return std::nullopt;
  const std::size_t end = text.find_first_not_of("0123456789", at);
  if (end == std::string_view::npos || text[end] == '/') return at;
  return text.find_first_not_of(" ])", end) == std::string_view::npos ? std::optional(at)
                                                                      : std::nullopt;
}

// Names of ranges that are one iteration of training.
constexpr std::array<std::string_view, 14> iteration_words = {
    "step",           "iteration", "iter",        "train_step",      "training_step",
    "train_iter",     "batch",     "train_batch", "train_iteration", "training_iteration",
    "training_batch", "minibatch", "global_step", "training_iter"};

// The part of "Train Step 12" before the number if it is such a name; else empty.
std::string_view iteration_part(std::string_view text) {
  const std::size_t digit = std::min(text.find_first_of("0123456789"), text.size());
  std::string_view part = text.substr(0, digit);
  while (!part.empty() && std::string_view(" _-:=#[(").find(part.back()) != part.npos)
    part.remove_suffix(1);
  std::string word;
  for (const char c : part)
    word +=
        c == ' ' || c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const bool known = std::ranges::find(iteration_words, word) != iteration_words.end();
  return known && names_step(text, part) ? part : std::string_view{};
}

}  // namespace

bool names_step(std::string_view text, std::string_view wanted) {
  if (text.substr(0, wanted.size()) != wanted || wanted.empty()) return false;
  if (text.size() == wanted.size() || text[wanted.size()] == '#') return true;
  const bool before_number = std::isalnum(static_cast<unsigned char>(wanted.back())) == 0;
  return before_number ? is_digit(text[wanted.size()])
                       : number_behind(text, wanted.size()).has_value();
}

std::optional<std::int64_t> step_number(std::string_view name) {
  const std::size_t hash = name.rfind('#');
  std::size_t at = hash + 1;
  if (hash == std::string_view::npos) {
    const std::size_t digit = name.find_first_of("0123456789");
    if (digit == std::string_view::npos) return std::nullopt;
    at = digit;
  }
  std::int64_t number = 0;
  const char* last = name.data() + name.size();
  const auto [end, error] = std::from_chars(name.data() + at, last, number);
  constexpr std::int64_t largest = std::int64_t{1} << 53;  // largest number that JSON keeps exactly
  const bool whole = end == last || (hash == std::string_view::npos && number_behind(name, at));
  if (error != std::errc{} || !whole || number < -largest || number > largest) return std::nullopt;
  return number;
}

std::string iteration_name(const Trace& trace, const RankIndex& rank) {
  const Slices& s = trace.slices;
  std::string best = "ProfilerStep";
  for (std::uint32_t i = 0; i < trace.strings.size(); ++i)
    if (names_step(trace.strings[StringId{i}], best)) return best;
  std::vector<std::string_view> part_of(trace.strings.size());
  for (std::uint32_t i = 0; i < part_of.size(); ++i)
    part_of[i] = iteration_part(trace.strings[StringId{i}]);
  Ns most{};
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    std::map<std::string_view, std::pair<std::size_t, Ns>> families;  // count, time
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      const std::string_view part = part_of[index(s.name[i])];
      if (part.empty() || s.category[i] != Category::user_annotation) continue;
      ++families[part].first;
      families[part].second += s.dur[i];
    }
    for (const auto& [part, use] : families) {
      if (use.first < 2 || use.second <= most) continue;
      most = use.second;
      best = part;
    }
  }
  return best;
}

}  // namespace stepscope
