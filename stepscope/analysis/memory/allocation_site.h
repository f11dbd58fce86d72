// SPDX-License-Identifier: Apache-2.0
// What a recorded call stack says of an allocation: in which part of a training step it happened,
// and which line of the program asked for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/event/memory_snapshot.h"

namespace stepscope {

// From the innermost frame on, the first that tells:
//   backward   autograd's engine, a generated …Backward node, Tensor.backward
//   optimizer  a function of a file in an optim directory, or of one named so ("optimizer", "adam")
//   forward    a call of a module, or a function named forward
//   setup      a constructor, or what moves and fills parameters
enum class AllocationPhase : std::uint8_t { unknown, setup, forward, backward, optimizer, other };

// The innermost frame of a Python file that is the program's: neither torch's nor Python's own nor
// of a package that only passes tensors on; of autograd's threads the node they run
// ("AddmmBackward0"); else the innermost frame of such a file, or the innermost native one outside
// torch's libraries.
struct AllocationSite {
  std::string name{};  // of the function
  std::string file{};  // as recorded; empty for a node of autograd
  std::int32_t line = 0;
  std::string operation{};  // the operator that allocated ("zeros_like"); empty if not recorded
  AllocationPhase phase = AllocationPhase::unknown;
  bool zeroes_gradients = false;  // inside zero_grad
};

// Element i is of stack i; of stack 0 all is empty.
[[nodiscard]] std::vector<AllocationSite> allocation_sites(const MemorySnapshot& snapshot);

// Whether a person wants to see this frame: not the interpreter's, the unwinder's or the
// dispatcher's own.
[[nodiscard]] bool is_telling_frame(std::string_view name, std::string_view file);

}  // namespace stepscope
