// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/analyze_flags.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "stepscope/cli/plan_fields.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/model_json.h"
#include "stepscope/cost/plan/plan_json.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// CLI11's own prints the range of a double in full.
CLI::Validator positive_number() {
  return {[](const std::string& text) {
            char* end = nullptr;
            const double value = std::strtod(text.c_str(), &end);
            return *end == '\0' && value > 0 && std::isfinite(value)
                       ? std::string()
                       : text + " is no positive number";
          },
          "POSITIVE"};
}

// "A:B", "A:", ":B" or "N".
Result<Done> parse_steps(AnalyzeFlags& flags) {
  const std::string_view text = flags.steps_text;
  if (text.empty()) return Done{};
  const Error wrong{.what = "--steps " + flags.steps_text + " is no range",
                    .hint = "write A:B, A:, :B or N"};
  const std::size_t colon = text.find(':');
  const std::string_view from = text.substr(0, colon);
  const std::string_view to = colon == std::string_view::npos ? from : text.substr(colon + 1);
  if (!from.empty()) flags.first_step = whole(from);
  if (!to.empty()) flags.last_step = whole(to);
  if ((!from.empty() && !flags.first_step) || (!to.empty() && !flags.last_step) ||
      (from.empty() && to.empty()) ||
      flags.first_step.value_or(0) >
          flags.last_step.value_or(std::numeric_limits<std::int64_t>::max()))
    return wrong;
  return Done{};
}

// "0,2,8-15".
Result<Done> parse_ranks(AnalyzeFlags& flags) {
  std::istringstream list(flags.ranks_text);
  std::string part;
  while (std::getline(list, part, ',')) {
    const std::size_t dash = part.find('-');
    const auto from = whole(part.substr(0, dash));
    const auto to = dash == std::string::npos ? from : whole(part.substr(dash + 1));
    if (!from || !to || *from > *to || *to > 10'000'000)
      return Error{.what = "--ranks " + flags.ranks_text + " is no list of ranks",
                   .hint = "write 0,2,8-15"};
    for (std::int64_t r = *from; r <= *to; ++r) flags.ranks.insert(static_cast<int>(r));
  }
  return Done{};
}

// "10s", "500ms", "0".
std::optional<Ns> instant(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value >= 0)) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  const auto known = time_unit(unit);
  if (!known && !(unit.empty() && value == 0)) return std::nullopt;
  const double ns = value * (known ? ns_per(*known) : 1);
  return ns < 1e18 ? std::optional(Ns{static_cast<std::int64_t>(ns)}) : std::nullopt;
}

// "10s/20s", "500ms/", "/30s".
Result<Done> parse_window(AnalyzeFlags& flags) {
  const std::string_view text = flags.window_text;
  if (text.empty()) return Done{};
  const std::size_t slash = text.find('/');
  const std::string_view from = text.substr(0, slash);
  const std::string_view until = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  TimeWindow window;
  const auto first = from.empty() ? std::optional(window.from) : instant(from);
  const auto last = until.empty() ? std::optional(window.until) : instant(until);
  if (slash == std::string_view::npos || !first || !last || *first >= *last)
    return Error{.what = "--filter-time " + flags.window_text + " is no span of time",
                 .hint = "write FROM/UNTIL with units (ns, us, ms, s), as 10s/20s, 500ms/ or /30s"};
  flags.window = {.from = *first, .until = *last};
  return Done{};
}

Result<Done> read_groups(AnalyzeFlags& flags) {
  if (flags.groups_file.empty()) return Done{};
  std::ifstream file(flags.groups_file);
  if (!file)
    return Error{.what = "cannot open", .file = flags.groups_file, .hint = "check the path"};
  std::ostringstream text;
  text << file.rdbuf();
  auto groups = parse_group_dimensions(text.str());
  if (!groups) {
    Error error = groups.error();
    error.file = flags.groups_file;
    return error;
  }
  flags.dimensions = std::move(*groups);
  return Done{};
}

}  // namespace

namespace {

// What of a plan has no flag of its own here already.
void declare_plan_flags(CLI::App& app, PlanSource& plan) {
  static constexpr std::array<std::string_view, 5> here = {"tp", "pp", "dp", "seq", "global-batch"};
  std::vector<std::string_view> names;
  for (const PlanField& field : plan_fields())
    if (std::ranges::find(here, field.name) == here.end()) names.push_back(field.name);
  app.add_option(
         "--plan", plan.plan_file,
         "The plan of the run as JSON (docs/reference/plans.md), for what the model expects of it; "
         "flags override it")
      ->type_name("FILE")
      ->group("Plan");
  app.add_option("--gpus-per-node", plan.gpus_per_node, "Devices that share the fast links")
      ->check(positive_number())
      ->type_name("N")
      ->group("Plan");
  declare_fields(app, plan, names);
}

}  // namespace

void declare_traces(CLI::App& app, AnalyzeFlags& f) {
  app.add_option("INPUT", f.inputs,
                 "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, "
                 "patterns")
      ->required();
  app.add_option("--steps", f.steps_text, "Only these steps: A:B, A:, :B or N")->type_name("A:B");
  app.add_option("--ranks", f.ranks_text, "Only these ranks: 0,2,8-15")->type_name("LIST");
  app.add_option("--filter-time", f.window_text,
                 "Only what lies between, since the capture began: 10s/20s, 500ms/, /30s (exports "
                 "of Nsight Systems; memory is for that alone)")
      ->type_name("FROM/UNTIL");
  app.add_option("--step-annotation", f.step_annotation,
                 "Steps are the annotations of this name, or with this name before their number "
                 "(default ProfilerStep, else ranges called iterations)")
      ->type_name("NAME");
  app.add_option("--groups", f.groups_file,
                 "Which dimension a process group serves: lines 'group dp|tp|sp|pp|cp|ep'")
      ->type_name("FILE");
  app.add_option("--tp", f.tp, "Tensor-parallel size, where the traces do not show it")
      ->check(positive_number())
      ->type_name("N");
  app.add_option("--pp", f.pp, "Pipeline stages")->check(positive_number())->type_name("N");
  app.add_option("--dp", f.dp, "Data-parallel size")->check(positive_number())->type_name("N");
  app.add_option("--threads", f.threads, "Threads to use (default: all cores)")
      ->check(positive_number())
      ->type_name("N");
}

void declare(CLI::App& app, AnalyzeFlags& f) {
  declare_traces(app, f);
  app.get_option("INPUT")->description(
      "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, patterns; or a "
      "job's table of operations (CSV, Parquet; docs/explanation/stragglers.md)");
  app.add_option("--json", f.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.html, "Write one self-contained page")->type_name("FILE");
  app.add_option("--csv", f.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  app.add_option("--perfetto", f.perfetto,
                 "Write all ranks as one trace for ui.perfetto.dev: native (.pftrace, .pftrace.gz) "
                 "or Chrome's JSON (.json, .json.gz)")
      ->type_name("FILE");
  app.add_option("--write-machine", f.write_machine,
                 "Write the machine with its links fitted to the measured transfers, for --machine")
      ->type_name("FILE");
  app.add_flag("--timeline", f.timeline, "Put the page's reduced timeline into the JSON too");
  app.add_option("--model-flops-per-step", f.model_flops_per_step,
                 "FLOPs of the model for one global batch, without recompute: gives MFU")
      ->check(positive_number())
      ->type_name("N");
  app.add_option(
         "--model", f.model_name,
         "The model, to count those FLOPs by every convention and to expect the step: a name, a "
         "file of ours or a Hugging Face config.json")
      ->type_name("NAME|FILE");
  app.add_option("--global-batch", f.global_batch, "Sequences of one optimizer step, for --model")
      ->check(positive_number())
      ->type_name("N");
  app.add_option("--seq", f.sequence, "Tokens of a sequence, for --model")
      ->check(positive_number())
      ->type_name("N");
  declare_plan_flags(app, f.plan);
  app.add_option("--peak-tflops", f.peak_tflops, "Peak of one device, instead of the catalogue's")
      ->check(positive_number())
      ->type_name("N");
  app.add_option(
         "--peak-dtype", f.dtype_text,
         "Which peak counts where the trace does not show the format: bf16, fp16, fp8, tf32, fp32")
      ->type_name("FORMAT");
  app.add_option("--machine", f.machine_file,
                 "The device: a machine of the catalogue or a file (as data/machines/*.json)")
      ->type_name("NAME|FILE");
  app.add_option("--price", f.price_per_gpu_hour,
                 "Price of a GPU-hour: each loss also in money a day")
      ->check(positive_number())
      ->type_name("N");
  app.footer("Example: stepscope analyze examples/train_tiny/traces/ddp --html report.html");
}

namespace {

bool is_given(const PlanSource& plan) {
  return !plan.plan_file.empty() ||
         std::ranges::any_of(plan.values, [](const std::string& v) { return !v.empty(); });
}

// A plan file has the batch too.
Result<Done> batch_of_plan(AnalyzeFlags& f) {
  if (f.plan.plan_file.empty()) return Done{};
  const auto plan = read_plan(f.plan.plan_file);
  if (!plan) return plan.error();
  if (f.global_batch == 0) f.global_batch = plan->global_batch;
  if (f.sequence == 0) f.sequence = plan->sequence;
  return Done{};
}

Result<Done> count_model_flops(AnalyzeFlags& f) {
  if (f.model_name.empty()) {
    if (f.global_batch > 0 || f.sequence > 0)
      return Error{.what = "--global-batch and --seq are of a model", .hint = "give --model NAME"};
    if (is_given(f.plan)) return Error{.what = "a plan is of a model", .hint = "give --model NAME"};
    if (f.model_flops_per_step > 0)
      f.model_flops = {{std::string(flops_as_given), Flops{f.model_flops_per_step}}};
    return Done{};
  }
  if (f.model_flops_per_step > 0)
    return Error{.what = "--model and --model-flops-per-step are two answers to one question",
                 .hint = "give one of them"};
  auto model = find_model(f.model_name);
  if (!model) return model.error();
  if (const auto read = batch_of_plan(f); !read) return read.error();
  if (f.sequence == 0 && model->patches) f.sequence = image_tokens(*model->patches);
  if (f.global_batch == 0 || f.sequence == 0)
    return Error{.what = "--model needs the batch of a step",
                 .hint = "give --global-batch N and --seq N"};
  for (std::size_t c = 0; c < flops_convention_count; ++c)
    f.model_flops.push_back(stepscope::model_flops(*model, f.global_batch * f.sequence, f.sequence,
                                                   static_cast<FlopsConvention>(c)));
  f.model = std::move(*model);
  return Done{};
}

}  // namespace

Result<Done> resolve(AnalyzeFlags& f) {
  for (const auto& part : {parse_steps(f), parse_ranks(f), parse_window(f), read_groups(f)})
    if (!part) return part.error();
  const auto positive = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  f.sizes = {positive(f.tp), positive(f.pp), positive(f.dp)};
  if (!f.machine_file.empty()) {
    auto machine = machine_named(f.machine_file);
    if (!machine) return machine.error();
    f.machine = std::move(*machine);
  }
  if (!f.dtype_text.empty()) {
    f.dtype = parse_dtype(f.dtype_text);
    if (!f.dtype)
      return Error{.what = "--peak-dtype " + f.dtype_text + " is unknown",
                   .hint = "write bf16, fp16, fp8, tf32 or fp32"};
  }
  if (const auto counted = count_model_flops(f); !counted) return counted.error();
  if (f.peak_tflops > 0) f.peak = FlopRate{f.peak_tflops * 1e12};
  if (f.price_per_gpu_hour > 0) f.price = f.price_per_gpu_hour;
  if (f.threads == 0) f.threads = std::max(1U, std::thread::hardware_concurrency());
  return Done{};
}

const Machine* machine_of(const AnalyzeFlags& flags, const JobResult& job) {
  if (flags.machine) return &*flags.machine;
  for (const RankResult& r : job.ranks)
    if (!r.gpu_name.empty()) return find_machine(r.gpu_name, r.gpu_memory);
  return nullptr;
}

}  // namespace stepscope
