// SPDX-License-Identifier: Apache-2.0
// Matrix products of one thread. sgemm.h multiplies f32 on every CPU, and bf16 if the CPU has no
// faster instructions for it; amx_gemm.h multiplies bf16 if it has AMX; onednn.h multiplies bf16 if
// it has AVX512_BF16 without AMX (and is not an Intel CPU limited by STEPSCOPE_ISA, where
// AVX512_BF16 is slower than f32). A build without oneDNN leaves these to sgemm.h, which widens the
// operands as it packs them. matmul_reference is the plain loop that tests compare all with.
// Matrices are row-major. T = float or Bf16; products are accumulated in f32 and rounded once. With
// `add`, the output's earlier value is added before the rounding.
//
// When a thread first uses a shape, it creates and keeps the packing buffers, or oneDNN's
// primitive. Later uses allocate nothing of that size.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/nn/kernels/matmul_shape.h"

namespace stepscope::nn {

// bias[n] is added to every row; it may be null. k > 0. If m or n is 0, nothing is done.
template <class T>
void matmul(const MatmulShape& shape, const T* a, const T* b, T* c, const T* bias = nullptr,
            bool add = false);
// The same with an f32 result for every T.
template <class T>
void matmul_to_float(const MatmulShape& shape, const T* a, const T* b, float* c, bool add = false);
// The reference for tests: accumulates in double.
template <class T>
void matmul_reference(const MatmulShape& shape, const T* a, const T* b, T* c,
                      const T* bias = nullptr, bool add = false);

// The three products of a linear layer y[m, n] = x[m, k] w[n, k]^T + bias[n], all contiguous.
template <class T>
void linear_forward(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, const T* w,
                    const T* bias, T* y);
// dx[m, k] (+)= dy w
template <class T>
void linear_backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const T* dy, const T* w,
                           T* dx, bool add);
// dw[n, k] (+)= dy^T x;  dbias[n] (+)= the sum of dy over its rows, in row order (may be null).
template <class T>
void linear_backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, const T* dy,
                            T* dw, T* dbias, bool add);

// Whether this build has oneDNN. CMake prints the reason if it has not.
[[nodiscard]] bool has_onednn();
// For tests and benchmarks: from now on oneDNN, if this build has it, multiplies f32 too, or no
// longer does. Do not call it while another thread multiplies.
void use_onednn_for_f32(bool on);
// The same for bf16.
void use_onednn_for_bf16(bool on);

// The implementation that runs a product of this type and shape here: "sgemm:baseline",
// "sgemm:avx2", "sgemm:avx512", "amx_gemm", or that of onednn_implementation().
template <class T>
[[nodiscard]] std::string_view matmul_implementation(const MatmulShape& shape);

}  // namespace stepscope::nn
