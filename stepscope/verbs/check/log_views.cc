// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/check/log_views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "stepscope/cost/model/model_flops.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/wording.h"

namespace stepscope {

namespace {

Json tools_tree(const JobLog& log) {
  Json tools = Json::array();
  for (const LogToolLines& t : log.tools)
    if (t.lines > 0) tools.push_back({{"name", t.tool->name}, {"lines", t.lines}});
  return tools;
}

Json iteration(std::int64_t i) { return i < 0 ? Json(nullptr) : Json(i); }

Json rates_tree(const LogRates& rates) {
  Json out = Json::array();
  for (const LogRate& r : rates.rates) {
    const double unit = r.is_mfu ? 1 : tera;
    const auto figure = [&](std::optional<double> v) {
      return v ? Json(*v / unit) : Json(nullptr);
    };
    out.push_back({{"tool", r.tool->name},
                   {"name", r.name},
                   {"unit", r.is_mfu ? "mfu" : "tflops"},
                   {"printed", figure(r.printed)},
                   {"convention", r.convention},
                   {"factor", real(r.factor)},
                   {"value", figure(r.ours)},
                   {"mfu", real(r.mfu)},
                   {"remark", text_or_null(worded(r.remark))}});
  }
  return out;
}

Json timers_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogTimerRow& t : a.timers)
    out.push_back({{"name", t.name},
                   {"tool", t.tool->name},
                   {"count", t.count},
                   {"median_ns", t.median_ns},
                   {"before_ns", real(t.before_ns)},
                   {"share", real(t.share)}});
  return out;
}

Json communication_tree(const LogAccount& a) {
  Json out = Json::array();
  const auto rate = [](std::optional<double> r) { return r ? Json(*r / giga) : Json(nullptr); };
  for (const LogCommunicationRow& c : a.communication)
    out.push_back({{"operation", c.printed.operation},
                   {"size", c.printed.size},
                   {"bytes", real(c.bytes)},
                   {"count", c.printed.count},
                   {"total_ns", c.printed.total_ms * 1e6},
                   {"mean_ns", c.printed.calls_ms * 1e6},
                   {"printed_algbw_gbit_per_s", c.printed.printed_algbw_gbit},
                   {"printed_busbw_gbit_per_s", c.printed.printed_busbw_gbit},
                   {"algbw_gb_per_s", rate(c.algbw)},
                   {"busbw_gb_per_s", rate(c.busbw)}});
  return out;
}

Json profiles_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogProfileRow& p : a.profiles)
    out.push_back(
        {{"step", iteration(p.printed.step)},
         {"forward_flops", real(p.printed.forward_flops)},
         {"printed_forward_tflops", p.printed.printed_forward_rate
                                        ? Json(*p.printed.printed_forward_rate / tera)
                                        : Json(nullptr)},
         {"forward_tflops", p.forward_rate ? Json(*p.forward_rate / tera) : Json(nullptr)},
         {"tflops", p.rate ? Json(*p.rate / tera) : Json(nullptr)},
         {"printed_samples_per_s", real(p.printed.printed_samples_per_s)},
         {"samples_per_s", real(p.samples_per_s)},
         {"faults", p.faults}});
  return out;
}

Json launches_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogLaunch& l : a.launches)
    out.push_back({{"first_iteration", iteration(l.first_iteration)},
                   {"last_iteration", iteration(l.last_iteration)},
                   {"records", l.records},
                   {"median_ns", l.median_ns}});
  return out;
}

Json changes_tree(const LogAccount& a) {
  Json out = Json::array();
  for (const LogChange& c : a.changes)
    out.push_back({{"iteration", iteration(c.iteration)},
                   {"before_ns", c.before_ns},
                   {"after_ns", c.after_ns},
                   {"timer", c.cause ? Json({{"name", c.cause->timer},
                                             {"before_ns", c.cause->before_ns},
                                             {"after_ns", c.cause->after_ns}})
                                     : Json(nullptr)}});
  return out;
}

Json drift_tree(const LogAccount& a) {
  if (!a.drift) return nullptr;
  return {{"first_ns", a.drift->first}, {"last_ns", a.drift->last}, {"p", a.drift->p}};
}

Json setting(const JobLog& log, std::string_view name) {
  const auto found = log.settings.find(name);
  return found == log.settings.end() ? Json(nullptr) : Json(found->second);
}

Json run_tree(const JobLog& log) {
  if (!log.run) return nullptr;
  const LogRun& run = *log.run;
  const auto ns = [](std::optional<double> s) { return s ? Json(*s * giga) : Json(nullptr); };
  return {{"tool", run.tool->name},
          {"benchmark", setting(log, "submission_benchmark")},
          {"organisation", setting(log, "submission_org")},
          {"platform", setting(log, "submission_platform")},
          {"division", setting(log, "submission_division")},
          {"status", text_or_null(run.status)},
          {"init_ns", ns(run.init_s)},
          {"run_ns", ns(run.run_s)},
          {"evaluations", run.evaluations},
          {"evaluation_ns", run.evaluation_s * giga},
          {"first_accuracy", real(run.first_accuracy)},
          {"last_accuracy", real(run.last_accuracy)},
          {"target_accuracy", real(run.target_accuracy)},
          {"last_samples", real(run.last_samples)}};
}

}  // namespace

Json log_tree(const LogFacts& r) {
  const LogAccount& a = r.account;
  Json loss = nullptr;
  if (a.loss) {
    const auto figure = [&](double v) { return a.loss->finite ? Json(v) : Json(nullptr); };
    loss = {{"first", figure(a.loss->first)},
            {"last", figure(a.loss->last)},
            {"least", figure(a.loss->least)},
            {"least_iteration", iteration(a.loss->least_iteration)},
            {"not_finite", a.loss->not_finite},
            {"first_not_finite", iteration(a.loss->first_not_finite)}};
  }
  Json notes = Json::object();
  for (const auto& [reason, count] : r.log.notes) notes[reason] = count;
  return {{"tools", tools_tree(r.log)},
          {"steps_from", r.steps.tool->name},
          {"how", r.steps.how},
          {"of_tokens", r.steps.of_tokens},
          {"records", r.steps.steps.size()},
          {"steps_per_record", a.steps_per_record},
          {"first_iteration", iteration(a.first_iteration)},
          {"last_iteration", iteration(a.last_iteration)},
          {"ranks", r.steps.ranks},
          {"launches", launches_tree(a)},
          {"changes", changes_tree(a)},
          {"drift", drift_tree(a)},
          {"global_batch", real(a.batch)},
          {"sequence", real(a.sequence)},
          {"devices", real(a.devices)},
          {"model", text_or_null(r.model.source)},
          {"tokens_per_s", real(a.tokens_per_s)},
          {"samples_per_s", real(a.samples_per_s)},
          {"printed_samples_per_s", real(a.printed_samples_per_s)},
          {"rates", rates_tree(r.rates)},
          {"loss", std::move(loss)},
          {"skipped_steps", a.skipped},
          {"memory_bytes", real(a.memory_bytes)},
          {"memory_share", real(a.memory_share)},
          {"timers", timers_tree(a)},
          {"communication", communication_tree(a)},
          {"profiles", profiles_tree(a)},
          {"run", run_tree(r.log)},
          {"notes", std::move(notes)},
          {"text_bytes", r.log.text_bytes},
          {"truncated", r.log.truncated}};
}

namespace {

// ", means of 10 steps"; empty if each time is of one step.
std::string means_in_words(const LogSteps& steps) {
  if (steps.steps.empty()) return {};
  const auto [least, most] = std::ranges::minmax(steps.steps, {}, &LogStep::steps);
  if (most.steps <= 1) return {};
  const char* const about = steps.steps_rounded ? "about " : "";
  if (steps.steps.size() == 1) return fmt::format(", the mean of {}{} steps", about, most.steps);
  return fmt::format(", means of {}{} steps", least.steps == most.steps ? about : "up to ",
                     most.steps);
}

std::string source_line(const LogFacts& r) {
  std::vector<std::string> tools;
  for (const LogToolLines& t : r.log.tools)
    if (t.lines > 0)
      tools.push_back(fmt::format("{} ({})", t.tool->label, counted(t.lines, "line")));
  if (tools.empty()) tools.emplace_back(r.steps.tool->label);
  std::string out = fmt::format("Log of {}.", fmt::join(tools, ", "));
  const LogAccount& a = r.account;
  out += fmt::format(" Step times: {}, {}{}", r.steps.tool->label, r.steps.how,
                     means_in_words(r.steps));
  if (a.last_iteration >= 0) {
    const std::string first = step_place(r.log, r.steps, 0);
    const std::string last = step_place(r.log, r.steps, r.steps.steps.size() - 1);
    out += "; " + first;
    if (first != last)
      out += " to " +
             (last.find(" of ") != std::string::npos ? last : std::to_string(a.last_iteration));
  }
  if (!r.steps.ranks.empty()) out += fmt::format("; {}", ranks_in_words(r.steps.ranks));
  return out + '.';
}

// "  name         text", further lines under the text.
void add_line(std::string& out, const char* name, const std::string& text, std::size_t width) {
  constexpr std::size_t indent = 15;
  const std::string all = wrapped(printable(text), width > 2 * indent ? width - indent : width);
  std::string_view lines = all;
  for (bool first = true; !lines.empty(); first = false) {
    const std::size_t end = lines.find('\n');
    out += first ? fmt::format("  {:<13}", name) : std::string(indent, ' ');
    out += lines.substr(0, end + 1);
    lines.remove_prefix(end + 1);
  }
}

void throughput_line(const LogFacts& r, std::size_t width, std::string& out) {
  const LogAccount& a = r.account;
  std::vector<std::string> parts;
  if (a.tokens_per_s) {
    parts.push_back(format_count(*a.tokens_per_s) + " tokens/s" +
                    (a.throughput_from.empty() ? "" : " (" + a.throughput_from + ")"));
    if (a.devices && r.rates.contradiction.empty())
      parts.push_back(format_count(*a.tokens_per_s / *a.devices) + " a device of " +
                      format_count(*a.devices));
  }
  if (a.samples_per_s) parts.push_back(format_digits(*a.samples_per_s) + " sequences/s");
  if (parts.empty()) return;
  std::string text = fmt::format("{}", fmt::join(parts, ", "));
  if (a.printed_tokens_per_s)
    text += fmt::format("; {} prints {} tokens/s, which does not fit them", r.steps.tool->label,
                        format_count(*a.printed_tokens_per_s));
  if (a.printed_samples_per_s && a.printed_by != nullptr)
    text += fmt::format("; {} prints {} sequences/s{}", a.printed_by->label,
                        format_digits(*a.printed_samples_per_s),
                        a.printed_by->name.starts_with("deepspeed")
                            ? ": of the last step before each line only"
                            : "");
  add_line(out, "throughput", text, width);
}

std::string rate_text(const LogRate& rate) {
  const auto figure = [&](double v) {
    return rate.is_mfu ? format_percent(v) : format_digits(v / tera) + " TFLOP/s";
  };
  std::string text = rate.printed
                         ? fmt::format("{} prints {}", rate.tool->label, figure(*rate.printed))
                         : "from the step time";
  if (rate.printed && !rate.convention.empty()) text += " (" + rate.convention;
  if (rate.printed && !rate.convention.empty())
    text += rate.remark.empty() ? ")" : "; " + worded(rate.remark) + ")";
  if (rate.ours) {
    text += fmt::format(
        ": {} with {}", figure(*rate.ours),
        rate.convention == flops_as_given ? "the model FLOPs as given" : "causal attention halved");
    if (rate.factor && *rate.factor != 1) text += fmt::format(" (x {:.3f})", *rate.factor);
    if (rate.mfu && !rate.is_mfu) text += fmt::format(", {} MFU", format_percent(*rate.mfu));
  }
  return text;
}

// What a benchmark's log says of its run.
void run_lines(const JobLog& log, std::size_t width, std::string& out) {
  if (!log.run) return;
  const LogRun& run = *log.run;
  const auto setting = [&](std::string_view name) {
    const auto found = log.settings.find(name);
    return found == log.settings.end() ? std::string() : found->second;
  };
  std::vector<std::string> parts;
  const auto add = [&](const char* before, const std::string& text) {
    if (!text.empty()) parts.push_back(before + text);
  };
  add("", setting("submission_benchmark"));
  add("by ", setting("submission_org"));
  add("on ", setting("submission_platform"));
  if (run.init_s) parts.push_back("initialisation " + format_seconds(*run.init_s));
  if (run.run_s) parts.push_back("run " + format_seconds(*run.run_s));
  parts.push_back(run.status.empty() ? "without its end" : "ended as " + run.status);
  add_line(out, "run", fmt::format("{}", fmt::join(parts, ", ")), width);
  if (run.evaluations == 0) return;
  std::string text =
      fmt::format("{}, {} in all", counted(static_cast<std::uint64_t>(run.evaluations), "time"),
                  format_seconds(run.evaluation_s));
  if (run.run_s)
    text += fmt::format(" ({} of the run)",
                        format_percent(share_or_zero(run.evaluation_s, *run.run_s)));
  if (run.first_accuracy && run.last_accuracy)
    text += fmt::format("; from {:.4g} to {:.4g}", *run.first_accuracy, *run.last_accuracy);
  if (run.target_accuracy) text += fmt::format(", target {:.4g}", *run.target_accuracy);
  if (run.last_samples) text += fmt::format(" after {} samples", format_count(*run.last_samples));
  add_line(out, "evaluated", text, width);
}

void account_lines(const LogFacts& r, std::size_t width, std::string& out) {
  const LogAccount& a = r.account;
  run_lines(r.log, width, out);
  throughput_line(r, width, out);
  for (const LogRate& rate : r.rates.rates) add_line(out, "rate", rate_text(rate), width);
  if (a.loss) {
    std::string text;
    if (a.loss->finite)
      text = fmt::format("{:.4g} to {:.4g}, least {:.4g} at {}", a.loss->first, a.loss->last,
                         a.loss->least, step_name(a.loss->least_iteration, a.loss->least_epoch));
    if (a.loss->not_finite > 0)
      text += fmt::format("{}no finite number in {}, first in {}", text.empty() ? "" : "; ",
                          counted(static_cast<std::uint64_t>(a.loss->not_finite), "step"),
                          step_name(a.loss->first_not_finite, a.loss->first_not_finite_epoch));
    if (a.skipped > 0)
      text += fmt::format("; {} skipped", counted(static_cast<std::uint64_t>(a.skipped), "step"));
    add_line(out, "loss", text, width);
  }
  if (a.memory_bytes) {
    std::string text = format_bytes(*a.memory_bytes) + " at most";
    if (a.memory_share) text += fmt::format(", {} of the device", format_percent(*a.memory_share));
    add_line(out, "memory", text, width);
  }
  if (a.launches.size() > 1) {
    std::vector<std::string> parts;
    for (const LogLaunch& l : a.launches)
      parts.push_back(fmt::format("{} to {} ({})", step_name(l.first_iteration), l.last_iteration,
                                  format_time(l.median_ns)));
    add_line(out, "launches", fmt::format("{}", fmt::join(parts, ", ")), width);
  }
  if (r.steps.numbered_anew > 0)
    add_line(out, "numbering",
             fmt::format("step numbers go back {}, where a launch or an epoch may begin",
                         counted(r.steps.numbered_anew, "time")),
             width);
  if (!r.steps.of_tokens && r.steps.steps.size() > 1) {
    const LogStep& step = r.steps.steps[a.slowest];
    add_line(
        out, "slowest",
        fmt::format("{}: {}{}", step_place(r.log, r.steps, a.slowest), format_time(step.wall_ns),
                    step.cause.empty() ? "" : " (" + step.cause + ')'),
        width);
  }
  if (a.works)
    add_line(
        out, "work",
        fmt::format("steps work on sizes from {:g} to {:g}, as their lines say; changes are of "
                    "times at equal size",
                    a.works->first, a.works->second),
        width);
  constexpr std::size_t most_changes = 6;
  for (std::size_t i = 0; i < std::min(a.changes.size(), most_changes); ++i) {
    const LogChange& c = a.changes[i];
    add_line(
        out, i == 0 ? "changes" : "",
        fmt::format("from {} on {} instead of {} ({:+.1f} %)", c.place, format_time(c.after_ns),
                    format_time(c.before_ns), 100 * (c.after_ns / c.before_ns - 1)),
        width);
  }
  if (a.changes.size() > most_changes)
    add_line(out, "", fmt::format("and {} more", a.changes.size() - most_changes), width);
  if (a.drift)
    add_line(out, "drift",
             fmt::format("{} to {} from end to end ({:+.1f} %)", format_time(a.drift->first),
                         format_time(a.drift->last), percent_longer(*a.drift)),
             width);
}

std::string timers_table(const LogAccount& a, std::size_t width) {
  constexpr std::size_t max_rows = 12;
  std::vector<std::vector<std::string>> rows;
  for (const LogTimerRow& t : a.timers) {
    if (rows.size() == max_rows) break;
    rows.push_back({printable(t.name), std::string(t.tool->label), std::to_string(t.count),
                    format_time(t.median_ns), t.share ? format_percent(*t.share) : "-"});
    if (!a.changes.empty()) rows.back().push_back(t.before_ns ? format_time(*t.before_ns) : "-");
  }
  if (rows.empty()) return {};
  std::vector<Column> columns = {
      {"timer", false}, {"of", false}, {"times"}, {"median"}, {"of a step"}};
  std::string since;
  if (!a.changes.empty()) {
    since = " from " + a.changes.back().place + " on";
    columns.push_back({"before"});
  }
  return "\nTimers" + since + " (median; they may hold one another):\n" +
         text_table(columns, std::move(rows), width);
}

std::string communication_table(const LogAccount& a, std::size_t width) {
  constexpr std::size_t max_rows = 15;
  const auto rate = [](std::optional<double> r) { return r ? format_digits(*r / giga) : "-"; };
  std::vector<std::vector<std::string>> rows;
  for (const LogCommunicationRow& c : a.communication) {
    if (rows.size() == max_rows) break;
    const LogCommunication& p = c.printed;
    rows.push_back({printable(p.operation), printable(p.size), std::to_string(p.count),
                    format_time(p.total_ms * 1e6), format_time(p.calls_ms * 1e6),
                    format_digits(p.printed_algbw_gbit), rate(c.algbw), rate(c.busbw)});
  }
  if (rows.empty()) return {};
  return "\nDeepSpeed's comms logger (each call waits for the device, so nothing overlaps; busbw "
         "by the size of the job, not of the group):\n" +
         text_table({{"operation", false},
                     {"message"},
                     {"calls"},
                     {"total"},
                     {"mean"},
                     {"prints Gbit/s"},
                     {"algbw GB/s"},
                     {"busbw GB/s"}},
                    std::move(rows), width);
}

std::string profile_text(const LogAccount& a, std::size_t width) {
  std::string out;
  for (const LogProfileRow& p : a.profiles) {
    std::vector<std::string> parts;
    if (p.printed.forward_flops)
      parts.push_back(
          fmt::format("{} TFLOP forward a device", format_digits(*p.printed.forward_flops / tera)));
    if (p.forward_rate)
      parts.push_back(fmt::format("{} TFLOP/s forward", format_digits(*p.forward_rate / tera)));
    if (p.rate)
      parts.push_back(fmt::format("{} TFLOP/s over the iteration, if backward is twice forward",
                                  format_digits(*p.rate / tera)));
    if (p.samples_per_s)
      parts.push_back(fmt::format("{} sequences/s", format_digits(*p.samples_per_s)));
    for (const std::string& fault : p.faults) parts.push_back("but " + fault);
    if (parts.empty()) continue;
    out += '\n' + wrapped(fmt::format("DeepSpeed's flops profiler, {}: {}.",
                                      step_name(p.printed.step), fmt::join(parts, "; ")),
                          width);
  }
  return out;
}

}  // namespace

std::string log_text(const LogFacts& r, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  std::string out = '\n' + wrapped(source_line(r), width);
  account_lines(r, width, out);
  out += timers_table(r.account, width) + communication_table(r.account, width) +
         profile_text(r.account, width);
  return out;
}

}  // namespace stepscope
