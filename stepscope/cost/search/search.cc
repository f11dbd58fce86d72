// SPDX-License-Identifier: Apache-2.0
// Shapes are searched in order of promise, in rounds of sizes that do not depend on the number of
// threads. A round prunes with the results of earlier rounds, so its outcome does not depend on the
// threads either.
#include "stepscope/cost/search/search.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

#include "stepscope/base/crew.h"
#include "stepscope/cost/model/parameter_count.h"
#include "stepscope/cost/search/search_bounds.h"
#include "stepscope/cost/search/search_shape.h"

namespace stepscope {
namespace {

constexpr std::int64_t most_tokens = 1'000'000'000;  // of a sequence, and sequences of a batch

struct SensitivityInput {
  const Transformer& model;
  const Machine& machine;
  const Network& network;
  double capacity = 0;  // bytes
};

using What = Sensitivity::What;

template <class Rate>
void scale(std::optional<Rate>& rate, double factor) {
  if (rate) rate->value *= factor;
}

void scale(Network& network, What what, double factor) {
  if (what == What::links_between) scale(network.out, factor);
  if (what != What::links_within) return;
  network.up.value *= factor;
  network.peer.value *= factor;
  for (ByteRate& rate : network.peers) rate.value *= factor;
}

void scale(Machine& machine, What what, double factor) {
  if (what == What::memory_rate) scale(machine.memory_rate, factor);
  if (what != What::peak) return;
  for (auto& rate : machine.peak_rates) scale(rate, factor);
  for (auto& rate : machine.matmul_max) scale(rate, factor);
  for (auto& rate : machine.vector_rates) scale(rate, factor);
}

Result<double> step_with(const SensitivityInput& input, const Plan& plan, What what,
                         double factor) {
  Machine machine = input.machine;
  Network network = input.network;
  scale(machine, what, factor);
  scale(network, what, factor);
  auto context = make_cost_context(input.model, machine, network, plan);
  if (!context) return context.error();
  const auto cost = evaluate(*context, plan);
  if (!cost) return cost.error();
  return cost->step().count();
}

// `front` must be sorted by time.
Sensitivity with_memory(const SensitivityInput& input, const std::vector<Candidate>& front,
                        const FoundPlan& best, double factor) {
  Sensitivity s{.what = What::memory, .factor = factor};
  const auto fits = std::ranges::find_if(
      front, [&](const Candidate& c) { return c.memory <= input.capacity * factor; });
  if (fits == front.end()) return s;
  s.step = fits->step;
  if (fits->step != best.cost.step().count()) s.other = fits->plan;
  return s;
}

// Evaluates the plan result.best[0] again with each rate scaled. For memory it takes the fastest
// plan of `front`, which holds plans up to most_memory times the capacity.
std::optional<Error> add_sensitivity(const SensitivityInput& input,
                                     const std::vector<Candidate>& front, SearchResult& result) {
  const FoundPlan& best = result.best.front();
  for (const What what : {What::links_within, What::links_between, What::memory_rate, What::peak}) {
    for (const double factor : sensitivity_factors) {
      const auto step = step_with(input, best.plan, what, factor);
      if (!step) return step.error();
      result.sensitivity.push_back({.what = what, .factor = factor, .step = *step});
    }
  }
  for (const double factor : sensitivity_factors) {
    result.sensitivity.push_back(with_memory(input, front, best, factor));
  }
  return std::nullopt;
}

struct CountOutcome {
  explicit CountOutcome(const FoundLimits& limits) : found(limits) {}

  FoundPlans found;
  std::int64_t feasible = 0;
  std::int64_t evaluated = 0;
  std::array<std::int64_t, rejected_count> rejected{};
  std::optional<Error> error;
};

bool stopped(const SearchRequest& request) {
  return request.stop != nullptr && request.stop->requested();
}

// Each shape is two parts of the work: its bound and its search.
class Shown {
 public:
  Shown(const SearchSpace& space, std::size_t shapes) : space_(space), total_(2 * shapes) {}
  void one_more() {
    const std::uint64_t done = ++done_;
    if (space_.request->show) space_.request->show(space_.devices, done, total_);
  }

 private:
  const SearchSpace& space_;
  std::uint64_t total_;
  std::atomic<std::uint64_t> done_{0};
};

std::vector<SearchShape> promising_first(const ShapeSearch& search, std::vector<SearchShape> shapes,
                                         Shown& shown) {
  std::vector<std::pair<double, std::size_t>> order(shapes.size());
  parallel_for(shapes.size(), search.space.request->threads, [&](std::size_t i) {
    const bool stop = stopped(*search.space.request);
    order[i] = {stop ? 0 : shape_bound(search, shapes[i].plan).step, i};
    shown.one_more();
  });
  std::ranges::sort(order);
  std::vector<SearchShape> sorted;
  sorted.reserve(shapes.size());
  for (const auto& [step, i] : order) {
    shapes[i].least = step;
    sorted.push_back(std::move(shapes[i]));
  }
  return sorted;
}

void add(CountOutcome& sum, const ShapeResult& part) {
  sum.found.merge(part.found);
  sum.feasible += part.feasible;
  sum.evaluated += part.evaluated;
  for (std::size_t r = 0; r < rejected_count; ++r) sum.rejected[r] += part.rejected[r];
  if (!sum.error) sum.error = part.error;
}

// Searches all plans of one device count; with `most_evaluated` up to the first plan that fits, or
// until that number of plans was evaluated.
CountOutcome search_count(const ShapeSearch& search,
                          std::optional<std::int64_t> most_evaluated = {}) {
  const SearchRequest& request = *search.space.request;
  CountOutcome sum(search.limits);
  ShapeList list = list_shapes(search.space);
  sum.rejected = list.rejected;
  Shown shown(search.space, list.shapes.size());
  const auto shapes = promising_first(search, std::move(list.shapes), shown);
  std::size_t round = 0;
  for (std::size_t begin = 0; begin < shapes.size(); begin += round) {
    round = next_round(round);
    if (stopped(request)) break;
    if (most_evaluated && (sum.feasible > 0 || sum.evaluated > *most_evaluated)) break;
    const std::size_t count = std::min(round, shapes.size() - begin);
    std::vector<ShapeResult> results(count, ShapeResult(search.limits));
    parallel_for(count, request.threads, [&](std::size_t i) {
      search_shape(search, shapes[begin + i], sum.found, results[i]);
      shown.one_more();
    });
    for (const ShapeResult& result : results) add(sum, result);
    sum.found.settle();
  }
  return sum;
}

struct Search {
  const Transformer& model;
  const Machine& machine;
  const Network& network;
  const SearchRequest& request;
  FoundLimits limits;

  [[nodiscard]] CountOutcome of(std::int64_t devices, bool offload,
                                std::optional<std::int64_t> most_evaluated = {}) const {
    return search_count(
        {.machine = &machine,
         .network = &network,
         .space = {.model = &model, .request = &request, .devices = devices, .offload = offload},
         .limits = limits},
        most_evaluated);
  }
};

// Bytes of states that a device, its share of the host and its drive can hold; infinite where the
// machine does not say.
double room_for_states(const Search& search, bool offload) {
  if (!states_may_leave(search.request, offload)) return search.limits.capacity;
  const Machine& m = search.machine;
  const bool known = m.host && m.host->memory && m.nvme && m.nvme->capacity;
  if (!known) return std::numeric_limits<double>::infinity();
  return search.limits.capacity + static_cast<double>(m.host->memory->value) +
         static_cast<double>(m.nvme->capacity->value);
}

// Whether `devices` can hold one copy of all states together.
bool have_room(const Search& search, bool offload, std::int64_t devices) {
  const Precision& bytes = search.request.base.precision;
  const double states =
      static_cast<double>(parameter_count(search.model).total) * bytes.parameter_bytes +
      static_cast<double>(trained_parameters(search.model, search.request.base.trained)) *
          (state_bytes(bytes) - bytes.parameter_bytes);
  return states <= room_for_states(search, offload) * static_cast<double>(devices);
}

// Doubles the count, then bisects between a count that does not fit and one that does. Counts
// without room for all states are not searched. Nothing where that takes more than `left`
// evaluations; where the bisection does, a count that is enough.
std::optional<std::int64_t> smallest_count(const Search& search, bool offload, std::int64_t left) {
  constexpr std::int64_t most = 1 << 16;
  const auto fits = [&](std::int64_t n) {
    if (!have_room(search, offload, n)) return false;
    const CountOutcome outcome = search.of(n, offload, left);
    left -= outcome.evaluated;
    return outcome.feasible > 0;
  };
  std::int64_t below = *std::ranges::max_element(search.request.devices);
  std::int64_t above = below;
  do {
    if (stopped(search.request) || above > most / 2 || left < 0) return std::nullopt;
    below = above;
    above *= 2;
  } while (!fits(above));
  const std::int64_t unit = below < search.network.domain ? 1 : search.network.domain;  // whole
  while (above - below > unit && left >= 0 && !stopped(search.request)) {
    const std::int64_t middle = std::max(unit, (below + above) / 2 / unit * unit);
    if (middle <= below || middle >= above) break;
    (fits(middle) ? above : below) = middle;
  }
  return above;
}

Result<FoundPlan> evaluated(const Search& search, const Candidate& candidate) {
  auto context = make_cost_context(search.model, search.machine, search.network, candidate.plan);
  if (!context) return context.error();
  const auto cost = evaluate(*context, candidate.plan);
  if (!cost) return cost.error();
  return FoundPlan{.plan = candidate.plan, .cost = *cost};
}

std::optional<Error> evaluate_all(const Search& search, const std::vector<Candidate>& candidates,
                                  std::vector<FoundPlan>& into) {
  for (const Candidate& candidate : candidates) {
    Result<FoundPlan> found = evaluated(search, candidate);
    if (!found) return found.error();
    into.push_back(*std::move(found));
  }
  if (into.empty()) return std::nullopt;
  const double near = into.front().cost.step().count() * (1 + search.request.model_error);
  for (FoundPlan& found : into) found.near_tie = found.cost.step().count() <= near;
  return std::nullopt;
}

bool faster(const Candidate& a, const Candidate& b) {
  return std::tie(a.step, a.memory, a.plan.devices, a.place) <
         std::tie(b.step, b.memory, b.plan.devices, b.place);
}

std::vector<Candidate> best_of(const FoundPlans& found) {
  std::vector<Candidate> best;
  for (const auto& [family, candidate] : found.families()) {
    if (candidate.step <= found.latest()) best.push_back(candidate);
  }
  std::ranges::sort(best, faster);
  return best;
}

// The plans of `front` that fit and are fast enough.
std::vector<Candidate> shown_front(const FoundPlans& found, const FoundLimits& limits) {
  std::vector<Candidate> shown;
  for (const Candidate& c : found.front()) {
    if (c.memory <= limits.capacity && c.step <= found.latest()) shown.push_back(c);
  }
  return shown;
}

void add_counts(SearchResult& result, const CountOutcome& count) {
  result.feasible += count.feasible;
  result.evaluated += count.evaluated;
  for (std::size_t r = 0; r < rejected_count; ++r) result.rejected[r] += count.rejected[r];
}

std::optional<Error> show(const Search& search, const FoundPlans& all,
                          const std::vector<Candidate>& of_counts, SearchResult& result) {
  auto best = best_of(all);
  if (best.size() > search.request.top) best.resize(search.request.top);
  if (auto error = evaluate_all(search, best, result.best)) return error;
  if (auto error = evaluate_all(search, shown_front(all, search.limits), result.pareto))
    return error;
  if (auto error = evaluate_all(search, of_counts, result.by_devices)) return error;
  if (result.best.empty() || search.request.slowest <= 1) return std::nullopt;
  return add_sensitivity({search.model, search.machine, search.network, search.limits.capacity},
                         all.front(), result);
}

std::optional<Error> search_counts(const Search& search, bool offload, SearchResult& result) {
  FoundPlans all(search.limits);
  std::vector<Candidate> of_counts;
  std::optional<Error> error;
  for (const std::int64_t devices : search.request.devices) {
    const CountOutcome count = search.of(devices, offload);
    add_counts(result, count);
    if (!error) error = count.error;
    all.merge(count.found);
    const auto best = best_of(count.found);
    if (!best.empty()) of_counts.push_back(best.front());
  }
  result.offload_searched = offload;
  if (result.feasible > 0) return show(search, all, of_counts, result);
  const bool ran =
      result.evaluated > 0 || result.rejected[static_cast<std::size_t>(Rejected::memory)] > 0;
  return ran ? std::nullopt : error;
}

// What the fields that are not searched ask for must suit the model on one device: else no division
// suits it either.
std::optional<Error> kept_problem(const Transformer& model, const Plan& base) {
  Plan one = base;
  one.devices = one.tp = one.cp = one.ep = one.pp = one.dp = one.batch.micro = one.batch.global = 1;
  one.tensor.layout = TensorLayout::one_d;
  one.tensor.rows = one.tensor.columns = 0;
  one.tensor.sequence_parallel = false;
  one.tensor.sequence_degree = one.experts.tp = one.shard_group = 0;
  one.zero = 0;
  const Result<Done> can = check_plan(model, one);
  return can ? std::nullopt : std::optional(can.error());
}

// Bytes of a device that a plan may fill.
double capacity_of(const Machine& machine, const SearchRequest& request) {
  return static_cast<double>(machine.memory->value) * (1 - request.memory_headroom);
}

bool can_offload(const Machine& machine) {
  return machine.host && machine.host->per_direction && machine.host->memory_rate;
}

// The request with the base's shape, or with its tensor layout, context parallelism and schedule
// only.
SearchRequest near_base(SearchRequest request, bool other_groups) {
  const Plan& base = request.base;
  const auto keep = [&](SearchKey key, auto value) {
    request.fixed[static_cast<std::size_t>(key)] = static_cast<std::int64_t>(value);
  };
  using enum SearchKey;
  keep(tensor_layout, base.tensor.layout);
  keep(cp, base.cp);
  keep(context_exchange, base.context_exchange);
  keep(schedule, base.pipeline.schedule);
  keep(virtual_stages, base.pipeline.virtual_stages);
  if (other_groups) return request;
  keep(tp, base.tp);
  keep(tp_rows, base.tensor.rows);
  keep(tp_columns, base.tensor.columns);
  keep(tp_depth, base.tensor.depth);
  keep(sequence_parallel, base.tensor.sequence_parallel);
  keep(ep, base.ep);
  keep(pp, base.pp);
  return request;
}

std::optional<Error> problem(const Transformer& model, const Machine& machine,
                             const SearchRequest& request) {
  if (!machine.memory) {
    return Error{.what = "machine \"" + machine.name + "\" does not say its memory_gb",
                 .hint = "give it in a machine file (--machine FILE)"};
  }
  constexpr std::int64_t most = 1 << 20;
  for (const std::int64_t n : request.devices) {
    if (n >= 1 && n <= most) continue;
    return Error{.what = std::to_string(n) + " devices",
                 .hint = "a search takes 1 to " + std::to_string(most)};
  }
  if (request.devices.empty()) return Error{.what = "a search without a device count"};
  if (!(request.memory_headroom >= 0 && request.memory_headroom < 1)) {
    return Error{.what = "the memory headroom is a share from 0 to below 1"};
  }
  for (const auto& [name, value] : {std::pair("global_batch", request.base.batch.global),
                                    std::pair("sequence", request.base.batch.sequence)}) {
    if (value >= 1 && value <= most_tokens) continue;
    return Error{.what = std::string(name) + " = " + std::to_string(value) + " is out of range",
                 .hint = "it must be 1 to " + std::to_string(most_tokens)};
  }
  return kept_problem(model, request.base);
}

}  // namespace

Result<SearchResult> search_plans(const Transformer& model, const Machine& machine,
                                  const Network& network, const SearchRequest& request) {
  if (auto error = problem(model, machine, request)) return *std::move(error);
  const auto begin = std::chrono::steady_clock::now();
  const double capacity = capacity_of(machine, request);
  const Search search{
      .model = model,
      .machine = machine,
      .network = network,
      .request = request,
      .limits = {.capacity = capacity,
                 .extended = request.slowest > 1 ? capacity * most_memory : capacity,
                 .slowest = request.slowest,
                 .top = request.top}};
  SearchResult result;
  if (auto error = search_counts(search, request.offload, result)) return *std::move(error);
  if (result.feasible == 0 && !request.offload && can_offload(machine) && !stopped(request)) {
    result = {};
    if (auto error = search_counts(search, true, result)) return *std::move(error);
  }
  const bool too_large = result.rejected[static_cast<std::size_t>(Rejected::memory)] > 0;
  if (result.feasible == 0 && too_large) {
    constexpr std::int64_t seconds_of_work = 3'000'000;
    result.smallest_devices = smallest_count(search, request.offload, seconds_of_work);
  }
  for (const std::int64_t n : result.rejected) result.candidates += n;
  result.candidates += result.feasible;
  result.stopped = stopped(request);
  result.elapsed = std::chrono::steady_clock::now() - begin;
  return result;
}

Result<Fitting> find_fitting(const Transformer& model, const Machine& machine,
                             const Network& network, const SearchRequest& request) {
  if (auto error = problem(model, machine, request)) return *std::move(error);
  constexpr std::int64_t most_evaluated = 20'000;
  const double capacity = capacity_of(machine, request);
  const auto search_of = [&](const SearchRequest& asked) {
    return Search{.model = model,
                  .machine = machine,
                  .network = network,
                  .request = asked,
                  .limits = {.capacity = capacity, .extended = capacity, .slowest = 1, .top = 1}};
  };
  const std::int64_t devices = request.devices.front();
  bool all_tried = true;
  for (const bool offload : {false, true}) {
    if (offload && !can_offload(machine)) break;
    for (const bool other_groups : {false, true}) {
      const SearchRequest asked = near_base(request, other_groups);
      const Search search = search_of(asked);
      if (stopped(request)) return Fitting{};
      if (!have_room(search, offload, devices)) break;
      const CountOutcome outcome = search.of(devices, offload, most_evaluated);
      if (outcome.feasible > 0) return Fitting{best_of(outcome.found).front().plan, std::nullopt};
      all_tried = all_tried && outcome.evaluated <= most_evaluated;
    }
  }
  if (!all_tried) return Fitting{};
  const SearchRequest asked = near_base(request, true);
  return Fitting{std::nullopt, smallest_count(search_of(asked), false, most_evaluated)};
}

Result<PlanRank> rank_plan(const Transformer& model, const Machine& machine, const Network& network,
                           const SearchRequest& request, const RankQuestion& question) {
  if (!machine.memory) {
    return Error{.what = "machine \"" + machine.name + "\" does not say its memory_gb",
                 .hint = "give it in a machine file (--machine FILE)"};
  }
  constexpr std::size_t round = 128;
  const double capacity = capacity_of(machine, request);
  const ShapeSearch search{.machine = &machine,
                           .network = &network,
                           .space = {.model = &model,
                                     .request = &request,
                                     .devices = question.devices,
                                     .offload = question.offload},
                           .limits = {.capacity = capacity, .extended = capacity},
                           .count_below = question.step};
  const std::vector<SearchShape> shapes = list_shapes(search.space).shapes;
  const FoundPlans nothing(search.limits);
  PlanRank rank;
  std::int64_t evaluated = 0;
  for (std::size_t begin = 0; begin < shapes.size(); begin += round) {
    const bool stopped = request.stop != nullptr && request.stop->requested();
    if (stopped || evaluated > question.most_evaluations) {
      rank.complete = false;
      break;
    }
    std::vector<ShapeResult> results(std::min(round, shapes.size() - begin),
                                     ShapeResult(search.limits));
    parallel_for(results.size(), request.threads, [&](std::size_t i) {
      search_shape(search, shapes[begin + i], nothing, results[i]);
    });
    for (const ShapeResult& result : results) {
      rank.faster += result.faster;
      evaluated += result.evaluated;
    }
  }
  return rank;
}

}  // namespace stepscope
