// SPDX-License-Identifier: Apache-2.0
#include "engine/measure/time_core.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>

#include "engine/nn/kernels/adamw.h"
#include "engine/nn/kernels/attention.h"
#include "engine/nn/kernels/gelu.h"
#include "engine/nn/kernels/layer_norm.h"
#include "engine/nn/kernels/matmul.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

using Clock = std::chrono::steady_clock;

Seconds median_time(const CoreSweep& sweep, const std::function<void()>& call) {
  call();  // touches memory, builds the data of a shape
  std::vector<double> seconds;
  const auto end = Clock::now() + sweep.time_an_operation;
  constexpr std::size_t least = 3;
  do {
    const auto begin = Clock::now();
    call();
    seconds.push_back(Seconds(Clock::now() - begin).count());
  } while (seconds.size() < least || Clock::now() < end);
  return Seconds{std::max(upper_median(seconds), 1e-9)};
}

template <class T>
T element(float value) {
  if constexpr (std::is_same_v<T, Bf16>)
    return to_bf16(value);
  else
    return value;
}

// Small numbers, none zero, all different, so that no kernel takes a shortcut.
template <class T>
std::vector<T> numbers(std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = element<T>(0.01F + 0.001F * static_cast<float>(i % 97));
  return values;
}

template <class T>
inline constexpr Dtype dtype_of = std::is_same_v<T, Bf16> ? Dtype::bf16 : Dtype::fp32;

template <class T>
double bytes_of(std::int64_t elements) {
  return static_cast<double>(elements) * static_cast<double>(sizeof(T));
}

struct Linear {
  std::int64_t rows, out, in;
};

// One of the three products of y = x w^T, as a forward pass of its own. It reads two of the
// matrices and writes the third.
template <class T>
Operation product(std::int64_t m, std::int64_t n, std::int64_t k) {
  Operation op{.name = "product", .kind = OperationClass::matmul};
  op.forward.matrix =
      Flops{2 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k)};
  op.forward.input_bytes = bytes_of<T>(m * k);
  op.forward.weight_bytes = bytes_of<T>(n * k);
  op.forward.output_bytes = bytes_of<T>(m * n);
  op.forward.matmuls = {{.m = m, .n = n, .k = k}};
  return op;
}

template <class T>
void time_linear(const Linear& l, const CoreSweep& sweep, std::vector<OperationTiming>& timings) {
  const std::vector<T> x = numbers<T>(l.rows * l.in);
  const std::vector<T> w = numbers<T>(l.out * l.in);
  std::vector<T> y = numbers<T>(l.rows * l.out);
  std::vector<T> dx = numbers<T>(l.rows * l.in);
  std::vector<T> dw = numbers<T>(l.out * l.in);
  const auto add = [&](const Operation& op, const std::function<void()>& call) {
    timings.push_back({dtype_of<T>, op, Direction::forward, median_time(sweep, call)});
  };
  T* const no_bias = nullptr;
  add(product<T>(l.rows, l.out, l.in),
      [&] { nn::linear_forward<T>(l.rows, l.out, l.in, x.data(), w.data(), no_bias, y.data()); });
  add(product<T>(l.rows, l.in, l.out), [&] {
    nn::linear_backward_input<T>(l.rows, l.out, l.in, y.data(), w.data(), dx.data(), false);
  });
  add(product<T>(l.out, l.in, l.rows), [&] {
    nn::linear_backward_weight<T>(l.rows, l.out, l.in, x.data(), y.data(), dw.data(), no_bias,
                                  false);
  });
}

// The masked half is not counted. Backward has two and a half times the arithmetic, because it
// recomputes the probabilities (Dao et al. 2022).
template <class T>
Operation attention_operation(const nn::AttentionShape& s) {
  const std::int64_t pairs = s.batch * s.heads;
  Operation op{.name = "attention", .kind = OperationClass::attention};
  const double flops = 2.0 * static_cast<double>(pairs * s.tokens * s.tokens * s.head_dim);
  const double one = bytes_of<T>(s.batch * s.tokens * s.heads * s.head_dim);
  const MatmulShape scores{.batch = pairs, .m = s.tokens, .n = s.tokens, .k = s.head_dim};
  const MatmulShape values{.batch = pairs, .m = s.tokens, .n = s.head_dim, .k = s.tokens};
  op.forward.matrix = Flops{flops};
  op.forward.input_bytes = 3 * one;
  op.forward.output_bytes = one;
  op.forward.matmuls = {scores, values};
  op.backward.matrix = Flops{2.5 * flops};
  op.backward.input_bytes = one;
  op.backward.output_bytes = 3 * one;
  op.backward.other_bytes = 4 * one;
  op.backward.matmuls = {scores, values, scores, values, scores};
  return op;
}

template <class T>
void time_attention(const nn::AttentionShape& s, const CoreSweep& sweep,
                    std::vector<OperationTiming>& timings) {
  const std::int64_t width = s.heads * s.head_dim;
  const std::vector<T> qkv = numbers<T>(s.batch * s.tokens * 3 * width);
  std::vector<T> out(static_cast<std::size_t>(s.batch * s.tokens * width));
  std::vector<T> dqkv(qkv.size());
  std::vector<float> logsumexp(static_cast<std::size_t>(s.batch * s.heads * s.tokens));
  std::vector<float> scratch(nn::attention_scratch(s));
  const Operation op = attention_operation<T>(s);
  timings.push_back({dtype_of<T>, op, Direction::forward, median_time(sweep, [&] {
                       nn::attention_forward<T>(s, qkv.data(), out.data(), logsumexp.data(),
                                                scratch.data());
                     })});
  timings.push_back({dtype_of<T>, op, Direction::backward, median_time(sweep, [&] {
                       nn::attention_backward<T>(s, qkv.data(), out.data(), logsumexp.data(),
                                                 out.data(), dqkv.data(), scratch.data());
                     })});
}

Operation pass_over(double read, double written, OperationClass kind) {
  Operation op{.name = "pass", .kind = kind};
  op.forward.input_bytes = read;
  op.forward.output_bytes = written;
  return op;
}

template <class T>
void time_passes(std::int64_t rows, std::int64_t c, const CoreSweep& sweep,
                 std::vector<OperationTiming>& timings) {
  const std::int64_t n = rows * c;
  const std::vector<T> x = numbers<T>(n);
  const std::vector<T> weight = numbers<T>(c);
  std::vector<T> sum(x.size());
  std::vector<T> y(x.size());
  std::vector<float> mean(static_cast<std::size_t>(rows));
  std::vector<float> rstd(mean.size());
  const auto add = [&](const Operation& op, const std::function<void()>& call) {
    timings.push_back({dtype_of<T>, op, Direction::forward, median_time(sweep, call)});
  };
  add(pass_over(2 * bytes_of<T>(n), 2 * bytes_of<T>(n), OperationClass::norm), [&] {
    nn::layer_norm_forward<T>(rows, c, 1e-5F, x.data(), x.data(), weight.data(), weight.data(),
                              sum.data(), y.data(), mean.data(), rstd.data());
  });
  add(pass_over(bytes_of<T>(n), bytes_of<T>(n), OperationClass::pointwise),
      [&] { nn::gelu_forward<T>(n, x.data(), y.data()); });
  std::vector<float> master = numbers<float>(n);
  std::vector<float> m = numbers<float>(n);
  std::vector<float> v = numbers<float>(n);
  // f32: the parameters are their own master copy.
  T* const parameters = std::is_same_v<T, Bf16> ? y.data() : reinterpret_cast<T*>(master.data());
  const double states = 3 * bytes_of<float>(n);
  const double copy = std::is_same_v<T, Bf16> ? bytes_of<T>(n) : 0;
  add(pass_over(bytes_of<T>(n) + states, states + copy, OperationClass::pointwise), [&] {
    nn::adamw<T>(n, nn::AdamW{}, x.data(), 1.0F, master.data(), m.data(), v.data(), parameters);
  });
}

template <class T>
std::vector<OperationTiming> time_all(const CoreSweep& sweep) {
  std::vector<OperationTiming> timings;
  std::vector<std::int64_t> widths = {128, 256, 768};
  if (sweep.quick) widths.pop_back();
  for (const std::int64_t c : widths) {
    for (const std::int64_t rows : {256, 1024}) {
      for (const Linear& l : {Linear{rows, 3 * c, c}, Linear{rows, c, c}, Linear{rows, 4 * c, c},
                              Linear{rows, c, 4 * c}})
        time_linear<T>(l, sweep, timings);
      time_passes<T>(rows, c, sweep, timings);
      constexpr std::int64_t head = 64;
      for (const std::int64_t tokens : {64, 256})
        time_attention<T>({.batch = rows / tokens,
                           .tokens = tokens,
                           .heads = c / head,
                           .kv_heads = c / head,
                           .head_dim = head},
                          sweep, timings);
    }
  }
  return timings;
}

}  // namespace

std::vector<OperationTiming> time_core(ElementType type, const CoreSweep& sweep) {
  check(type == ElementType::f32 || type == ElementType::bf16, "kernels are of f32 or bf16");
  return type == ElementType::f32 ? time_all<float>(sweep) : time_all<Bf16>(sweep);
}

ByteRate time_memory(Ns duration, Bytes array) {
  const auto n = static_cast<std::size_t>(array.value) / sizeof(float);
  const std::vector<float> a(n, 1.0F);
  const std::vector<float> b(n, 2.0F);
  std::vector<float> sum(n);
  const CoreSweep sweep{.time_an_operation = duration};
  const Seconds time = median_time(sweep, [&] {
    for (std::size_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
  });
  check(n == 0 || sum[n / 2] == 3.0F, "a sum that was timed is right");
  return ByteRate{3.0 * static_cast<double>(n * sizeof(float)) / time.count()};
}

}  // namespace stepscope
