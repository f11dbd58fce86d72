// SPDX-License-Identifier: Apache-2.0
// One step: passes and messages in the plan's order, agreement on loss and norm, the update.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "engine/zero/engine/engine.h"
#include "engine/zero/engine/exact_norm.h"

namespace stepscope::zero {
namespace {

Activity activity_of(const nn::Pass& pass) {
  switch (pass.kind) {
    case nn::PassKind::embed:
    case nn::PassKind::block:
      return Activity::forward;
    case nn::PassKind::head:
      return pass.writes_gradient ? Activity::backward : Activity::forward;
    case nn::PassKind::block_recompute:
      return Activity::recompute;
    case nn::PassKind::block_backward:
    case nn::PassKind::embed_backward:
      break;
  }
  return Activity::backward;
}

std::int64_t tokens_of(std::span<const nn::MicroBatch> micro_batches) {
  std::int64_t tokens = 0;
  for (const nn::MicroBatch& micro : micro_batches) tokens += micro.batch * micro.tokens;
  return tokens;
}

template <class T>
std::span<const T> shard_values(std::span<const std::byte> held, const UnitPlace& place) {
  const auto offset = static_cast<std::size_t>(place.shard.param_start - place.held.param_start);
  return std::span(reinterpret_cast<const T*>(held.data()), held.size() / sizeof(T))
      .subspan(offset, static_cast<std::size_t>(place.shard.shard_size()));
}

}  // namespace

Result<StepResult> Engine::step(std::span<const nn::MicroBatch> micro_batches) {
  check(micro_batches.size() == static_cast<std::size_t>(config_.micro_batches),
        "a step has the configured number of micro-batches");
  if (observer_ != nullptr) observer_->step_begin(cursor_.step);
  loss_sum_ = 0;
  loss_tokens_ = 0;
  read_back_.clear();  // of earlier states
  extents_.clear();
  extents_read_ = false;
  if (auto done = begin_offloaded(); !done) return done.error();
  if (auto done = run_actions(plan_.step, plan_.passes, micro_batches, true); !done) {
    return done.error();
  }
  if (auto done = exchange_.await_all(); !done) return done.error();

  const Activity before = recorder_.enter(Activity::optimizer);
  auto agreed = agree();
  if (!agreed) return agreed.error();
  StepResult result{.step = cursor_.step,
                    .loss = agreed->loss / agreed->tokens,
                    .tokens = static_cast<std::int64_t>(agreed->tokens),
                    .learning_rate = config_.optimizer.learning_rate.at(cursor_.step)};
  if (result.tokens == 0) {
    return Error{.what = "step " + std::to_string(cursor_.step) + " has no token with a target",
                 .hint = "give each step a sequence whose targets are not all -1"};
  }
  if (agreed->finite) {
    auto norm = gradient_norm(*agreed);
    if (!norm) return norm.error();
    result.gradient_norm = *norm / agreed->tokens;
    const double limit = config_.optimizer.clip_norm;
    result.clipped = limit > 0 && result.gradient_norm > limit;
    const double factor = result.clipped ? limit / result.gradient_norm : 1.0;
    auto done = update(config_.optimizer, factor / agreed->tokens, result.learning_rate);
    if (!done) return done.error();
  } else {
    result.skipped = true;
    if (auto done = name_non_finite(micro_batches); !done) return done.error();
    if (config_.non_finite == NonFinite::stop) {
      return Error{.what = "step " + std::to_string(cursor_.step) +
                           ": values that are not finite: " + non_finite_.where,
                   .hint = "lower the learning rate, or skip such steps"};
    }
  }
  ++cursor_.step;
  cursor_.tokens += result.tokens;
  recorder_.enter(before);
  end_step(micro_batches, result.skipped);
  return result;
}

void Engine::end_step(std::span<const nn::MicroBatch> micro_batches, bool skipped) {
  Flops model{};
  Flops recomputed{};
  for (const nn::MicroBatch& micro : micro_batches) {
    model += network_->model_flops(micro.batch, micro.tokens);
    recomputed += recomputed_flops(micro.batch, micro.tokens);
  }
  record_memory();
  if (observer_ != nullptr) observer_->step_end();
  recorder_.end_step(tokens_of(micro_batches), model, model + recomputed, skipped);
}

Result<Done> Engine::run_actions(std::span<const Action> actions, std::span<const nn::Pass> passes,
                                 std::span<const nn::MicroBatch> micro_batches, bool reduce) {
  // A pass of a micro-batch lasts from the end of the one before it, so that the passes of a step
  // cover all of its actions.
  std::optional<TrainingPass> open;
  std::int64_t micro_batch = 0;
  Ns begin = recorder_.now();
  std::ranges::fill(layer_times_, LayerTimes{});
  const auto turn_to = [&](std::optional<TrainingPass> next, std::int64_t next_micro_batch) {
    if (!reduce || (open == next && micro_batch == next_micro_batch)) return;
    const Ns now = recorder_.now();
    if (open) {
      const nn::MicroBatch& of = micro_batches[static_cast<std::size_t>(micro_batch)];
      recorder_.pass(*open, now - begin, of.batch * of.tokens);
      report_layers();
      begin = now;
    }
    open = next;
    micro_batch = next_micro_batch;
  };
  for (const Action& action : actions) {
    const std::size_t unit = action.unit;
    Result<Done> done = Done{};
    switch (action.kind) {
      case ActionKind::fetch:
        done = exchange_.fetch(unit, action.place, passes[action.pass].unit != unit);
        break;
      case ActionKind::open:
        open_[unit] = action.place;
        pooled_now_ += static_cast<std::int64_t>(local_gradient(unit).size());
        most_pooled_ = std::max(most_pooled_, pooled_now_);
        break;
      case ActionKind::use:
        turn_to(activity_of(passes[action.pass]) == Activity::forward ? TrainingPass::forward
                                                                      : TrainingPass::backward,
                action.micro_batch);
        done = run_pass(action, passes[action.pass],
                        micro_batches[static_cast<std::size_t>(action.micro_batch)]);
        break;
      case ActionKind::reduce:
        if (!reduce) break;
        done = exchange_.reduce(
            unit, local_gradient(unit),
            config_.accumulation == Accumulation::reduce_each_microstep && action.micro_batch > 0,
            action.last);
        break;
      case ActionKind::close:
        pooled_now_ -= static_cast<std::int64_t>(local_gradient(unit).size());
        open_[unit] = -1;
        break;
      case ActionKind::release:
        exchange_.release(unit);
        break;
    }
    if (!done) return done;
  }
  turn_to(std::nullopt, 0);
  return Done{};
}

// A unit that runs twice in a pass, as tied weights do, is one run of its layer.
void Engine::report_layers() {
  for (std::size_t unit = 0; unit < layer_times_.size(); ++unit)
    for (const Activity run : {Activity::forward, Activity::backward, Activity::recompute})
      if (const auto time = std::exchange(layer_times_[unit][slot(run)], std::nullopt))
        recorder_.layer(static_cast<std::uint16_t>(unit), run, *time);
}

std::span<std::byte> Engine::local_gradient(std::size_t unit) const {
  if (plan_.places[unit].local_at >= 0) return memory_.units[unit].local;
  const auto size = static_cast<std::int64_t>(element_bytes(config_.type));
  return memory_[ArenaClass::unit_gradients].part<std::byte>(open_[unit],
                                                             plan_.units[unit].count * size);
}

Result<std::span<const std::byte>> Engine::parameters_of(const nn::Pass& pass) {
  if (!reads_parameters(pass)) return std::span<const std::byte>{};
  if (config_.stage == 3) return exchange_.await_fetched(pass.unit);
  if (auto done = exchange_.await_gathered(pass.unit); !done) return done.error();
  return std::span<const std::byte>(memory_.units[pass.unit].whole);
}

Result<Done> Engine::run_pass(const Action& action, const nn::Pass& pass,
                              const nn::MicroBatch& micro) {
  const Activity activity = activity_of(pass);
  const Activity before = recorder_.enter(activity);
  if (observer_ != nullptr) observer_->range_begin(plan_.units[pass.unit].name, activity);
  auto parameters = parameters_of(pass);
  if (!parameters) return parameters.error();
  std::span<std::byte> gradient{};
  if (pass.writes_gradient) {
    // At stage 0 this micro-batch's gradient goes where the previous micro-batch's sums are.
    if (config_.stage == 0 && pass.first_gradient) {
      if (auto done = exchange_.await_reduced(pass.unit); !done) return done;
    }
    gradient = local_gradient(pass.unit);
  }
  const bool accumulate =
      config_.accumulation == Accumulation::accumulate_then_reduce && action.micro_batch > 0;
  const Ns begin = recorder_.now();
  network_->run(pass, micro, *parameters, gradient, accumulate);
  const Ns end = recorder_.now();
  if (pass.kind == nn::PassKind::head) {
    loss_sum_ += network_->loss_sum();
    loss_tokens_ += network_->loss_tokens();
  }
  if (searching_ && first_bad_ < 0 && !network_->output_finite()) {
    first_bad_ = action.micro_batch * static_cast<std::int64_t>(plan_.passes.size()) +
                 static_cast<std::int64_t>(action.pass);
  }
  std::optional<Ns>& time = layer_times_[pass.unit][slot(activity)];
  time = time.value_or(Ns{}) + (end - begin);
  if (observer_ != nullptr) observer_->range_end();
  recorder_.enter_at(before, end);
  return Done{};
}

// The loss, and whether all values are finite; the same on every rank.
Result<Engine::Agreed> Engine::agree() {
  std::array<double, 2> sums = {loss_sum_, static_cast<double>(loss_tokens_)};
  if (auto done = exchange_.all_reduce_now(sums, "loss and tokens"); !done) return done.error();
  // The largest exponent of all units, then of each unit.
  flags_[0] = 0;
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    flags_[u + 1] = exchange_.largest_exponent_of(u);
    flags_[0] = std::max(flags_[0], flags_[u + 1]);
  }
  flags_.back() = std::isfinite(loss_sum_) ? 0 : 1;
  if (auto done = exchange_.all_reduce_now(flags_, Reduction::max, "largest exponents"); !done) {
    return done.error();
  }
  return Agreed{.loss = sums[0],
                .tokens = sums[1],
                .exponent = static_cast<std::int32_t>(flags_[0]),
                .finite = flags_[0] < not_finite && flags_.back() == 0};
}

Result<double> Engine::gradient_norm(const Agreed& agreed) {
  ExactSum sum;
  if (stored(ShardColumn::gradients)) {
    if (auto added = add_offloaded_squares(agreed.exponent, sum); !added) return added.error();
  }
  for (std::size_t u = 0; u < plan_.units.size() && !stored(ShardColumn::gradients); ++u) {
    const UnitPlace& place = plan_.places[u];
    const std::span<const std::byte> reduced = memory_.units[u].reduced;
    if (config_.type == ElementType::f32) {
      add_squares(shard_values<float>(reduced, place), agreed.exponent, sum);
    } else {
      add_squares(shard_values<Bf16>(reduced, place), agreed.exponent, sum);
    }
  }
  auto done = exchange_.all_reduce_now(sum.limbs, Reduction::sum, "squares of gradients");
  if (!done) return done.error();
  return norm(sum, agreed.exponent);
}

void Engine::update_range(const DecayRange& range, nn::AdamW optimizer, float scale,
                          const UpdateSpan& span) const {
  const std::int64_t begin = std::max(range.first, span.first);
  const std::int64_t end = std::min(range.first + range.count, span.first + span.count);
  if (begin >= end) return;
  const std::int64_t at = begin - span.first;
  if (!range.decay) optimizer.weight_decay = 0;
  float* const master = span.master + at;
  if (config_.type == ElementType::f32) {
    nn::adamw(end - begin, optimizer, reinterpret_cast<const float*>(span.gradients) + at, scale,
              master, span.m + at, span.v + at, master);
  } else {
    nn::adamw(end - begin, optimizer, reinterpret_cast<const Bf16*>(span.gradients) + at, scale,
              master, span.m + at, span.v + at, reinterpret_cast<Bf16*>(span.parameters) + at);
  }
}

// Updates units in the order of their next use, so the first can be sent while the rest is updated.
Result<Done> Engine::update(const OptimizerConfig& optimizer, double scale, double rate) {
  ++cursor_.updates;
  const nn::AdamW adamw{.lr = static_cast<float>(rate),
                        .beta1 = optimizer.beta1,
                        .beta2 = optimizer.beta2,
                        .eps = optimizer.eps,
                        .weight_decay = optimizer.weight_decay,
                        .step = cursor_.updates};
  const Ns begin = recorder_.now();
  std::int64_t elements = 0;
  for (const DecayRange& range : ranges_) elements += range.count;
  if (offload_) {
    if (auto done = update_offloaded(adamw, static_cast<float>(scale)); !done) return done;
    recorder_.pass(TrainingPass::optimizer, recorder_.now() - begin, elements);
    return Done{};
  }
  std::size_t next = 0;
  std::size_t shared = 0;
  for (std::size_t u = 0; u < plan_.units.size(); ++u) {
    const UpdateSpan span =
        span_of({.unit = u, .first = 0, .count = plan_.places[u].held.shard_size(), .column = {}});
    for (; next < ranges_.size() && ranges_[next].unit == u; ++next) {
      update_range(ranges_[next], adamw, static_cast<float>(scale), span);
      exchange_.poll();
    }
    if (auto done = share_updated(shared, u + 1); !done) return done;
  }
  recorder_.pass(TrainingPass::optimizer, recorder_.now() - begin, elements);
  return Done{};
}

Result<double> Engine::evaluate(std::span<const nn::MicroBatch> batches) {
  loss_sum_ = 0;
  loss_tokens_ = 0;
  if (auto done = finish_update(); !done) return done.error();
  for (const nn::MicroBatch& batch : batches) {
    if (auto done = exchange_.expect_fetches(plan_.evaluation_fetches); !done) return done.error();
    auto done = run_actions(plan_.evaluation, plan_.evaluation_passes, {&batch, 1}, false);
    if (!done) return done.error();
  }
  std::array<double, 2> sums = {loss_sum_, static_cast<double>(loss_tokens_)};
  if (auto done = exchange_.all_reduce_now(sums, "evaluation loss"); !done) return done.error();
  if (sums[1] == 0) {
    return Error{.what = "nothing to evaluate: no token with a target",
                 .hint = "give evaluation a sequence of data"};
  }
  return sums[0] / sums[1];
}

}  // namespace stepscope::zero
