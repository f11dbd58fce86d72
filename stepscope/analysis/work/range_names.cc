// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/work/range_names.h"

#include <limits>
#include <map>
#include <numeric>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();

// The steps in which a name comes, or names that are alike.
struct Seen {
  std::size_t first = nowhere;
  bool several = false;

  void add(std::size_t step) {
    several = several || (first != nowhere && first != step);
    first = step;
  }
};

struct Alike {
  std::vector<StringId> names;
  Seen seen;
  bool recurs = false;  // a name of it comes in two steps
};

// By StringId, for ranges with a number.
std::vector<Seen> steps_of_names(const Trace& trace, const RankIndex& rank,
                                 std::span<const Step> steps) {
  const Slices& s = trace.slices;
  std::vector<Seen> seen(trace.strings.size());
  for (const TrackId id : rank.host_tracks) {
    const Track& track = trace.track(id);
    for (std::uint32_t i = track.first; i < track.first + track.count; ++i) {
      if (s.category[i] != Category::user_annotation) continue;
      if (const auto step = step_of_host(steps, s.start[i])) seen[index(s.name[i])].add(*step);
    }
  }
  return seen;
}

}  // namespace

std::string name_without_numbers(std::string_view name) {
  std::string out;
  bool words = false;
  for (std::size_t i = 0; i < name.size();) {
    if (!is_digit(name[i])) {
      words = words || is_letter(name[i]);
      out += name[i++];
      continue;
    }
    const std::size_t begin = i;
    bool decimal = false;
    while (i < name.size() && (is_digit(name[i]) ||
                               (name[i] == '.' && i + 1 < name.size() && is_digit(name[i + 1])))) {
      decimal = decimal || name[i] == '.';
      ++i;
    }
    const bool unit = i < name.size() && is_letter(name[i]);
    if (decimal || unit)
      out += name.substr(begin, i - begin);
    else
      out += '#';
  }
  return words ? out : std::string(name);
}

RangeNames::RangeNames(const Trace& trace, const RankIndex& rank, std::span<const Step> steps)
    : trace_(trace) {
  if (steps.size() < 2) return;
  const std::vector<Seen> seen = steps_of_names(trace, rank, steps);
  std::map<std::string, Alike> families;
  for (std::uint32_t n = 0; n < seen.size(); ++n) {
    if (seen[n].first == nowhere) continue;
    const std::string_view name = trace.strings[StringId{n}];
    std::string without = name_without_numbers(name);
    if (without == name) continue;
    Alike& alike = families[std::move(without)];
    alike.names.push_back(StringId{n});
    alike.seen.add(seen[n].first);
    alike.recurs = alike.recurs || seen[n].several;
  }
  for (const auto& [name, alike] : families) {
    if (alike.recurs || !alike.seen.several) continue;
    if (number_.empty()) {
      number_.resize(trace.strings.size());
      std::iota(number_.begin(), number_.end(), 0U);
    }
    for (const StringId one : alike.names)
      number_[index(one)] = static_cast<std::uint32_t>(trace.strings.size() + joined_.size());
    joined_.push_back(name);
  }
}

std::uint32_t RangeNames::number(StringId name) const {
  return number_.empty() ? index(name) : number_[index(name)];
}

std::string_view RangeNames::text(std::uint32_t number) const {
  return number < trace_.strings.size() ? trace_.strings[StringId{number}]
                                        : std::string_view(joined_[number - trace_.strings.size()]);
}

}  // namespace stepscope
