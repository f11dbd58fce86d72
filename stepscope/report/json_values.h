// SPDX-License-Identifier: Apache-2.0
// How quantities become JSON values: absent is null, instants count from an origin, ns are
// integers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "stepscope/base/quantity.h"

namespace stepscope {

// The name of an enumerator in the array of names that stands beside its enumeration.
template <class Names, class Enum>
[[nodiscard]] std::string name_of(const Names& names, Enum e) {
  return std::string(names[static_cast<std::size_t>(e)]);
}

using Json = nlohmann::ordered_json;

inline Json value(Ns t) { return t.count(); }
inline Json value(Bytes b) { return b.value; }
inline Json value(Flops f) { return f.value; }
inline Json value(double d) { return d; }
inline Json value(int i) { return i; }
inline Json value(bool b) { return b; }
inline Json value(const std::string& s) { return s; }
inline Json value(std::int64_t i) { return i; }

template <class T>
Json value(const std::optional<T>& v) {
  return v ? value(*v) : Json(nullptr);
}
inline Json text_or_null(const std::string& s) { return s.empty() ? Json(nullptr) : Json(s); }
inline Json gb_per_s(std::optional<ByteRate> r) { return r ? Json(r->value / 1e9) : Json(nullptr); }
inline Json tflops(std::optional<FlopRate> r) { return r ? Json(r->value / 1e12) : Json(nullptr); }
inline Json real(std::optional<double> d) { return d ? Json(*d) : Json(nullptr); }

}  // namespace stepscope
