// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/inputs/traces_flags.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"
#include "stepscope/face/help/flag_values.h"
#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  const auto value = number_of<std::int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

// "A:B", "A-B", "A:", ":B" or "N".
Result<Done> parse_steps(const TracesFlags& flags, TracesRequest& request) {
  const std::string_view text = flags.steps;
  if (text.empty()) return Done{};
  const Error wrong{.what = "--steps " + flags.steps + " is no range",
                    .hint = "write A:B, A-B, A:, :B or N"};
  const std::size_t colon = text.find_first_of(":-");
  const std::string_view from = text.substr(0, colon);
  const std::string_view to = colon == std::string_view::npos ? from : text.substr(colon + 1);
  if (!from.empty()) request.first_step = whole(from);
  if (!to.empty()) request.last_step = whole(to);
  if ((!from.empty() && !request.first_step) || (!to.empty() && !request.last_step) ||
      (from.empty() && to.empty()) || text.starts_with('-') || text.ends_with('-') ||
      request.first_step.value_or(0) >
          request.last_step.value_or(std::numeric_limits<std::int64_t>::max()))
    return wrong;
  return Done{};
}

// "0,2,8-15".
Result<Done> parse_ranks(const TracesFlags& flags, TracesRequest& request) {
  std::istringstream list(flags.ranks);
  std::string part;
  while (std::getline(list, part, ',')) {
    const std::size_t dash = part.find_first_of(":-");
    const auto from = whole(part.substr(0, dash));
    const auto to = dash == std::string::npos ? from : whole(part.substr(dash + 1));
    if (!from || !to || *from > *to || *to > 10'000'000)
      return Error{.what = "--ranks " + flags.ranks + " is no list of ranks",
                   .hint = "write 0,2,8-15 (or 8:15)"};
    for (std::int64_t r = *from; r <= *to; ++r) request.ranks.insert(static_cast<int>(r));
  }
  return Done{};
}

// "10s", "500ms", "0".
std::optional<Ns> instant(std::string_view text) {
  const auto value = take_number<double>(text);
  if (!value || !(*value >= 0)) return std::nullopt;
  const auto known = time_unit(text);
  if (!known && !(text.empty() && *value == 0)) return std::nullopt;
  const double ns = *value * (known ? ns_per(*known) : 1);
  return ns < 1e18 ? std::optional(Ns{static_cast<std::int64_t>(ns)}) : std::nullopt;
}

// "10s:20s", "500ms:", ":30s"; a slash does as well, as nsys writes it.
Result<Done> parse_window(const TracesFlags& flags, TracesRequest& request) {
  const std::string_view text = flags.window;
  if (text.empty()) return Done{};
  const std::size_t middle = text.find_first_of(":/");
  const std::string_view from = text.substr(0, middle);
  const std::string_view until = middle == std::string_view::npos ? "" : text.substr(middle + 1);
  TimeWindow window;
  const auto first = from.empty() ? std::optional(window.from) : instant(from);
  const auto last = until.empty() ? std::optional(window.until) : instant(until);
  if (middle == std::string_view::npos || !first || !last || *first >= *last)
    return Error{.what = "--filter-time " + flags.window + " is no span of time",
                 .hint = "write FROM:UNTIL with units (ns, us, ms, s), as 10s:20s, 500ms: or :30s"};
  request.window = {.from = *first, .until = *last};
  return Done{};
}

Result<Done> read_groups(const TracesFlags& flags, TracesRequest& request) {
  if (flags.groups_file.empty()) return Done{};
  const auto text = read_text(flags.groups_file, 16 << 20);
  if (!text) return text.error();
  auto groups = parse_group_dimensions(*text);
  if (!groups) {
    Error error = groups.error();
    error.file = flags.groups_file;
    return error;
  }
  request.dimensions = std::move(*groups);
  return Done{};
}

// The flags that were given and that another verb on the same traces takes as well.
std::vector<std::string> given_flags(const TracesFlags& f) {
  std::vector<std::string> given;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) given.insert(given.end(), {flag, value});
  };
  const auto add_size = [&](const char* flag, int size) {
    if (size > 0) add(flag, std::to_string(size));
  };
  add("--steps", f.steps);
  add("--ranks", f.ranks);
  add("--filter-time", f.window);
  add("--step-annotation", f.request.step_annotation);
  add("--kernel-rules", f.request.kernel_rules);
  add("--groups", f.groups_file);
  add_size("--tp", f.tp);
  add_size("--pp", f.pp);
  add_size("--dp", f.dp);
  return given;
}

constexpr std::int64_t most_ranks = 10'000'000;
constexpr std::int64_t most_threads = 1024;

}  // namespace

void declare_step_annotation(CLI::App& app, std::string& name, const char* group) {
  app.add_option("--step-annotation", name,
                 "Name of the annotations that are steps, alone or before a number. Without it "
                 "ProfilerStep, else ranges called iterations.")
      ->type_name("NAME")
      ->group(group);
}

void declare_kernel_rules(CLI::App& app, std::string& file, const char* group) {
  app.add_option("--kernel-rules", file,
                 "Rules that give names of kernels and operators a class, before the program's own "
                 "(docs/reference/kernel-rules.md)")
      ->type_name("FILE")
      ->group(group);
}

void declare_steps(CLI::App& app, std::string& steps, const char* group) {
  app.add_option("--steps", steps, "Only these steps: A:B (or A-B), A:, :B or N")
      ->type_name("A:B")
      ->group(group);
}

void declare_threads(CLI::App& app, unsigned& threads, const char* group) {
  as_count(app.add_option("--threads", threads, "Threads to use"), 1, most_threads)
      ->default_str("all cores")
      ->group(group);
}

void declare_machine(CLI::App& app, std::string& machine, const char* what, const char* group) {
  app.add_option("--machine", machine, what)->type_name("MACHINE|FILE")->group(group);
}

void declare_trace_inputs(CLI::App& app, TracesFlags& f) {
  const char* inputs = "Inputs";
  app.add_option("INPUT", f.request.inputs,
                 "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, "
                 "patterns, URLs (https://, s3://)")
      ->required()
      ->type_name("PATH");
  declare_steps(app, f.steps, inputs);
  app.add_option("--ranks", f.ranks, "Only these ranks: 0,2,8-15 (or 8:15)")
      ->type_name("LIST")
      ->group(inputs);
  app.add_option("--filter-time", f.window,
                 "Only this span of time since the capture began: 10s:20s, 500ms: or :30s. For "
                 "exports of Nsight Systems.")
      ->type_name("FROM:UNTIL")
      ->group(inputs);
  declare_step_annotation(app, f.request.step_annotation, inputs);
  declare_kernel_rules(app, f.request.kernel_rules, inputs);
  app.add_option("--groups", f.groups_file,
                 "Dimension of each process group: lines 'group dp|tp|sp|pp|cp|ep'")
      ->type_name("FILE")
      ->group("Process groups");
  declare_threads(app, f.request.threads, "Performance");
  app.add_option(
         "--reproducer", f.request.reproducer,
         "If a check of stepscope fails on a trace, write the rows of that step there, with "
         "the names of the program replaced, for a report")
      ->type_name("FILE")
      ->group("Outputs");
}

void declare_traces(CLI::App& app, TracesFlags& f) {
  const char* ranks = "Process groups";
  declare_trace_inputs(app, f);
  as_count(app.add_option("--tp", f.tp, "Tensor-parallel devices, where the traces do not show it"),
           1, most_ranks)
      ->group(ranks);
  as_count(app.add_option("--pp", f.pp, "Pipeline stages, where the traces do not show it"), 1,
           most_ranks)
      ->group(ranks);
  as_count(app.add_option("--dp", f.dp, "Data-parallel devices, where the traces do not show it"),
           1, most_ranks)
      ->group(ranks);
}

void declare_job(CLI::App& app, JobDescription& job) {
  const char* model = "Model";
  const char* machine = "Machine";
  app.add_option("--model", job.model,
                 "Model of the run, for its FLOPs and the expected step: a name, a file of ours or "
                 "a Hugging Face config.json")
      ->type_name("MODEL|FILE")
      ->group(model);
  as_count(app.add_option("--global-batch", job.global_batch, "Sequences of one optimizer step"))
      ->group(model);
  as_count(app.add_option("--seq", job.sequence, "Tokens of a sequence"))->group(model);
  as_positive(app.add_option("--model-flops-per-step", job.model_flops_per_step,
                             "FLOPs of the model for one global batch, without recomputation, "
                             "instead of --model"))
      ->type_name("FLOPS")
      ->group(model);
  declare_machine(app, job.machine, "Device of the run: a machine of the catalogue or a file",
                  machine);
  as_positive(app.add_option("--peak-tflops", job.peak_tflops,
                             "Peak of one device in TFLOP/s, instead of the catalogue's"))
      ->type_name("TFLOPS")
      ->group(machine);
}

Result<TracesRequest> traces_request(const TracesFlags& flags) {
  TracesRequest request = flags.request;
  for (const auto& part : {parse_steps(flags, request), parse_ranks(flags, request),
                           parse_window(flags, request), read_groups(flags, request)})
    if (!part) return part.error();
  const auto positive = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  request.sizes = {positive(flags.tp), positive(flags.pp), positive(flags.dp)};
  request.flags = given_flags(flags);
  return request;
}

}  // namespace stepscope
