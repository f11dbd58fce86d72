// SPDX-License-Identifier: Apache-2.0
// Kernel names for people: C++ signatures of template instances fill a screen and say little.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope {

// Without return type, namespaces, template and call arguments. Where the template's arguments name
// the functor or lambda that shows what the kernel does, that name follows in brackets: "void
// at::native::vectorized_elementwise_kernel<4, at::native::MulFunctor<float>, …>(int, …)" becomes
// "vectorized_elementwise_kernel[MulFunctor]". An entry that runs any kernel (cutlass::Kernel2,
// ck_tile::kentry) has the name of the kernel that it runs. A mangled name (Itanium ABI) has its
// function's name. A name that is no C++ signature stays. The terminal and the page show it; JSON
// keeps the whole name and lists the short names as well. O(length).
[[nodiscard]] std::string short_kernel_name(std::string_view name);

// The short form of each name, in at most `width` columns. Where different names would read alike,
// the words in which they differ follow: "Cijk_Alik_Bljk_BBS_BH_Bias_HA… MT64x32x128".
[[nodiscard]] std::vector<std::string> distinct_kernel_names(const std::vector<std::string>& names,
                                                             std::size_t width);

}  // namespace stepscope
