// SPDX-License-Identifier: Apache-2.0
// Kernel names for people: C++ signatures of template instances fill a screen and say little.
#pragma once

#include <string>
#include <string_view>

namespace stepscope {

// Without return type, namespaces, template and call arguments; where the template's arguments
// name the functor or lambda that shows what the kernel does, that name follows in brackets: "void
// at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, …>(int, …)" becomes
// "vectorized_elementwise_kernel[MulFunctor]". A name that is no C++ signature stays. The terminal
// and the page show it; JSON keeps the whole name and lists the short names as well.
[[nodiscard]] std::string short_kernel_name(std::string_view name);

}  // namespace stepscope
