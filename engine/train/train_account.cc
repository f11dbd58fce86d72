// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_account.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

#include "engine/telemetry/window_bytes.h"

namespace stepscope {
namespace {

using namespace std::chrono_literals;

// A second; longer for many ranks, whose windows cost more to share.
Ns period(int world) { return std::max<Ns>(1s, world * Ns{20ms}); }
constexpr std::int64_t most_steps_between = 256;  // between two times; a recorder keeps 1024
constexpr std::int64_t recent_steps = 10;
constexpr std::int64_t least_steps = 3;  // before anyone is called late

std::int64_t steps_of(const JobWindow& window) {
  return window.empty() ? 0 : window.ranks.front().totals.steps;
}

}  // namespace

TrainAccount::TrainAccount(zero::Engine& engine, RankRecorder& recorder, int rank, int world,
                           const TrainProgress& progress)
    : engine_(engine),
      recorder_(recorder),
      rank_(rank),
      world_(world),
      progress_(progress),
      shared_steps_(engine.cursor().step) {}

Result<Done> TrainAccount::open_metrics(const std::string& text, const std::string& token_file) {
  auto target = metrics_target(text);
  if (!target) return target.error();
  if (!token_file.empty()) {
    auto token = read_token(token_file);
    if (!token) return token.error();
    target->token = std::move(*token);
  }
  auto output = MetricsOutput::open(*target);
  if (!output) return output.error();
  metrics_ = std::move(*output);
  if (target->port)
    progress_.say(TrainNote::Kind::metrics,
                  fmt::format("metrics: http://{}:{}/metrics", target->address, metrics_->port()));
  return Done{};
}

bool TrainAccount::due() const {
  const std::int64_t steps = engine_.cursor().step - shared_steps_;
  return steps >= most_steps_between ||
         (rank_ == 0 && recorder_.now() - shared_at_ >= period(world_));
}

Result<Done> TrainAccount::share(std::vector<ExtraGauge> gauges) {
  recorder_.take_window(own_);
  shared_at_ = recorder_.now();
  shared_steps_ = engine_.cursor().step;
  encode(own_, own_bytes_);
  std::array<std::int64_t, 1> size = {static_cast<std::int64_t>(own_bytes_.size())};
  auto done = engine_.all_reduce(size, Reduction::max, "sizes of statistics");
  if (!done) return done;
  const auto each = static_cast<std::size_t>(size[0]);
  own_bytes_.resize(each);
  all_bytes_.resize(each * static_cast<std::size_t>(world_));
  done = engine_.all_gather(own_bytes_, all_bytes_, "statistics");
  if (!done || rank_ != 0) return done;
  auto stretch = decode(each);
  if (!stretch) return stretch.error();
  return keep(std::move(*stretch), std::move(gauges));
}

Result<JobWindow> TrainAccount::decode(std::size_t each) const {
  std::vector<RankWindow> windows;
  windows.reserve(static_cast<std::size_t>(world_));
  for (std::size_t r = 0; r < static_cast<std::size_t>(world_); ++r) {
    auto window = decode_window(std::span(all_bytes_).subspan(r * each, each));
    if (!window) return window.error();
    windows.push_back(std::move(*window));
  }
  return gather(windows);
}

Result<Done> TrainAccount::keep(JobWindow stretch, std::vector<ExtraGauge> gauges) {
  if (steps_of(stretch) == 0) return Done{};
  recent_.push_back(stretch);
  std::int64_t steps = 0;
  for (const JobWindow& part : recent_) steps += steps_of(part);
  while (steps - steps_of(recent_.front()) >= recent_steps) {
    steps -= steps_of(recent_.front());
    recent_.pop_front();
  }
  look_for_late();
  for (RankWindow& rank : stretch.ranks) rank.arrivals.clear();
  if (auto done = append(run_, stretch); !done) return done;
  if (!metrics_) return Done{};
  if (auto done = append(folded_, stretch); !done) return done;
  fold_steps(folded_);
  publish(std::move(gauges));
  return Done{};
}

void TrainAccount::look_for_late() {
  Lateness lateness;
  for (const JobWindow& part : recent_) lateness.add(part);
  late_now_.clear();
  for (PersistentStraggler& late : lateness.ranks())
    if (late.persistent && late.steps >= least_steps) late_now_.push_back(late);
}

void TrainAccount::publish(std::vector<ExtraGauge> gauges) {
  JobWindow recent;
  for (const JobWindow& part : recent_)
    if (!append(recent, part)) return;
  metrics_->publish(openmetrics(
      folded_, {.references = references_, .recent = &recent, .gauges = std::move(gauges)}));
  if (const auto error = metrics_->take_error()) progress_.fail(*error);
}

}  // namespace stepscope
