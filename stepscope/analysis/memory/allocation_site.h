// SPDX-License-Identifier: Apache-2.0
// The origin of an allocation, from its recorded call stack: the part of the training step and the
// line of the program.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stepscope/event/memory_snapshot.h"

namespace stepscope {

// From the innermost frame outwards, the first frame that shows the phase:
//   backward   autograd's engine, a generated …Backward node, Tensor.backward
//   optimizer  a function of a file in an optim directory, or named like one ("optimizer", "adam")
//   forward    a call of a module, or a function named forward
//   setup      a constructor, or a function that moves and fills parameters
enum class AllocationPhase : std::uint8_t { unknown, setup, forward, backward, optimizer, other };

// The innermost frame in a Python file of the program. Files of torch, of Python itself and of
// packages that only pass tensors on do not count. On autograd's threads it is the running node
// ("AddmmBackward0"). Otherwise it is the innermost frame of any Python file, or the innermost
// native frame outside torch's libraries.
struct AllocationSite {
  std::string name{};  // of the function
  std::string file{};  // as recorded; empty for a node of autograd
  std::int32_t line = 0;
  std::string operation{};  // the allocating operator ("zeros_like"); empty if not recorded
  AllocationPhase phase = AllocationPhase::unknown;
  bool zeroes_gradients = false;  // inside zero_grad
  bool casts = false;             // inside autocast's copy to another format
};

// Element i belongs to stack i. Stack 0 has empty fields.
[[nodiscard]] std::vector<AllocationSite> allocation_sites(const MemorySnapshot& snapshot);

// True for frames of interest to a person: not those of the interpreter, the unwinder or the
// dispatcher.
[[nodiscard]] bool is_telling_frame(std::string_view name, std::string_view file);

}  // namespace stepscope
