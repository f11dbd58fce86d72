// SPDX-License-Identifier: Apache-2.0
// pprof's protocol buffer (perftools.profiles.Profile, proto/profile.proto of
// github.com/google/pprof), usually gzip: Go, parca, pyroscope, gperftools and OpenTelemetry write
// it. Counted is the default sample type, else the last one, as pprof does. Inlined functions are
// frames of their own; a location without a function is its mapping's file.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/base/byte_source.h"
#include "stepscope/base/result.h"
#include "stepscope/stack/profile_builder.h"

namespace stepscope {

// Fields of a message, bounds checked: next() is false at the end and at the first damage.
class ProtoFields {
 public:
  explicit ProtoFields(std::string_view bytes) : rest_(bytes) {}
  bool next();
  [[nodiscard]] std::uint32_t field() const { return field_; }
  [[nodiscard]] bool is_bytes() const { return is_bytes_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  // of a varint or fixed field
  [[nodiscard]] std::string_view bytes() const { return bytes_; }
  [[nodiscard]] bool damaged() const { return damaged_; }

 private:
  std::string_view rest_;
  std::uint32_t field_ = 0;
  bool is_bytes_ = false;
  bool damaged_ = false;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

// A varint off the front; false where none is whole.
[[nodiscard]] bool take_varint(std::string_view& bytes, std::uint64_t& value);

[[nodiscard]] bool is_pprof(std::string_view head);
[[nodiscard]] Result<Done> read_pprof(ByteSource& source, ProfileBuilder& into);

}  // namespace stepscope
