// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/flame.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "stepscope/base/ascii.h"
#include "stepscope/stack/call_tree.h"

namespace stepscope {
namespace {

// The weight that at most `most` nodes exceed; below all weights if there are no more nodes.
double threshold(std::vector<double> weights, std::size_t most) {
  if (weights.size() <= most) return -1;
  std::nth_element(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(most),
                   weights.end(), std::greater<>());
  return weights[most];
}

class Labels {
 public:
  explicit Labels(std::vector<std::string>& texts) : texts_(texts) {}
  std::uint32_t of(std::string text) {
    const auto [found, fresh] =
        numbers_.try_emplace(std::move(text), static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(found->first);
    return found->second;
  }

 private:
  std::vector<std::string>& texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

struct Shown {
  const CallTree& tree;
  const std::vector<double>& before;  // by node; may be empty
  std::function<std::string(std::uint32_t)> text;
  std::function<std::uint16_t(std::uint32_t)> phase;
  std::function<std::uint8_t(std::uint32_t)> pass;
};

FlameGraph drawn(const Shown& s, std::size_t most) {
  FlameGraph out;
  Labels labels(out.labels);
  std::vector<double> weight = s.tree.total;
  for (std::size_t n = 0; n < s.before.size(); ++n) weight[n] = std::max(weight[n], s.before[n]);
  const double least = threshold(weight, most);
  const double floor = weight[0] * 1e-5;
  std::vector<std::uint32_t> place(s.tree.size());
  for (std::uint32_t n = 0; n < s.tree.size(); ++n) {
    const bool small = weight[n] < floor || weight[n] <= least;
    if (n > 0 && small) {
      out.left_out += s.tree.end[n] - n;
      n = s.tree.end[n] - 1;
      continue;
    }
    place[n] = static_cast<std::uint32_t>(out.size());
    out.parent.push_back(place[s.tree.parent[n]]);
    out.label.push_back(labels.of(n == 0 ? "all" : s.text(n)));
    out.self.push_back(s.tree.self[n]);
    out.total.push_back(s.tree.total[n]);
    if (!s.before.empty()) out.before.push_back(s.before[n]);
    out.phase.push_back(s.phase(n));
    out.pass.push_back(s.pass(n));
  }
  return out;
}

std::vector<std::string> thread_labels(const Profile& p) {
  std::vector<std::string> names(p.tree.size());
  for (const ProfileThread& t : p.threads) {
    std::string& name = names[t.node];
    name = t.process.empty() ? t.name : t.process + " · " + t.name;
    if (p.inputs.size() > 1) {
      const std::string& path = p.inputs[t.input].path;
      name = path.substr(path.rfind('/') + 1) + " · " + name;
    }
  }
  return names;
}

// The function and file of each node, in one pool for both profiles.
class Places {
 public:
  explicit Places(StringPool& pool) : pool_(pool) {}
  // Element i is the place of frame i of the profile.
  std::vector<StringId> of(const Profile& p) {
    std::vector<StringId> ids(p.strings.size());
    for (std::uint32_t i = 0; i < ids.size(); ++i) {
      const std::string_view text = p.strings[StringId{i}];
      const std::string place = place_of_frame(frame_of(text));
      ids[i] = pool_.intern(place.empty() ? std::string(text) : place);
    }
    return ids;
  }

 private:
  StringPool& pool_;
};

// Adds a profile to a tree of both. Element n of the result is the node of the profile's node n.
std::vector<std::uint32_t> add_places(const Profile& p, StringPool& pool, TreeBuilder& tree,
                                      bool weigh) {
  const std::vector<StringId> places = Places(pool).of(p);
  std::vector<StringId> thread(p.tree.size());
  for (const ProfileThread& t : p.threads)
    thread[t.node] = pool.intern(lasting_thread_name(t.name));
  std::vector<std::uint32_t> at(p.tree.size());
  for (std::uint32_t n = 1; n < p.tree.size(); ++n) {
    const StringId frame = p.tree.parent[n] == 0 ? thread[n] : places[index(p.tree.frame[n])];
    at[n] = tree.child(at[p.tree.parent[n]], frame);
    if (weigh) tree.add(at[n], p.tree.self[n]);
  }
  return at;
}

}  // namespace

std::string frame_words(const Profile& profile, const NodePhases& phases, StringId frame) {
  const FrameFacts& f = phases.frames[index(frame)];
  if (f.frame.function.empty()) return std::string(profile.strings[frame]);
  std::string text(f.frame.function);
  if (f.file.empty() && !f.frame.instruction) return text;
  if (f.file.empty()) return std::string(profile.strings[frame]);
  text += " (";
  text += f.file.substr(f.file.rfind('/') + 1);
  if (f.line > 0) text.append(":").append(std::to_string(f.line));
  return text + ")";
}

std::string lasting_thread_name(const std::string& name) {
  const std::size_t open = name.find('"');
  const std::size_t close = name.rfind('"');
  if (open != std::string::npos && close > open + 1) return name.substr(open + 1, close - open - 1);
  if (const std::size_t colon = name.find("): ");
      name.starts_with("thread (") && colon != std::string::npos)
    return name.substr(colon + 3);
  // "python-12/34": only the command.
  std::size_t end = name.size();
  while (end > 0 && (is_digit(name[end - 1]) || name[end - 1] == '/')) --end;
  if (end > 1 && end < name.size() && name[end - 1] == '-' && !name.starts_with("Thread"))
    return name.substr(0, end - 1);
  return name;
}

FlameGraph flame_graph(const Profile& profile, const NodePhases& phases, std::size_t most) {
  const std::vector<std::string> threads = thread_labels(profile);
  static const std::vector<double> alone;
  return drawn({profile.tree, alone,
                [&](std::uint32_t n) {
                  return threads[n].empty() ? frame_words(profile, phases, profile.tree.frame[n])
                                            : threads[n];
                },
                [&](std::uint32_t n) { return phases.through[n]; },
                [&](std::uint32_t n) { return phases.pass[n]; }},
               most);
}

FlameDifference flame_difference(const Profile& now, const NodePhases& now_phases,
                                 const Profile& before, const NodePhases& before_phases,
                                 std::size_t most) {
  FlameDifference out;
  StringPool pool;
  TreeBuilder builder;
  const auto here = add_places(now, pool, builder, true);
  const auto there = add_places(before, pool, builder, false);
  const double total = before.tree.total[0];
  out.scale = total > 0 ? now.tree.total[0] / total : 1;
  std::vector<std::uint32_t> number;
  const CallTree tree = builder.seal(&number);
  std::vector<double> then(tree.size());
  for (std::uint32_t n = 1; n < before.tree.size(); ++n)
    then[number[there[n]]] += before.tree.self[n] * out.scale;
  for (std::uint32_t n = tree.size(); n-- > 1;) then[tree.parent[n]] += then[n];
  std::vector<std::uint16_t> phase(tree.size());
  std::vector<std::uint8_t> pass(tree.size());
  for (std::uint32_t n = 1; n < before.tree.size(); ++n) {
    phase[number[there[n]]] = before_phases.through[n];
    pass[number[there[n]]] = before_phases.pass[n];
  }
  for (std::uint32_t n = 1; n < now.tree.size(); ++n) {
    phase[number[here[n]]] = now_phases.through[n];
    pass[number[here[n]]] = now_phases.pass[n];
  }
  out.graph =
      drawn({tree, then, [&](std::uint32_t n) { return std::string(pool[tree.frame[n]]); },
             [&](std::uint32_t n) { return phase[n]; }, [&](std::uint32_t n) { return pass[n]; }},
            most);
  return out;
}

}  // namespace stepscope
