// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cli/stacks_flags.h"

#include <algorithm>
#include <vector>

#include "stepscope/stack/read_profile.h"

namespace stepscope {
namespace {

void declare_trace(CLI::App& app, StacksFlags& f) {
  app.add_option("--trace", f.traces.request.inputs,
                 "Traces of the same run: what the device did while the host sat in its phases")
      ->type_name("TRACES")
      ->group("Beside a trace");
  app.add_option("--rank", f.request.ranks,
                 "The rank that was profiled, where the traces have several; one a profile, in "
                 "their order, or one for all")
      ->check(CLI::NonNegativeNumber)
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->group("Beside a trace");
  app.add_option("--offset", f.offset,
                 "What added to the profile's clock gives the trace's, where they are not the same")
      ->type_name("SECONDS")
      ->group("Beside a trace");
  app.add_flag("--gapless", f.request.gapless,
               "No sample of a thread is missing (py-spy record --idle), so its place is an "
               "instant")
      ->group("Beside a trace");
  app.add_option("--steps", f.traces.steps, "Only these steps: A:B, A:, :B or N")
      ->type_name("A:B")
      ->group("Beside a trace");
  app.add_option("--step-annotation", f.traces.request.step_annotation,
                 "Steps are the annotations of this name (default ProfilerStep)")
      ->type_name("NAME")
      ->group("Beside a trace");
}

}  // namespace

void declare(CLI::App& app, StacksFlags& f) {
  app.add_option("PROFILE", f.request.profiles,
                 "Collapsed stacks, perf script, py-spy, speedscope, pprof; compressed or not")
      ->required();
  app.add_option("--format", f.request.format, "What the profiles are, where it is not recognised")
      ->check(CLI::IsMember(
          std::vector<std::string>(profile_format_names().begin(), profile_format_names().end())))
      ->type_name("NAME");
  app.add_option("--against", f.request.against, "An earlier profile to compare with: what changed")
      ->type_name("PROFILE");
  app.add_option(
         "--rules", f.request.rules,
         "Phases of your own, before the built-in ones (docs/reference/phase-rules.md; repeatable)")
      ->type_name("FILE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--lasti", f.request.lasti,
                 "A table of CPython instructions: source lines of frames like fetch [0x36a]")
      ->type_name("FILE");
  app.add_flag("--top-down", f.top_down, "The call tree, callers above callees");
  app.add_flag("--bottom-up", f.bottom_up, "The call tree, callees above callers");
  app.add_option("--min-percent", f.least, "Smallest part that a tree shows (default 1)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("N");
  app.add_option("--json", f.out.json,
                 "Write everything as JSON (docs/reference/json.md); - for standard output")
      ->type_name("FILE");
  app.add_option("--html", f.out.html, "Write one self-contained page with the flame graph")
      ->type_name("FILE");
  app.add_option("--csv", f.out.csv, "Write the tables as CSV files into this directory")
      ->type_name("DIR");
  declare_trace(app, f);
  app.footer("Example: stepscope stacks rank0.collapsed --html stacks.html");
}

std::optional<Ns> parse_seconds(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view fraction = text.substr(std::min(dot + 1, text.size()));
  const auto digits = [](std::string_view t) {
    return std::ranges::all_of(t, [](char c) { return c >= '0' && c <= '9'; });
  };
  // 9'223'372'036 s are what nanoseconds hold.
  if (dot == 0 || dot > 10 || fraction.size() > 9 || (dot < text.size() && fraction.empty()) ||
      !digits(text.substr(0, dot)) || !digits(fraction))
    return std::nullopt;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < dot + 9; ++i) {
    const std::size_t at = i - dot;
    const char digit = i < dot ? text[i] : at < fraction.size() ? fraction[at] : '0';
    if (__builtin_mul_overflow(ns, 10, &ns) || __builtin_add_overflow(ns, digit - '0', &ns))
      return std::nullopt;
  }
  return Ns{negative ? -ns : ns};
}

Result<StacksRequest> stacks_request(const StacksFlags& f) {
  StacksRequest request = f.request;
  if (f.traces.request.inputs.empty()) {
    const char* alone = !request.ranks.empty()                      ? "--rank"
                        : !f.offset.empty()                         ? "--offset"
                        : request.gapless                           ? "--gapless"
                        : !f.traces.steps.empty()                   ? "--steps"
                        : !f.traces.request.step_annotation.empty() ? "--step-annotation"
                                                                    : nullptr;
    if (alone == nullptr) return request;
    return Error{.what = std::string(alone) + " says nothing without a trace",
                 .hint = "give --trace TRACES"};
  }
  if (!f.offset.empty()) {
    request.offset = parse_seconds(f.offset);
    if (!request.offset)
      return Error{.what = "--offset " + f.offset + " is no number of seconds",
                   .hint = "write 12.5, -0.25 or 1700000000.123456789"};
  }
  auto traces = traces_request(f.traces);
  if (!traces) return traces.error();
  request.traces = std::move(*traces);
  return request;
}

}  // namespace stepscope
