// SPDX-License-Identifier: Apache-2.0
// The wire format of protocol buffers (protobuf.dev/programming-guides/encoding). It is read within
// bounds and written by appending. The caller knows the message of a field and the meaning of its
// number.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace stepscope {

// The fields of a message. next() is false at the end and at the first damage; all fields before
// the damage were given.
class ProtoFields {
 public:
  explicit ProtoFields(std::string_view bytes) : rest_(bytes) {}
  bool next();
  [[nodiscard]] std::uint32_t field() const { return field_; }
  [[nodiscard]] bool is_bytes() const { return is_bytes_; }
  // The value of a varint or fixed field; 0 if is_bytes().
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] double real() const;                               // of a double field
  [[nodiscard]] std::string_view bytes() const { return bytes_; }  // empty if not is_bytes()
  [[nodiscard]] bool damaged() const { return damaged_; }
  // True if the damage is that the bytes end inside a field.
  [[nodiscard]] bool cut_short() const { return cut_short_; }

 private:
  bool broken(bool cut_short);

  std::string_view rest_;
  std::uint32_t field_ = 0;
  bool is_bytes_ = false;
  bool damaged_ = false;
  bool cut_short_ = false;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

// Where the last value of a field goes; a list gets all values.
template <class T>
class ProtoInto {
 public:
  ProtoInto(std::uint32_t field, T& into) : field_(field), into_(into) {}
  void take(const ProtoFields& f) const {
    if (f.field() != field_) return;
    if constexpr (std::is_integral_v<T>)
      into_ = static_cast<T>(f.number());
    else if constexpr (requires { into_.push_back(f.bytes()); })
      into_.push_back(f.bytes());
    else
      into_ = f.bytes();
  }

 private:
  std::uint32_t field_;
  T& into_;
};
// Reads these fields of a message, up to its end or its first damage.
template <class... T>
void take_fields(std::string_view message, const ProtoInto<T>&... into) {
  for (ProtoFields f(message); f.next();) (into.take(f), ...);
}

// Takes a varint off the front; false if no whole varint is there.
[[nodiscard]] bool take_varint(std::string_view& bytes, std::uint64_t& value);

void append_varint(std::string& out, std::uint64_t value);
// Appends a field with its tag. A negative int32 or int64 is passed as its two's complement.
void append_number(std::string& out, std::uint32_t field, std::uint64_t value);
void append_fixed64(std::string& out, std::uint32_t field, std::uint64_t value);
void append_real(std::string& out, std::uint32_t field, double value);
void append_bytes(std::string& out, std::uint32_t field, std::string_view bytes);

}  // namespace stepscope
