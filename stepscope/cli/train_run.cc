// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/rank_processes.h"
#include "stepscope/cli/say.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/train_account.h"
#include "stepscope/cli/train_isolate.h"
#include "stepscope/cli/train_observer.h"
#include "stepscope/cli/train_report_of.h"
#include "stepscope/cli/train_setup.h"
#include "stepscope/cli/train_weights.h"
#include "stepscope/comm/measured/clock_offset.h"
#include "stepscope/comm/measured/throttle.h"
#include "stepscope/nn/kernels/fma_peak.h"
#include "stepscope/words/format.h"
#include "stepscope/write/chrome_trace.h"
#include "stepscope/zero/engine/trace_recorder.h"

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
  TrainRun(const TrainFlags& flags, TrainSettings settings, Communicator& comm,
           Isolation* isolation, const StopFlag& stop)
      : flags_(flags),
        settings_(std::move(settings)),
        comm_(comm),
        isolation_(isolation),
        stop_(stop) {}

  [[nodiscard]] Result<Done> all();
  // ", step 4" while it trains.
  [[nodiscard]] std::string at_step() const {
    return training_ ? fmt::format(", step {}", engine_->cursor().step) : std::string();
  }
  [[nodiscard]] bool stopped_early() const {
    return stop_.requested() && engine_ && engine_->cursor().step < settings_.trainer.steps;
  }

 private:
  [[nodiscard]] bool speaks() const { return comm_.rank() == 0; }
  [[nodiscard]] Result<Done> prepare();
  [[nodiscard]] Result<Done> places() const;
  [[nodiscard]] Result<Done> start_from();
  [[nodiscard]] Result<Done> together(const Result<Done>& mine, std::string_view what);
  [[nodiscard]] Result<Done> open_account();
  [[nodiscard]] Result<Done> finish();
  [[nodiscard]] Result<Done> write_trace();
  void trace_step(std::int64_t step);
  void after_step(const zero::StepResult& result, std::optional<double> validation);
  void progress(const zero::StepResult& result, std::optional<double> validation);
  [[nodiscard]] Result<Done> share_account();
  [[nodiscard]] zero::TrainerHooks hooks();

  const TrainFlags& flags_;
  TrainSettings settings_;
  Communicator& comm_;
  Isolation* isolation_;
  const StopFlag& stop_;
  Ns to_rank_0_{};  // rank 0's clock less this one's
  std::optional<zero::TokenData> data_;
  std::unique_ptr<RankRecorder> recorder_;
  std::unique_ptr<zero::Engine> engine_;
  std::unique_ptr<zero::TraceRecorder> trace_;
  std::unique_ptr<FaultObserver> observer_;
  std::unique_ptr<TrainAccount> account_;
  TrainHistory history_;
  bool training_ = false;
  std::optional<nn::FmaPeak> peak_;
};

Result<Done> TrainRun::prepare() {
  if (!flags_.plan_only) {
    auto data = zero::TokenData::open(settings_.data);
    if (!data) return data.error();
    data_.emplace(std::move(*data));
  }
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
  if (speaks() && !flags_.quiet)
    for (const std::string& line : engine_->offload_descriptions())
      fmt::print(stderr, "offloaded {}\n", line);
  return Done{};
}

// Hours of training are not to end at a directory that is not there.
Result<Done> TrainRun::places() const {
  if (!speaks()) return Done{};
  namespace fs = std::filesystem;
  for (const std::string& dir : {flags_.trace, flags_.checkpoint}) {
    std::error_code code;
    if (!dir.empty()) fs::create_directories(dir, code);
    if (code) return Error{.what = "cannot make the directory: " + code.message(), .file = dir};
  }
  for (const std::string& file : {flags_.export_file, flags_.json == "-" ? "" : flags_.json}) {
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
  if (!flags_.init_from.empty())
    if (auto read = read_weights(*engine_, flags_.init_from); !read) return read;
  if (!flags_.resume) return Done{};
  const auto latest = zero::latest_checkpoint(flags_.checkpoint);
  if (!latest) {
    if (speaks()) say("no committed checkpoint in {}: starting anew\n", flags_.checkpoint);
    return Done{};
  }
  if (speaks()) say("going on from {}\n", *latest);
  auto loaded = zero::load_checkpoint(*engine_, comm_, *latest);
  if (loaded) return loaded;
  Error error = loaded.error();
  const auto all = zero::committed_checkpoints(flags_.checkpoint);
  if (all.size() > 1 && error.code != ErrorCode::other_model)
    error.hint += fmt::format("; with {} moved away, --resume goes on from {}", all.back(),
                              all[all.size() - 2]);
  return error;
}

// Where one rank could not, none goes on, and the first of those that know why says it.
Result<Done> TrainRun::together(const Result<Done>& mine, std::string_view what) {
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
  account_ = std::make_unique<TrainAccount>(*engine_, *recorder_, comm_.rank(), comm_.size());
  if (flags_.metrics.empty() || !speaks()) return Done{};
  return account_->open_metrics(flags_.metrics);
}

// From the end of the step before: what lies between two steps belongs to the later one.
void TrainRun::trace_step(std::int64_t step) {
  if (!trace_) return;
  if (settings_.trace.records(step - history_.first_step))
    trace_->start();
  else
    trace_->stop();
}

void TrainRun::progress(const zero::StepResult& r, std::optional<double> validation) {
  if (flags_.quiet) return;
  const StepRecord& step = *recorder_->last_step();
  const double seconds = stepscope::seconds(step.end - step.begin).count();
  const double tokens = static_cast<double>(r.tokens) / seconds;
  std::string line = fmt::format(
      "step {:>5}  loss {:.4f}  norm {:.3f}  lr {:.2e}  {:>10.3f} ms  {:>7} tokens/s", r.step,
      r.loss, r.gradient_norm, r.learning_rate, seconds * 1e3, format_count(tokens));
  if (peak_)
    line += fmt::format("  {:>5.1f} % MFU",
                        100 * step.model_flops.value / (seconds * peak_->rate.value));
  if (validation) line += fmt::format("  validation {:.4f}", *validation);
  for (const PersistentStraggler& late : account_->late_now()) line += "  " + late_words(late);
  if (r.skipped) line += "  SKIPPED: " + engine_->last_non_finite().where;
  say("{}\n", line);
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

void TrainRun::after_step(const zero::StepResult& result, std::optional<double> validation) {
  if (trace_) {
    StepRecord step = *recorder_->last_step();
    step.index = result.step;
    trace_->step_done(step);
  }
  trace_step(result.step + 1);
  history_.steps.push_back({result, validation});
  if (speaks()) progress(result, validation);
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
      history_.warnings.push_back(written.error().message());
    if (!written) say("stepscope: {}\n", written.error().message());
  };
  hooks.stop = [this] { return stop_.requested(); };
  hooks.wants_exchange = [this] { return account_->due(); };
  hooks.exchange = [this] { return share_account(); };
  return hooks;
}

Result<Done> TrainRun::write_trace() {
  if (!trace_) return Done{};
  trace_->stop();
  const Trace trace = trace_->trace();
  const RankToWrite rank{.rank = comm_.rank(), .trace = &trace};
  const auto path =
      std::filesystem::path(flags_.trace) / fmt::format("rank_{}.json.gz", comm_.rank());
  return write_chrome_trace(std::span(&rank, 1), path.string());
}

Result<Done> TrainRun::finish() {
  if (auto shared = share_account(); !shared) return shared;
  auto traced = together(write_trace(), "traces");
  if (auto exported = write_weights(*engine_, comm_, flags_); !exported) return exported;
  if (auto written = generate_text(*engine_, comm_, flags_); !written) return written;
  if (!traced) return traced;
  std::optional<TrainIsolation> isolated;
  if (isolation_ != nullptr && !stopped_early()) {
    auto measured = isolate_training(*engine_, *isolation_, *recorder_, *data_);
    if (!measured) return measured.error();
    isolated = std::move(*measured);
  }
  if (!speaks()) return Done{};
  Failures failures;
  TrainReport report = train_report_of(flags_, *engine_, comm_, *account_, history_, peak_);
  report.isolation = std::move(isolated);
  write_json_text(flags_.json,
                  flags_.json.empty() ? std::string() : train_tree(report).dump(2) + "\n",
                  failures);
  if (!flags_.csv.empty()) write_tables(flags_.csv, train_csv(report), failures);
  if (flags_.json != "-")
    print_text(train_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  flush_output(failures);
  if (failures.any()) return Error{.what = "not everything could be written"};
  return Done{};
}

Result<Done> TrainRun::all() {
  observer_ = std::make_unique<FaultObserver>(settings_.faults, comm_.rank());
  observer_->reach(FaultPhase::start);
  if (auto done = together(prepare(), "preparations"); !done) return done;
  if (flags_.plan_only) {
    if (speaks()) print_text(zero::plan_text(engine_->plan()));
    return Done{};
  }
  if (auto done = together(places(), "places to write to"); !done) return done;
  if (auto done = together(start_from(), "weights to start from"); !done) return done;
  if (auto done = together(open_account(), "places for metrics"); !done) return done;
  const auto offset = unix_offset(comm_, to_rank_0_);
  if (!offset) return offset.error();
  if (flags_.peak_tflops > 0) {
    const FlopRate given{flags_.peak_tflops * 1e12};
    peak_ = nn::FmaPeak{.rate = given, .sustained = given, .instructions = "given"};
  } else {
    peak_ = nn::fma_peak(settings_.engine.type, Ns{200'000'000});
  }
  if (peak_)
    account_->set_references(
        {.peak = peak_->rate, .peak_source = std::string(peak_->instructions)});
  if (!flags_.trace.empty())
    trace_ = std::make_unique<zero::TraceRecorder>(zero::TraceOptions{.rank = comm_.rank(),
                                                                      .world = comm_.size(),
                                                                      .type = settings_.engine.type,
                                                                      .transport = flags_.transport,
                                                                      .host = host_name(),
                                                                      .unix_offset = *offset},
                                                   *recorder_);
  observer_->forward_to(trace_.get());
  if (trace_ || !settings_.faults.empty()) engine_->observe(observer_.get());
  history_.first_step = engine_->cursor().step;
  recorder_->end_step(0, Flops{}, Flops{});  // what came before is no step
  (void)recorder_->take_window();
  trace_step(history_.first_step);
  if (history_.first_step >= settings_.trainer.steps && speaks())
    say("nothing to train: this is step {} of --steps {}\n", history_.first_step,
        settings_.trainer.steps);
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

int train_rank(const TrainFlags& flags, std::unique_ptr<Communicator> comm, const StopFlag& stop) {
  Failures failures;
  auto settings = train_settings(flags, comm->size());
  if (!settings) return comm->rank() == 0 ? refused(settings.error()) : exit_usage;
  comm->set_deadline(Ns{static_cast<std::int64_t>(flags.deadline * 1e9)});
  for (const Fault& f : settings->faults)
    if (f.kind == FaultKind::throttle) comm = throttle(std::move(comm), f.time, f.rate);
  Isolation* isolation = nullptr;
  if (flags.isolate) {
    auto wrapped = std::make_unique<Isolation>(std::move(comm));
    isolation = wrapped.get();
    comm = std::move(wrapped);
  }
  TrainRun run(flags, std::move(*settings), *comm, isolation, stop);
  const auto done = run.all();
  if (!done) {
    Error error = done.error();
    if (error.code == ErrorCode::reported) return exit_failed;
    // A group that has failed says so again.
    const auto again = comm->test({});
    const bool lost = error.code == ErrorCode::group_failed && !again &&
                      again.error().code == ErrorCode::group_failed;
    // Each rank has its own view of what failed; the first to fail says it, the others name it.
    error.what = fmt::format("rank {}{}: {}", comm->rank(), run.at_step(), error.what);
    failures.add(error);
    return lost ? exit_lost_peer : exit_failed;
  }
  return run.stopped_early() ? exit_interrupted : exit_done;
}

}  // namespace stepscope
