// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_size.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stepscope/analysis/work/op_inputs.h"
#include "stepscope/base/ascii.h"
#include "stepscope/base/byte_size.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

struct ElementType {
  std::string_view argument;  // spelling of an operator's "Input type"
  std::string_view name;      // spelling of c10
  std::int64_t bytes;
};
constexpr std::array<ElementType, 25> element_types = {{
    {"float", "Float", 4},
    {"c10::BFloat16", "BFloat16", 2},
    {"c10::Half", "Half", 2},
    {"double", "Double", 8},
    {"unsigned char", "Byte", 1},
    {"signed char", "Char", 1},
    {"char", "Char", 1},
    {"short", "Short", 2},
    {"short int", "Short", 2},
    {"int", "Int", 4},
    {"long", "Long", 8},
    {"long int", "Long", 8},
    {"bool", "Bool", 1},
    {"unsigned short", "UInt16", 2},
    {"unsigned int", "UInt32", 4},
    {"unsigned long", "UInt64", 8},
    {"c10::Float8_e4m3fn", "Float8_e4m3fn", 1},
    {"c10::Float8_e5m2", "Float8_e5m2", 1},
    {"c10::Float8_e4m3fnuz", "Float8_e4m3fnuz", 1},
    {"c10::Float8_e5m2fnuz", "Float8_e5m2fnuz", 1},
    {"c10::Float8_e8m0fnu", "Float8_e8m0fnu", 1},
    {"c10::complex<float>", "ComplexFloat", 8},
    {"c10::complex<double>", "ComplexDouble", 16},
    {"c10::complex<c10::Half>", "ComplexHalf", 4},
    {"bytes", "bytes", 1},  // NCCL's own records: a size without a type
}};

const ElementType* find_type(std::string_view dtype) {
  const auto at = std::ranges::find_if(
      element_types, [&](const ElementType& t) { return t.argument == dtype || t.name == dtype; });
  return at == element_types.end() ? nullptr : &*at;
}

}  // namespace

std::optional<std::int64_t> dtype_bytes(std::string_view dtype) {
  const ElementType* type = find_type(dtype);
  if (type == nullptr) return std::nullopt;
  return type->bytes;
}

std::string_view dtype_name(std::string_view dtype) {
  const ElementType* type = find_type(dtype);
  return type == nullptr ? dtype : type->name;
}

std::optional<Bytes> message_bytes(CollectiveKind kind, const MessageElements& elements,
                                   std::int64_t bytes_per_element) {
  std::int64_t total = elements.in;
  if (gathers(kind)) {
    const bool group = elements.in >= 0 && elements.group_size > 0;
    total = group ? elements.in * elements.group_size : -1;
    // A rank other than the gather's root records no output.
    if (elements.out > 0) total = elements.out;
  } else if (kind == CollectiveKind::recv || is_from_root(kind)) {
    total = std::max(elements.in, elements.out);
  }
  if (total < 0 || bytes_per_element <= 0) return std::nullopt;
  return Bytes{total * bytes_per_element};
}

std::optional<NamedSize> size_in_name(std::string_view name) {
  constexpr std::array<std::string_view, 6> units = {"KB", "MB", "GB", "KiB", "MiB", "GiB"};
  constexpr std::string_view digits = "0123456789.";
  std::optional<NamedSize> found;
  for (std::size_t at = 0; (at = name.find_first_of(digits, at)) != std::string_view::npos;) {
    const std::size_t end = std::min(name.find_first_not_of(digits, at), name.size());
    const std::string_view number = name.substr(at, end - at);
    const bool inside_word = at > 0 && (is_letter(name[at - 1]) || name[at - 1] == '-');
    at = end;
    std::string_view rest = name.substr(end);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    const auto* unit = std::ranges::find_if(units, [&](std::string_view u) {
      return rest.starts_with(u) && (rest.size() == u.size() || !is_letter(rest[u.size()]));
    });
    const auto value = number_of<double>(number);
    if (inside_word || unit == units.end() || !value) continue;
    const auto bytes = parse_bytes(std::string(number).append(*unit));
    if (!bytes) continue;
    const std::size_t dot = std::min(number.find('.'), number.size() - 1);
    const double last = std::pow(10, -static_cast<double>(number.size() - 1 - dot));
    const double rounding = last / 2 * static_cast<double>(*bytes) / *value;
    if (found && found->bytes.value != *bytes) return std::nullopt;
    found = NamedSize{Bytes{*bytes}, Bytes{std::llround(rounding)}};
  }
  return found;
}

std::optional<TensorArguments> tensor_arguments(std::string_view dims, std::string_view types) {
  const auto inputs = parse_inputs(dims, types, "");
  if (!inputs) return std::nullopt;
  std::optional<TensorArguments> found;
  for (const OpInput& input : inputs->args) {
    const ElementType* type = find_type(input.type);
    const auto count = element_count(input.dims);
    if (type == nullptr || !count) continue;
    if (!found) found = TensorArguments{type->name, 0};
    if (type->name == found->dtype) found->elements += *count;
  }
  return found;
}

}  // namespace stepscope
