// SPDX-License-Identifier: Apache-2.0
#include "stepscope/say/message.h"

namespace stepscope {

Value::Value(Messages list) : kinds_(std::move(list)) {}

Value::Value(Message message) {
  if (!message.empty()) kinds_ = Messages{std::move(message)};
}

bool Value::operator==(const Value& other) const { return kinds_ == other.kinds_; }

Message joined(MessageMaker<1> list, Messages parts) {
  std::erase_if(parts, &Message::empty);
  if (parts.size() == 1) return std::move(parts.front());
  return parts.empty() ? Message() : list(std::move(parts));
}

}  // namespace stepscope
