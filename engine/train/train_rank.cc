// SPDX-License-Identifier: Apache-2.0
#include "engine/train/train_rank.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/comm/groups/rank_processes.h"
#include "engine/comm/measured/clock_offset.h"
#include "engine/comm/measured/throttle.h"
#include "engine/nn/kernels/fma_peak.h"
#include "engine/telemetry/step_file.h"
#include "engine/train/train_account.h"
#include "engine/train/train_faults.h"
#include "engine/train/train_isolation.h"
#include "engine/train/train_references.h"
#include "engine/train/train_result_of.h"
#include "engine/train/train_settings.h"
#include "engine/train/train_verdict.h"
#include "engine/train/train_weights.h"
#include "engine/zero/engine/trace_recorder.h"
#include "stepscope/write/chrome_trace.h"

namespace stepscope {
namespace {

// One rank says what failed; the others stop with this.
Error said_by_another_rank() {
  return {.what = "another rank says what failed", .code = ErrorCode::reported};
}

// From this rank's clock to Unix time by rank 0's, so that the traces of all ranks have one clock.
Result<Ns> unix_offset(Communicator& comm, Ns to_rank_0) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<std::int64_t> offset = {
      (std::chrono::duration_cast<Ns>(now) - monotonic_now()).count()};
  const auto told = wait_for(comm, broadcast(comm, offset, 0, "clock"));
  if (!told) return told.error();
  return Ns{offset[0]} + to_rank_0;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

class TrainRun {
 public:
  // `isolation`: the same as comm, where that is to be measured, else null.
  TrainRun(const TrainRequest& request, TrainSettings settings, std::vector<TrainFault> faults,
           Communicator& comm, Isolation* isolation, const TrainProgress& progress)
      : request_(request),
        settings_(std::move(settings)),
        faults_(std::move(faults)),
        comm_(comm),
        isolation_(isolation),
        progress_(progress) {}

  [[nodiscard]] Result<TrainResult> all();
  // ", step 4" while it trains.
  [[nodiscard]] std::string at_step() const {
    return training_ ? fmt::format(", step {}", engine_->cursor().step) : std::string();
  }

 private:
  [[nodiscard]] bool stopped_early() const {
    return progress_.stopped() && engine_->cursor().step < settings_.trainer.steps;
  }
  [[nodiscard]] bool speaks() const { return comm_.rank() == 0; }
  [[nodiscard]] Result<Done> prepare();
  [[nodiscard]] Result<Done> places() const;
  [[nodiscard]] Result<Done> start_from();
  [[nodiscard]] Result<Done> load_last_whole();
  [[nodiscard]] Result<Done> agree_on(const Result<Done>& mine, std::string_view what);
  [[nodiscard]] Result<Done> open_account();
  [[nodiscard]] Result<TrainResult> finish();
  [[nodiscard]] Result<Done> write_trace();
  void trace_step(std::int64_t step);
  void write_step(const StepRecord& step);
  void after_step(const zero::StepResult& result, std::optional<double> validation);
  void tell(const zero::StepResult& result, std::optional<double> validation) const;
  [[nodiscard]] Result<Done> share_account();
  [[nodiscard]] zero::TrainerHooks hooks();

  const TrainRequest& request_;
  TrainSettings settings_;
  std::vector<TrainFault> faults_;
  Communicator& comm_;
  Isolation* isolation_;
  const TrainProgress& progress_;
  Ns to_rank_0_{};  // rank 0's clock less this one's
  std::optional<zero::TokenData> data_;
  std::unique_ptr<RankRecorder> recorder_;
  std::unique_ptr<zero::Engine> engine_;
  zero::TraceOptions trace_options_;
  std::unique_ptr<zero::TraceRecorder> trace_;
  std::unique_ptr<FaultObserver> observer_;
  std::unique_ptr<TrainAccount> account_;
  std::unique_ptr<StepFile> step_file_;  // null without --live
  bool step_file_failed_ = false;
  TrainHistory history_;
  bool training_ = false;
  std::optional<nn::FmaPeak> peak_;
  ReferenceRates references_;
};

Result<Done> TrainRun::prepare() {
  auto data = zero::TokenData::open(settings_.data);
  if (!data) return data.error();
  data_.emplace(std::move(*data));
  if (settings_.data.paths.empty() && speaks())
    progress_.say(
        TrainNote::Kind::built_in_text,
        fmt::format("no --data: trains on a built-in text, stepscope's own pages ({} bytes)",
                    zero::built_in_text().size()));
  const auto clock = clock_offset(comm_);
  if (!clock) return clock.error();
  to_rank_0_ = clock->offset;
  std::vector<std::string> units;
  for (const nn::Unit& u : nn::network_units(settings_.engine.network)) units.push_back(u.name);
  recorder_ = std::make_unique<RankRecorder>(
      RecorderOptions{.rank = comm_.rank(),
                      .world = comm_.size(),
                      .units = std::move(units),
                      .groups = {{.name = std::string(comm_.name()), .size = comm_.size()}},
                      .clock_offset = to_rank_0_});
  auto engine = zero::Engine::create(settings_.engine, comm_, *recorder_);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  if (speaks())
    for (const std::string& line : engine_->offload_descriptions())
      progress_.say(TrainNote::Kind::offload, "offloaded " + line);
  return Done{};
}

// Hours of training are not to end at a directory that is not there.
Result<Done> TrainRun::places() const {
  if (!speaks()) return Done{};
  namespace fs = std::filesystem;
  for (const std::string& dir : {request_.trace, request_.checkpoint}) {
    std::error_code code;
    if (!dir.empty()) fs::create_directories(dir, code);
    if (code) return Error{.what = "cannot make the directory: " + code.message(), .file = dir};
  }
  std::vector<std::string> files = {request_.export_file};
  files.insert(files.end(), request_.outputs.begin(), request_.outputs.end());
  for (const std::string& file : files) {
    const fs::path parent = fs::path(file).parent_path();
    std::error_code ignored;
    if (!parent.empty() && !fs::is_directory(parent, ignored))
      return Error{.what = "there is no such directory to write to: " + parent.string(),
                   .file = file,
                   .hint = "create the directory first"};
  }
  return Done{};
}

Result<Done> TrainRun::start_from() {
  if (!request_.init_from.empty())
    if (auto read = read_weights(*engine_, request_.init_from); !read) return read;
  if (!request_.resume) return Done{};
  const auto latest = zero::latest_checkpoint(request_.checkpoint);
  const std::vector<std::string> damaged = zero::damaged_checkpoints(request_.checkpoint);
  if (!latest && !damaged.empty())
    return Error{.what = fmt::format("COMMIT is missing or damaged in all of its {} checkpoints",
                                     damaged.size()),
                 .file = request_.checkpoint,
                 .hint = "restore a checkpoint, or start anew in another directory"};
  if (!latest) {
    if (speaks())
      progress_.say(
          TrainNote::Kind::starting_anew,
          fmt::format("no committed checkpoint in {}: starting anew", request_.checkpoint));
    return Done{};
  }
  for (const std::string& path : damaged)
    if (speaks() && path > *latest)
      progress_.say(TrainNote::Kind::skipping,
                    fmt::format("skipping {}: its COMMIT is missing or damaged", path));
  return load_last_whole();
}

// All ranks skip a checkpoint that one rank cannot read. It is renamed, so that it does not count
// among those that are kept.
Result<Done> TrainRun::load_last_whole() {
  std::vector<std::string> left = zero::committed_checkpoints(request_.checkpoint);
  std::vector<std::string> unreadable;
  Result<Done> first = Done{};
  for (; !left.empty(); left.pop_back()) {
    auto loaded = zero::load_checkpoint(*engine_, comm_, left.back());
    if (loaded) {
      if (speaks())
        for (const std::string& path : unreadable) zero::set_aside_checkpoint(path);
      if (speaks()) progress_.say(TrainNote::Kind::resuming, "going on from " + left.back());
      return loaded;
    }
    if (first) first = loaded;
    const ErrorCode code = loaded.error().code;
    constexpr std::int64_t stops = -1;
    std::array<std::int64_t, 1> reader = {code == ErrorCode::other_model  ? stops
                                          : code == ErrorCode::other_rank ? comm_.size()
                                                                          : comm_.rank()};
    const auto agreed =
        wait_for(comm_, all_reduce(comm_, reader, "unreadable checkpoints", Reduction::min));
    if (!agreed) return agreed.error();
    if (reader[0] == stops) break;
    if (left.size() > 1 && speaks())
      progress_.say(TrainNote::Kind::skipping,
                    fmt::format("skipping {}: {}", left.back(),
                                code == ErrorCode::other_rank
                                    ? fmt::format("rank {} cannot read its part", reader[0])
                                    : loaded.error().message()));
    unreadable.push_back(left.back());
  }
  return first;
}

// If one rank failed, all ranks stop. The first rank that knows the reason reports it.
Result<Done> TrainRun::agree_on(const Result<Done>& mine, std::string_view what) {
  const bool knows = !mine && mine.error().code != ErrorCode::other_rank;
  std::array<std::int64_t, 1> first = {mine    ? 2 * comm_.size()
                                       : knows ? comm_.rank()
                                               : comm_.size() + comm_.rank()};
  const auto agreed = wait_for(comm_, all_reduce(comm_, first, what, Reduction::min));
  if (!agreed) return mine ? agreed.error() : mine.error();
  if (first[0] == 2 * comm_.size()) return Done{};
  return first[0] % comm_.size() == comm_.rank() ? mine.error() : said_by_another_rank();
}

Result<Done> TrainRun::open_account() {
  account_ =
      std::make_unique<TrainAccount>(*engine_, *recorder_, comm_.rank(), comm_.size(), progress_);
  if (!request_.live.empty()) {
    auto file = StepFile::open(
        request_.live,
        {.rank = comm_.rank(), .world = comm_.size(), .host = host_name(), .pid = ::getpid()});
    if (!file) return file.error();
    step_file_ = std::make_unique<StepFile>(std::move(*file));
  }
  if (request_.metrics.empty() || !speaks()) return Done{};
  return account_->open_metrics(request_.metrics, request_.token_file);
}

// From the end of the step before: what lies between two steps belongs to the later one.
void TrainRun::trace_step(std::int64_t step) {
  const std::int64_t of_run = step - history_.first_step;
  // The first step warms caches and pages up.
  if (request_.trace.empty() ? of_run > 0 : request_.trace_steps.records(of_run))
    trace_->start();
  else
    trace_->stop();
}

void TrainRun::tell(const zero::StepResult& r, std::optional<double> validation) const {
  if (!progress_.step) return;
  const StepRecord& step = *recorder_->last_step();
  TrainedStep told{.index = r.step,
                   .loss = r.loss,
                   .gradient_norm = r.gradient_norm,
                   .learning_rate = r.learning_rate,
                   .tokens = r.tokens,
                   .wall = step.end - step.begin,
                   .validation_loss = validation,
                   .late = account_->late_now(),
                   .skipped = r.skipped ? engine_->last_non_finite().where : std::string()};
  if (peak_) told.mfu = step.model_flops.value / (seconds(told.wall).count() * peak_->rate.value);
  progress_.step(told);
}

Result<Done> TrainRun::share_account() {
  std::vector<ExtraGauge> gauges;
  if (!history_.steps.empty()) {
    const zero::StepResult& r = history_.steps.back().result;
    gauges = {{"step", "", "Steps of the run, those before a resume included.",
               static_cast<double>(r.step + 1)},
              {"loss", "", "Mean over the tokens of the last step.", r.loss},
              {"learning_rate", "", "Of the last step.", r.learning_rate}};
    if (!r.skipped)
      gauges.push_back(
          {"gradient_norm", "", "Of the mean loss, before clipping.", r.gradient_norm});
  }
  return account_->share(std::move(gauges));
}

// A failure to write is reported once, until writing succeeds again.
void TrainRun::write_step(const StepRecord& step) {
  const auto written = step_file_->write(step);
  if (!written && !step_file_failed_) progress_.fail(written.error());
  step_file_failed_ = !written;
}

void TrainRun::after_step(const zero::StepResult& result, std::optional<double> validation) {
  StepRecord step = *recorder_->last_step();
  step.index = result.step;
  if (step_file_) write_step(step);
  trace_->step_done(step);
  if (request_.trace.empty()) trace_->keep_about(verdict_steps);
  trace_step(result.step + 1);
  history_.steps.push_back({result, validation});
  if (speaks()) tell(result, validation);
}

zero::TrainerHooks TrainRun::hooks() {
  zero::TrainerHooks hooks;
  hooks.before_step = [this](std::int64_t step) {
    observer_->before_step(step);
    engine_->overlap(observer_->overlaps());
  };
  hooks.before_data = [this](std::int64_t step) { observer_->before_data(step); };
  hooks.after_step = [this](const zero::StepResult& r, std::optional<double> v) {
    after_step(r, v);
  };
  hooks.after_checkpoint = [this](const Result<std::string>& written) {
    if (written)
      history_.checkpoints.push_back(*written);
    else
      history_.warnings.push_back(msg::plain(written.error().message()));
    if (!written) progress_.fail(written.error());
  };
  hooks.stop = [this] { return progress_.stopped(); };
  hooks.wants_exchange = [this] { return account_->due(); };
  hooks.exchange = [this] { return share_account(); };
  return hooks;
}

Result<Done> TrainRun::write_trace() {
  trace_->stop();
  if (request_.trace.empty()) return Done{};
  const Trace trace = zero::make_trace(trace_options_, trace_->rows());
  const RankToWrite rank{.rank = comm_.rank(), .trace = &trace};
  const auto path =
      std::filesystem::path(request_.trace) / fmt::format("rank_{}.json.gz", comm_.rank());
  return write_chrome_trace(std::span(&rank, 1), path.string());
}

Result<TrainResult> TrainRun::finish() {
  if (auto settled = engine_->settle(); !settled) return settled.error();
  if (auto shared = share_account(); !shared) return shared.error();
  const auto traced = agree_on(write_trace(), "traces");
  if (auto exported = write_weights(*engine_, comm_, request_); !exported) return exported.error();
  auto generated = generate_text(*engine_, comm_, request_);
  if (!generated) return generated.error();
  if (!traced) return traced.error();
  auto rows = gather_rows(comm_, trace_options_, trace_->rows());
  if (!rows) return rows.error();
  std::optional<TrainIsolation> isolated;
  if (isolation_ != nullptr && !stopped_early()) {
    auto measured = isolate_training(*engine_, *isolation_, *recorder_, *data_);
    if (!measured) return measured.error();
    isolated = std::move(*measured);
  }
  if (!speaks()) return TrainResult{.has_results = false, .interrupted = stopped_early()};
  TrainResult result = train_result_of(request_, *engine_, comm_, *account_, history_, references_);
  result.interrupted = stopped_early();
  result.isolation = std::move(isolated);
  result.generated = std::move(*generated);
  result.verdict = verdict_of(std::move(*rows), history_.first_step);
  return result;
}

Result<TrainResult> TrainRun::all() {
  observer_ = std::make_unique<FaultObserver>(faults_, comm_.rank(), progress_);
  observer_->reach(FaultPhase::start);
  if (auto done = agree_on(prepare(), "preparations"); !done) return done.error();
  if (auto done = agree_on(places(), "places to write to"); !done) return done.error();
  if (auto done = agree_on(start_from(), "weights to start from"); !done) return done.error();
  if (auto done = agree_on(open_account(), "places for metrics"); !done) return done.error();
  const auto offset = unix_offset(comm_, to_rank_0_);
  if (!offset) return offset.error();
  if (request_.peak) {
    peak_ =
        nn::FmaPeak{.rate = *request_.peak, .sustained = *request_.peak, .instructions = "given"};
  } else {
    peak_ = nn::fma_peak(settings_.engine.type, Ns{200'000'000});
  }
  auto references = measure_references(comm_, settings_.engine);
  if (!references) return references.error();
  references_ = std::move(references->rates);
  history_.warnings = std::move(references->warnings);
  if (peak_) {
    references_.peak = peak_->rate;
    references_.peak_source = peak_->instructions;
  }
  account_->set_references(references_);
  trace_options_ = {.rank = comm_.rank(),
                    .world = comm_.size(),
                    .type = settings_.engine.type,
                    .transport = request_.transport,
                    .host = host_name(),
                    .unix_offset = *offset};
  trace_ = std::make_unique<zero::TraceRecorder>(trace_options_, *recorder_);
  observer_->forward_to(trace_.get());
  engine_->observe(observer_.get());
  history_.first_step = engine_->cursor().step;
  recorder_->end_step(0, Flops{}, Flops{});  // what came before is no step
  (void)recorder_->take_window();
  trace_step(history_.first_step);
  if (history_.first_step >= settings_.trainer.steps && speaks())
    progress_.say(TrainNote::Kind::nothing_to_train,
                  fmt::format("nothing to train: this is step {} of --steps {}",
                              history_.first_step, settings_.trainer.steps));
  training_ = true;
  auto trained = zero::train(*engine_, comm_, *recorder_, *data_, settings_.trainer, hooks());
  engine_->observe(nullptr);
  engine_->overlap(true);
  if (trained) {
    training_ = false;
    return finish();
  }
  // Values that are not finite stop all ranks at once: one says it.
  const bool all_know = engine_->last_non_finite().step == engine_->cursor().step;
  return all_know && !speaks() ? said_by_another_rank() : trained.error();
}

}  // namespace

Result<TrainResult> train_rank(const TrainRequest& request, std::unique_ptr<Communicator> comm,
                               const TrainProgress& progress) {
  auto settings = train_settings(request, comm->size());
  if (!settings) return settings.error();
  std::vector<TrainFault> faults = request.faults;
  if (rank_restarts() > 0) std::erase_if(faults, ends_a_rank);  // they were shown
  comm->set_deadline(request.deadline);
  for (const TrainFault& f : faults)
    if (f.kind == FaultKind::throttle) comm = throttle(std::move(comm), f.time, f.rate);
  Isolation* isolation = nullptr;
  if (request.isolate) {
    auto wrapped = std::make_unique<Isolation>(std::move(comm));
    isolation = wrapped.get();
    comm = std::move(wrapped);
  }
  TrainRun run(request, std::move(*settings), std::move(faults), *comm, isolation, progress);
  auto result = run.all();
  if (result) return result;
  Error error = result.error();
  if (error.code == ErrorCode::reported) return error;
  // A group that has failed says so again.
  const auto again = comm->test({});
  const bool lost = error.code == ErrorCode::group_failed && !again &&
                    again.error().code == ErrorCode::group_failed;
  error.code = lost ? ErrorCode::group_failed : ErrorCode::failed;
  // Each rank has its own view of what failed; the first to fail says it, the others name it.
  error.what = fmt::format("rank {}{}: {}", comm->rank(), run.at_step(), error.what);
  return error;
}

}  // namespace stepscope
