// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/train_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "stepscope/cli/outputs.h"
#include "stepscope/cli/subcommand.h"
#include "stepscope/cli/terminal.h"
#include "stepscope/cli/train_isolate.h"
#include "stepscope/cli/train_observer.h"
#include "stepscope/cli/train_report_of.h"
#include "stepscope/cli/train_setup.h"
#include "stepscope/cli/train_weights.h"
#include "stepscope/comm/clock_offset.h"
#include "stepscope/comm/throttle.h"
#include "stepscope/nn/fma_peak.h"
#include "stepscope/report/format.h"
#include "stepscope/telemetry/metrics_output.h"
#include "stepscope/telemetry/openmetrics.h"
#include "stepscope/telemetry/window_bytes.h"
#include "stepscope/write/chrome_trace.h"
#include "stepscope/zero/trace_recorder.h"

namespace stepscope {
namespace {

// From this rank's clock to Unix time by rank 0's, so that the traces of all ranks have one clock.
Result<Ns> unix_offset(Communicator& comm, Ns to_rank_0) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::vector<std::int64_t> offset = {
      (std::chrono::duration_cast<Ns>(now) - monotonic_now()).count()};
  const auto told = wait_for(comm, broadcast(comm, offset, 0, "clock"));
  if (!told) return told.error();
  return Ns{offset[0]} + to_rank_0;
}

// The windows of all ranks, at every rank.
Result<JobWindow> gather_windows(Communicator& comm, const RankWindow& own) {
  std::vector<std::byte> bytes;
  encode(own, bytes);
  std::vector<std::int64_t> size = {static_cast<std::int64_t>(bytes.size())};
  auto sized = wait_for(comm, all_reduce(comm, size, "window sizes", Reduction::max));
  if (!sized) return sized.error();
  const auto each = static_cast<std::size_t>(size[0]);
  bytes.resize(each);
  std::vector<std::byte> all(each * static_cast<std::size_t>(comm.size()));
  auto told = wait_for(comm, all_gather(comm, bytes, all, "windows"));
  if (!told) return told.error();
  std::vector<RankWindow> windows;
  for (std::size_t r = 0; r < static_cast<std::size_t>(comm.size()); ++r) {
    auto window = decode_window(std::span(all).subspan(r * each, each));
    if (!window) return window.error();
    windows.push_back(std::move(*window));
  }
  return gather(windows);
}

class Run {
 public:
  // `isolation`: the same as comm, where that is to be measured, else null.
  Run(const TrainFlags& flags, TrainSettings settings, Communicator& comm, Isolation* isolation,
      const StopFlag& stop)
      : flags_(flags),
        settings_(std::move(settings)),
        comm_(comm),
        isolation_(isolation),
        stop_(stop) {}

  [[nodiscard]] Result<Done> all();
  [[nodiscard]] bool stopped_early() const {
    return stop_.requested() && engine_ && engine_->cursor().step < settings_.trainer.steps;
  }

 private:
  [[nodiscard]] bool speaks() const { return comm_.rank() == 0; }
  [[nodiscard]] Result<Done> prepare();
  [[nodiscard]] Result<Done> start_from();
  [[nodiscard]] Result<Done> open_metrics();
  [[nodiscard]] Result<Done> finish();
  [[nodiscard]] Result<Done> write_trace();
  void trace_step(std::int64_t step);
  void after_step(const zero::StepResult& result, std::optional<double> validation);
  void progress(const zero::StepResult& result, std::optional<double> validation);
  void publish();
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
  std::unique_ptr<MetricsOutput> metrics_;
  RankWindow window_;  // of this rank, all steps so far
  TrainHistory history_;
  std::optional<nn::FmaPeak> peak_;
};

Result<Done> Run::prepare() {
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

Result<Done> Run::start_from() {
  if (!flags_.init_from.empty())
    if (auto read = read_weights(*engine_, flags_.init_from); !read) return read;
  if (!flags_.resume) return Done{};
  const auto latest = zero::latest_checkpoint(flags_.checkpoint);
  if (!latest) {
    if (speaks())
      fmt::print(stderr, "no committed checkpoint in {}: starting anew\n", flags_.checkpoint);
    return Done{};
  }
  if (speaks()) fmt::print(stderr, "going on from {}\n", *latest);
  return zero::load_checkpoint(*engine_, comm_, *latest);
}

Result<Done> Run::open_metrics() {
  if (flags_.metrics.empty() || !speaks()) return Done{};
  const auto target = metrics_target(flags_.metrics);
  if (!target) return target.error();
  auto output = MetricsOutput::open(*target);
  if (!output) return output.error();
  metrics_ = std::move(*output);
  return Done{};
}

// From the end of the step before: what lies between two steps belongs to the later one.
void Run::trace_step(std::int64_t step) {
  if (!trace_) return;
  if (settings_.trace.records(step - history_.first_step))
    trace_->start();
  else
    trace_->stop();
}

void Run::progress(const zero::StepResult& r, std::optional<double> validation) {
  if (flags_.quiet) return;
  const StepRecord& step = *recorder_->last_step();
  const double seconds = stepscope::seconds(step.end - step.begin).count();
  const double tokens = static_cast<double>(r.tokens) / seconds;
  std::string line =
      fmt::format("step {:>5}  loss {:.4f}  norm {:.3f}  lr {:.2e}  {:>7} tokens/s", r.step, r.loss,
                  r.gradient_norm, r.learning_rate, format_count(tokens));
  if (peak_)
    line += fmt::format("  {:>5.1f} % MFU",
                        100 * step.model_flops.value / (seconds * peak_->rate.value));
  if (validation) line += fmt::format("  validation {:.4f}", *validation);
  if (r.skipped) line += "  SKIPPED: " + engine_->last_non_finite().where;
  fmt::print(stderr, "{}\n", line);
}

// What rank 0 saw: the job's account is gathered at the end.
void Run::publish() {
  if (!metrics_) return;
  const auto own = gather(std::span(&window_, 1));
  if (own) metrics_->publish(openmetrics(*own));
  if (const auto error = metrics_->take_error())
    fmt::print(stderr, "stepscope: {}\n", error->message());
}

void Run::after_step(const zero::StepResult& result, std::optional<double> validation) {
  if (trace_) {
    StepRecord step = *recorder_->last_step();
    step.index = result.step;
    trace_->step_done(step);
  }
  trace_step(result.step + 1);
  if (const auto joined = concat(window_, recorder_->take_window())) window_ = *joined;
  history_.steps.push_back({result, validation});
  if (!speaks()) return;
  progress(result, validation);
  publish();
}

zero::TrainerHooks Run::hooks() {
  zero::TrainerHooks hooks;
  hooks.before_step = [this](std::int64_t step) { observer_->before_step(step); };
  hooks.before_data = [this](std::int64_t step) { observer_->before_data(step); };
  hooks.after_step = [this](const zero::StepResult& r, std::optional<double> v) {
    after_step(r, v);
  };
  hooks.after_checkpoint = [this](const Result<std::string>& written) {
    if (written)
      history_.checkpoints.push_back(*written);
    else
      history_.warnings.push_back(written.error().message());
    if (!written) fmt::print(stderr, "stepscope: {}\n", written.error().message());
  };
  hooks.stop = [this] { return stop_.requested(); };
  return hooks;
}

Result<Done> Run::write_trace() {
  if (!trace_) return Done{};
  trace_->stop();
  std::error_code code;
  std::filesystem::create_directories(flags_.trace, code);
  if (code)
    return Error{.what = "cannot make the directory: " + code.message(), .file = flags_.trace};
  const Trace trace = trace_->trace();
  const RankToWrite rank{.rank = comm_.rank(), .trace = &trace};
  const auto path =
      std::filesystem::path(flags_.trace) / fmt::format("rank_{}.json.gz", comm_.rank());
  return write_chrome_trace(std::span(&rank, 1), path.string());
}

Result<Done> Run::finish() {
  const auto job = gather_windows(comm_, window_);
  if (!job) return job.error();
  auto traced = write_trace();
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
  TrainReport report = train_report_of(flags_, *engine_, comm_, *job, history_, peak_);
  report.isolation = std::move(isolated);
  write_json_text(flags_.json,
                  flags_.json.empty() ? std::string() : train_tree(report).dump(2) + "\n",
                  failures);
  if (!flags_.csv.empty()) write_tables(flags_.csv, train_csv(report), failures);
  if (flags_.json != "-")
    fmt::print("{}", train_text(report, {.width = terminal_width(), .colour = wants_colour()}));
  flush_output(failures);
  if (failures.any()) return Error{.what = "not everything could be written"};
  return Done{};
}

Result<Done> Run::all() {
  if (auto done = prepare(); !done) return done;
  if (flags_.plan_only) {
    if (speaks()) fmt::print("{}", zero::plan_text(engine_->plan()));
    return Done{};
  }
  if (auto done = start_from(); !done) return done;
  if (auto done = open_metrics(); !done) return done;
  const auto offset = unix_offset(comm_, to_rank_0_);
  if (!offset) return offset.error();
  if (flags_.peak_tflops > 0)
    peak_ = nn::FmaPeak{FlopRate{flags_.peak_tflops * 1e12}, "given"};
  else
    peak_ = nn::fma_peak(settings_.engine.type, Ns{200'000'000});
  if (!flags_.trace.empty())
    trace_ = std::make_unique<zero::TraceRecorder>(zero::TraceOptions{.rank = comm_.rank(),
                                                                      .world = comm_.size(),
                                                                      .type = settings_.engine.type,
                                                                      .transport = flags_.transport,
                                                                      .unix_offset = *offset},
                                                   *recorder_);
  observer_ = std::make_unique<FaultObserver>(settings_.faults, comm_.rank(), trace_.get());
  if (trace_ || !settings_.faults.empty()) engine_->observe(observer_.get());
  history_.first_step = engine_->cursor().step;
  recorder_->end_step(0, Flops{}, Flops{});  // what came before is no step
  (void)recorder_->take_window();
  trace_step(history_.first_step);
  auto trained = zero::train(*engine_, comm_, *recorder_, *data_, settings_.trainer, hooks());
  engine_->observe(nullptr);
  if (!trained) return trained;
  return finish();
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
  Run run(flags, std::move(*settings), *comm, isolation, stop);
  const auto done = run.all();
  if (!done) {
    // Each rank has its own view of what failed; the first to fail says it, the others name it.
    Error error = done.error();
    error.what = fmt::format("rank {}: {}", comm->rank(), error.what);
    failures.add(error);
    return exit_failed;
  }
  return run.stopped_early() ? exit_interrupted : exit_done;
}

}  // namespace stepscope
