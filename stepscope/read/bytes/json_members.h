// SPDX-License-Identifier: Apache-2.0
// Members of JSON objects that programs write. A member of another kind, or out of range, counts as
// absent.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/json_reader.h"

namespace stepscope {

// Null if it is absent.
[[nodiscard]] inline const JsonValue* json_member(const JsonValue& object, std::string_view key,
                                                  JsonValue::Kind kind) {
  const JsonValue* found = object.find(key);
  return found != nullptr && found->kind == kind ? found : nullptr;
}

[[nodiscard]] inline std::optional<std::int64_t> json_whole(
    const JsonValue& object, std::string_view key, std::int64_t least = 0,
    std::int64_t most = std::numeric_limits<std::int64_t>::max()) {
  const JsonValue* found = json_member(object, key, JsonValue::Kind::integer);
  if (found == nullptr || found->integer < least || found->integer > most) return std::nullopt;
  return found->integer;
}

// A finite number.
[[nodiscard]] inline std::optional<double> json_number(const JsonValue* value) {
  if (value == nullptr || !std::isfinite(value->number)) return std::nullopt;
  if (value->kind != JsonValue::Kind::integer && value->kind != JsonValue::Kind::number)
    return std::nullopt;
  return value->number;
}
[[nodiscard]] inline std::optional<double> json_number(const JsonValue& object,
                                                       std::string_view key) {
  return json_number(object.find(key));
}

// Empty if it is absent.
[[nodiscard]] inline std::string json_string(const JsonValue& object, std::string_view key) {
  const JsonValue* found = json_member(object, key, JsonValue::Kind::text);
  return found == nullptr ? std::string() : found->text;
}

}  // namespace stepscope
