// SPDX-License-Identifier: Apache-2.0
#include "engine/nn/kernels/onednn.h"

#ifdef STEPSCOPE_HAS_ONEDNN

#include <dlfcn.h>

#include <cstddef>
#include <functional>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "engine/nn/kernels/buffer.h"
#include "engine/nn/kernels/lanes.h"
#include "stepscope/base/isa.h"
#include "stepscope/base/result.h"

#define STEPSCOPE_NN_KERNEL "engine/nn/kernels/onednn.inc"
#include "engine/nn/kernels/each_isa.inc"

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

}  // namespace

template <class T, class Out>
void onednn_matmul(const MatmulShape& s, const T* a, const T* b, Out* c, const T* bias, bool add) {
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

template <class T>
std::string_view onednn_implementation(const MatmulShape& shape) {
  const OneThread one;
  PerThread& mine = own();
  const auto v = variant<T, T>(shape, false, false);
  const auto& prepared = find_or_prepare(v, mine);
  if (prepared) return prepared->implementation;
  thread_local std::string text;
  text = "widened+" + find_or_prepare(widened(v), mine).value().implementation;
  return text;
}

template void onednn_matmul(const MatmulShape&, const float*, const float*, float*, const float*,
                            bool);
template void onednn_matmul(const MatmulShape&, const Bf16*, const Bf16*, Bf16*, const Bf16*, bool);
template void onednn_matmul(const MatmulShape&, const Bf16*, const Bf16*, float*, const Bf16*,
                            bool);
template std::string_view onednn_implementation<float>(const MatmulShape&);
template std::string_view onednn_implementation<Bf16>(const MatmulShape&);

}  // namespace stepscope::nn

#endif
