// SPDX-License-Identifier: Apache-2.0
#include "tests/memory/simulated_training.h"

#include <cmath>
#include <iterator>
#include <optional>
#include <unordered_map>

namespace stepscope::testing {
namespace {

const char* const torch_module = "/env/lib/python3.11/site-packages/torch/nn/modules/module.py";

class Program {
 public:
  Program(std::int64_t capacity, bool expandable, unsigned seed)
      : run_{SimulatedAllocator(capacity, expandable), {}, {}, 0}, random_(seed) {}

  SimulatedAllocator& allocator() { return run_.allocator; }
  std::mt19937& random() { return random_; }

  std::optional<std::uint64_t> take(std::int64_t bytes, std::uint64_t stream, std::size_t stack,
                                    std::string use) {
    const auto address = run_.allocator.allocate(bytes, stream, stack);
    if (!address) return std::nullopt;
    const SimSegment& segment = std::prev(run_.allocator.segments.upper_bound(*address))->second;
    open_[*address] = run_.lives.size();
    run_.lives.push_back({.begin = run_.allocator.events.size(),
                          .size = segment.blocks.at(*address).size,
                          .requested = bytes,
                          .use = std::move(use),
                          .stack = stack});
    if (const std::int64_t live = run_.allocator.totals.back().live; live > most_) {
      most_ = live;
      run_.peak_event = run_.allocator.events.size();
      run_.peak_segments = run_.allocator.segments;
    }
    return address;
  }
  void give(std::uint64_t address, std::size_t stack, bool later = false) {
    run_.allocator.free(address, stack, later);
    if (!later) ended(address);
  }
  void finish(std::uint64_t address) {
    run_.allocator.finish(address);
    ended(address);
  }
  SimRun done() { return std::move(run_); }

 private:
  void ended(std::uint64_t address) {
    run_.lives[open_.at(address)].end = run_.allocator.events.size();
    open_.erase(address);
  }
  SimRun run_;
  std::mt19937 random_;
  std::int64_t most_ = 0;
  std::unordered_map<std::uint64_t, std::size_t> open_;
};

SimStack forward_stack(int layer) {
  return {{"at::_ops::addmm::call(at::Tensor const&)", "??", 0},
          {"forward", "/src/model.py", 20 + layer},
          {"_call_impl", torch_module, 1553},
          {"train", "/src/train.py", 31}};
}
SimStack backward_stack(int layer) {
  return {{"at::_ops::mm::call(at::Tensor const&, at::Tensor const&)", "??", 0},
          {"torch::autograd::generated::Linear" + std::to_string(layer) +
               "Backward0::apply(std::vector<at::Tensor>&&)",
           "??", 0},
          {"torch::autograd::Engine::thread_main(std::shared_ptr<GraphTask> const&)", "??", 0}};
}

class Training {
 public:
  Training(const TrainingShape& shape, unsigned seed)
      : shape_(shape), p_(shape.capacity, shape.expandable, seed) {
    setup_ =
        p_.allocator().stack({{"__init__", "/src/model.py", 11}, {"main", "/src/train.py", 12}});
    optimizer_ = p_.allocator().stack(
        {{"_init_group", "/env/lib/python3.11/site-packages/torch/optim/adamw.py", 180},
         {"train", "/src/train.py", 35}});
    zero_ = p_.allocator().stack(
        {{"zero_grad", "/env/lib/python3.11/site-packages/torch/optim/optimizer.py", 900},
         {"train", "/src/train.py", 36}});
    for (int l = 0; l < shape.layers; ++l) {
      forward_.push_back(p_.allocator().stack(forward_stack(l)));
      backward_.push_back(p_.allocator().stack(backward_stack(l)));
    }
  }

  SimRun run() {
    for (int l = 0; l < shape_.layers; ++l) (void)p_.take(some(1), 0, setup_, "parameters");
    for (int step = 0; step < shape_.steps; ++step) {
      forward();
      backward();
      optimizer(step == 0);
    }
    return p_.done();
  }

 private:
  std::int64_t some(std::int64_t times) {
    return shape_.width * times + static_cast<std::int64_t>(p_.random()() % 5000);
  }
  void brief(std::int64_t bytes, std::size_t stack) {
    if (const auto at = p_.take(bytes, 0, stack, "temporary")) p_.give(*at, stack);
  }
  void forward() {
    for (const std::size_t stack : forward_) {
      brief(some(2), stack);
      if (const auto at = p_.take(some(6), 0, stack, "activations")) activations_.push_back(*at);
      brief(some(3), stack);
    }
  }
  void backward() {
    for (std::size_t l = backward_.size(); l-- > 0;) {
      brief(some(4), backward_[l]);
      if (const auto at = p_.take(some(1), 0, backward_[l], "gradients")) gradients_.push_back(*at);
      if (activations_.empty()) continue;
      p_.give(activations_.back(), backward_[l]);
      activations_.pop_back();
    }
  }
  void optimizer(bool first) {
    for (int l = 0; first && l < 2 * shape_.layers; ++l)
      (void)p_.take(some(1), 0, optimizer_, "optimizer");
    brief(some(1), optimizer_);
    for (const std::uint64_t gradient : gradients_) p_.give(gradient, zero_);
    gradients_.clear();
  }

  TrainingShape shape_;
  Program p_;
  std::size_t setup_ = 0;
  std::size_t optimizer_ = 0;
  std::size_t zero_ = 0;
  std::vector<std::size_t> forward_;
  std::vector<std::size_t> backward_;
  std::vector<std::uint64_t> activations_;
  std::vector<std::uint64_t> gradients_;
};

}  // namespace

SimRun simulated_training(const TrainingShape& shape, unsigned seed) {
  return Training(shape, seed).run();
}

SimRun simulated_noise(int operations, bool expandable, std::int64_t capacity, unsigned seed) {
  Program p(capacity, expandable, seed);
  std::vector<std::size_t> stacks;
  for (int i = 0; i < 12; ++i)
    stacks.push_back(
        p.allocator().stack({{std::string("f").append(std::to_string(i)), "/src/a.py", i + 1},
                             {"main", "/src/a.py", 100}}));
  const std::size_t emptying =
      p.allocator().stack({{"empty_cache", "/env/lib/python3.11/torch/cuda/memory.py", 200}});
  const auto below = [&](std::size_t n) { return p.random()() % n; };
  std::vector<std::uint64_t> held;
  std::vector<std::uint64_t> waiting;
  for (int i = 0; i < operations; ++i) {
    const std::size_t dice = below(100);
    if (dice < 50 || held.empty()) {
      const double magnitude = static_cast<double>(below(10000)) / 10000;
      const auto bytes = static_cast<std::int64_t>(std::exp(magnitude * std::log(6e7)));
      if (const auto at =
              p.take(bytes, below(4) == 0 ? 7U : 0U, stacks[below(stacks.size())], "unknown"))
        held.push_back(*at);
    } else if (dice < 90) {
      const std::size_t which = below(held.size());
      const bool later = below(5) == 0;
      p.give(held[which], stacks[below(stacks.size())], later);
      if (later) waiting.push_back(held[which]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
    } else if (dice < 98 && !waiting.empty()) {
      p.finish(waiting.front());
      waiting.erase(waiting.begin());
    } else if (dice == 99 && below(3) == 0) {
      p.allocator().empty_cache(emptying);
    }
  }
  return p.done();
}

}  // namespace stepscope::testing
