// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/matching/message_size.h"

#include <algorithm>
#include <array>

#include "stepscope/analysis/work/op_inputs.h"

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
