// SPDX-License-Identifier: Apache-2.0
// How quantities become JSON values: absent is null, instants count from an origin, ns are
// integers; and how a tree becomes text.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "stepscope/base/quantity.h"
#include "stepscope/face/tree/names.h"

namespace stepscope {

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

// The text as a JSON string holds it: bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string valid_text(std::string_view text);
// As UTF-8 without spaces; bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string dump(const Json& json);
// The same as a line.
[[nodiscard]] std::string json_text(const Json& tree);

// `terms` of a tree, the labels and explanations of its keys (stepscope/say/vocabulary.h):
// {group: {key: {label, brief, explanation, unit}}} in the vocabulary's order, with the labels of
// runs without a device where `on_cpu`.
[[nodiscard]] Json terms_json(std::initializer_list<std::string_view> groups, bool on_cpu = false);

}  // namespace stepscope
