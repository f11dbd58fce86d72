// SPDX-License-Identifier: Apache-2.0
// Names of cuBLAS, cuDNN, CUTLASS, Tensile, Composable Kernel and flash-attention kernels.
// Instruction shapes (s884, s1688, s16816, MI16x16) are tensor cores; SIMT and plain single
// precision kernels are not.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "stepscope/analysis/work/kernels.h"
#include "stepscope/base/ascii.h"

namespace stepscope {
namespace {

constexpr auto on_tensor_cores =
    std::to_array<std::string_view>({"tensorop",      "wmma",       "wgmma",
                                     "gmma",          "884gemm",    "1688gemm",
                                     "16816",         "16832",      "161616",
                                     "s1688",         "h884",       "hmma",
                                     "imma",          "nvjet",      "xmma_gemm",
                                     "xmma_fprop",    "xmma_dgrad", "xmma_wgrad",
                                     "xmma_implicit", "tf32",       "mfma",
                                     "xdl",           "gtcx",       "flash",
                                     "fmha",          "sm90_",      "sm100_",
                                     "tcgen05",       "xmma_new",   "sm80_xmma",
                                     "sm86_xmma",     "sm89_xmma",  "fort_native_sdpa"});
constexpr auto off_tensor_cores = std::to_array<std::string_view>(
    {"simt", "sgemm", "scudnn", "dgemm", "cgemm", "zgemm", "gemv", "gemmsn", "gemmk1",
     "convolve_sgemm", "naive_conv", "fft2d", "depthwise", "magma_"});

// XMMA kernels name their instruction (ffma, dfma, hfma of the CUDA cores) and their formats: of
// operands, of the computation and of the result. With TF32 the computation is tf32f32.
constexpr auto fused_multiply_adds =
    std::to_array<std::string_view>({"_ffma", "_dfma", "_hfma", "_f32f32_f32f32_"});

}  // namespace

std::optional<bool> uses_tensor_cores(std::string_view kernel_name) {
  std::string name(kernel_name);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // Tensile puts the matrix instruction, if any, into the name ("_MI16x16x1_").
  if (name.starts_with("cijk_") || name.starts_with("custom_cijk_"))
    return name.find("_mi") != std::string::npos;
  if (contains_any(name, fused_multiply_adds)) return false;
  // A plain vendor GEMM in single precision, "volta_sgemm_128x64_tn"; tested before a wider rule
  // matches "ampere_sgemm".
  if (contains_any(name, on_tensor_cores)) return true;
  if (contains_any(name, off_tensor_cores)) return false;
  return std::nullopt;
}

}  // namespace stepscope
