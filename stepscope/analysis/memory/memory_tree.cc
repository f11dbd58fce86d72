// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/memory/memory_tree.h"

#include <algorithm>
#include <map>
#include <string>

namespace stepscope {
namespace {

struct Node {
  std::map<std::string, Node> inner{};
  std::int64_t bytes = 0;
};

constexpr std::size_t deepest = 200;
constexpr std::size_t longest_label = 1000;

// Labels from the outermost call in.
std::vector<std::string> path_of(const MemorySnapshot& snapshot, std::uint32_t stack,
                                 const AllocationSite& site) {
  if (stack == 0) return {"no stack recorded"};
  std::vector<std::string> path;
  for (const std::uint32_t index : snapshot.stacks[stack]) {
    if (path.size() == deepest) break;
    const SnapshotFrame& f = snapshot.stacks.frames[index];
    const std::string_view name = snapshot.strings[f.name].substr(0, longest_label);
    const std::string_view file = snapshot.strings[f.file].substr(0, longest_label);
    const bool python = file.ends_with(".py") || file.starts_with('<');
    if (!python || name == "_call_impl" || name == "_wrapped_call_impl") continue;
    const std::size_t slash = file.rfind('/');
    path.push_back(std::string(name) + " (" +
                   std::string(slash == std::string_view::npos ? file : file.substr(slash + 1)) +
                   ':' + std::to_string(f.line) + ')');
  }
  std::ranges::reverse(path);
  if (path.empty() && !site.name.empty()) {
    if (site.phase == AllocationPhase::backward) path.emplace_back("autograd");
    path.push_back(site.name);
  }
  if (!site.operation.empty()) path.push_back(site.operation);
  if (path.empty()) path.emplace_back("no telling frame");
  return path;
}

class TreeColumns {
 public:
  explicit TreeColumns(std::int64_t least) : least_(least) {}

  MemoryTree run(const Node& root) {
    add("all", 0, root);
    return std::move(out_);
  }

 private:
  void add(const std::string& label, std::uint32_t parent, const Node& node) {
    const auto here = static_cast<std::uint32_t>(out_.label.size());
    const auto known = labels_.try_emplace(label, static_cast<std::uint32_t>(labels_.size()));
    if (known.second) out_.labels.push_back(label);
    out_.label.push_back(known.first->second);
    out_.parent.push_back(parent);
    out_.total.push_back(Bytes{node.bytes});
    std::vector<const std::pair<const std::string, Node>*> inner;
    for (const auto& entry : node.inner)
      if (entry.second.bytes >= least_) inner.push_back(&entry);
    std::ranges::stable_sort(inner, std::ranges::greater{},
                             [](const auto* entry) { return entry->second.bytes; });
    for (const auto* entry : inner) add(entry->first, here, entry->second);
  }

  std::int64_t least_;
  std::map<std::string, std::uint32_t> labels_;
  MemoryTree out_;
};

}  // namespace

MemoryTree memory_tree(const MemorySnapshot& snapshot, const MemoryState& state,
                       std::span<const AllocationSite> sites) {
  std::map<std::uint32_t, std::int64_t> by_stack;
  for (const BlockLife* life : state.blocks) by_stack[life->stack] += life->size.value;
  Node root;
  for (const auto& [stack, bytes] : by_stack) {
    root.bytes += bytes;
    Node* at = &root;
    for (std::string& label : path_of(snapshot, stack, sites[stack])) {
      at = &at->inner[std::move(label)];
      at->bytes += bytes;
    }
  }
  const double least = least_tree_share * static_cast<double>(root.bytes);
  return TreeColumns(std::max<std::int64_t>(static_cast<std::int64_t>(least), 1)).run(root);
}

}  // namespace stepscope
