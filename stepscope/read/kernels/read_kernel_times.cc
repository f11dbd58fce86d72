// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kernels/read_kernel_times.h"

#include <algorithm>
#include <initializer_list>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/line_blocks.h"

namespace stepscope {
namespace {

// Sides, batches and bytes: no kernel has more, and products of three stay finite.
constexpr std::int64_t most = std::int64_t{1} << 50;

// No kernel takes less than a nanosecond or more than a day; such a figure is damage.
bool is_time(double seconds) { return seconds >= 1e-9 && seconds <= 86400; }

// The fields of one line. The first that is missing or wrong is kept.
class Line {
 public:
  explicit Line(const JsonValue& object) : object_(object) {}

  double amount(std::string_view key) {
    const JsonValue* value = object_.find(key);
    const bool whole = value != nullptr && value->kind == JsonValue::Kind::integer;
    if (whole && value->integer > 0 && value->integer <= most)
      return static_cast<double>(value->integer);
    fail(key, "must be a whole number above 0");
    return 1;
  }
  std::int64_t whole(std::string_view key) { return static_cast<std::int64_t>(amount(key)); }
  std::string text(std::string_view key) {
    const JsonValue* value = object_.find(key);
    if (value != nullptr && value->kind == JsonValue::Kind::text) return value->text;
    fail(key, "must be a text");
    return {};
  }
  std::optional<Seconds> optional_time(std::string_view key) {
    const JsonValue* value = object_.find(key);
    if (value == nullptr || value->kind == JsonValue::Kind::null) return std::nullopt;
    const bool number =
        value->kind == JsonValue::Kind::integer || value->kind == JsonValue::Kind::number;
    if (number && is_time(value->number)) return Seconds{value->number};
    fail(key, "must be a time in seconds");
    return std::nullopt;
  }
  std::optional<Seconds> time(std::string_view key) {
    if (object_.find(key) == nullptr) fail(key, "is missing");
    return optional_time(key);
  }
  // No tensor has more elements than `most`, so sums and products of sizes stay exact.
  void limit(std::initializer_list<std::int64_t> sides, std::string_view key) {
    double elements = 1;
    for (const std::int64_t side : sides) elements *= static_cast<double>(side);
    if (elements > static_cast<double>(most)) fail(key, "makes a tensor that no device holds");
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  void fail(std::string_view key, std::string_view why) {
    if (wrong_.empty()) wrong_ = '"' + std::string(key) + "\" " + std::string(why);
  }

  const JsonValue& object_;
  std::string wrong_;
};

void read_sizes(Line& line, KernelTime& kernel) {
  switch (kernel.kind) {
    case KernelKind::grouped:
      kernel.experts = line.whole("experts");
      [[fallthrough]];
    case KernelKind::product:
      kernel.m = line.whole("m");
      kernel.k = line.whole("k");
      kernel.n = line.whole("n");
      line.limit({kernel.m, kernel.k}, "m");
      line.limit({kernel.experts, kernel.k, kernel.n}, "n");
      line.limit({kernel.m, kernel.n}, "n");
      break;
    case KernelKind::attention:
      kernel.batch = line.whole("batch");
      kernel.heads = line.whole("heads");
      kernel.length = line.whole("length");
      kernel.size = line.whole("size");
      line.limit({kernel.batch, kernel.heads, kernel.length, kernel.size}, "heads");
      break;
    case KernelKind::optimizer:
      kernel.amount = line.amount("parameters");
      break;
    case KernelKind::pointwise:
      kernel.work = line.text("work");
      [[fallthrough]];
    case KernelKind::copy:
      kernel.amount = line.amount("bytes");
      break;
    case KernelKind::launch:
      break;
  }
}

void read_times(Line& line, KernelTime& kernel) {
  switch (kernel.kind) {
    case KernelKind::launch:
      kernel.add_host = line.time("add_host_s");
      kernel.product_host = line.optional_time("product_with_grad_host_s");
      break;
    case KernelKind::copy:
      kernel.time = line.time("device_s");
      kernel.from_pinned = line.optional_time("from_pinned_s");
      kernel.to_pinned = line.optional_time("to_pinned_s");
      kernel.from_pageable = line.optional_time("from_pageable_s");
      kernel.to_pageable = line.optional_time("to_pageable_s");
      break;
    case KernelKind::attention:
      kernel.backward = line.optional_time("backward_s");
      [[fallthrough]];
    default:
      kernel.time = line.time("s");
  }
}

class Reader {
 public:
  explicit Reader(KernelTimes& out) : out_(out) {}

  void take(std::string_view text) {
    ++number_;
    text = trimmed(text);
    if (text.empty()) return;
    const auto object = parse_json(text, "line");
    if (!object || object->kind != JsonValue::Kind::object) return unread("is not a JSON object");
    if (object->find("error") != nullptr) {
      ++out_.failed;
      return;
    }
    Line line(*object);
    KernelTime kernel{.line = number_};
    const std::string kind = line.text("kind");
    const auto* found = std::ranges::find(kernel_kind_names, kind);
    if (found == kernel_kind_names.end())
      return unread(
          "\"kind\" must be product, grouped, attention, pointwise, optimizer, copy or "
          "launch");
    kernel.kind = static_cast<KernelKind>(found - kernel_kind_names.begin());
    if (kernel.kind == KernelKind::product) kernel.format = line.text("format");
    read_sizes(line, kernel);
    read_times(line, kernel);
    if (!line.wrong().empty()) return unread(line.wrong());
    if (!of_this_device(*object)) return;
    out_.kernels.push_back(std::move(kernel));
  }

 private:
  void unread(std::string why) {
    if (out_.unread++ > 0) return;
    out_.first_unread = number_;
    out_.why_unread = std::move(why);
  }

  bool of_this_device(const JsonValue& object) {
    const JsonValue* device = object.find("device");
    if (device != nullptr && device->kind == JsonValue::Kind::text && !device->text.empty()) {
      if (out_.device.empty()) out_.device = device->text;
      if (out_.device != device->text) {
        ++out_.other_devices;
        return false;
      }
    }
    const JsonValue* units = object.find("units");
    constexpr std::int64_t most_units = 1 << 20;
    if (units != nullptr && units->kind == JsonValue::Kind::integer && units->integer > 0 &&
        units->integer <= most_units)
      out_.units = static_cast<int>(units->integer);
    return true;
  }

  KernelTimes& out_;
  std::size_t number_ = 0;
};

}  // namespace

bool looks_like_kernel_times(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos || head[begin] != '{') return false;
  const std::string_view line = head.substr(begin, head.find('\n', begin) - begin);
  return line.find("\"kind\"") != std::string_view::npos &&
         line.find("\"name\"") != std::string_view::npos;
}

Result<KernelTimes> parse_kernel_times(ByteSource& source, std::string_view path) {
  KernelTimes out{.path = std::string(path)};
  Reader reader(out);
  const auto read = for_line_blocks(source, "\n", [&](std::string_view block) -> Result<Done> {
    for (std::size_t at = 0; at < block.size();) {
      const std::size_t end = std::min(block.find('\n', at), block.size());
      reader.take(block.substr(at, end - at));
      at = end + 1;
    }
    return Done{};
  });
  if (!read) return read.error();
  if (const std::string damage = source.damage(); !damage.empty())
    return Error{.what = damage, .file = std::string(path), .hint = "copy the file again"};
  if (!out.kernels.empty()) return out;
  std::string what = "has no time of a kernel";
  if (out.unread > 0)
    what += ": line " + std::to_string(out.first_unread) + ": " + out.why_unread;
  else if (out.failed > 0)
    what += ": " + std::to_string(out.failed) + " lines have \"error\"";
  return Error{.what = what,
               .file = std::string(path),
               .hint = "measure with python -m stepscope.torch.kernels OUT.jsonl on the GPU"};
}

Result<KernelTimes> parse_kernel_times(std::string_view text, std::string_view path) {
  TextSource source(text);
  return parse_kernel_times(source, path);
}

}  // namespace stepscope
