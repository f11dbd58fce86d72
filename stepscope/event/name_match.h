// SPDX-License-Identifier: Apache-2.0
// Splits the names of kernels and operators into parts.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Lower-case, demangled where the name is mangled, without "(anonymous namespace)::".
[[nodiscard]] std::string plain_name(std::string_view name);

// The parts of a kernel's plain name, "void at::f<g<int>, 4>::h(q<float>)":
struct KernelParts {
  std::string head;       // "at::f::h": the function with its namespaces
  std::string outside;    // "void at::f::h(q)": the name without template arguments
  std::string arguments;  // "g<int>, 4": the function's template arguments
};
[[nodiscard]] KernelParts kernel_parts(std::string_view plain);

// The n-th template argument, from 1 on; empty if there are fewer.
[[nodiscard]] std::string_view nth_argument(std::string_view arguments, int n);

// "autograd::engine::evaluate_function: AddmmBackward0" → "AddmmBackward0".
[[nodiscard]] std::string_view without_engine(std::string_view name);

// "autograd::engine::evaluate_function: AddmmBackward0", "aten::addmm_", "aten::addmm.out" →
// "addmm". The name is lower-case.
[[nodiscard]] std::string_view operator_stem(std::string_view lower_name);

// "nccl:all_reduce", "gloo:barrier": a process group's annotation.
[[nodiscard]] bool is_backend_annotation(std::string_view lower_name);

}  // namespace stepscope
