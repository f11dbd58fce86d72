// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_fields.h"

#include <algorithm>
#include <cmath>

namespace stepscope {
namespace {

constexpr double largest = 1e9;  // of any figure as written: bytes stay below 2^63

}  // namespace

void MachineFields::fail(const std::string& field, const std::string& why) {
  if (error_) return;
  error_ = Error{.what = "field \"" + field + "\" " + why, .file = path_};
  wrong_field_ = field;
}

bool MachineFields::is_object(const Json& value, const std::string& field) {
  if (!value.is_object()) fail(field, "must be an object");
  return value.is_object();
}

void MachineFields::only(const Json& object, const std::string& prefix,
                         std::span<const std::string_view> known) {
  for (const auto& [key, unused] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      fail(prefix + key, "is not a field of a machine file");
    }
  }
}

std::string MachineFields::text(const Json& object, const std::string& prefix, const char* key,
                                bool required) {
  const auto it = object.find(key);
  if (it == object.end()) {
    if (required) fail(prefix + key, "is missing");
    return {};
  }
  if (it->is_string() && !it->get_ref<const std::string&>().empty()) return *it;
  fail(prefix + key, "must be a text that is not empty");
  return {};
}

std::optional<double> MachineFields::number(const Json& value, const std::string& field) {
  if (value.is_number()) {
    const double n = value.get<double>();
    if (n > 0 && n <= largest) return n;
  }
  fail(field, "must be a positive number up to 1e9; leave it out where it is unknown");
  return std::nullopt;
}

std::optional<double> MachineFields::number(const Json& object, const std::string& prefix,
                                            const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? std::nullopt : number(*it, prefix + key);
}

std::optional<int> MachineFields::whole(const Json& object, const std::string& prefix,
                                        const char* key) {
  const auto n = number(object, prefix, key);
  if (!n) return std::nullopt;
  if (*n == std::floor(*n) && *n <= 1e6) return static_cast<int>(*n);
  fail(prefix + key, "must be a whole number");
  return std::nullopt;
}

std::optional<bool> MachineFields::truth(const Json& object, const std::string& prefix,
                                         const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if (it->is_boolean()) return it->get<bool>();
  fail(prefix + key, "must be true or false");
  return std::nullopt;
}

std::optional<ByteRate> MachineFields::rate(const Json& object, const std::string& prefix,
                                            const char* key) {
  const auto n = number(object, prefix, key);
  return n ? std::optional(ByteRate{*n * giga}) : std::nullopt;
}

}  // namespace stepscope
