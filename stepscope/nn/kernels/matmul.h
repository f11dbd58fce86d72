// SPDX-License-Identifier: Apache-2.0
// Matrix products of one thread. f32 is multiplied by sgemm.h where the CPU has AVX-512, all else
// by oneDNN, which stands behind matmul.cc and nowhere else; matmul_reference is the plain loop
// that tests hold both against. Row-major; T = float or Bf16, accumulated in f32 and rounded once
// (added to what was there before the rounding, where `add`).
//
// oneDNN's Debian build divides its work by OpenMP; for the length of each call the calling thread
// tells OpenMP that it has one thread, so nothing is woken and nothing spins.
//
// The first use of a shape by a thread creates and keeps (for that thread) what oneDNN needs: a
// primitive, the packing buffer. Later uses allocate nothing of that size; oneDNN itself
// allocates, at each call, the small table of its arguments (below 2 KB, freed on return).
//
// Bf16 products run on AMX or AVX512_BF16 where the CPU has them, on AVX-512 by oneDNN's emulation
// otherwise; where oneDNN has no bf16 (no AVX-512), both operands are widened and multiplied in
// f32.
#pragma once

#include <cstdint>
#include <string_view>

#include "stepscope/nn/kernels/matmul_shape.h"

namespace stepscope::nn {

// bias[n] (may be null) is added to every row. k > 0; m or n of 0 is nothing to do.
template <class T>
void matmul(const MatmulShape& shape, const T* a, const T* b, T* c, const T* bias = nullptr,
            bool add = false);
// The same with an f32 result, whatever T is.
template <class T>
void matmul_to_float(const MatmulShape& shape, const T* a, const T* b, float* c, bool add = false);
// The oracle: accumulates in double.
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

// For tests and benchmarks: f32 by oneDNN too from now on, or no longer. Not while another thread
// multiplies.
void use_onednn_for_f32(bool on);

// What runs a product of this type and shape here, as oneDNN calls it ("brg:avx512_core_amx_bf16"),
// with "widened+" before it where bf16 goes through f32.
template <class T>
[[nodiscard]] std::string_view matmul_implementation(const MatmulShape& shape);

}  // namespace stepscope::nn
