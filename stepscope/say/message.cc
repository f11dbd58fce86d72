// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/message.h"

#include <iterator>

#include "stepscope/base/plain_bytes.h"

namespace stepscope {

template <>
struct Plain<std::monostate> {
  static void append(std::string&, std::monostate) {}
  static bool take(std::string_view&, std::monostate&) { return true; }
};

namespace {

template <std::size_t kind = 0>
bool take_kind(std::string_view& in, std::size_t index, Value::Kinds& value) {
  if constexpr (kind == std::variant_size_v<Value::Kinds>)
    return false;
  else if (index != kind)
    return take_kind<kind + 1>(in, index, value);
  else
    return take_plain(in, value.emplace<kind>());
}

}  // namespace

void Plain<Value>::append(std::string& out, const Value& value) {
  append_plain(out, static_cast<std::uint8_t>(value.kinds_.index()));
  std::visit([&](const auto& v) { append_plain(out, v); }, value.kinds_);
}

bool Plain<Value>::take(std::string_view& in, Value& value) {
  std::uint8_t index = 0;
  return take_plain(in, index) && take_kind(in, index, value.kinds_);
}

Value::Value(Messages list) : kinds_(std::move(list)) {}

Value::Value(const std::vector<std::string>& names) : kinds_(quoted(names)) {}

Value::Value(Message message) {
  if (!message.empty()) kinds_ = Messages{std::move(message)};
}

bool Value::operator==(const Value& other) const { return kinds_ == other.kinds_; }

Messages quoted(const std::vector<std::string>& texts) {
  Messages list;
  for (const std::string& text : texts) list.push_back(msg::plain(text));
  return list;
}

void append(Messages& list, Messages more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()),
              std::make_move_iterator(more.end()));
}

Message joined(MessageMaker<1> list, Messages parts) {
  std::erase_if(parts, &Message::empty);
  if (parts.size() == 1) return std::move(parts.front());
  return parts.empty() ? Message() : list(std::move(parts));
}

}  // namespace stepscope
