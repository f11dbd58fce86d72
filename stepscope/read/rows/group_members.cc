// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/rows/group_members.h"

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/base/json_reader.h"

namespace stepscope {
namespace {

using Name = std::pair<std::string, int>;   // name and size
using Places = std::map<std::string, int>;  // group → the rank's index in it

Places take_places(Metadata& metadata) {
  Places places;
  const auto text = metadata.texts.find("group_places");
  if (text == metadata.texts.end()) return places;
  const auto all = parse_json(text->second, {}, any_values);
  metadata.texts.erase(text);
  if (!all) return places;
  for (std::size_t i = 0; i < all->keys.size(); ++i)
    if (all->items[i].kind == JsonValue::Kind::integer)
      places[all->keys[i]] = static_cast<int>(all->items[i].integer);
  return places;
}

bool lacks_ranks(const ProcessGroup& group) { return group.ranks.empty() && group.size > 0; }

}  // namespace

void complete_groups(std::span<const int> ranks, std::span<Metadata* const> of) {
  std::map<Name, std::map<int, int>> members;  // index → rank
  std::set<Name> contradicted;                 // two ranks claim one index
  for (std::size_t i = 0; i < of.size(); ++i) {
    const Places places = take_places(*of[i]);
    for (const ProcessGroup& group : of[i]->groups) {
      const auto place = places.find(group.name);
      if (!lacks_ranks(group) || place == places.end()) continue;
      if (place->second < 0 || place->second >= group.size) continue;
      const Name name{group.name, group.size};
      const auto [at, fresh] = members[name].try_emplace(place->second, ranks[i]);
      if (!fresh && at->second != ranks[i]) contradicted.insert(name);
    }
  }
  for (Metadata* metadata : of) {
    for (ProcessGroup& group : metadata->groups) {
      const Name name{group.name, group.size};
      const auto known = members.find(name);
      if (!lacks_ranks(group) || known == members.end() || contradicted.contains(name)) continue;
      if (known->second.size() != static_cast<std::size_t>(group.size)) continue;
      for (const auto& [place, rank] : known->second) group.ranks.push_back(rank);
    }
  }
}

}  // namespace stepscope
