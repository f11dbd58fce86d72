// SPDX-License-Identifier: Apache-2.0
// Why an allocation found no room, by the sizes in the message of the allocator.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "stepscope/base/enum_names.h"
#include "stepscope/event/oom_message.h"

namespace stepscope {

enum class OomCause : std::uint8_t {
  unknown,     // the message has no sizes
  too_large,   // the request alone exceeds the device
  limited,     // a limit of the program holds, and the device has more
  fragmented,  // what the allocator has reserved and does not use, with the device's free memory,
               // would be enough
  other_process,  // other processes hold what is missing
  missing,        // the process itself holds too much
  free_enough,    // the device has more free than was asked for
  program,        // a compiled program takes more than the device
  block,          // the platform gives no allocation of that size
  outside,   // what PyTorch's allocator does not hold, and no process of the message, is enough
  at_start,  // a program that takes a share of the device at its start finds less
  context,   // there was not even room for a context
  beyond     // the allocator holds more than the device has, so memory of the host as well
};
inline constexpr auto oom_cause_names = enum_names<OomCause::beyond>;
[[nodiscard]] constexpr std::string_view name_of(OomCause cause) {
  return oom_cause_names[static_cast<std::size_t>(cause)];
}

struct OomAccount {
  OomCause cause = OomCause::unknown;
  Bytes missing{};                  // request − free − unallocated; 0 if that is enough
  bool at_least = false;            // the message does not say what is free
  std::optional<Bytes> used;        // by the process itself, of its allocator or in all
  bool own_known = false;           // `used` is what the process holds in all
  Bytes others{};                   // held by other processes that the message names
  std::int64_t other_pid = 0;       // of the largest of them
  int contexts = 0;                 // other processes that hold as much as a context, two at least
  std::optional<Bytes> reserved{};  // by PyTorch's allocator, if the message has both parts
  bool alone = false;               // all that is in use is about what this process holds
  Bytes beyond{};                   // held in addition to all that the device has
  Bytes outside{};  // of the device, held by no allocator and no process that the message sizes; 0
                    // where a context of this process may be all of it
};

// In a container the driver says that processes hold 0 bytes: what is less than the allocator has
// is not known. It also names the process itself by a number that it does not know as its own. A
// process that holds what the allocator has reserved, and at most a context more, is taken for
// the process itself.
[[nodiscard]] OomAccount account_oom(const OomMessage& message);

// The one of several messages (one at least) to explain: the first whose cause is known, else the
// first that its allocator does not try again.
[[nodiscard]] std::size_t leading_oom(std::span<const OomMessage> messages);

}  // namespace stepscope
