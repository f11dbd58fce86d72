// SPDX-License-Identifier: Apache-2.0
// The three forms of a snapshot, and files and directories of snapshots.
#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/bytes/plain_json.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/memory/memory_page.h"
#include "stepscope/read/memory/read_memory_snapshot.h"

namespace stepscope {
namespace {

constexpr std::string_view how_to_record =
    "record one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\")";

enum class Form : std::uint8_t { pickle, json, page, other };

Form form_of(std::string_view head) {
  if (is_pickle(head)) return Form::pickle;
  if (is_page(head)) return Form::page;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  const bool json = first != std::string_view::npos && (head[first] == '{' || head[first] == '[');
  return json ? Form::json : Form::other;
}

Result<MemorySnapshot> snapshot_in(Form form, std::string text, const std::string& path) {
  const std::uint64_t bytes = text.size();
  const auto tree = form == Form::pickle ? parse_pickle(std::move(text), path)
                                         : parse_plain_json(std::move(text), path);
  if (!tree) return tree.error();
  auto snapshot = memory_snapshot_of(*tree, path);
  if (!snapshot) return snapshot;
  snapshot->format = form == Form::pickle ? "pickle" : "JSON";
  snapshot->bytes = bytes;
  return snapshot;
}

Result<std::vector<MemorySnapshot>> snapshots_in_page(const std::string& page,
                                                      const std::string& path) {
  std::vector<std::string> files = files_in_page(page);
  if (files.empty())
    return Error{.what = "is a page without a snapshot in it",
                 .file = path,
                 .hint = "give a page that torch.cuda._memory_viz wrote, or the pickle itself"};
  std::vector<MemorySnapshot> out;
  const bool several = files.size() > 1;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string name = several ? path + '#' + std::to_string(i + 1) : path;
    // The writer pads the last group with zero bytes.
    const Form form = form_of(files[i]);
    if (form != Form::pickle && form != Form::json)
      return Error{.what = "holds a file that is no pickle",
                   .file = name,
                   .hint = std::string(how_to_record)};
    auto snapshot = snapshot_in(form, std::move(files[i]), name);
    if (!snapshot) return snapshot.error();
    snapshot->format = "page";
    out.push_back(std::move(*snapshot));
  }
  return out;
}

// Whether a file found in a directory may be a snapshot.
bool promising(const std::string& path) {
  auto source = open_source(path);
  if (!source) return false;
  std::string head(512, '\0');
  const auto got = (*source)->read(head);
  if (!got) return false;
  head.resize(*got);
  return form_of(head) != Form::other;
}

}  // namespace

Result<std::vector<MemorySnapshot>> parse_memory_snapshots(std::string text,
                                                           const std::string& path) {
  const Form form = form_of(std::string_view(text).substr(0, 512));
  if (form == Form::page) return snapshots_in_page(text, path);
  if (form == Form::other)
    return Error{.what = text.empty() ? "the file is empty" : "is no memory snapshot",
                 .file = path,
                 .byte = 0,
                 .hint = std::string(how_to_record)};
  auto snapshot = snapshot_in(form, std::move(text), path);
  if (!snapshot) return snapshot.error();
  std::vector<MemorySnapshot> out;
  out.push_back(std::move(*snapshot));
  return out;
}

SnapshotFiles read_memory_snapshots(std::span<const std::string> inputs, const StopFlag* stop) {
  SnapshotFiles out;
  std::vector<std::pair<std::string, bool>> files;
  each_file(inputs, how_to_record, out.errors,
            [&](const std::string& path, bool inside) { files.emplace_back(path, inside); });
  for (const auto& [path, inside] : files) {
    if (stop != nullptr && stop->requested()) break;
    if (inside && !promising(path)) continue;
    auto text = read_text_file(path, stop);
    auto parsed = text ? parse_memory_snapshots(std::move(*text), path)
                       : Result<std::vector<MemorySnapshot>>(text.error());
    if (!parsed) {
      if (!inside) out.errors.push_back(parsed.error());
      continue;
    }
    for (MemorySnapshot& snapshot : *parsed) out.snapshots.push_back(std::move(snapshot));
  }
  if (out.snapshots.empty() && out.errors.empty())
    out.errors.push_back({.what = "no memory snapshot here",
                          .file = inputs.empty() ? std::string() : inputs.front(),
                          .hint = std::string(how_to_record)});
  return out;
}

}  // namespace stepscope
