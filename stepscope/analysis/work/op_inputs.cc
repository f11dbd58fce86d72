// SPDX-License-Identifier: Apache-2.0
// A cursor over three small JSON arrays. The parse ends at anything that the profiler does not
// write: a wrong shape is worse than none.
#include "stepscope/analysis/work/op_inputs.h"

#include <algorithm>
#include <utility>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void skip_space() {  // some writers indent their arrays
    while (!text_.empty() && is_space(text_.front())) text_.remove_prefix(1);
  }
  bool take(char c) {
    skip_space();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  [[nodiscard]] char peek() {
    skip_space();
    return text_.empty() ? '\0' : text_.front();
  }
  bool number(std::int64_t& value) {
    skip_space();
    const auto number = take_number<std::int64_t>(text_);
    if (number) value = *number;
    return number.has_value();
  }
  // A quoted text. Escapes stay as they are; no type or value has any.
  bool quoted(std::string& value) {
    if (!take('"')) return false;
    std::size_t end = 0;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2U : 1U;
    if (end >= text_.size()) return false;
    value.assign(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return true;
  }
  [[nodiscard]] bool done() {
    skip_space();
    return text_.empty();
  }

 private:
  std::string_view text_;
};

// "[1, 2]" or "[[1, 2], []]": dims or a list of dims.
bool parse_shape(Cursor& cursor, OpInput& input, bool nested = false) {
  if (cursor.peek() == '"') {  // some writers put "" for an argument without a shape
    std::string ignored;
    return cursor.quoted(ignored);
  }
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return true;
  do {
    if (cursor.peek() == '[') {
      OpInput element;
      if (nested || !parse_shape(cursor, element, true)) return false;
      input.list.push_back(std::move(element.dims));
    } else {
      std::int64_t dim = 0;
      if (!cursor.number(dim) || dim < 0) return false;
      input.dims.push_back(dim);
    }
  } while (cursor.take(','));
  return cursor.take(']') && (input.dims.empty() || input.list.empty());
}

// A list whose elements `element` takes, and nothing behind it.
template <class Element>
bool parse_list(std::string_view text, Element&& element) {
  Cursor cursor(text);
  if (!cursor.take('[')) return false;
  if (cursor.take(']')) return cursor.done();
  do {
    if (!element(cursor)) return false;
  } while (cursor.take(','));
  return cursor.take(']') && cursor.done();
}

// Fills one text per argument. A list longer than the dims is malformed.
bool parse_texts(std::string_view text, std::vector<OpInput>& args, std::string OpInput::* field) {
  std::size_t at = 0;
  return text.empty() || parse_list(text, [&](Cursor& cursor) {
           return at < args.size() && cursor.quoted(args[at++].*field);
         });
}

struct ElementType {
  std::string_view name;
  std::int64_t bytes;
  OperandFormat precision;
};
constexpr auto element_types = std::to_array<ElementType>({
    {"double", 8, OperandFormat::fp64},
    {"float", 4, OperandFormat::fp32},
    {"c10::Half", 2, OperandFormat::fp16},
    {"c10::BFloat16", 2, OperandFormat::bf16},
    {"c10::Float8_e4m3fn", 1, OperandFormat::fp8},
    {"c10::Float8_e5m2", 1, OperandFormat::fp8},
    {"c10::Float8_e4m3fnuz", 1, OperandFormat::fp8},
    {"c10::Float8_e5m2fnuz", 1, OperandFormat::fp8},
    {"c10::Float8_e8m0fnu", 1, OperandFormat::other},
    {"signed char", 1, OperandFormat::int8},
    {"unsigned char", 1, OperandFormat::int8},
    {"c10::qint8", 1, OperandFormat::int8},
    {"c10::quint8", 1, OperandFormat::int8},
    {"bool", 1, OperandFormat::other},
    {"short int", 2, OperandFormat::other},
    {"short", 2, OperandFormat::other},
    {"int", 4, OperandFormat::other},
    {"long int", 8, OperandFormat::other},
    {"long", 8, OperandFormat::other},
    {"c10::complex<float>", 8, OperandFormat::other},
    {"c10::complex<double>", 16, OperandFormat::other},
});

const ElementType* find_type(std::string_view name) {
  const auto at = std::ranges::find(element_types, name, &ElementType::name);
  return at == element_types.end() ? nullptr : &*at;
}

}  // namespace

bool OpInput::is_tensor() const {
  return find_type(type) != nullptr || (type.empty() && !dims.empty());
}

const Dims* OpInputs::tensor(std::size_t i, std::size_t rank) const {
  if (i >= args.size() || !args[i].is_tensor() || args[i].dims.size() < rank) return nullptr;
  return &args[i].dims;
}

std::string_view OpInputs::concrete(std::size_t i) const {
  return i < args.size() ? std::string_view(args[i].concrete) : std::string_view();
}

std::optional<bool> OpInputs::flag(std::size_t i) const {
  const std::string_view text = concrete(i);
  if (text == "True" || text == "true" || text == "1") return true;
  if (text == "False" || text == "false" || text == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> OpInputs::integer(std::size_t i) const {
  Cursor cursor(concrete(i));
  std::int64_t value = 0;
  if (!cursor.number(value) || !cursor.done()) return std::nullopt;
  return value;
}

std::optional<Dims> OpInputs::integers(std::size_t i) const {
  Dims values;
  const auto number = [&](Cursor& cursor) { return cursor.number(values.emplace_back()); };
  return parse_list(concrete(i), number) ? std::optional(values) : std::nullopt;
}

std::optional<std::vector<bool>> OpInputs::flags(std::size_t i) const {
  std::string_view text = concrete(i);
  if (!text.starts_with('[') || !text.ends_with(']')) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::vector<bool> values;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view word = text.substr(0, comma);
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    if (word != "True" && word != "False" && word != "true" && word != "false") return std::nullopt;
    values.push_back(word == "True" || word == "true");
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return values;
}

std::optional<OpInputs> parse_inputs(std::string_view dims, std::string_view types,
                                     std::string_view concrete) {
  OpInputs inputs;
  const auto shape = [&](Cursor& cursor) {
    return parse_shape(cursor, inputs.args.emplace_back());
  };
  if (!parse_list(dims, shape) || !parse_texts(types, inputs.args, &OpInput::type) ||
      !parse_texts(concrete, inputs.args, &OpInput::concrete))
    return std::nullopt;
  return inputs;
}

std::optional<std::int64_t> element_bytes(std::string_view type) {
  const ElementType* found = find_type(type);
  return found == nullptr ? std::nullopt : std::optional(found->bytes);
}

OperandFormat precision_of(std::string_view type) {
  const ElementType* found = find_type(type);
  return found == nullptr ? OperandFormat::other : found->precision;
}

std::optional<std::int64_t> element_count(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  return count;
}

}  // namespace stepscope
