// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/live/live_sentence.h"

namespace stepscope {
namespace {

constexpr std::size_t curve_height = 4;
constexpr std::size_t shown_communicators = 6;
constexpr std::size_t ranks_in_a_row = 64;

struct Painter {
  bool colour = false;
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
};

// Live processes, the rank first.
std::vector<const LiveProcess*> living(const JobState& job) {
  std::vector<const LiveProcess*> out;
  for (const LiveProcess& p : job.processes())
    if (p.records > 0 && !p.replaced) out.push_back(&p);
  std::ranges::stable_sort(out, {}, [](const LiveProcess* p) { return p->rank; });
  return out;
}

std::string steps_line(const JobState& job) {
  if (job.step_source() == StepSource::none)
    return "no step times yet: no log tells them, and the collectives do not repeat so far";
  const StepCurve& curve = job.curve();
  constexpr std::array<const char*, 5> from = {"", "the files of steps", "the training log",
                                               "the engine's metrics", "repeating collectives"};
  const char* source = from[static_cast<std::size_t>(job.step_source())];
  const std::string recent = format_time(curve.recent_ns().value_or(0));
  if (curve.one_mean())
    return fmt::format("{} steps: {} each in the mean (from {})", curve.steps(), recent, source);
  // Repeating collectives have no numbers: their steps are counted.
  const bool numbered = job.step_source() != StepSource::collectives;
  return fmt::format("{} {}: {} (median {}, p99 {}; from {})", numbered ? "step" : "steps seen",
                     curve.last(), recent, format_time(curve.times().quantile(0.5).value_or(0)),
                     format_time(curve.times().quantile(0.99).value_or(0)), source);
}

// Rows of eighths of blocks; each column is the mean of the points in it.
std::vector<std::string> curve_rows(const StepCurve& curve, std::size_t width) {
  constexpr std::array<const char*, 9> blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto& points = curve.points();
  const std::size_t columns = std::min(points.size(), width);
  std::vector<double> means;
  for (std::size_t c = 0; c < columns; ++c) {
    double sum = 0;
    std::int64_t steps = 0;
    for (std::size_t i = c * points.size() / columns; i < (c + 1) * points.size() / columns; ++i) {
      sum += points[i].sum_ns;
      steps += points[i].steps;
    }
    means.push_back(sum / static_cast<double>(steps));
  }
  const double most = *std::ranges::max_element(means);
  std::vector<std::string> rows(curve_height);
  for (std::size_t r = 0; r < curve_height; ++r)
    for (const double mean : means) {
      const double eighths = mean / most * static_cast<double>(8 * curve_height) -
                             static_cast<double>(8 * (curve_height - 1 - r));
      rows[r] += blocks[static_cast<std::size_t>(std::clamp(eighths, 0.0, 8.0))];
    }
  rows.front() += fmt::format(" {}", format_time(most));
  rows.back() += " 0";
  return rows;
}

// A letter a rank: '.' heard, 'L' late, 's' silent.
void mesh(std::vector<std::string>& lines, const std::vector<const LiveProcess*>& processes,
          const Painter& painter, std::size_t most_rows) {
  std::size_t rows = 0;
  for (std::size_t at = 0; at < processes.size() && rows < most_rows;
       at += ranks_in_a_row, ++rows) {
    std::string row;
    const std::size_t end = std::min(processes.size(), at + ranks_in_a_row);
    for (std::size_t i = at; i < end; ++i) {
      const LiveProcess& p = *processes[i];
      row += p.silent             ? painter.paint("35", "s")
             : !p.late_in.empty() ? painter.paint("31;1", "L")
                                  : painter.paint("32", ".");
    }
    const int first = processes[at]->rank;
    lines.push_back(fmt::format("  {:>6} {}", first >= 0 ? std::to_string(first) : "", row));
  }
  if (rows * ranks_in_a_row < processes.size())
    lines.push_back(
        fmt::format("  {:>6} and {} more", "", processes.size() - rows * ranks_in_a_row));
}

void communicators(std::vector<std::string>& lines, const JobState& job, std::size_t width,
                   double now) {
  std::vector<const LiveCommunicator*> shown;
  for (const auto& c : job.communicators())
    if (c->counts().collectives > 0 && now - c->last_record() < 600) shown.push_back(c.get());
  if (shown.empty()) return;
  std::ranges::stable_sort(shown, [](const LiveCommunicator* a, const LiveCommunicator* b) {
    return a->mean_wait() + a->transfer() > b->mean_wait() + b->transfer();
  });
  const std::size_t all = shown.size();
  shown.resize(std::min(all, shown_communicators));
  std::vector<std::vector<std::string>> rows;
  for (const LiveCommunicator* c : shown) {
    const double wait = c->mean_wait(), transfer = c->transfer();
    rows.push_back({printable(c->name().empty() ? c->id() : c->name()),
                    fmt::format("{}/{}", c->ranks_seen(), c->ranks()),
                    format_count(static_cast<double>(c->counts().collectives)),
                    format_percent(share_or_zero(wait, wait + transfer)),
                    format_percent(share_or_zero(transfer, wait + transfer))});
  }
  std::string table = text_table({{.title = "communicator", .right = false, .longest = 30},
                                  {.title = "ranks seen"},
                                  {.title = "collectives"},
                                  {.title = "waiting"},
                                  {.title = "transfer"}},
                                 std::move(rows), width);
  while (!table.empty()) {
    const std::size_t end = table.find('\n');
    lines.push_back(table.substr(0, end));
    table.erase(0, end == std::string::npos ? table.size() : end + 1);
  }
  if (all > shown.size())
    lines.push_back(fmt::format("  and {} more communicators", all - shown.size()));
}

std::string coverage_line(const LiveView& view) {
  const LiveCoverage c = view.job.coverage();
  const FollowTotals& f = view.files;
  std::string text = fmt::format("seen: {}", counted(f.files, "file"));
  if (c.records > 0) {
    text += fmt::format(
        ", {} records of collectives, {} of them in collectives that all ranks "
        "reported",
        format_count(static_cast<double>(c.records)),
        format_percent(
            share_or_zero(static_cast<double>(c.matched), static_cast<double>(c.records))));
    if (c.least_bytes)
      text +=
          fmt::format("; smallest message {}", format_bytes(static_cast<double>(*c.least_bytes)));
  }
  return text;
}

// The text in lines of this width, in a colour.
void put(std::vector<std::string>& lines, const std::string& text, std::size_t width,
         const Painter& painter, const char* code) {
  std::string rest = wrapped(text, width);
  for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1))
    lines.push_back(painter.paint(code, rest.substr(0, end)));
  if (!rest.empty()) lines.push_back(painter.paint(code, rest));
}

std::string ago(double seconds) { return fmt::format("{:>8} ago", format_seconds(seconds)); }

}  // namespace

std::string live_text(const LiveView& view, const TextOptions& options, std::size_t height) {
  const Painter painter{.colour = options.colour};
  const auto width = static_cast<std::size_t>(options.width);
  const JobState& job = view.job;
  const auto processes = living(job);
  std::vector<std::string> lines;
  lines.push_back(
      say(msg::live_headline(processes.size(), Seconds{view.now - view.since}, view.catching_up)));
  const LiveAnswer answer = live_answer(view);
  put(lines, say(answer.sentence), width, painter,
      !answer.fine   ? "1"
      : *answer.fine ? "32;1"
                     : "31;1");
  lines.emplace_back();
  lines.push_back(steps_line(job));
  if (job.step_source() != StepSource::none)
    for (std::string& row : curve_rows(job.curve(), width > 24 ? width - 16 : 8))
      lines.push_back("  " + std::move(row));
  const std::size_t rows = (processes.size() + ranks_in_a_row - 1) / ranks_in_a_row;
  if (!processes.empty()) {
    lines.emplace_back("ranks (. writes, L late, s silent):");
    mesh(lines, processes, painter,
         std::min<std::size_t>(rows, std::max<std::size_t>(1, height / 4)));
  }
  communicators(lines, job, width, view.now);
  std::vector<std::string> tail;
  put(tail, coverage_line(view), width, painter, "2");
  if (!answer.unseen.empty()) put(tail, say(msg::not_seen(answer.unseen)), width, painter, "33");
  const std::size_t used = lines.size() + tail.size() + 1;
  const auto& events = job.events();
  const std::size_t room = height > used ? height - used : 1;
  lines.emplace_back(events.empty() ? "nothing has happened" : "events, the newest first:");
  std::size_t shown = 0;
  for (auto e = events.rbegin(); e != events.rend() && shown < room; ++e) {
    std::string rest = wrapped(say(event_in_words(*e)), width - 16);
    std::string front = ago(view.now - e->at) + "  ";
    for (std::size_t end = 0; (end = rest.find('\n')) != std::string::npos && shown < room;
         rest.erase(0, end + 1), ++shown) {
      lines.push_back(front + rest.substr(0, end));
      front = std::string(14, ' ');
    }
  }
  if (lines.size() + tail.size() > height) lines.resize(height - std::min(height, tail.size()));
  lines.insert(lines.end(), tail.begin(), tail.end());
  std::string out;
  for (const std::string& line : lines) out += line + '\n';
  return out;
}

std::string live_line(const LiveView& view) {
  const auto processes = living(view.job);
  std::vector<int> late;
  for (const LiveProcess* p : processes)
    if (!p->late_in.empty()) late.push_back(p->rank);
  return say(msg::live_line(Digits{view.now - view.since}, processes.size(), steps_line(view.job),
                            late.empty() ? Message() : live_ranks_in_words(late, late.size()),
                            late.size())) +
         '\n';
}

}  // namespace stepscope
