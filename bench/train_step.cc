// SPDX-License-Identifier: Apache-2.0
// One rank's training step: forward, backward and AdamW on one thread, without communication.
//
//   train_step [--model A|B|PRESET] [--batch B] [--tokens T] [--type f32|bf16] [--steps N]
//              [--recompute none|selective|full] [--products own|onednn] [--serve]
//
// Model A: GPT-2 style, 4 layers, 4 heads, 256 channels, 4096 tokens in the vocabulary, tied, B8
// T128. Model B: GPT-2 124M, B4 T64. FLOPs are counted as 3 (2 B T (12 L C^2 + Vp C) + 2 B L T^2
// C): half of causal attention, the padded vocabulary, no recompute. The share is relative to one
// core's f32 multiply-add peak, measured here; for bf16 also to the bf16 peak. It is reported
// twice. The first is relative to the best rate of the whole run. The second, step by step, is
// relative to the mean rate in the 20 ms before and after the step, because another program on the
// core lowers that rate and the step alike. Times are processor time of the thread, which a busy
// machine disturbs less, and wall time. With --products onednn, oneDNN computes all products
// instead of stepscope's own sgemm. --serve answers each line "N" on standard input with
// "<processor ms> <wall ms>" of N steps, so bench/torch_peer.py can measure in turns.
#include <fmt/format.h>
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/nn/kernels/adamw.h"
#include "engine/nn/kernels/fma_peak.h"
#include "engine/nn/kernels/matmul.h"
#include "engine/nn/network/initialize.h"
#include "engine/nn/network/network.h"
#include "engine/nn/network/presets.h"

namespace stepscope::nn {
namespace {

struct Options {
  std::string model = "A";
  NetworkConfig config{};
  std::int64_t batch = 0;
  std::int64_t tokens = 0;
  ElementType type = ElementType::f32;
  RecomputePlan recompute{};
  int steps = 10;
  bool serve = false;
};

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}
double processor_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }
double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }

// The processor time of each leaf operation: its mean, and the sum over its calls of each call's
// minimum in any step. Other programs disturb the second less.
class Breakdown : public OpObserver {
 public:
  void begin(const OpCall& call) noexcept override {
    op_ = static_cast<std::size_t>(call.op);
    flops_[op_] += flops(call);
    begin_ = processor_seconds();
  }
  void end() noexcept override { add(op_, processor_seconds() - begin_); }
  void add(std::size_t op, double seconds) noexcept {
    seconds_[op] += seconds;
    ++calls_[op];
    if (place_ == least_.size()) least_.push_back({op, seconds});
    least_[place_].seconds = std::min(least_[place_].seconds, seconds);
    ++place_;
  }
  void next_step() { place_ = 0; }
  static constexpr std::size_t optimizer = leaf_op_count;
  void print(int steps, double counted, double peak) const {
    std::array<double, leaf_op_count + 1> least{};
    for (const Least& l : least_) least[l.op] += l.seconds;
    const double sum = std::reduce(least.begin(), least.end());
    fmt::print("  {:<30} {:>6} {:>9} {:>9} {:>7} {:>9} {:>9}\n", "operation", "calls", "mean ms",
               "least ms", "share", "GFLOP/s", "of peak");
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i <= leaf_op_count; ++i) {
      if (calls_[i] > 0) order.push_back(i);
    }
    std::ranges::sort(order, std::greater{}, [&](std::size_t i) { return seconds_[i]; });
    for (const std::size_t i : order) {
      const double rate = flops_[i] / steps / least[i];
      const std::string text =
          rate > 0 ? fmt::format("{:>9.1f} {:>7.1f} %", rate * 1e-9, rate / peak * 100) : "";
      fmt::print("  {:<30} {:>6} {:>9.3f} {:>9.3f} {:>6.1f}% {}\n", name(i), calls_[i] / steps,
                 seconds_[i] / steps * 1e3, least[i] * 1e3, least[i] / sum * 100, text);
    }
    fmt::print("  all operations at their least: {:.2f} ms = {:.1f} % of the peak\n", sum * 1e3,
               counted / sum / peak * 100);
  }

 private:
  static std::string_view name(std::size_t i) {
    if (i == optimizer) return "AdamW";
    switch (static_cast<LeafOp>(i)) {
      case LeafOp::linear_backward_input:
        return "aten::mm (input gradient)";
      case LeafOp::linear_backward_weight:
        return "aten::mm (weight gradient)";
      case LeafOp::attention:
        return "attention";
      case LeafOp::attention_backward:
        return "attention_backward";
      default:
        return leaf_op_name(static_cast<LeafOp>(i));
    }
  }
  // FLOPs of products and of attention; causal attention counts half.
  static double flops(const OpCall& call) {
    const auto size = [&](std::size_t input, std::size_t dim) {
      return static_cast<double>(call.inputs[input].size[dim]);
    };
    switch (call.op) {
      case LeafOp::linear:
        return 2 * size(0, 0) * size(0, 1) * size(1, 0);
      case LeafOp::linear_backward_input:
      case LeafOp::linear_backward_weight:
        return 2 * size(0, 0) * size(0, 1) * size(1, 1);
      case LeafOp::linear_cross_entropy_trained:
        return 6 * size(0, 0) * size(0, 1) * size(1, 0);
      case LeafOp::attention:
        return 2 * size(0, 0) * size(0, 1) * size(0, 2) * size(0, 2) * size(0, 3);
      case LeafOp::attention_backward:  // two products again, as PyTorch is counted: 4 of 2
        return 4 * size(0, 0) * size(0, 1) * size(0, 2) * size(0, 2) * size(0, 3);
      default:
        return 0;
    }
  }

  std::array<double, leaf_op_count + 1> seconds_{};
  std::array<double, leaf_op_count + 1> flops_{};
  std::array<int, leaf_op_count + 1> calls_{};
  struct Least {
    std::size_t op;
    double seconds;
  };
  std::vector<Least> least_{};  // of each operation at its place in the step
  std::size_t place_ = 0;
  std::size_t op_ = 0;
  double begin_ = 0;
};

constexpr std::size_t large_page = std::size_t{2} << 20U;

struct FreeAligned {
  void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{large_page}); }
};

// Memory of a rank, zeroed (and so touched), in large pages like the engine's.
class Memory {
 public:
  explicit Memory(std::int64_t bytes)
      : size_(static_cast<std::size_t>(bytes)),
        bytes_(new(std::align_val_t{large_page}) std::byte[size_ + 64]) {
    if (size_ >= large_page) madvise(bytes_.get(), size_, MADV_HUGEPAGE);  // may be refused
    std::ranges::fill(span(), std::byte{});
  }
  [[nodiscard]] std::span<std::byte> span() const { return {bytes_.get(), size_}; }

 private:
  std::size_t size_;
  std::unique_ptr<std::byte[], FreeAligned> bytes_;
};

// Parameters, gradients and optimizer states of one unit.
struct UnitState {
  Memory parameters;
  Memory gradients;
  Memory master;  // f32, bf16 only
  Memory m;
  Memory v;
};

template <class T>
class Trainer {
 public:
  Trainer(Network network, const Options& options)
      : network_(std::move(network)),
        options_(options),
        activations_(network_.activation_bytes().value),
        scratch_(network_.scratch_bytes().value),
        units_(network_units(options.config)),
        passes_(training_passes(options.config, options.recompute)) {
    network_.use_memory(activations_.span(), scratch_.span());
    for (std::size_t u = 0; u < units_.size(); ++u) add_unit(u);
    std::uint32_t state = 1;
    for (std::int64_t i = 0; i < 2 * options.batch * options.tokens; ++i) {
      state = state * 1664525U + 1013904223U;
      const auto token =
          static_cast<std::int32_t>(static_cast<std::int64_t>(state >> 8U) % options.config.vocab);
      (i % 2 == 0 ? inputs_ : targets_).push_back(token);
    }
  }

  double step(Breakdown* breakdown) {
    network_.observe(breakdown);
    const MicroBatch micro{options_.batch, options_.tokens, inputs_, targets_,
                           static_cast<std::uint64_t>(step_)};
    for (const Pass& pass : passes_) {
      const UnitState& unit = states_[pass.unit];
      network_.run(pass, micro, unit.parameters.span(), unit.gradients.span(), false);
    }
    ++step_;
    const double begin = breakdown != nullptr ? processor_seconds() : 0;
    const float scale = 1 / static_cast<float>(network_.loss_tokens());
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const Parameter& p : units_[u].parameters) update(states_[u], p, scale);
    }
    if (breakdown != nullptr) breakdown->add(Breakdown::optimizer, processor_seconds() - begin);
    return network_.loss_sum() / static_cast<double>(network_.loss_tokens());
  }

  [[nodiscard]] Bytes activation_bytes() const { return network_.activation_bytes(); }
  [[nodiscard]] Bytes scratch_bytes() const { return network_.scratch_bytes(); }

 private:
  void add_unit(std::size_t u) {
    const std::int64_t n = units_[u].count;
    const auto size = static_cast<std::int64_t>(sizeof(T));
    const bool own = sizeof(T) != sizeof(float);
    states_.push_back({Memory(n * size), Memory(n * size), Memory(own ? n * 4 : 0), Memory(n * 4),
                       Memory(n * 4)});
    UnitState& state = states_.back();
    std::vector<float> values(static_cast<std::size_t>(n));
    initialize(units_[u], u, 1, 0, values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_same_v<T, float>) {
        as<T>(state.parameters)[i] = values[i];
      } else {
        as<T>(state.parameters)[i] = to_bf16(values[i]);
        as<float>(state.master)[i] = values[i];
      }
    }
  }
  template <class E>
  static E* as(const Memory& memory) {
    return reinterpret_cast<E*>(memory.span().data());
  }
  void update(const UnitState& state, const Parameter& p, float scale) {
    const AdamW optimizer{.lr = 1e-4F,
                          .beta1 = 0.9F,
                          .beta2 = 0.95F,
                          .eps = 1e-8F,
                          .weight_decay = p.decay ? 0.1F : 0.0F,
                          .step = step_};
    T* parameters = as<T>(state.parameters) + p.offset;
    float* master = nullptr;
    if constexpr (std::is_same_v<T, float>) {
      master = parameters;
    } else {
      master = as<float>(state.master) + p.offset;
    }
    adamw<T>(p.count, optimizer, as<T>(state.gradients) + p.offset, scale, master,
             as<float>(state.m) + p.offset, as<float>(state.v) + p.offset, parameters);
  }

  Network network_;
  Options options_;
  Memory activations_;
  Memory scratch_;
  std::vector<Unit> units_;
  std::vector<Pass> passes_;
  std::vector<UnitState> states_;
  std::vector<std::int32_t> inputs_;
  std::vector<std::int32_t> targets_;
  std::int64_t step_ = 0;
};

double real(std::int64_t n) { return static_cast<double>(n); }

double counted_flops(const Options& o) {
  const NetworkConfig& c = o.config;
  const double layer =
      real(c.channels) * real(qkv_width(c) + c.channels + feed_forward_width(c) + c.hidden);
  const double weights = real(c.layers) * layer + real(c.padded_vocab) * real(c.channels);
  const double tokens = real(o.batch) * real(o.tokens);
  return 3 * (2 * tokens * weights + 2 * real(o.batch) * real(c.layers) * real(o.tokens) *
                                         real(o.tokens) * real(c.channels));
}

struct Spread {
  double min;
  double median;
  double max;
};
Spread spread(std::vector<double> values) {
  std::ranges::sort(values);
  return {values.front(), values[values.size() / 2], values.back()};
}

template <class T>
void report(Trainer<T>& trainer, const Options& o) {
  using namespace std::chrono_literals;
  const double flops = counted_flops(o);
  const double tokens = real(o.batch) * real(o.tokens);
  trainer.step(nullptr);
  trainer.step(nullptr);
  std::vector<double> processor;
  std::vector<double> wall;
  std::vector<double> shares;  // relative to the peak around each step
  FmaPeak before = *fma_peak(ElementType::f32, 20ms);
  double peak = before.rate.value;
  double loss = 0;
  for (int i = 0; i < o.steps; ++i) {
    const double p = processor_seconds();
    const double w = wall_seconds();
    loss = trainer.step(nullptr);
    processor.push_back(processor_seconds() - p);
    wall.push_back(wall_seconds() - w);
    const FmaPeak after = *fma_peak(ElementType::f32, 20ms);
    peak = std::max(peak, after.rate.value);
    const double around = (before.sustained.value + after.sustained.value) / 2;
    shares.push_back(flops / wall.back() / around);
    before = after;
  }
  fmt::print("model {} {}: {:.2f} GFLOP a step of {} tokens; {} steps, loss {:.4f}\n", o.model,
             element_name(o.type), flops * 1e-9, tokens, o.steps, loss);
  fmt::print("  activations {:.1f} MB, scratch {:.1f} MB\n",
             real(trainer.activation_bytes().value) * 1e-6,
             real(trainer.scratch_bytes().value) * 1e-6);
  for (const auto& [name, values] : {std::pair("processor", processor), std::pair("wall", wall)}) {
    const Spread s = spread(values);
    fmt::print(
        "  {:<9} min {:.2f} median {:.2f} max {:.2f} ms; at the median {:.0f} tokens/s, {:.1f} "
        "GFLOP/s = {:.1f} % of the f32 peak of {:.1f} (best step {:.1f} %)\n",
        name, s.min * 1e3, s.median * 1e3, s.max * 1e3, tokens / s.median, flops / s.median * 1e-9,
        flops / s.median / peak * 100, peak * 1e-9, flops / s.min / peak * 100);
  }
  const Spread share = spread(shares);
  fmt::print("  of the f32 peak around each step: min {:.1f} median {:.1f} max {:.1f} %\n",
             share.min * 100, share.median * 100, share.max * 100);
  if (o.type == ElementType::bf16) {
    if (const auto bf16 = fma_peak(ElementType::bf16, 50ms)) {
      fmt::print("  {:.1f} % of the bf16 peak of {:.1f} GFLOP/s ({})\n",
                 flops / spread(processor).median / bf16->rate.value * 100, bf16->rate.value * 1e-9,
                 bf16->instructions);
    }
  }
  Breakdown breakdown;
  for (int i = 0; i < o.steps; ++i) {
    trainer.step(&breakdown);
    breakdown.next_step();
  }
  breakdown.print(o.steps, flops, peak);
}

template <class T>
void serve(Trainer<T>& trainer) {
  for (std::string line; std::getline(std::cin, line);) {
    const double p = processor_seconds();
    const double w = wall_seconds();
    const int steps = std::atoi(line.c_str());
    for (int i = 0; i < steps; ++i) trainer.step(nullptr);
    fmt::print("{:.6f} {:.6f}\n", (processor_seconds() - p) * 1e3, (wall_seconds() - w) * 1e3);
    std::fflush(stdout);
  }
}

template <class T>
int run(const Options& o) {
  auto network = Network::create(o.config, o.type, o.batch, o.tokens, o.recompute);
  if (!network) {
    fmt::print(stderr, "{}\n", network.error().message());
    return 1;
  }
  Trainer<T> trainer(*std::move(network), o);
  o.serve ? serve(trainer) : report(trainer, o);
  return 0;
}

// The model's own batch and sequence if they were not given.
bool choose_model(Options& o) {
  std::int64_t batch = 8;
  std::int64_t tokens = 128;
  auto preset = network_preset(o.model == "A"   ? "gpt2-tiny"
                               : o.model == "B" ? "gpt2-124m"
                                                : o.model);
  if (!preset) return false;
  o.config = *preset;
  if (o.model == "A") o.config.vocab = o.config.padded_vocab = 4096;
  if (o.model == "B") {
    batch = 4;
    tokens = 64;
  }
  if (o.batch == 0) o.batch = batch;
  if (o.tokens == 0) o.tokens = tokens;
  return true;
}

std::optional<Options> parse(std::span<char*> words) {
  Options o;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view flag = words[i];
    if (flag == "--serve") {
      o.serve = true;
      continue;
    }
    if (++i == words.size()) return std::nullopt;
    const std::string value = words[i];
    if (flag == "--model") {
      o.model = value;
    } else if (flag == "--batch") {
      o.batch = std::atoll(value.c_str());
    } else if (flag == "--tokens") {
      o.tokens = std::atoll(value.c_str());
    } else if (flag == "--steps") {
      o.steps = std::max(1, std::atoi(value.c_str()));
    } else if (flag == "--type" && (value == "f32" || value == "bf16")) {
      o.type = value == "f32" ? ElementType::f32 : ElementType::bf16;
    } else if (flag == "--products" && (value == "own" || value == "onednn")) {
      use_onednn_for_f32(value == "onednn");
      use_onednn_for_bf16(value == "onednn");
    } else if (flag == "--recompute" &&
               (value == "none" || value == "selective" || value == "full")) {
      o.recompute.kind = value == "none"   ? Recompute::none
                         : value == "full" ? Recompute::full
                                           : Recompute::selective;
    } else {
      return std::nullopt;
    }
  }
  if (!choose_model(o)) return std::nullopt;
  return o;
}

}  // namespace
}  // namespace stepscope::nn

int main(int argc, char** argv) {
  using namespace stepscope;
  const auto options = nn::parse({argv, static_cast<std::size_t>(argc)});
  if (!options) {
    fmt::print(stderr,
               "usage: train_step [--model A|B|PRESET] [--batch B] [--tokens T] [--type f32|bf16] "
               "[--steps N] [--recompute none|selective|full] [--products own|onednn] [--serve]\n");
    return 2;
  }
  return options->type == ElementType::f32 ? nn::run<float>(*options) : nn::run<Bf16>(*options);
}
