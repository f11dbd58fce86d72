// SPDX-License-Identifier: Apache-2.0
// The speed of `plan`: complete evaluations per second on one thread, the gain of a second thread,
// and a search over all dimensions on 16,384 devices with its memory. Rates are per second of
// processor time, so a busy machine does not change them. The gain of a second thread is reported
// twice: as it ran, which a busy machine does change, and by distributing each shape's own
// processor time over two threads as the search does. For comparison, two models in Python:
// Calculon evaluates 95 to 132 plans per second, transformer-perf-estimates 332 to 350.
//
//   plan [--model NAME] [--machine NAME] [--gpus N] [--global-batch B] [--seq S] [--fix
//   tp=8,zero=1]
#include <fmt/format.h>
#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/search/search.h"
#include "stepscope/cost/search/search_shape.h"

namespace stepscope {
namespace {

double processor_seconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double own_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double resident_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

struct Case {
  std::string model = "llama-3-405b";
  std::string machine = "h100_sxm_80gb";
  std::int64_t gpus = 16384;
  std::int64_t batch = 2048;
  std::int64_t sequence = 8192;
  std::string fixed;
};

struct Run {
  SearchResult result;
  double processor = 0;
  double busiest = 0;  // of the calling thread, or of the others together if larger
};

int failed(const Error& error) {
  fmt::print(stderr, "{}\n", error.message());
  return 1;
}

Result<Run> run(const Transformer& model, const Machine& machine, const Network& network,
                const SearchRequest& request) {
  const double before = processor_seconds();
  const double own_before = own_seconds();
  auto found = search_plans(model, machine, network, request);
  if (!found) return found.error();
  const double all = processor_seconds() - before;
  const double own = own_seconds() - own_before;
  return Run{.result = *std::move(found), .processor = all, .busiest = std::max(own, all - own)};
}

// A whole search on one thread, and its time if two threads share the shapes of a round and one
// does the rest: seconds of processor time.
struct Replay {
  double alone = 0;
  double serial = 0;
  double of_two = 0;

  void share(const std::vector<double>& pieces) {
    std::array<double, 2> busy{};
    for (const double t : pieces) {
      alone += t;
      *std::ranges::min_element(busy) += t;
    }
    of_two += std::ranges::max(busy);
  }
  void keep(double t) {
    alone += t;
    serial += t;
    of_two += t;
  }
};

Replay replay(const ShapeSearch& search) {
  Replay r;
  double at = own_seconds();
  const auto lap = [&at] {
    const double before = std::exchange(at, own_seconds());
    return at - before;
  };
  std::vector<SearchShape> shapes = list_shapes(search.space).shapes;
  r.keep(lap());
  std::vector<double> pieces;
  for (SearchShape& shape : shapes) {
    shape.least = shape_bound(search, shape.plan).step;
    pieces.push_back(lap());
  }
  r.share(pieces);
  std::ranges::sort(shapes, {}, &SearchShape::least);
  FoundPlans found(search.limits);
  std::size_t round = 0;
  for (std::size_t begin = 0; begin < shapes.size(); begin += round) {
    round = next_round(round);
    std::vector<ShapeResult> results(std::min(round, shapes.size() - begin),
                                     ShapeResult(search.limits));
    r.keep(lap());
    pieces.clear();
    for (std::size_t i = 0; i < results.size(); ++i) {
      search_shape(search, shapes[begin + i], found, results[i]);
      pieces.push_back(lap());
    }
    r.share(pieces);
    for (const ShapeResult& result : results) found.merge(result.found);
    found.settle();
    r.keep(lap());
  }
  return r;
}

void print_replay(const Transformer& model, const Machine& machine, const Network& network,
                  const SearchRequest& request) {
  const double capacity =
      static_cast<double>(machine.memory->value) * (1 - request.memory_headroom);
  const Replay r = replay({.machine = &machine,
                           .network = &network,
                           .space = {.model = &model,
                                     .request = &request,
                                     .devices = request.devices.front(),
                                     .offload = request.offload},
                           .limits = {.capacity = capacity,
                                      .extended = capacity * most_memory,
                                      .slowest = request.slowest,
                                      .top = request.top}});
  fmt::print(
      "two threads, each shape's time handed out: {:.3f} x, {:.2f} % of the work is serial\n",
      r.alone / r.of_two, r.serial / r.alone * 100);
}

// "tp=8,zero=1"
std::optional<Error> fix_all(SearchRequest& request, std::string_view list) {
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    const std::size_t equals = std::min(one.find('='), one.size() - 1);
    const auto fixed = fix(request, one.substr(0, equals), one.substr(equals + 1));
    if (!fixed) return fixed.error();
  }
  return std::nullopt;
}

std::string plan_text(const Plan& p) {
  return fmt::format(
      "tp {} {} x{}{} cp {} {} ep {} pp {} {} v {} dp {} zero {}/{} micro {} recompute {} {}{}",
      p.tp, tensor_layout_names[static_cast<std::size_t>(p.tensor.layout)], p.tensor.depth,
      p.tensor.sequence_parallel ? " sp" : "", p.cp,
      context_exchange_names[static_cast<std::size_t>(p.context_exchange)], p.ep, p.pp,
      schedule_names[static_cast<std::size_t>(p.pipeline.schedule)], p.pipeline.virtual_stages,
      p.dp, p.zero, p.shard_group, p.batch.micro,
      recompute_names[static_cast<std::size_t>(p.memory.recompute)], p.memory.recompute_every,
      p.batch.reduce_each_micro ? " reduce-each" : "");
}

void print_found(const SearchResult& result) {
  fmt::print("{} candidates, {} feasible, {} evaluated\n", result.candidates, result.feasible,
             result.evaluated);
  for (std::size_t r = 0; r < rejected_count; ++r) {
    if (result.rejected[r] > 0) fmt::print("  {:>12} {}\n", result.rejected[r], rejected_names[r]);
  }
  for (const FoundPlan& f : result.best) {
    fmt::print("  {:8.3f} s  MFU {:.3f}  {:5.1f} GB{}  {}\n", f.cost.step().count(), f.cost.mfu[0],
               f.cost.memory.total() * 1e-9, f.near_tie ? " ~" : "  ", plan_text(f.plan));
  }
}

int measure(const Case& c) {
  const auto model = find_model(c.model);
  if (!model) return failed(model.error());
  const auto machine = machine_named(c.machine);
  if (!machine) return failed(machine.error());
  const auto network = make_network(*machine);
  if (!network) return failed(network.error());
  SearchRequest request;
  request.base.batch.sequence = c.sequence;
  request.base.batch.global = c.batch;
  request.devices = {c.gpus};
  if (const auto error = fix_all(request, c.fixed)) return failed(*error);
  const auto pruned = run(*model, *machine, *network, request);
  if (!pruned) return failed(pruned.error());
  fmt::print("{} on {} {}: {:.2f} s, {:.2f} s of processor time, {:.0f} MiB\n", c.model, c.gpus,
             c.machine, pruned->result.elapsed.count(), pruned->processor, resident_mib());
  print_found(pruned->result);
  print_replay(*model, *machine, *network, request);
  request.prune = false;
  request.devices = {std::min<std::int64_t>(c.gpus, 256)};
  if (c.batch % 256 != 0) request.base.batch.global = 256;
  double alone = 0;
  for (const unsigned threads : {1U, 2U}) {
    request.threads = threads;
    const auto all = run(*model, *machine, *network, request);
    if (!all) return failed(all.error());
    if (threads == 1) alone = all->processor;
    const auto evaluations = static_cast<double>(all->result.evaluated);
    fmt::print(
        "{} thread(s): {} evaluations, {:.0f} a second of processor time (Python peers: 100 "
        "to 350), {:.2f} s, {:.2f} x by the busier thread\n",
        threads, all->result.evaluated, evaluations / all->processor, all->result.elapsed.count(),
        alone / all->busiest);
  }
  print_replay(*model, *machine, *network, request);
  return 0;
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  stepscope::Case c;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view flag = argv[i];
    const char* value = argv[i + 1];
    if (flag == "--model") c.model = value;
    if (flag == "--machine") c.machine = value;
    if (flag == "--gpus") c.gpus = std::atoll(value);
    if (flag == "--global-batch") c.batch = std::atoll(value);
    if (flag == "--fix") c.fixed = value;
    if (flag == "--seq") c.sequence = std::atoll(value);
  }
  return stepscope::measure(c);
}
