// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/job_table/job_meta.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

// The YAML feature in a value that this reader does not support; empty for a plain value.
std::string_view beyond_flat(std::string_view value) {
  if (value.empty()) return "a nested value";
  switch (value.front()) {
    case '[':
      return "a flow list";
    case '{':
      return "a flow mapping";
    case '|':
    case '>':
      return "a block of text";
    case '&':
      return "an anchor";
    case '*':
      return "an alias";
    case '!':
      return "a tag";
    default:
      return {};
  }
}

// A scalar without quotes and without the comment behind it.
std::string_view scalar(std::string_view value) {
  if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'')) {
    const std::size_t end = value.find(value.front(), 1);
    if (end != std::string_view::npos) return value.substr(1, end - 1);
  }
  return trimmed(value.substr(0, value.find(" #")));
}

std::optional<std::int64_t> integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int>* size_of(JobMeta& meta, std::string_view key) {
  if (key == "dp_size") return &meta.dp_size;
  if (key == "pp_size") return &meta.pp_size;
  if (key == "tp_size") return &meta.tp_size;
  if (key == "dsp_size") return &meta.dsp_size;
  if (key == "vpp_size") return &meta.vpp_size;
  if (key == "world_size") return &meta.world_size;
  return nullptr;
}

// Empty, or the error in the pair.
std::string take(JobMeta& meta, std::string_view key, std::string_view value) {
  if (key == "trial_name") {
    meta.trial_name = value;
  } else if (key == "run_id") {
    meta.run_id = integer(value);
    if (!meta.run_id) return "run_id is no integer";
  } else if (std::optional<int>* const size = size_of(meta, key)) {
    const auto number = integer(value);
    if (!number || *number < 1 || *number > (1 << 24))
      return std::string(key) + " is no positive number";
    *size = static_cast<int>(*number);
  }
  return {};
}

std::string world_fault(const JobMeta& m) {
  if (!m.world_size || !m.dp_size || !m.pp_size || !m.tp_size) return {};
  double product = 1;
  for (const int size : {*m.dp_size, *m.pp_size, *m.tp_size, m.dsp_size.value_or(1)})
    product *= size;
  if (product == *m.world_size) return {};
  return "world_size " + std::to_string(*m.world_size) + " is not dp_size x pp_size x tp_size x " +
         "dsp_size = " + std::to_string(static_cast<std::int64_t>(product));
}

}  // namespace

Result<JobMeta> parse_job_meta(std::string_view text, const std::string& path) {
  JobMeta meta;
  const auto wrong = [&](std::string what, std::size_t byte) {
    return Error{.what = std::move(what),
                 .file = path,
                 .byte = byte,
                 .hint = "write a meta file as `key: value`, one a line"};
  };
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    const std::size_t byte = at;
    at = end + 1;
    const std::string_view pair = trimmed(line);
    if (pair.empty() || pair.front() == '#' || pair == "---") continue;
    if (line.front() == ' ' || line.front() == '\t') return wrong("a nested value", byte);
    if (pair.starts_with("- ") || pair == "-") return wrong("a list", byte);
    const std::size_t colon = pair.find(':');
    if (colon == std::string_view::npos) return wrong("a line without a colon", byte);
    const std::string_view value = trimmed(pair.substr(colon + 1));
    const std::string_view key = trimmed(pair.substr(0, colon));
    if (const std::string_view beyond = beyond_flat(value); !beyond.empty())
      return wrong(std::string(beyond) + " of the key " + std::string(key), byte);
    if (std::string fault = take(meta, key, scalar(value)); !fault.empty())
      return wrong(std::move(fault), byte);
  }
  if (std::string fault = world_fault(meta); !fault.empty()) return wrong(std::move(fault), 0);
  return meta;
}

}  // namespace stepscope
