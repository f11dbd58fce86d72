// SPDX-License-Identifier: Apache-2.0
// The three forms of a snapshot, and files and directories of snapshots.
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <optional>

#include "stepscope/base/files/open_source.h"
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

// The HTML pages of torch.cuda._memory_viz (trace_plot, segment_plot, profile_plot). Each file in
// them is a pickle in base64.
bool is_page(std::string_view head) {
  const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos) return false;
  std::string begin(head.substr(first, 16));
  std::ranges::transform(begin, begin.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return begin.starts_with("<!doctype html") || begin.starts_with("<html");
}

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

// In the order of the page. A truncated or damaged one is left out.
std::vector<std::string> files_in_page(std::string_view page) {
  constexpr std::string_view key = "\"base64\"";
  std::vector<std::string> files;
  for (std::size_t at = 0; (at = page.find(key, at)) != std::string_view::npos;) {
    at += key.size();
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
    "record one with torch.cuda.memory._dump_snapshot(\"snapshot.pickle\"), or give the log with "
    "the out-of-memory message";

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

constexpr std::size_t head_bytes = 512;

Result<std::string> head_of(const std::string& path) {
  auto source = open_source(path);
  if (!source) return source.error();
  std::string head(head_bytes, '\0');
  const auto got = (*source)->read(head);
  if (!got) return got.error();
  head.resize(*got);
  return head;
}

// The first bytes of a file that cannot be a snapshot, else all of it.
Result<std::string> text_of(const std::string& path, const StopFlag* stop) {
  auto head = head_of(path);
  if (!head || (head->size() == head_bytes && form_of(*head) == Form::other)) return head;
  return read_text_file(path, stop);
}

// Whether a file found in a directory may be a snapshot.
bool promising(const std::string& path) {
  const auto head = head_of(path);
  return head && form_of(*head) != Form::other;
}

}  // namespace

Result<std::vector<MemorySnapshot>> parse_memory_snapshots(std::string text,
                                                           const std::string& path) {
  const Form form = form_of(std::string_view(text).substr(0, head_bytes));
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
    auto text = text_of(path, stop);
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
