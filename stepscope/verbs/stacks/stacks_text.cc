// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/stacks/stacks_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "stepscope/diagnose/findings/stacks_findings.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"
#include "stepscope/verbs/sections/findings_text.h"
#include "stepscope/verbs/stacks/stacks_sentence.h"

namespace stepscope {
namespace {

constexpr std::size_t most_threads = 8;
constexpr std::size_t shown_functions = 10;
constexpr std::size_t shown_joined_threads = 3;
constexpr std::size_t shown_phases = 6;
constexpr double least_shown = 0.02;  // of a thread's samples within the steps

std::string weight_in_words(double weight, WeightUnit unit) {
  return format_weight(weight, unit) + (unit != WeightUnit::samples ? ""
                                        : weight == 1               ? " sample"
                                                                    : " samples");
}

std::string thread_name(const StacksResult& r, const ThreadSummary& t) {
  return thread_label(r.profile, t.thread);
}

const HostPhase& phase_of(const StacksResult& r, const PhaseWeight& w) {
  return r.rules.phases[w.phase];
}

std::string headline(const StacksResult& r) {
  const Profile& p = r.profile;
  std::uint64_t stacks = 0;
  double bytes = 0;
  for (const ProfileInput& i : p.inputs) {
    stacks += i.stacks;
    bytes += static_cast<double>(i.bytes);
  }
  std::string what = p.inputs.size() == 1 ? fmt::format("{} ({})", printable(p.inputs.front().path),
                                                        p.inputs.front().format)
                                          : fmt::format("{} profiles", p.inputs.size());
  return fmt::format(
      "{} · {} · {} · {} stack{} · {}\n", what, weight_in_words(r.summary.weight, p.unit),
      counted(shown_threads(r.summary), "thread"), format_count(static_cast<double>(stacks)),
      stacks == 1 ? "" : "s", format_bytes(bytes));
}

// The sums of processes over their threads. Many processes are not listed.
std::string process_sums(const StacksResult& r) {
  constexpr std::size_t most_named = 3;
  struct Sum {
    double weight = 0;
    std::size_t threads = 0;
  };
  std::map<std::string_view, Sum> processes;
  for (const ProfileThread& thread : r.profile.threads)
    if (!thread.process.empty()) processes.try_emplace(thread.process);
  for (const ThreadSummary& t : r.summary.threads) {
    const ProfileThread& thread = r.profile.threads[t.thread];
    // The main thread may have the name of its process alone.
    const auto sum = processes.find(thread.process.empty() ? thread.name : thread.process);
    if (sum == processes.end()) continue;
    sum->second.weight += t.weight;
    ++sum->second.threads;
  }
  std::erase_if(processes, [](const auto& p) { return p.second.threads < 2; });
  std::string out;
  if (processes.size() > most_named) return out;
  for (const auto& [name, sum] : processes)
    out += fmt::format("  {}: {} in {} threads\n", name,
                       weight_in_words(sum.weight, r.profile.unit), sum.threads);
  return out;
}

std::string threads_table(const StacksResult& r, std::size_t width) {
  std::vector<Column> columns = {
      {"thread", false, 40}, {"weight"}, {"idle"}, {"stands out", false, 60}, {"share"}};
  std::vector<std::vector<std::string>> rows;
  for (const ThreadSummary& t : r.summary.threads) {
    if (rows.size() == most_threads) break;
    if (t.weight <= t.hidden) continue;
    const auto most = main_phase(r, t);
    rows.push_back({thread_name(r, t), format_weight(t.weight, r.profile.unit),
                    t.idle > 0 ? format_percent(t.idle / t.weight) : "-",
                    most         ? phase_of(r, *most).label
                    : t.idle > 0 ? "idle"
                                 : "-",
                    most && t.busy > 0 ? format_percent(most->weight / active_weight(t)) : "-"});
  }
  std::string out = "Threads, those with most to do first (a share is of one thread, not idle):\n" +
                    text_table(std::move(columns), std::move(rows), width);
  if (const std::size_t told = shown_threads(r.summary); told > most_threads)
    out += fmt::format("  and {} more\n", told - most_threads);
  out += process_sums(r);
  if (r.summary.hidden > 0)
    out += fmt::format("  {} of {} are counted without their stacks\n",
                       format_weight(r.summary.hidden, r.profile.unit),
                       format_weight(r.summary.weight, r.profile.unit));
  return out;
}

std::string phases_of_thread(const StacksResult& r, const ThreadSummary& t, std::size_t width) {
  std::string out;
  const double shown = t.weight;
  std::size_t left_out = 0;
  for (const PhaseWeight& w : t.phases) {
    const HostPhase& phase = phase_of(r, w);
    if (phase.kind == PhaseKind::hidden) continue;  // below, as one
    if (w.weight < 0.005 * shown) {
      ++left_out;
      continue;
    }
    const StepPass& pass = r.rules.passes[w.pass];
    const std::string name = w.pass == r.rules.other_pass || phase.kind == PhaseKind::idle
                                 ? phase.label
                                 : fmt::format("{} · {}", pass.label, phase.label);
    out += fmt::format("  {:<46} {:>12} {:>7}  {}\n", shorten(name, 46),
                       format_weight(w.weight, r.profile.unit), format_percent(w.weight / shown),
                       bar(w.weight / shown, width > 96 ? 24 : 10));
  }
  if (left_out > 0) out += fmt::format("  and {} smaller\n", left_out);
  if (t.hidden > 0)
    out += fmt::format("  {:<46} {:>12} {:>7}\n", "not in the excerpt",
                       format_weight(t.hidden, r.profile.unit), format_percent(t.hidden / shown));
  return out;
}

std::string explanations(const StacksResult& r, std::size_t width) {
  std::vector<std::uint32_t> said;
  std::string out;
  for (const ThreadSummary& t : r.summary.threads)
    for (const PhaseWeight& w : by_phase(t.phases)) {
      const HostPhase& phase = phase_of(r, w);
      if (phase.kind == PhaseKind::hidden || w.weight < 0.03 * t.weight || said.size() == 8 ||
          std::ranges::find(said, w.phase) != said.end())
        continue;
      if (r.summary.busy > 0 && w.weight < 0.01 * r.summary.busy) continue;
      said.push_back(w.phase);
      out += wrapped(fmt::format("- {}: {}", phase.label, phase.explanation), width);
    }
  return out.empty() ? out : "What that is:\n" + out;
}

struct PhaseChange {
  std::uint32_t phase = 0;
  double now = 0;  // share of busy weight
  double before = 0;
};

// The phases that changed most come first.
std::vector<PhaseChange> phase_changes(const StacksResult& r) {
  std::vector<PhaseChange> out;
  if (!r.before) return out;
  std::map<std::uint32_t, PhaseChange> changes;
  const auto add = [&](const StackSummary& s, double PhaseChange::* share) {
    for (const PhaseWeight& w : by_phase(s.phases)) {
      const PhaseKind kind = r.rules.phases[w.phase].kind;
      if (kind == PhaseKind::idle || kind == PhaseKind::hidden || s.busy <= 0) continue;
      changes[w.phase].phase = w.phase;
      changes[w.phase].*share += w.weight / s.busy;
    }
  };
  add(r.summary, &PhaseChange::now);
  add(r.before->summary, &PhaseChange::before);
  out.reserve(changes.size());
  for (const auto& [phase, change] : changes) out.push_back(change);
  std::ranges::stable_sort(out, std::greater<>(),
                           [](const PhaseChange& c) { return std::abs(c.now - c.before); });
  return out;
}

std::string changes_table(const StacksResult& r, std::size_t width) {
  std::vector<Column> columns = {{"phase", false, 46}, {"before"}, {"now"}, {"change"}};
  std::vector<std::vector<std::string>> rows;
  for (const PhaseChange& c : phase_changes(r)) {
    if (rows.size() == 12) break;
    rows.push_back({r.rules.phases[c.phase].label, format_percent(c.before), format_percent(c.now),
                    fmt::format("{:+.1f} points", 100 * (c.now - c.before))});
  }
  return fmt::format("Against {}, shares of what is not idle:\n",
                     printable(r.before->profile.inputs.front().path)) +
         text_table(std::move(columns), std::move(rows), width);
}

// Without the class where the whole would not fit.
std::string short_label(const StacksResult& r, StringId frame) {
  std::string label = frame_label(r.profile, r.phases, frame);
  const std::string_view function = r.phases.frames[index(frame)].frame.function;
  const std::size_t dot = function.rfind('.');
  if (label.size() > 48 && dot != std::string_view::npos && label.starts_with(function) &&
      r.phases.frames[index(frame)].frame.kind == FrameKind::python)
    label.erase(0, dot + 1);
  return label;
}

// "ZeRO-3 reduce throttle 80.0 %": the phase with most of a function's own weight, and its share.
std::string phase_of_function(const StacksResult& r, const FunctionWeight& f) {
  if (!f.phase) return "-";
  const std::string& label = r.rules.phases[*f.phase].label;
  return f.phase_weight < f.self
             ? fmt::format("{} {}", label, format_percent(f.phase_weight / f.self))
             : label;
}

std::string functions_table(const StacksResult& r, std::size_t width) {
  std::vector<Column> columns = {
      {"itself"}, {"share"}, {"with callees"}, {"function", false, 80}, {"phase", false, 35}};
  std::vector<std::vector<std::string>> rows;
  for (const FunctionWeight& f : r.summary.functions) {
    if (rows.size() == shown_functions || f.self <= 0) break;
    const double shown = r.summary.weight - r.summary.hidden;
    rows.push_back({format_weight(f.self, r.profile.unit), format_percent(f.self / shown),
                    format_weight(f.total, r.profile.unit), short_label(r, f.frame),
                    phase_of_function(r, f)});
  }
  if (rows.empty()) return {};
  return "Functions by what they take themselves (a share is of all threads' shown stacks):\n" +
         text_table(std::move(columns), std::move(rows), width);
}

// One line a node; a chain of only children that end no stack becomes one line, as deep as it is. A
// printed tree keeps its rows.
std::string tree_lines(const StacksResult& r, const CallTree& tree, double least,
                       std::size_t width) {
  std::string out;
  if (!(tree.total[0] > 0)) return out;
  const double floor = least * tree.total[0];
  const bool printed = std::ranges::any_of(
      r.profile.inputs, [](const ProfileInput& input) { return input.format == "counted_tree"; });
  struct Open {
    std::uint32_t end;
  };
  std::vector<Open> open;
  for (std::uint32_t n = 1; n < tree.size();) {
    while (!open.empty() && open.back().end <= n) open.pop_back();
    if (tree.total[n] < floor) {
      n = tree.end[n];
      continue;
    }
    std::uint32_t last = n;
    std::size_t folded = 0;
    while (!printed && tree.parent[n] != 0 && last + 1 < tree.end[n] &&
           tree.total[last + 1] == tree.total[last] && folded < 200) {
      ++last;
      ++folded;
    }
    const std::string indent(2 * std::min<std::size_t>(open.size(), 30), ' ');
    std::string name = frame_label(r.profile, r.phases, tree.frame[last]);
    if (folded > 0) name = fmt::format("({}) {}", folded + 1, name);
    const std::string head =
        fmt::format("  {:>7} {:>12} {}", format_percent(tree.total[n] / tree.total[0]),
                    format_weight(tree.total[n], r.profile.unit), indent);
    out += head + shorten(name, width > head.size() + 20 ? width - head.size() : 20) + '\n';
    open.push_back({tree.end[n]});
    n = last + 1;
  }
  return out;
}

using Categories = std::array<double, budget_category_count>;

Categories categories_of(const Budget& budget) {
  Categories out{};
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = static_cast<double>(budget.time[c].count());
  return out;
}

double between(const Categories& c, BudgetCategory first, BudgetCategory last) {
  double sum = 0;
  for (auto i = static_cast<std::size_t>(first); i <= static_cast<std::size_t>(last); ++i)
    sum += c[i];
  return sum;
}

// Computing, only communicating, only copying, idle.
std::array<double, 4> groups(const Categories& c) {
  using enum BudgetCategory;
  return {between(c, compute, comm_overlapped), between(c, comm_exposed_wait, comm_exposed_unsplit),
          between(c, copy_exposed, copy_exposed), between(c, idle_data, not_recorded)};
}

std::string share_text(double part, double whole) {
  return whole > 0 && part > 0 ? format_percent(part / whole) : "-";
}

std::vector<std::string> row_of(const StacksResult& r, std::string thread, std::string phase,
                                double weight, const Categories& device, double outside) {
  double inside = 0;
  for (const double d : device) inside += d;
  std::vector<std::string> row = {std::move(thread), std::move(phase),
                                  weight > 0 ? format_weight(weight, r.profile.unit) : "-"};
  for (const double g : groups(device)) row.push_back(share_text(g, inside));
  row.push_back(share_text(outside, inside + outside));
  return row;
}

std::string phase_words(const StacksResult& r, const JoinedPhase& p) {
  const HostPhase& phase = r.rules.phases[p.phase];
  if (p.pass == r.rules.other_pass) return phase.label;
  return fmt::format("{} · {}", r.rules.passes[p.pass].label, phase.label);
}

std::string steps_in_words(const RankResult& rank) {
  if (rank.steps.empty()) return "no step";
  if (rank.steps.front().name == "window") return "its whole window";
  const std::int64_t first = rank.steps.front().index;
  const std::int64_t last = rank.steps.back().index;
  return first == last ? fmt::format("step {}", first) : fmt::format("steps {} to {}", first, last);
}

std::string joined_table(const StacksResult& r, const ProfileBesideTrace& p, std::size_t width) {
  std::vector<Column> columns = {{"thread", false, 24},
                                 {"while in", false, 40},
                                 {"weight"},
                                 {"computing"},
                                 {"communicating"},
                                 {"copying"},
                                 {"idle"},
                                 {"outside"}};
  std::vector<std::vector<std::string>> rows;
  std::size_t threads = 0;
  for (const JoinedThread* t : busiest_threads(r, *p.join)) {
    if (threads++ == shown_joined_threads) break;
    std::string name = thread_label(r.profile, t->thread);
    std::size_t listed = 0;
    for (const JoinedPhase& phase : t->phases) {
      if (idles(r, phase) || phase.meanwhile.inside() < least_shown * t->meanwhile.inside() ||
          listed == shown_phases)
        continue;
      rows.push_back(row_of(r, listed++ == 0 ? name : "", phase_words(r, phase), phase.weight,
                            phase.meanwhile.device, phase.meanwhile.outside));
    }
  }
  rows.push_back(
      row_of(r, "", "all of the steps", 0, categories_of(rank_of(r, p).budget.total), 0));
  return text_table(std::move(columns), std::move(rows), width);
}

Message budget_sentence(const StacksResult& r, const ProfileBesideTrace& p) {
  const RankResult& rank = rank_of(r, p);
  const Categories all = categories_of(rank.budget.total);
  const auto [computing, communicating, copying, idle] = groups(all);
  const double whole = computing + communicating + copying + idle;
  if (whole <= 0) return msg::trace_without_step();
  std::size_t most = static_cast<std::size_t>(BudgetCategory::idle_data);
  for (std::size_t c = most; c < all.size(); ++c)
    if (all[c] > all[most]) most = c;
  const bool cpu = rank.device.is_cpu();
  return msg::device_did(device_word(rank), rank.rank, steps_in_words(rank),
                         Percent{computing / whole}, Percent{communicating / whole},
                         Percent{copying / whole}, Percent{idle / whole},
                         value_if(all[most] > 0, words_of(static_cast<BudgetCategory>(most), cpu)));
}

std::string name_of_input(const StacksResult& r, const ProfileBesideTrace& p) {
  const std::string& path = r.profile.inputs[p.input].path;
  return printable(path.substr(path.rfind('/') + 1));
}

}  // namespace

std::string stacks_trace_text(const StacksResult& r, std::size_t width) {
  std::string out;
  for (const ProfileBesideTrace& p : r.trace->profiles) {
    const RankResult& rank = rank_of(r, p);
    const std::string name =
        r.profile.inputs.size() > 1 ? name_of_input(r, p) : std::string("the profile");
    if (!out.empty()) out += '\n';
    if (!p.join) {
      out += wrapped(msg::not_joined(p.why_not), width);
      out += wrapped(msg::sentence(budget_sentence(r, p)), width);
      continue;
    }
    out += wrapped(say(msg::device_did_meanwhile(device_word(rank), rank.rank, steps_in_words(rank),
                                                 name, p.offset.has_value())),
                   width);
    out += joined_table(r, p, width);
  }
  if (const std::vector<Finding>& findings = r.trace->findings; !findings.empty())
    out += '\n' + findings_text(findings, r.trace->job, width);
  return out;
}

std::string stacks_text(const StacksResult& r, const StacksTextOptions& options) {
  const auto width = static_cast<std::size_t>(options.text.width);
  const std::string_view bold = options.text.colour ? "\033[1m" : "";
  const std::string_view plain = options.text.colour ? "\033[0m" : "";
  std::string out = headline(r) + '\n';
  out += fmt::format("{}{}{}\n", bold, wrapped(stacks_sentence(r), width), plain);
  out += threads_table(r, width);
  std::size_t shown = 0;
  for (const ThreadSummary& t : r.summary.threads) {
    if (shown == 3 || t.busy < 0.2 * r.summary.threads.front().busy) break;
    if (t.weight <= t.hidden) continue;
    ++shown;
    out += fmt::format("\n{}, where its {} go:\n", thread_name(r, t),
                       weight_in_words(t.weight, r.profile.unit));
    out += phases_of_thread(r, t, width);
  }
  if (r.before) out += '\n' + changes_table(r, width);
  if (r.trace) out += '\n' + stacks_trace_text(r, width);
  out += '\n' + explanations(r, width);
  out += '\n' + functions_table(r, width);
  if (options.top_down)
    out += "\nTop-down, callers above callees:\n" +
           tree_lines(r, r.profile.tree, options.least, width);
  if (options.bottom_up)
    out += "\nBottom-up, callees above callers:\n" +
           tree_lines(r, bottom_up(r.profile, 12, options.least / 10), options.least, width);
  if (!options.text.details.empty()) out += '\n' + details_line(options.text);
  out += notes_text(r.warnings, width);
  return out;
}

}  // namespace stepscope
