// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/first_screen.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/kernel_name.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/analyze/remedy.h"
#include "stepscope/verbs/sections/account.h"
#include "stepscope/verbs/sections/findings_text.h"

namespace stepscope {
namespace {

constexpr std::size_t first_screen = 20;  // lines, for a usual case
constexpr std::size_t first_rows = 5;     // of a table of it
constexpr std::size_t most_names = 2;     // of other findings

using Rows = std::vector<std::vector<std::string>>;

// Whether the rank worked for a device that has no row.
bool unseen(const RankResult& r) {
  return r.recording.device_unseen() || r.recording.without_work();
}

std::string calls_a_step(std::uint64_t calls, std::int64_t steps) {
  const auto all = static_cast<std::int64_t>(calls);
  return all % steps == 0 ? std::to_string(all / steps)
                          : format_digits(static_cast<double>(all) / static_cast<double>(steps));
}

// The kernels, on a CPU the operators that compute, which take most of the steps. What only waits
// costs nothing itself.
std::string costliest(const Analysis& report, std::size_t width) {
  const RankResult& r = report.job.ranks.front();
  const bool cpu = r.device.is_cpu();
  const auto steps = static_cast<std::int64_t>(std::max<std::size_t>(accounted_count(r), 1));
  const auto wall = static_cast<double>(accounted_budget(r).sum().count());
  const auto devices = cpu ? 1 : std::max<std::int64_t>(1, std::ssize(r.device.windows));
  struct Cost {
    StringId name = empty_string;
    std::uint64_t calls = 0;
    Ns total{};
  };
  std::vector<Cost> costs;
  if (cpu) {
    std::map<StringId, Cost> by_name;  // of several shapes
    for (const OperatorRow& o : r.work.operators) {
      // Worker threads wait in collectives while the step goes on.
      if (o.kind == NameClass::communication || o.kind == NameClass::wait) continue;
      Cost& cost = by_name[o.name];
      cost.name = o.name;
      cost.calls += o.calls;
      cost.total += o.device;
    }
    for (const auto& [name, cost] : by_name) costs.push_back(cost);
  } else {
    for (const KernelRow& k : r.work.kernels.kernels)
      if (k.kind != NameClass::wait) costs.push_back({k.name, k.count, k.total});
  }
  std::ranges::stable_sort(costs, std::ranges::greater{}, &Cost::total);
  std::vector<std::string> names;
  for (const Cost& cost : costs) {
    if (names.size() == first_rows || cost.calls == 0 || cost.total <= Ns{}) break;
    names.push_back(printable((*r.strings)[cost.name]));
  }
  if (names.empty()) return {};
  constexpr std::size_t longest = 56;  // columns
  if (!cpu) names = distinct_kernel_names(names, longest);
  Rows rows;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Cost& cost = costs[i];
    const Ns total = cost.total / devices;
    rows.push_back({names[i], calls_a_step(cost.calls, steps),
                    format_time(cost.total / static_cast<std::int64_t>(cost.calls)),
                    format_time(total / steps),
                    wall > 0 ? format_percent(static_cast<double>(total.count()) / wall) : "-"});
  }
  std::string title = fmt::format("{} of rank {}", cpu ? "operators" : "kernels", r.rank);
  if (unseen(r)) title = "host " + title;  // which cost time, and say nothing of the device
  if (devices > 1) title += fmt::format(", mean of {} devices", devices);
  return text_table(
      {{std::move(title), false, longest}, {"calls a step"}, {"mean"}, {"a step"}, {"of step"}},
      std::move(rows), width);
}

// Whether a note says what the answer rests on, and not what one could give or record besides.
bool is_doubt(const Message& note) {
  using enum MessageKind;
  return note.kind != no_mfu && note.kind != see_more && note.kind != mfu_without_model &&
         note.kind != units_unknown;
}

bool has_part(const Message& message, MessageKind kind) {
  return message.kind == kind || std::ranges::any_of(message.values, [&](const Value& v) {
           const auto* parts = std::get_if<Messages>(&v.kinds());
           return parts != nullptr &&
                  std::ranges::any_of(*parts, [&](const Message& m) { return has_part(m, kind); });
         });
}

// Whether the answer has said what the note says, with its remedy.
bool is_answered(const Message& note, const JobVerdict& answer) {
  using enum MessageKind;
  if (!has_part(answer.sentence, saving_unknown)) return false;
  switch (note.kind) {
    case no_gain_stated:
      return true;
    case no_device_rows:
      return has_part(answer.culprit, record_device_rows);
    case ranks_absent:
      return has_part(answer.culprit, record_peers);
    default:
      return false;
  }
}

// With its folder if another input has the same name.
std::string name_of_file(const std::string& path, const std::vector<InputRow>& inputs) {
  const std::filesystem::path file(path);
  const auto alike = std::ranges::count_if(inputs, [&](const InputRow& i) {
    return std::filesystem::path(i.path).filename() == file.filename();
  });
  return (alike > 1 ? file.parent_path().filename() / file.filename() : file.filename()).string();
}

// "steps 5–6 (4 fills the queues)": those that every figure is of.
std::string steps_in_words(const JobSteps& steps) {
  const std::int64_t first = steps.common.front().index;
  const std::int64_t last = steps.common.back().index;
  const auto counts = [&](std::int64_t index) {
    return std::ranges::find(steps.counted, index, &Step::index) != steps.counted.end();
  };
  if (last - first + 1 != std::ssize(steps.common))
    return fmt::format("{} steps of {}–{}", steps.common.size(), first, last);
  if (counts(first) || !counts(steps.common[1].index))
    return fmt::format("steps {}–{}", first, last);
  const std::int64_t second = steps.common[1].index;
  return second == last ? fmt::format("step {} ({} fills the queues)", last, first)
                        : fmt::format("steps {}–{} ({} fills the queues)", second, last, first);
}

// The first thing to know of a short recording, if nothing on the screen says it.
Message few_steps(const Analysis& report, const Finding* first) {
  const auto found =
      std::ranges::find(report.findings, std::string_view("too_few_steps"), &Finding::id);
  return found == report.findings.end() || first == &*found ? Message() : found->what;
}

}  // namespace

std::string jobs_table(const Analysis& report, std::size_t width) {
  constexpr std::size_t most = 8;  // jobs
  if (report.jobs.empty()) return {};
  Rows rows;
  for (const JobRow& job : report.jobs) {
    if (rows.size() == most) break;
    rows.push_back(
        {std::to_string(job.files), job.world_size ? std::to_string(*job.world_size) : "-",
         job.steps > 0 ? std::to_string(job.steps) : "-",
         job.begin ? fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(
                                                             job.begin->count() / 1'000'000'000)))
                   : "-"});
  }
  const std::string table =
      text_table({{"files", true}, {"ranks", true}, {"steps", true}, {"recorded (UTC)"}},
                 std::move(rows), width);
  std::string out = wrapped(say(msg::several_jobs(report.jobs.size())), width);
  // A command stands whole on its line.
  std::size_t at = 0;
  for (std::size_t line = 0; at < table.size(); ++line) {
    const std::size_t end = table.find('\n', at);
    out += table.substr(at, end - at);
    if (line > 0) out += "  " + report.jobs[line - 1].command;
    out += '\n';
    at = end + 1;
  }
  if (report.jobs.size() > most) out += fmt::format("  {} more\n", report.jobs.size() - most);
  return out;
}

std::string headline(const Analysis& report) {
  const JobResult& job = report.job;
  std::vector<std::string> parts;
  parts.push_back(job.ranks.size() == 1 ? fmt::format("rank {}", job.ranks[0].rank)
                                        : fmt::format("{} ranks", job.ranks.size()));
  if (report.world_size && static_cast<std::size_t>(*report.world_size) > job.ranks.size())
    parts.back() += fmt::format(" of {}", *report.world_size);
  std::set<std::string> devices;
  for (const RankResult& r : job.ranks) {
    const bool rows = std::ranges::any_of(r.recording.rows, [](std::uint64_t n) { return n > 0; });
    if (r.steps.empty() && !rows) continue;  // no row says what it ran on
    devices.insert(unseen(r)                        ? "device not recorded"
                   : r.recording.without_gpu_rows() ? "host rows only"
                                                    : r.device.label());
  }
  for (const std::string& d : devices) parts.push_back(printable(d));
  if (job.steps.common.size() > 1)
    parts.push_back(steps_in_words(job.steps));
  else if (job.steps.common.size() == 1)
    parts.push_back(job.ranks[0].steps[0].name == "window"
                        ? "one window, no steps"
                        : fmt::format("step {}", job.steps.common[0].index));
  double bytes = 0;
  std::vector<const InputRow*> used;
  for (const InputRow& i : report.inputs) {
    bytes += static_cast<double>(i.file_bytes);
    if (!i.error) used.push_back(&i);
  }
  if (!used.empty() && used.size() < report.inputs.size())
    parts.push_back(fmt::format("{} of {} files: {}{}", used.size(), report.inputs.size(),
                                printable(name_of_file(used.front()->path, report.inputs)),
                                used.size() > 1 ? ", …" : ""));
  parts.push_back(
      fmt::format("{} read in {}", format_bytes(bytes), format_time(report.read_seconds * 1e9)));
  return fmt::format("{}\n", fmt::join(parts, " · "));
}

std::string note_text(const Message& note, std::size_t width) {
  constexpr std::size_t indent = 6;
  std::string lines = wrapped(printable(say(note)), width - indent);
  lines.pop_back();
  for (std::size_t p = lines.find('\n'); p != std::string::npos; p = lines.find('\n', p + indent))
    lines.insert(p + 1, std::string(indent, ' '));
  return "note: " + lines + '\n';
}

Messages notes(const Analysis& report) {
  Messages all;
  for (const InputRow& i : report.inputs)
    if (i.truncated && report.job.steps.cut.empty())
      all.push_back(msg::input_cut(printable(i.path)));
  append(all, report.warnings);
  return all;
}

std::string account_of_step(const Analysis& report, std::size_t most_lines) {
  const double executed = report.mfu ? report.mfu->hfu.value_or(0) : 0;
  if (report.mfu && executed <= 1 && (report.mfu->mfu || executed > 0))
    return mfu_account(*report.mfu, on_cpu(report.job.ranks), most_lines);
  if (report.job.steps.common.empty()) return {};
  return budget_account(report.job, most_lines,
                        cost_of_a_day(1, devices_of(report), report.price_per_gpu_hour).money);
}

std::string answer_text(const Analysis& report, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const std::string_view bold = options.colour ? "\033[1m" : "";
  const std::string_view plain = options.colour ? "\033[0m" : "";
  std::string out =
      fmt::format("{}{}{}", bold, wrapped(say_stopped(report.answer.sentence), width), plain);
  const Message& culprit = report.answer.culprit;
  const bool replays = culprit.kind == MessageKind::replay_without;
  std::string then;
  if (const Message remedy = remedy_of(report); !remedy.empty()) then = "→ " + say(remedy) + ". ";
  const auto& culprits = report.answer.culprits;
  const bool allocator =
      !culprits.empty() && culprits.front().kind == CulpritKind::allocation_retries;
  if (replays)
    then += allocator ? "The step with an allocator that takes no time:" : "The step without it:";
  if (!then.empty()) out += wrapped(then, width);
  if (replays)
    out += "  " + whatif_command(report) + '\n';
  else if (!culprit.empty())
    out += wrapped(capitalised(printable(say(culprit))) + ".", width);
  return out;
}

std::string first_findings(const Analysis& report, std::size_t most, std::size_t width) {
  const Finding* said = said_finding(report);
  const std::string list = first_findings_text(report.findings, report.job,
                                               said == nullptr ? "" : said->key, most, width);
  if (!list.empty()) return (said == nullptr ? "What to try:\n" : "What else to try:\n") + list;
  if (said != nullptr || !report.job.explanation || report.job.explanation->refused) return {};
  return say_stopped(msg::nothing_costs()) + '\n';
}

std::string first_screen_text(const Analysis& report, const TextOptions& options) {
  const auto width = static_cast<std::size_t>(options.width);
  const auto lines = [](const std::string& text) {
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  };
  std::string out = jobs_table(report, width) + headline(report) + answer_text(report, options);
  const std::string tables = account_of_step(report, first_rows) + costliest(report, width);
  constexpr std::size_t lines_below = 2;
  if (lines(out) + lines(tables) + lines_below < first_screen) out += '\n';
  out += tables;
  const Finding* first = said_finding(report);
  std::string tries;
  if (first == nullptr) {
    tries = first_findings(report, 1, width);
    first = largest_finding(report.findings);
  }
  if (first != nullptr)
    tries += named_findings_text(report.findings, first->key, most_names, width);
  out += tries;
  // A doubt is printed; another note is if it fits.
  std::size_t left = 0;
  Messages said = notes(report);
  if (Message few = few_steps(report, first); !few.empty()) said.insert(said.begin(), few);
  for (const Message& w : said) {
    if (is_answered(w, report.answer)) continue;
    const std::string text = note_text(w, width);
    if (is_doubt(w) || lines(out) + lines(text) < first_screen)
      out += text;
    else
      ++left;
  }
  const std::string where = details_line(options);
  return out + (where.empty()
                    ? wrapped(msg::all_to_see(first != nullptr, value_if(left > 0, left)), width)
                    : where);
}

}  // namespace stepscope
