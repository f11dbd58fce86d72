// SPDX-License-Identifier: Apache-2.0
// Times each kernel of nn/ on one thread, at the shapes of two models, and compares it with its
// limit. The limit of matrix products, attention and the head is the multiply-add peak of this
// core. The limit of other kernels is the bandwidth of a copy between buffers larger than the
// caches; a smaller working set can exceed it.
//
//   kernels [--model a|b] [--type f32|bf16] [--only PART-OF-A-NAME] [--rounds N]
//           [--beside onednn]
//
// Model a: 4 layers, 4 heads, 256 channels, 128 tokens, 4096 words, batch 8. Model b: GPT-2 124M
// with 4 x 64 tokens. Cases take turns within a round. Times are minimum, median and maximum over
// the rounds; each is the mean of some milliseconds of processor time. With --beside onednn each
// linear product is followed by the same product computed by oneDNN.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "engine/nn/kernels/adamw.h"
#include "engine/nn/kernels/attention.h"
#include "engine/nn/kernels/cross_entropy.h"
#include "engine/nn/kernels/dropout.h"
#include "engine/nn/kernels/embedding.h"
#include "engine/nn/kernels/fma_peak.h"
#include "engine/nn/kernels/gelu.h"
#include "engine/nn/kernels/layer_norm.h"
#include "engine/nn/kernels/matmul.h"
#include "engine/nn/kernels/rms_norm.h"
#include "engine/nn/kernels/rotary.h"
#include "engine/nn/kernels/swiglu.h"
#include "stepscope/base/element.h"
#include "stepscope/base/isa.h"

namespace stepscope::nn {
namespace {

// Processor time of this thread: time that other programs take on the core does not count.
double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Model {
  std::int64_t batch, tokens, heads, c, vocab, padded_vocab;
};
constexpr Model model_a{8, 128, 4, 256, 4096, 4096};
constexpr Model model_b{4, 64, 12, 768, 50257, 50304};

struct Case {
  std::string name;
  double flops = 0;  // if the multiply-add peak is the limit
  double bytes = 0;  // if memory is the limit: bytes to read and write
  std::function<void()> run;
  std::vector<double> seconds{};
};

// Buffers of T that live as long as the program.
template <class T>
T* buffer(std::int64_t count, double deviation = 1.0) {
  auto* out = static_cast<T*>(
      std::aligned_alloc(4096, (static_cast<std::size_t>(count) * sizeof(T) + 4095) / 4096 * 4096));
  std::mt19937 bits(7);
  std::normal_distribution<float> normal(0.0F, static_cast<float>(deviation));
  std::vector<float> some(4099);
  for (float& x : some) x = normal(bits);
  for (std::int64_t i = 0; i < count; ++i) {
    const float x = some[static_cast<std::size_t>(i) % some.size()];
    if constexpr (std::is_same_v<T, Bf16>) {
      out[i] = to_bf16(x);
    } else {
      out[i] = static_cast<T>(x);
    }
  }
  return out;
}

template <class T>
void add_products(const Model& m, std::vector<Case>& cases) {
  const std::int64_t rows = m.batch * m.tokens, c = m.c;
  const std::int64_t layers[][2] = {{3 * c, c}, {c, c}, {4 * c, c}, {c, 4 * c}};
  for (const auto& [n, k] : layers) {
    const std::string shape = fmt::format("{}x{}x{}", rows, n, k);
    const double flops = 2.0 * static_cast<double>(rows * n * k);
    T* x = buffer<T>(rows * k);
    T* w = buffer<T>(n * k, 0.02);
    T* y = buffer<T>(rows * n);
    T* bias = buffer<T>(n);
    T* dx = buffer<T>(rows * k);
    T* dw = buffer<T>(n * k);
    T* dbias = buffer<T>(n);
    cases.push_back({"linear forward " + shape, flops, 0,
                     [=, n = n, k = k] { linear_forward(rows, n, k, x, w, bias, y); }});
    cases.push_back({"linear backward input " + shape, flops, 0,
                     [=, n = n, k = k] { linear_backward_input(rows, n, k, y, w, dx, false); }});
    cases.push_back({"linear backward weight " + shape, flops, 0, [=, n = n, k = k] {
                       linear_backward_weight(rows, n, k, x, y, dw, dbias, false);
                     }});
  }
}

template <class T>
void add_attention(const Model& m, std::vector<Case>& cases) {
  const AttentionShape s{m.batch, m.tokens, m.heads, m.heads, m.c / m.heads};
  const std::int64_t rows = m.batch * m.tokens;
  // Scores and their product with v; half of them lie beyond the diagonal.
  const double forward = 2.0 * static_cast<double>(rows * (m.tokens + 1) * m.c);
  T* qkv = buffer<T>(rows * 3 * m.c);
  T* out = buffer<T>(rows * m.c);
  T* dout = buffer<T>(rows * m.c);
  T* dqkv = buffer<T>(rows * 3 * m.c);
  auto* lse = buffer<float>(rows * m.heads);
  auto* scratch = buffer<float>(static_cast<std::int64_t>(attention_scratch(s)));
  const std::string shape = fmt::format("B{} T{} H{} D{}", s.batch, s.tokens, s.heads, s.head_dim);
  cases.push_back({"attention forward " + shape, forward, 0,
                   [=] { attention_forward(s, qkv, out, lse, scratch); }});
  cases.push_back({"attention backward " + shape, 2.5 * forward, 0,
                   [=] { attention_backward(s, qkv, out, lse, dout, dqkv, scratch); }});
}

template <class T>
void add_head(const Model& m, std::vector<Case>& cases) {
  const std::int64_t rows = m.batch * m.tokens;
  const HeadShape s{rows, m.vocab, m.padded_vocab, m.c};
  const double product = 2.0 * static_cast<double>(rows * m.vocab * m.c);
  T* x = buffer<T>(rows * m.c);
  T* w = buffer<T>(m.padded_vocab * m.c, 0.02);
  T* dx = buffer<T>(rows * m.c);
  T* dw = buffer<T>(m.padded_vocab * m.c);
  auto* targets = buffer<std::int32_t>(rows);
  for (std::int64_t i = 0; i < rows; ++i) targets[i] = static_cast<std::int32_t>(i * 97 % m.vocab);
  auto* scratch = buffer<float>(static_cast<std::int64_t>(head_scratch(s)));
  const std::string shape = fmt::format("{}x{}x{}", rows, m.vocab, m.c);
  cases.push_back({"head loss " + shape, product, 0, [=] {
                     head_cross_entropy<T>(s, x, w, targets, nullptr, nullptr, false, scratch);
                   }});
  cases.push_back({"head loss and gradients " + shape, 3 * product, 0,
                   [=] { head_cross_entropy(s, x, w, targets, dx, dw, false, scratch); }});
}

template <class T>
void add_passes(const Model& m, std::vector<Case>& cases) {
  const std::int64_t rows = m.batch * m.tokens, c = m.c, wide = rows * 4 * c;
  const auto bytes = [](std::int64_t elements) {
    return static_cast<double>(elements) * static_cast<double>(sizeof(T));
  };
  T* x = buffer<T>(rows * c);
  T* residual = buffer<T>(rows * c);
  T* weight = buffer<T>(c);
  T* bias = buffer<T>(c);
  T* sum = buffer<T>(rows * c);
  T* y = buffer<T>(rows * c);
  auto* mean = buffer<float>(rows);
  auto* rstd = buffer<float>(rows);
  auto* scratch = buffer<float>(2 * c);
  T* big = buffer<T>(2 * wide);
  T* big_y = buffer<T>(2 * wide);
  T* residual_wide = buffer<T>(wide);
  const std::string shape = fmt::format("{}x{}", rows, c);
  cases.push_back(
      {"layer_norm forward " + shape, 0, bytes(4 * rows * c),
       [=] { layer_norm_forward(rows, c, 1e-5F, x, residual, weight, bias, sum, y, mean, rstd); }});
  cases.push_back({"layer_norm backward " + shape, 0, bytes(4 * rows * c), [=] {
                     layer_norm_backward(rows, c, sum, weight, mean, rstd, x, y, weight, bias,
                                         false, scratch);
                     std::fill_n(weight, c, T{});
                   }});
  cases.push_back({"rms_norm forward " + shape, 0, bytes(4 * rows * c),
                   [=] { rms_norm_forward(rows, c, 1e-5F, x, residual, bias, sum, y, rstd); }});
  cases.push_back({"rms_norm backward " + shape, 0, bytes(4 * rows * c), [=] {
                     rms_norm_backward(rows, c, sum, bias, rstd, x, y, weight, false, scratch);
                   }});
  const std::string hidden = fmt::format("{}x{}", rows, 4 * c);
  cases.push_back(
      {"gelu forward " + hidden, 0, bytes(2 * wide), [=] { gelu_forward(wide, big, big_y); }});
  cases.push_back({"gelu backward " + hidden, 0, bytes(3 * wide),
                   [=] { gelu_backward(wide, big, big_y, big_y); }});
  cases.push_back({"swiglu forward " + hidden, 0, bytes(3 * wide),
                   [=] { swiglu_forward(rows, 4 * c, big, big_y); }});
  cases.push_back({"swiglu backward " + hidden, 0, bytes(5 * wide),
                   [=] { swiglu_backward(rows, 4 * c, big, residual_wide, big_y); }});
  cases.push_back(
      {"rotary " + shape, 0, bytes(4 * rows * c),
       [=] { rotary(m.batch, m.tokens, 2 * m.heads, c / m.heads, 3 * c, 10000.0F, big, false); }});
  cases.push_back(
      {"dropout " + shape, 0, bytes(2 * rows * c), [=] { dropout(rows * c, 0.1F, {1, 2}, x, y); }});
}

template <class T>
void add_embedding_and_optimizer(const Model& m, std::vector<Case>& cases) {
  const std::int64_t rows = m.batch * m.tokens, c = m.c;
  const auto bytes = [](std::int64_t elements) {
    return static_cast<double>(elements) * static_cast<double>(sizeof(T));
  };
  T* x = buffer<T>(rows * c);
  T* wte = buffer<T>(m.padded_vocab * c);
  T* wpe = buffer<T>(1024 * c);
  auto* tokens = buffer<std::int32_t>(rows);
  for (std::int64_t i = 0; i < rows; ++i) tokens[i] = static_cast<std::int32_t>(i * 97 % m.vocab);
  const std::string shape = fmt::format("{}x{}", rows, c);
  cases.push_back({"embedding forward " + shape, 0, bytes(3 * rows * c),
                   [=] { embedding_forward(m.batch, m.tokens, c, tokens, wte, wpe, x); }});
  cases.push_back({"embedding backward " + shape, 0, bytes(4 * rows * c), [=] {
                     embedding_backward(m.batch, m.tokens, c, m.padded_vocab, 1024, tokens, x, wte,
                                        wpe, true);
                   }});
  const std::int64_t count = 12 * c * c;
  auto* master = buffer<float>(count);
  auto* first = buffer<float>(count);
  auto* second = buffer<float>(count);
  std::fill_n(second, count, 1.0F);
  T* grad = buffer<T>(count);
  T* param = buffer<T>(count);
  if constexpr (std::is_same_v<T, float>) param = master;
  const double moved = 24.0 * static_cast<double>(count) +
                       (std::is_same_v<T, float> ? bytes(count) : bytes(2 * count));
  cases.push_back({fmt::format("adamw {}", count), 0, moved,
                   [=] { adamw(count, AdamW{}, grad, 1.0F, master, first, second, param); }});
}

std::vector<Case> beside_onednn(const std::vector<Case>& cases) {
  const auto use_onednn = [](bool on) {
    use_onednn_for_f32(on);
    use_onednn_for_bf16(on);
  };
  std::vector<Case> both;
  for (const Case& k : cases) {
    both.push_back(k);
    if (!k.name.starts_with("linear")) continue;
    both.push_back({k.name + " oneDNN", k.flops, k.bytes, [use_onednn, run = k.run] {
                      use_onednn(true);
                      run();
                      use_onednn(false);
                    }});
  }
  return both;
}

void measure(std::vector<Case>& cases, int rounds) {
  for (int round = -1; round < rounds; ++round) {
    for (Case& k : cases) {
      const double begin = now();
      int times = 0;
      do {
        k.run();
        ++times;
      } while (now() - begin < 0.004);
      if (round >= 0) k.seconds.push_back((now() - begin) / times);
    }
  }
}

double copy_bandwidth() {
  constexpr std::size_t size = std::size_t{256} << 20U;
  std::vector<char> from(size, 1), to(size, 2);
  double best = 0;
  for (int i = 0; i < 5; ++i) {
    const double begin = now();
    std::memcpy(to.data(), from.data(), size);
    best = std::max(best, 2.0 * static_cast<double>(size) / (now() - begin));
  }
  return best;
}

void print(std::vector<Case>& cases, std::string_view model, std::string_view type, double peak,
           double bandwidth) {
  for (Case& k : cases) {
    std::ranges::sort(k.seconds);
    const double middle = k.seconds[k.seconds.size() / 2];
    const double rate = (k.flops > 0 ? k.flops : k.bytes) / middle;
    fmt::print("{} {:4} {:44} {:9.1f} {:9.1f} {:9.1f} us  {:7.1f} {}  {:5.1f} %\n", model, type,
               k.name, k.seconds.front() * 1e6, middle * 1e6, k.seconds.back() * 1e6, rate * 1e-9,
               k.flops > 0 ? "GFLOP/s" : "GB/s   ", 100 * rate / (k.flops > 0 ? peak : bandwidth));
  }
}

struct Options {
  std::string model, type, only, beside;
  int rounds = 7;
};

template <class T>
void run(const Options& options, std::string_view type, ElementType element, double bandwidth) {
  if (!options.type.empty() && options.type != type) return;
  const auto peak = fma_peak(element, std::chrono::milliseconds(200));
  if (peak) {
    fmt::print("{} peak {:.1f} GFLOP/s by {}\n", type, peak->rate.value * 1e-9, peak->instructions);
  }
  for (const std::string_view name : {"a", "b"}) {
    if (!options.model.empty() && options.model != name) continue;
    const Model& model = name == "a" ? model_a : model_b;
    std::vector<Case> cases;
    add_products<T>(model, cases);
    add_attention<T>(model, cases);
    add_head<T>(model, cases);
    add_passes<T>(model, cases);
    add_embedding_and_optimizer<T>(model, cases);
    std::erase_if(cases, [&](const Case& k) { return k.name.find(options.only) == k.name.npos; });
    if (options.beside == "onednn") cases = beside_onednn(cases);
    measure(cases, options.rounds);
    print(cases, name, type, peak ? peak->rate.value : 0.0, bandwidth);
  }
}

}  // namespace
}  // namespace stepscope::nn

int main(int argc, char** argv) {
  using namespace stepscope;
  nn::Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    if (flag == "--model") options.model = argv[i + 1];
    if (flag == "--type") options.type = argv[i + 1];
    if (flag == "--only") options.only = argv[i + 1];
    if (flag == "--beside") options.beside = argv[i + 1];
    if (flag == "--rounds") options.rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  const double bandwidth = nn::copy_bandwidth();
  fmt::print("instructions {}; a copy moves {:.1f} GB/s\n", isa_name(isa()), bandwidth * 1e-9);
  nn::run<float>(options, "f32", ElementType::f32, bandwidth);
  nn::run<Bf16>(options, "bf16", ElementType::bf16, bandwidth);
}
