// SPDX-License-Identifier: Apache-2.0
// The three forms of a snapshot, and files and directories of snapshots.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/bytes/plain_json.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/memory/read_memory_snapshot.h"

namespace stepscope {
namespace {

constexpr std::uint8_t no_digit = 255;

constexpr std::array<std::uint8_t, 256> digit_values() {
  std::array<std::uint8_t, 256> values{};
  values.fill(no_digit);
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < digits.size(); ++i)
    values[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr std::array<std::uint8_t, 256> digits = digit_values();

constexpr std::string_view page_key = "\"base64\"";  // of a file in a page

// With or without padding; nullopt for any other character.
std::optional<std::string> decode_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.resize(text.size() / 4 * 3 + (text.size() % 4 == 0 ? 0 : text.size() % 4 - 1));
  std::size_t at = 0;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const char c : text) {
    const std::uint8_t digit = digits[static_cast<unsigned char>(c)];
    if (digit == no_digit) return std::nullopt;
    bits = bits << 6U | digit;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out[at++] = static_cast<char>(bits >> held & 0xFFU);
  }
  return out;
}

// The HTML pages of torch.cuda._memory_viz (trace_plot, segment_plot, profile_plot) hold pickles in
// base64. In the order of the page. A truncated or damaged one is left out.
std::vector<std::string> files_in_page(std::string_view page) {
  std::vector<std::string> files;
  for (std::size_t at = 0; (at = page.find(page_key, at)) != std::string_view::npos;) {
    at += page_key.size();
    const std::size_t colon = page.find_first_not_of(" \t\r\n", at);
    if (colon == std::string_view::npos || page[colon] != ':') continue;
    const std::size_t open = page.find_first_not_of(" \t\r\n", colon + 1);
    if (open == std::string_view::npos || page[open] != '"') continue;
    const std::size_t close = page.find('"', open + 1);
    if (close == std::string_view::npos) break;
    auto file = decode_base64(page.substr(open + 1, close - open - 1));
    if (file) files.push_back(std::move(*file));
    at = close + 1;
  }
  return files;
}

constexpr std::string_view how_to_record =
    "record one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"), or give a log that has "
    "the out-of-memory message of a device";

// Whether what begins as plain data is a line of a log: "[rank0]: …", "[12:00:01] …", "{'loss': …",
// "(train pid=7) …".
bool begins_log(std::string_view head) {
  constexpr std::size_t longest_label = 400;
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  std::string_view line = head.substr(first, longest_label);
  line = line.substr(0, std::min(line.find('\n'), line.size()));
  const std::size_t next = std::min(line.find_first_not_of(" \t", 1), line.size());
  if (next == line.size()) return false;
  if (line.front() == '{') return !contains("\"}", line.substr(next, 1));
  if (line.front() == '(') {
    const std::string_view label = line.substr(0, line.find(") "));
    return label.size() < line.size() && contains(label, " ") &&
           std::ranges::all_of(label, [](char c) { return c >= ' ' && c <= '~'; });
  }
  if (line.front() != '[' || contains("{[\"]", line.substr(next, 1))) return false;
  const std::size_t close = line.find(']');
  return close != std::string_view::npos && !trimmed(line.substr(close + 1)).empty();
}

Beginning beginning_of_snapshot(std::string_view head) {
  return begins_log(head) ? Beginning::other : beginning_of(head);
}

Result<MemorySnapshot> snapshot_in(Beginning form, std::string text, const std::string& path) {
  const std::uint64_t bytes = text.size();
  const auto tree = form == Beginning::pickle ? parse_pickle(std::move(text), path)
                                              : parse_plain_json(std::move(text), path);
  if (!tree) return tree.error();
  auto snapshot = memory_snapshot_of(*tree, path);
  if (!snapshot) return snapshot;
  snapshot->format = form == Beginning::pickle ? "pickle" : "JSON";
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
    const Beginning form = beginning_of(std::string_view(files[i]).substr(0, file_head_bytes));
    if (form != Beginning::pickle && form != Beginning::json)
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

// Whether the plain data of these first bytes may be a snapshot.
bool begins_snapshot(const PlainValue& head) {
  const auto of_dicts = [](const std::optional<PlainValue>& list) {
    return list && list->kind() == PlainKind::list &&
           (list->size() == 0 || (*list)[0].kind() == PlainKind::dict);
  };
  const auto of_lists = [](const std::optional<PlainValue>& list) {
    return list && list->kind() == PlainKind::list &&
           (list->size() == 0 || (*list)[0].kind() == PlainKind::list);
  };
  if (head.kind() == PlainKind::dict)
    return of_dicts(head.find("segments")) || of_lists(head.find("device_traces")) ||
           of_lists(head.find("traces"));
  return head.kind() == PlainKind::list && head.size() > 0 &&
         (head[0].find("total_size") || head[0].find("blocks"));
}

// Whether a page that is longer than its first bytes has a file in it.
bool has_file(const std::string& path, const StopFlag* stop) {
  auto source = open_source(path);
  if (!source) return false;
  std::string text;
  for (bool over = false; !over && (stop == nullptr || !stop->requested());) {
    text.erase(0, text.size() - std::min(text.size(), page_key.size()));
    const std::size_t kept = text.size();
    text.resize(kept + window_bytes);
    const auto got = (*source)->read(std::span(text).subspan(kept));
    if (!got) return false;
    text.resize(kept + *got);
    if (contains(text, page_key)) return true;
    over = *got < window_bytes;
  }
  return false;
}

// All of a file that may hold snapshots. Errors: its first bytes are those of another kind.
Result<std::string> snapshot_text(const std::string& path, const StopFlag* stop) {
  auto head = head_of_file(path);
  if (!head) return head.error();
  const Beginning beginning = beginning_of_snapshot(head->text);
  const bool page = beginning == Beginning::page;
  if (!head->damage.empty() && beginning != Beginning::other)
    return Error{.what = head->damage, .file = path, .hint = "copy the file again"};
  if (head->whole || beginning == Beginning::other || (page && !has_file(path, stop)))
    return std::move(head->text);
  if (page) return read_text_file(path, stop);
  const auto tree = plain_head(*head, path);
  if (!tree) return tree.error();
  if (!begins_snapshot(tree->value())) return no_snapshot(path);
  return read_text_file(path, stop);
}

}  // namespace

Result<std::vector<MemorySnapshot>> parse_memory_snapshots(std::string text,
                                                           const std::string& path) {
  const Beginning form = beginning_of_snapshot(std::string_view(text).substr(0, file_head_bytes));
  if (form == Beginning::page) return snapshots_in_page(text, path);
  if (form == Beginning::other || form == Beginning::empty)
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

bool begins_memory_snapshot(const FileHead& head, const std::string& path) {
  if (head.whole) return parse_memory_snapshots(head.text, path).has_value();
  const Beginning beginning = beginning_of(head.text);
  if (beginning == Beginning::page) return contains(head.text, page_key);
  if (beginning != Beginning::pickle && beginning != Beginning::json) return false;
  const auto tree = plain_head(head, path);
  return tree && begins_snapshot(tree->value());
}

SnapshotFiles read_memory_snapshots(std::span<const std::string> inputs, const StopFlag* stop) {
  SnapshotFiles out;
  std::vector<std::pair<std::string, bool>> files;
  each_file(inputs, how_to_record, out.errors,
            [&](const std::string& path, bool inside) { files.emplace_back(path, inside); });
  for (const auto& [path, inside] : files) {
    if (stop != nullptr && stop->requested()) break;
    auto text = snapshot_text(path, stop);
    auto parsed = text ? parse_memory_snapshots(std::move(*text), path)
                       : Result<std::vector<MemorySnapshot>>(text.error());
    if (!parsed) {
      if (!inside) out.errors.push_back(parsed.error());
      continue;
    }
    for (MemorySnapshot& snapshot : *parsed) out.snapshots.push_back(std::move(snapshot));
  }
  if (out.snapshots.empty() && out.errors.empty())
    out.errors.push_back({.what = std::string(no_snapshot_here),
                          .file = inputs.empty() ? std::string() : inputs.front(),
                          .hint = std::string(how_to_record)});
  return out;
}

}  // namespace stepscope
