// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/traces_flags.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "stepscope/read/log/step_times.h"

namespace stepscope {
namespace {

std::optional<std::int64_t> whole(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

// "A:B", "A:", ":B" or "N".
Result<Done> parse_steps(const TracesFlags& flags, TracesRequest& request) {
  const std::string_view text = flags.steps;
  if (text.empty()) return Done{};
  const Error wrong{.what = "--steps " + flags.steps + " is no range",
                    .hint = "write A:B, A:, :B or N"};
  const std::size_t colon = text.find(':');
  const std::string_view from = text.substr(0, colon);
  const std::string_view to = colon == std::string_view::npos ? from : text.substr(colon + 1);
  if (!from.empty()) request.first_step = whole(from);
  if (!to.empty()) request.last_step = whole(to);
  if ((!from.empty() && !request.first_step) || (!to.empty() && !request.last_step) ||
      (from.empty() && to.empty()) ||
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
    const std::size_t dash = part.find('-');
    const auto from = whole(part.substr(0, dash));
    const auto to = dash == std::string::npos ? from : whole(part.substr(dash + 1));
    if (!from || !to || *from > *to || *to > 10'000'000)
      return Error{.what = "--ranks " + flags.ranks + " is no list of ranks",
                   .hint = "write 0,2,8-15"};
    for (std::int64_t r = *from; r <= *to; ++r) request.ranks.insert(static_cast<int>(r));
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
Result<Done> parse_window(const TracesFlags& flags, TracesRequest& request) {
  const std::string_view text = flags.window;
  if (text.empty()) return Done{};
  const std::size_t slash = text.find('/');
  const std::string_view from = text.substr(0, slash);
  const std::string_view until = slash == std::string_view::npos ? "" : text.substr(slash + 1);
  TimeWindow window;
  const auto first = from.empty() ? std::optional(window.from) : instant(from);
  const auto last = until.empty() ? std::optional(window.until) : instant(until);
  if (slash == std::string_view::npos || !first || !last || *first >= *last)
    return Error{.what = "--filter-time " + flags.window + " is no span of time",
                 .hint = "write FROM/UNTIL with units (ns, us, ms, s), as 10s/20s, 500ms/ or /30s"};
  request.window = {.from = *first, .until = *last};
  return Done{};
}

Result<Done> read_groups(const TracesFlags& flags, TracesRequest& request) {
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
  request.dimensions = std::move(*groups);
  return Done{};
}

}  // namespace

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

void declare_traces(CLI::App& app, TracesFlags& f) {
  app.add_option("INPUT", f.request.inputs,
                 "Traces of one run: files (.json, .pftrace, .sqlite; .gz, .zst), directories, "
                 "patterns")
      ->required();
  app.add_option("--steps", f.steps, "Only these steps: A:B, A:, :B or N")->type_name("A:B");
  app.add_option("--ranks", f.ranks, "Only these ranks: 0,2,8-15")->type_name("LIST");
  app.add_option("--filter-time", f.window,
                 "Only what lies between, since the capture began: 10s/20s, 500ms/, /30s (exports "
                 "of Nsight Systems; memory is for that alone)")
      ->type_name("FROM/UNTIL");
  app.add_option("--step-annotation", f.request.step_annotation,
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
  app.add_option("--threads", f.request.threads, "Threads to use (default: all cores)")
      ->check(positive_number())
      ->type_name("N");
}

void declare_job(CLI::App& app, JobDescription& job) {
  app.add_option("--model", job.model, "for MFU: a name or a file, as analyze takes it");
  app.add_option("--global-batch", job.global_batch, "sequences of one step, for --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--seq", job.sequence, "tokens of a sequence, for --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--model-flops-per-step", job.model_flops_per_step, "instead of --model")
      ->check(CLI::PositiveNumber);
  app.add_option("--peak-tflops", job.peak_tflops, "of one device")->check(CLI::PositiveNumber);
  app.add_option("--machine", job.machine, "the device: a name or a file");
}

Result<TracesRequest> traces_request(const TracesFlags& flags) {
  TracesRequest request = flags.request;
  for (const auto& part : {parse_steps(flags, request), parse_ranks(flags, request),
                           parse_window(flags, request), read_groups(flags, request)})
    if (!part) return part.error();
  const auto positive = [](int n) { return n > 0 ? std::optional(n) : std::nullopt; };
  request.sizes = {positive(flags.tp), positive(flags.pp), positive(flags.dp)};
  return request;
}

}  // namespace stepscope
