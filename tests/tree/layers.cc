// SPDX-License-Identifier: Apache-2.0
#include "tests/tree/layers.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <utility>

namespace stepscope::tree {
namespace {

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t`/");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t`/") - first + 1));
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The cells of a Markdown row; empty for other lines.
std::vector<std::string> cells(std::string_view line) {
  std::vector<std::string> out;
  if (!line.starts_with('|')) return out;
  line.remove_prefix(1);
  for (std::size_t bar = line.find('|'); bar != std::string_view::npos; bar = line.find('|')) {
    out.push_back(trimmed(line.substr(0, bar)));
    line.remove_prefix(bar + 1);
  }
  return out;
}

const Layer* find_layer(std::span<const Layer> layers, std::string_view folder) {
  const auto it = std::ranges::find(layers, folder, &Layer::folder);
  return it == layers.end() ? nullptr : &*it;
}

bool allows(const Layer& from, std::string_view to) {
  return from.folder == to || std::ranges::find(from.may_include, to) != from.may_include.end();
}

// The headers for users of the library. They are in no folder.
constexpr std::array<std::string_view, 2> umbrellas = {"stepscope/stepscope.h",
                                                       "engine/stepscope_engine.h"};
// What they may include.
constexpr std::array<std::string_view, 7> for_users = {"verbs",     "face",  "say", "measure",
                                                       "telemetry", "train", "zero"};

std::string place(const SourceFile& file, const Include& include) {
  return file.path + ":" + std::to_string(include.line) + ": ";
}

std::string stem_of(std::string_view path) { return std::string(path.substr(0, path.rfind('.'))); }

bool is_test(std::string_view path) {
  const std::string stem = stem_of(path);
  return stem.find("_test") != std::string::npos || stem.ends_with("_bench");
}

using Graph = std::map<std::string, std::set<std::string>, std::less<>>;

// The cycles of a graph as paths, one line each.
std::vector<std::string> circles(const Graph& graph) {
  enum class Visit : std::uint8_t { never, open, done };
  std::map<std::string, Visit, std::less<>> states;
  std::vector<std::string> faults;
  std::vector<std::string> path;
  const auto visit = [&](const auto& self, const std::string& name) -> void {
    const auto node = graph.find(name);
    if (node == graph.end() || states[name] == Visit::done) return;
    path.push_back(name);
    if (states[name] == Visit::open) {
      std::string circle;
      for (auto at = std::ranges::find(path, name); at != path.end(); ++at) {
        circle += (circle.empty() ? "" : " -> ") + *at;
      }
      faults.push_back(circle);
    } else {
      states[name] = Visit::open;
      for (const std::string& to : node->second) self(self, to);
      states[name] = Visit::done;
    }
    path.pop_back();
  };
  for (const auto& [name, to] : graph) visit(visit, name);
  return faults;
}

}  // namespace

std::vector<Layer> parse_layers(std::string_view markdown) {
  std::vector<Layer> layers;
  for (const std::string& line : parse_source("", markdown).lines) {
    const auto row = cells(line);
    Layer layer;
    if (row.size() != 4) continue;
    const char* end = row[0].data() + row[0].size();
    const auto [rest, error] = std::from_chars(row[0].data(), end, layer.floor);
    if (error != std::errc{}) continue;
    layer.later = std::string_view(rest, end).find("later") != std::string_view::npos;
    layer.folder = row[1];
    if (row[3] != "-") layer.may_include = words(row[3]);
    layers.push_back(std::move(layer));
  }
  for (Layer& layer : layers) {
    if (layer.may_include != std::vector<std::string>{"all", "below"}) continue;
    layer.may_include.clear();
    for (const Layer& other : layers) {
      if (other.floor < layer.floor) layer.may_include.push_back(other.folder);
    }
  }
  return layers;
}

std::vector<std::string> table_faults(std::span<const Layer> layers) {
  std::vector<std::string> faults;
  for (const Layer& layer : layers) {
    if (std::ranges::count(layers, layer.folder, &Layer::folder) > 1) {
      faults.push_back(layer.folder + " stands in the table twice");
    }
    for (const std::string& to : layer.may_include) {
      const Layer* target = find_layer(layers, to);
      if (target == nullptr) {
        faults.push_back(layer.folder + " may include " + to + ", which the table does not name");
      } else if (target->floor >= layer.floor) {
        faults.push_back(layer.folder + " may include " + to + ", which is not on a lower floor");
      }
    }
  }
  return faults;
}

std::vector<std::string> arrow_faults(std::span<const Layer> layers,
                                      std::span<const SourceFile> files) {
  std::vector<std::string> faults;
  for (const SourceFile& file : files) {
    const std::string_view folder = folder_of(file.path);
    if (std::ranges::find(umbrellas, file.path) != umbrellas.end()) {
      for (const Include& include : file.includes) {
        const std::string_view to = folder_of(include.path);
        if (std::ranges::find(for_users, to) == for_users.end()) {
          faults.push_back(place(file, include) + "users do not need " + std::string(to));
        }
      }
      continue;
    }
    const Layer* from = find_layer(layers, folder);
    if (from == nullptr || from->later) {
      faults.push_back(file.path + ": the table has no folder for it, or calls it later");
      continue;
    }
    for (const Include& include : file.includes) {
      const std::string_view to = folder_of(include.path);
      if (to.empty()) {
        faults.push_back(place(file, include) + include.path + " is not written from the root");
      } else if (!allows(*from, to)) {
        faults.push_back(place(file, include) + from->folder + " may not include " +
                         std::string(to));
      }
    }
  }
  return faults;
}

std::vector<std::string> parse_rooms(std::string_view markdown) {
  std::vector<std::string> rooms;
  for (const std::string& line : parse_source("", markdown).lines) {
    const auto row = cells(line);
    if (row.size() == 2 && line.starts_with("| `") && row[0].find('/') != std::string::npos) {
      rooms.push_back(row[0]);
    }
  }
  return rooms;
}

std::vector<std::string> room_faults(std::span<const std::string> rooms,
                                     std::span<const SourceFile> files) {
  const auto place_of = [&](std::string_view room) { return std::ranges::find(rooms, room); };
  const auto is_room = [](std::string_view folder) {
    return folder.find('/') != std::string_view::npos;
  };
  std::vector<std::string> faults;
  std::set<std::string, std::less<>> seen;
  std::set<std::string> below;  // rooms that files of the module's own folder include
  std::set<std::string> above;  // rooms that include such files
  for (const SourceFile& file : files) {
    const std::string_view room = room_of(file.path);
    if (is_room(room)) {
      const bool first = seen.emplace(room).second;
      if (place_of(room) == rooms.end()) {
        if (first) faults.push_back(std::string(room) + " is not in the table");
        continue;
      }
    }
    if (is_test(file.path)) continue;
    for (const Include& include : file.includes) {
      const std::string_view to = room_of(include.path);
      if (folder_of(include.path) != folder_of(file.path) || to == room) continue;
      if (!is_room(room)) {
        below.emplace(to);
      } else if (!is_room(to)) {
        above.emplace(room);
      } else if (place_of(to) > place_of(room)) {
        faults.push_back(place(file, include) + std::string(room) + " may not include " +
                         std::string(to));
      }
    }
  }
  for (const std::string& room : rooms) {
    if (!seen.contains(room)) faults.push_back(room + " is in the table, not in the tree");
    if (below.contains(room) && above.contains(room)) {
      faults.push_back(room + " and the files beside it include each other");
    }
  }
  return faults;
}

std::vector<std::string> header_names_used_twice(std::span<const SourceFile> files) {
  std::map<std::string, std::string> first;
  std::vector<std::string> faults;
  for (const SourceFile& file : files) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    if (!name.ends_with(".h")) continue;
    const auto [it, fresh] = first.emplace(name, file.path);
    if (!fresh) faults.push_back(it->second + " and " + file.path);
  }
  return faults;
}

std::vector<std::string> crowded_folders(std::span<const SourceFile> files, std::size_t most) {
  std::map<std::string, std::set<std::string>> stems;
  for (const SourceFile& file : files) {
    if (!is_test(file.path)) stems[std::string(room_of(file.path))].insert(stem_of(file.path));
  }
  std::vector<std::string> faults;
  for (const auto& [room, of_room] : stems) {
    if (of_room.size() > most) {
      faults.push_back(room + ": " + std::to_string(of_room.size()) + " stems");
    }
  }
  return faults;
}

std::vector<std::string> hidden_constants(std::span<const SourceFile> files) {
  // "name" of a line "constexpr type name = …" or "constexpr type name{…}" outside functions, and
  // of its first line where it is broken behind the "=".
  const auto constant = [](std::string_view line) -> std::string {
    if (line.starts_with("inline ")) line.remove_prefix(7);
    if (!line.starts_with("constexpr ") && !line.starts_with("const ")) return {};
    line = line.substr(0, line.find_first_of("={"));
    if (line.ends_with('(') || line.find('(') != std::string_view::npos) return {};
    while (line.ends_with(' ')) line.remove_suffix(1);
    const std::size_t from = line.find_last_of(" >&*");
    return from == std::string_view::npos ? std::string() : std::string(line.substr(from + 1));
  };
  std::map<std::string_view, const SourceFile*> by_path;
  for (const SourceFile& file : files) by_path.emplace(file.path, &file);
  // The headers that a file includes, directly or through others.
  const auto reach = [&](const auto& self, const SourceFile& file,
                         std::set<std::string_view>& reached) -> void {
    for (const Include& include : file.includes) {
      const auto it = by_path.find(include.path);
      if (it == by_path.end() || !reached.insert(it->first).second) continue;
      self(self, *it->second, reached);
    }
  };
  std::map<std::string_view, std::set<std::string_view>> headers_of_room;
  for (const SourceFile& file : files) {
    if (!is_test(file.path)) reach(reach, file, headers_of_room[room_of(file.path)]);
  }
  std::vector<std::string> faults;
  for (const auto& [room, headers] : headers_of_room) {
    std::map<std::string, std::string_view> of_headers;
    for (const std::string_view header : headers) {
      for (const std::string& line : by_path.at(header)->lines) {
        if (const std::string name = constant(line); !name.empty())
          of_headers.emplace(name, header);
      }
    }
    for (const SourceFile& file : files) {
      if (file.path.ends_with(".h") || is_test(file.path) || room_of(file.path) != room) continue;
      for (const std::string& line : file.lines) {
        const auto it = of_headers.find(constant(line));
        if (it != of_headers.end()) {
          faults.push_back(file.path + " hides " + it->first + " of " + std::string(it->second));
        }
      }
    }
  }
  return faults;
}

std::vector<std::string> two_way_pairs(std::span<const SourceFile> files) {
  std::set<std::pair<std::string, std::string>> arrows;
  for (const SourceFile& file : files) {
    for (const Include& include : file.includes) {
      arrows.emplace(folder_of(file.path), folder_of(include.path));
    }
  }
  std::vector<std::string> faults;
  for (const auto& [from, to] : arrows) {
    if (from < to && arrows.contains({to, from})) {
      faults.push_back(from + " and " + to + " include each other");
    }
  }
  return faults;
}

std::vector<std::string> include_circles(std::span<const SourceFile> files) {
  Graph graph;
  for (const SourceFile& file : files) {
    for (const Include& include : file.includes) graph[file.path].insert(include.path);
  }
  return circles(graph);
}

std::vector<std::string> pair_circles(std::span<const SourceFile> files) {
  Graph graph;
  for (const SourceFile& file : files) {
    if (is_test(file.path)) continue;
    for (const Include& include : file.includes) {
      if (stem_of(include.path) != stem_of(file.path)) {
        graph[stem_of(file.path)].insert(stem_of(include.path));
      }
    }
  }
  return circles(graph);
}

std::vector<std::string> link_faults(std::span<const Layer> layers, std::string_view cmake) {
  constexpr std::string_view opening = "stepscope_module(";
  std::vector<std::string> faults;
  for (const std::string& line : parse_source("", cmake).lines) {
    if (!line.starts_with(opening)) continue;
    const auto tokens = words(line.substr(opening.size(), line.find(')') - opening.size()));
    const Layer* from = tokens.empty() ? nullptr : find_layer(layers, tokens[0]);
    if (from == nullptr) {
      faults.push_back("the table lacks the module of: " + line);
      continue;
    }
    const auto uses = std::ranges::find(tokens, "USES");
    for (auto it = uses; it != tokens.end() && *it != "LIBS"; ++it) {
      if (it != uses && !allows(*from, *it)) {
        faults.push_back(from->folder + " may not link " + *it);
      }
    }
  }
  return faults;
}

}  // namespace stepscope::tree
