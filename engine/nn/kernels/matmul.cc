// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/matmul.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <type_traits>

#include "engine/nn/kernels/amx_gemm.h"
#include "engine/nn/kernels/buffer.h"
#include "engine/nn/kernels/lanes.h"
#include "engine/nn/kernels/onednn.h"
#include "engine/nn/kernels/sgemm.h"
#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/matmul.inc"
#include "engine/nn/kernels/each_isa.inc"

namespace stepscope::nn {
namespace {

#ifdef STEPSCOPE_HAS_ONEDNN
constexpr bool with_onednn = true;
#else
constexpr bool with_onednn = false;
#endif

std::atomic<bool>& onednn_for_f32() {
  static std::atomic<bool> on = false;
  return on;
}

std::atomic<bool>& onednn_for_bf16() {
  static std::atomic<bool> on = false;
  return on;
}

// Whether oneDNN can have faster instructions for bf16 than f32 multiply-adds: AMX, or AVX512_BF16
// other than Intel's, which has half the rate of f32 (fma_peak on a Xeon with AMX).
[[maybe_unused]] bool faster_bf16_instructions() {
  static const bool faster = cpu_features().avx512_bf16 && (!isa_limit() || !cpu_features().intel);
  return faster && isa() == Isa::avx512;
}

// Whether oneDNN multiplies elements of type T, where our AMX kernel does not.
template <class T>
bool onednn_multiplies() {
  if (!with_onednn) return false;
  if (std::is_same_v<T, float>) return onednn_for_f32().load(std::memory_order_relaxed);
  return onednn_for_bf16().load(std::memory_order_relaxed) || faster_bf16_instructions();
}

// Whether our AMX kernel multiplies elements of type T.
template <class T>
bool amx_multiplies() {
  return std::is_same_v<T, Bf16> && isa() == Isa::avx512 && amx_gemm_runs_here() &&
         !onednn_for_bf16().load(std::memory_order_relaxed);
}

template <class T, class Out>
void multiply(const MatmulShape& s, const T* a, const T* b, Out* c, const T* bias, bool add) {
  if (s.m == 0 || s.n == 0) return;
  check(s.k > 0, "matmul: nothing to sum over");
  if constexpr (std::is_same_v<T, Bf16>) {
    if (amx_multiplies<T>()) {
      amx_gemm(s, a, b, c, bias, add);
      return;
    }
  }
  if constexpr (with_onednn) {
    if (onednn_multiplies<T>()) {
      onednn_matmul(s, a, b, c, bias, add);
      return;
    }
  }
  const Out* same = nullptr;  // an f32 result of bf16 operands has no bias
  if constexpr (std::is_same_v<T, Out>) same = bias;
  sgemm(s, a, b, c, same, add);
}

}  // namespace

template <class T>
void matmul(const MatmulShape& shape, const T* a, const T* b, T* c, const T* bias, bool add) {
  multiply<T, T>(shape, a, b, c, bias, add);
}

template <class T>
void matmul_to_float(const MatmulShape& shape, const T* a, const T* b, float* c, bool add) {
  multiply<T, float>(shape, a, b, c, nullptr, add);
}

namespace {
double as_double(float x) { return static_cast<double>(x); }
double as_double(Bf16 x) { return static_cast<double>(to_float(x)); }
void round_to(double x, float& out) { out = static_cast<float>(x); }
void round_to(double x, Bf16& out) { out = to_bf16(static_cast<float>(x)); }
}  // namespace

template <class T>
void matmul_reference(const MatmulShape& s, const T* a, const T* b, T* c, const T* bias, bool add) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      T& out = c[i * s.ldc + j];
      double sum = (add ? as_double(out) : 0.0) + (bias != nullptr ? as_double(bias[j]) : 0.0);
      for (std::int64_t p = 0; p < s.k; ++p) {
        const T x = s.transpose_a ? a[p * s.lda + i] : a[i * s.lda + p];
        const T y = s.transpose_b ? b[j * s.ldb + p] : b[p * s.ldb + j];
        sum += as_double(x) * as_double(y);
      }
      round_to(sum, out);
    }
  }
}

template <class T>
void linear_forward(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, const T* w,
                    const T* bias, T* y) {
  matmul({m, n, k, k, k, n, false, true}, x, w, y, bias);
}

template <class T>
void linear_backward_input(std::int64_t m, std::int64_t n, std::int64_t k, const T* dy, const T* w,
                           T* dx, bool add) {
  matmul<T>({m, k, n, n, k, k, false, false}, dy, w, dx, nullptr, add);
}

template <class T>
void linear_backward_weight(std::int64_t m, std::int64_t n, std::int64_t k, const T* x, const T* dy,
                            T* dw, T* dbias, bool add) {
  matmul<T>({n, k, m, n, k, k, true, false}, dy, x, dw, nullptr, add);
  if (dbias == nullptr) return;
  thread_local Buffer column_sums;
  float* sums = column_sums.floats(n);
  std::fill_n(sums, n, 0.0F);
  STEPSCOPE_NN_CALL(add_columns, m, n, dy, sums);
  STEPSCOPE_NN_CALL(write_columns, n, sums, dbias, add);
}

bool has_onednn() { return with_onednn; }

void use_onednn_for_f32(bool on) { onednn_for_f32() = on; }

void use_onednn_for_bf16(bool on) { onednn_for_bf16() = on; }

template <class T>
std::string_view matmul_implementation(const MatmulShape& shape) {
  if (amx_multiplies<T>()) return "amx_gemm";
  if constexpr (with_onednn) {
    if (onednn_multiplies<T>()) return onednn_implementation<T>(shape);
  }
  static_cast<void>(shape);
  constexpr std::string_view names[] = {"sgemm:baseline", "sgemm:avx2", "sgemm:avx512"};
  return names[static_cast<std::size_t>(isa())];
}

#define STEPSCOPE_MATMUL_OF(T)                                                                \
  template void matmul(const MatmulShape&, const T*, const T*, T*, const T*, bool);           \
  template void matmul_to_float(const MatmulShape&, const T*, const T*, float*, bool);        \
  template void matmul_reference(const MatmulShape&, const T*, const T*, T*, const T*, bool); \
  template void linear_forward(std::int64_t, std::int64_t, std::int64_t, const T*, const T*,  \
                               const T*, T*);                                                 \
  template void linear_backward_input(std::int64_t, std::int64_t, std::int64_t, const T*,     \
                                      const T*, T*, bool);                                    \
  template void linear_backward_weight(std::int64_t, std::int64_t, std::int64_t, const T*,    \
                                       const T*, T*, T*, bool);                               \
  template std::string_view matmul_implementation<T>(const MatmulShape&);
STEPSCOPE_MATMUL_OF(float)
STEPSCOPE_MATMUL_OF(Bf16)
#undef STEPSCOPE_MATMUL_OF

}  // namespace stepscope::nn
