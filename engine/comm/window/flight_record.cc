// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/window/flight_record.h"

#include <array>

namespace stepscope::comm {
namespace {

std::string nanoseconds(std::optional<Ns> t) { return t ? std::to_string(t->count()) : "null"; }

}  // namespace

std::string json_text(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string json_header(const BucketHeader& header) {
  std::string out = "\"sequence\": " + std::to_string(header.sequence);
  out += ", \"kind\": ";
  out += json_text(collective_kind_names[static_cast<std::size_t>(header.kind)]);
  out += ", \"payload_bytes\": " + std::to_string(header.bytes);
  out += ", \"type\": " + json_text(element_name(header.type));
  out += ", \"reduction\": ";
  out += json_text(reduction_names[static_cast<std::size_t>(header.reduction)]);
  out += ", \"peer\": " + (header.root < 0 ? std::string("null") : std::to_string(header.root));
  out += ", \"what\": " + json_text(text_of({header.what.data(), header.what.size()}));
  return out + ", \"where\": " + json_text(place_text(header.site));
}

std::string json_operation(const Operation& operation) {
  constexpr std::array<std::string_view, 3> states = {"submitted", "arrived", "done"};
  const bool done = operation.state == OperationState::done;
  std::string out = "{";
  out += json_header(operation.header);
  out += ", \"state\": " + json_text(states[static_cast<std::size_t>(operation.state)]);
  out += ", \"submitted_ns\": " + nanoseconds(operation.times.submitted);
  out += ", \"last_arrival_ns\": " + nanoseconds(operation.times.last_arrival);
  out += ", \"finished_ns\": " +
         nanoseconds(done ? std::optional(operation.times.finished) : std::nullopt);
  return out + "}";
}

std::string json_operations(const OperationQueue& queue) {
  std::string out = "[";
  for (std::uint64_t s = queue.oldest(); s < queue.submitted(); ++s) {
    if (s > queue.oldest()) out += ", ";
    out += json_operation(queue[s]);
  }
  return out + "]";
}

}  // namespace stepscope::comm
