// SPDX-License-Identifier: Apache-2.0
#include "stepscope/nn/kernels/matmul.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"
#include "stepscope/nn/kernels/amx_gemm.h"
#include "stepscope/nn/kernels/buffer.h"
#include "stepscope/nn/kernels/lanes.h"
#include "stepscope/nn/kernels/sgemm.h"

#define STEPSCOPE_NN_KERNEL "stepscope/nn/kernels/matmul.inc"
#include "stepscope/nn/kernels/each_isa.inc"

#if DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_TBB
#error "stepscope needs a oneDNN built with OpenMP or sequentially: a TBB build takes other threads"
#endif

namespace stepscope::nn {
namespace {

// The OpenMP that oneDNN is linked with, if any, found by symbol name. stepscope itself uses no
// OpenMP, and linking another OpenMP than oneDNN's would have no effect on oneDNN.
class OneThread {
 public:
  OneThread() {
    if (calls().set != nullptr && calls().get != nullptr) {
      before_ = calls().get();
      if (before_ != 1) calls().set(1);
    }
  }
  ~OneThread() {
    if (before_ != 1) calls().set(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  struct Calls {
    void (*set)(int);
    int (*get)();
  };
  static const Calls& calls() {
    static const Calls found = [] {
      const Calls c = {reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads")),
                       reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"))};
      check(
          DNNL_CPU_THREADING_RUNTIME != DNNL_RUNTIME_OMP || (c.set != nullptr && c.get != nullptr),
          "oneDNN uses OpenMP, and its OpenMP library is not to be found");
      return c;
    }();
    return found;
  }
  int before_ = 1;
};

// The properties that distinguish primitives.
struct Variant {
  MatmulShape shape;
  bool bf16 = false;  // operands
  bool bf16_result = false;
  bool bias = false;
  bool add = false;

  bool operator==(const Variant&) const = default;
};

struct VariantHash {
  std::size_t operator()(const Variant& v) const {
    const MatmulShape& s = v.shape;
    std::uint64_t h = 0;
    for (const std::int64_t x : {s.m, s.n, s.k, s.lda, s.ldb, s.ldc}) {
      h = (h ^ static_cast<std::uint64_t>(x)) * 0x9E3779B97F4A7C15U;
      h ^= h >> 29U;
    }
    const bool flags[] = {s.transpose_a, s.transpose_b, v.bf16, v.bf16_result, v.bias, v.add};
    for (const bool flag : flags) h = h * 2 + (flag ? 1U : 0U);
    return static_cast<std::size_t>(h * 0x9E3779B97F4A7C15U);
  }
};

struct Prepared {
  dnnl::matmul product;
  dnnl::memory a, b, c, bias, scratch;
  std::size_t scratch_bytes = 0;
  std::string implementation;
};

// STEPSCOPE_ISA limits oneDNN, too. oneDNN accepts a limit only before its first engine exists, and
// none below SSE4.1.
dnnl::engine limited_engine() {
  static const bool limited = [] {
    if (!isa_limit()) return false;
    constexpr dnnl_cpu_isa_t levels[] = {dnnl_cpu_isa_sse41, dnnl_cpu_isa_avx2,
                                         dnnl_cpu_isa_avx512_core_bf16};
    const auto level = levels[static_cast<std::size_t>(*isa_limit())];
    check(dnnl_set_max_cpu_isa(level) == dnnl_success,
          "oneDNN does not take the limit of STEPSCOPE_ISA; unset it");
    return true;
  }();
  static_cast<void>(limited);
  return {dnnl::engine::kind::cpu, 0};
}

struct PerThread {
  dnnl::engine engine = limited_engine();
  dnnl::stream stream{engine};
  // Empty if oneDNN has no implementation of this variant.
  std::unordered_map<Variant, std::optional<Prepared>, VariantHash> prepared;
  Buffer scratch, a, b, c, sums;
};

PerThread& own() {
  thread_local PerThread state;
  return state;
}

using Type = dnnl::memory::data_type;

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride,
                          bool transposed, Type type) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, stride} : dnnl::memory::dims{stride, 1};
  return {dnnl::memory::dims{rows, columns}, type, strides};
}

dnnl::matmul::primitive_desc describe(const Variant& v, const dnnl::engine& engine) {
  const MatmulShape& s = v.shape;
  const Type in = v.bf16 ? Type::bf16 : Type::f32;
  const Type out = v.bf16_result ? Type::bf16 : Type::f32;
  const auto a = matrix(s.m, s.k, s.lda, s.transpose_a, in);
  const auto b = matrix(s.k, s.n, s.ldb, s.transpose_b, in);
  const auto c = matrix(s.m, s.n, s.ldc, false, out);
  const auto bias = matrix(1, s.n, s.n, false, out);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (v.add) {
    dnnl::post_ops after;
    after.append_sum(1.0F);
    attributes.set_post_ops(after);
  }
#if DNNL_VERSION_MAJOR >= 3
  return v.bias ? dnnl::matmul::primitive_desc(engine, a, b, bias, c, attributes)
                : dnnl::matmul::primitive_desc(engine, a, b, c, attributes);
#else
  const auto what = v.bias ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  return {what, attributes, engine};
#endif
}

std::optional<Prepared> prepare(const Variant& v, PerThread& mine) {
  try {
    const auto chosen = describe(v, mine.engine);
    Prepared p;
    p.implementation = chosen.impl_info_str();
    // oneDNN's own plain loops are slower than widening.
    if (v.bf16 && p.implementation.starts_with("ref")) return std::nullopt;
    p.product = dnnl::matmul(chosen);
    p.a = dnnl::memory(chosen.src_desc(), mine.engine, nullptr);
    p.b = dnnl::memory(chosen.weights_desc(), mine.engine, nullptr);
    p.c = dnnl::memory(chosen.dst_desc(), mine.engine, nullptr);
    if (v.bias) p.bias = dnnl::memory(chosen.bias_desc(), mine.engine, nullptr);
    p.scratch_bytes = chosen.scratchpad_desc().get_size();
    p.scratch = dnnl::memory(chosen.scratchpad_desc(), mine.engine, nullptr);
    return p;
  } catch (const dnnl::error& e) {
    const bool missing = e.status == dnnl_unimplemented;
    check(missing && v.bf16, std::string("oneDNN refuses a matrix product: ") + e.what());
    return std::nullopt;
  }
}

std::optional<Prepared>& find_or_prepare(const Variant& v, PerThread& mine) {
  const auto it = mine.prepared.find(v);
  if (it != mine.prepared.end()) return it->second;
  auto& made = mine.prepared.emplace(v, prepare(v, mine)).first->second;
  if (made) mine.scratch.at_least(made->scratch_bytes);
  return made;
}

// Points `memory` at data. oneDNN does not accept const pointers.
void point(dnnl::memory& memory, const void* data) {
  memory.set_data_handle(const_cast<void*>(data));
}

void execute(Prepared& p, PerThread& mine, const void* a, const void* b, const void* bias,
             void* c) {
  point(p.a, a);
  point(p.b, b);
  point(p.c, c);
  point(p.scratch, mine.scratch.at_least(p.scratch_bytes));
  dnnl_exec_arg_t arguments[5] = {{DNNL_ARG_SRC, p.a.get()},
                                  {DNNL_ARG_WEIGHTS, p.b.get()},
                                  {DNNL_ARG_DST, p.c.get()},
                                  {DNNL_ARG_SCRATCHPAD, p.scratch.get()},
                                  {}};
  int count = 4;
  if (bias != nullptr) {
    point(p.bias, bias);
    arguments[count++] = {DNNL_ARG_BIAS, p.bias.get()};
  }
  const dnnl_status_t status =
      dnnl_primitive_execute(p.product.get(), mine.stream.get(), count, arguments);
  check(status == dnnl_success, "oneDNN failed in a matrix product");
}

template <class From, class To>
void convert(std::int64_t rows, std::int64_t columns, const From* from, std::int64_t from_stride,
             To* to, std::int64_t to_stride) {
  STEPSCOPE_NN_CALL(convert_rows, rows, columns, from, from_stride, to, to_stride);
}

// The f32 twin of a bf16 variant: contiguous copies of its operands.
Variant widened(const Variant& v) {
  Variant wide = v;
  MatmulShape& s = wide.shape;
  s.lda = s.transpose_a ? s.m : s.k;
  s.ldb = s.transpose_b ? s.k : s.n;
  if (v.bf16_result) s.ldc = s.n;
  wide.bf16 = wide.bf16_result = false;
  return wide;
}

template <class Out>
void multiply_widened(const Variant& v, const Bf16* a, const Bf16* b, Out* c, const Bf16* bias) {
  PerThread& mine = own();
  const MatmulShape& s = v.shape;
  const Variant wide = widened(v);
  const std::int64_t a_rows = s.transpose_a ? s.k : s.m;
  const std::int64_t b_rows = s.transpose_b ? s.n : s.k;
  float* wide_a = mine.a.floats(s.m * s.k);
  float* wide_b = mine.b.floats(s.k * s.n);
  float* wide_bias = mine.sums.floats(s.n);
  convert(a_rows, wide.shape.lda, a, s.lda, wide_a, wide.shape.lda);
  convert(b_rows, wide.shape.ldb, b, s.ldb, wide_b, wide.shape.ldb);
  if (bias != nullptr) convert(1, s.n, bias, s.n, wide_bias, s.n);
  auto& prepared = find_or_prepare(wide, mine);
  check(prepared.has_value(), "oneDNN has no f32 matrix product");
  if constexpr (std::is_same_v<Out, float>) {
    execute(*prepared, mine, wide_a, wide_b, bias != nullptr ? wide_bias : nullptr, c);
  } else {
    float* wide_c = mine.c.floats(s.m * s.n);
    if (v.add) convert(s.m, s.n, c, s.ldc, wide_c, s.n);
    execute(*prepared, mine, wide_a, wide_b, bias != nullptr ? wide_bias : nullptr, wide_c);
    convert(s.m, s.n, wide_c, s.n, c, s.ldc);
  }
}

template <class T, class Out>
Variant variant(const MatmulShape& shape, bool bias, bool add) {
  return {shape, std::is_same_v<T, Bf16>, std::is_same_v<Out, Bf16>, bias, add};
}

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
bool faster_bf16_instructions() {
  static const bool faster =
      __builtin_cpu_supports("avx512bf16") != 0 && (!isa_limit() || __builtin_cpu_is("intel") == 0);
  return faster && isa() == Isa::avx512;
}

// Whether sgemm multiplies elements of type T.
template <class T>
bool sgemm_multiplies() {
  if (!sgemm_runs_here()) return false;
  if (std::is_same_v<T, float>) return !onednn_for_f32().load(std::memory_order_relaxed);
  return !onednn_for_bf16().load(std::memory_order_relaxed) && !faster_bf16_instructions();
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
  if (sgemm_multiplies<T>()) {
    const Out* same = nullptr;  // an f32 result of bf16 operands has no bias
    if constexpr (std::is_same_v<T, Out>) same = bias;
    sgemm(s, a, b, c, same, add);
    return;
  }
  const OneThread one;
  PerThread& mine = own();
  const auto v = variant<T, Out>(s, bias != nullptr, add);
  auto& prepared = find_or_prepare(v, mine);
  if (prepared) {
    execute(*prepared, mine, a, b, bias, c);
    return;
  }
  if constexpr (std::is_same_v<T, Bf16>) multiply_widened(v, a, b, c, bias);
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
  float* sums = own().sums.floats(n);
  std::fill_n(sums, n, 0.0F);
  STEPSCOPE_NN_CALL(add_columns, m, n, dy, sums);
  STEPSCOPE_NN_CALL(write_columns, n, sums, dbias, add);
}

void use_onednn_for_f32(bool on) { onednn_for_f32() = on; }

void use_onednn_for_bf16(bool on) { onednn_for_bf16() = on; }

template <class T>
std::string_view matmul_implementation(const MatmulShape& shape) {
  if (amx_multiplies<T>()) return "amx_gemm";
  if (sgemm_multiplies<T>()) return isa() == Isa::avx512 ? "sgemm:avx512" : "sgemm:avx2";
  const OneThread one;
  PerThread& mine = own();
  const auto v = variant<T, T>(shape, false, false);
  const auto& prepared = find_or_prepare(v, mine);
  if (prepared) return prepared->implementation;
  thread_local std::string text;
  text = "widened+" + find_or_prepare(widened(v), mine).value().implementation;
  return text;
}

template void matmul(const MatmulShape&, const float*, const float*, float*, const float*, bool);
template void matmul_to_float(const MatmulShape&, const float*, const float*, float*, bool);
template void matmul_reference(const MatmulShape&, const float*, const float*, float*, const float*,
                               bool);
template void linear_forward(std::int64_t, std::int64_t, std::int64_t, const float*, const float*,
                             const float*, float*);
template void linear_backward_input(std::int64_t, std::int64_t, std::int64_t, const float*,
                                    const float*, float*, bool);
template void linear_backward_weight(std::int64_t, std::int64_t, std::int64_t, const float*,
                                     const float*, float*, float*, bool);
template std::string_view matmul_implementation<float>(const MatmulShape&);

template void matmul(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void matmul_to_float(const MatmulShape&, const Bf16*, const Bf16*, float*, bool);
template void matmul_reference(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*,
                               bool);
template void linear_forward(std::int64_t, std::int64_t, std::int64_t, const Bf16*, const Bf16*,
                             const Bf16*, Bf16*);
template void linear_backward_input(std::int64_t, std::int64_t, std::int64_t, const Bf16*,
                                    const Bf16*, Bf16*, bool);
template void linear_backward_weight(std::int64_t, std::int64_t, std::int64_t, const Bf16*,
                                     const Bf16*, Bf16*, Bf16*, bool);
template std::string_view matmul_implementation<Bf16>(const MatmulShape&);

}  // namespace stepscope::nn
