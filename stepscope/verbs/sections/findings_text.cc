// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/sections/findings_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

#include "stepscope/diagnose/culprit.h"
#include "stepscope/diagnose/labels.h"
#include "stepscope/face/text/text_table.h"
#include "stepscope/say/format.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

constexpr std::size_t most_of_sort = 6;

constexpr std::array<std::string_view, finding_sort_names.size() + 1> titles = {
    "Faults, by what a step gains without them:", "Opportunities, by what they give back a step:",
    "Bounds, which no change reaches:", "Without a gain of their own:"};

std::size_t title_of(const Finding& f) {
  return costs_no_time(f) ? titles.size() - 1 : static_cast<std::size_t>(f.sort);
}

// Wrapped, later lines indented by two more; of more than `most` lines the last ends in "…".
std::string indented(std::string_view text, std::size_t indent, std::size_t width,
                     std::size_t most = 100) {
  const std::string lines = wrapped(text, width > indent + 20 ? width - indent - 2 : width);
  std::string out;
  std::size_t count = 0;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += std::string(count == 0 ? indent : indent + 2, ' ') + lines.substr(at, end - at);
    at = end + 1;
    if (++count == most && at < lines.size()) return out + " …\n";
    out += '\n';
  }
  return out;
}

// Whether the gain is no mere upper bound.
bool is_exact(const Finding& f) {
  return f.confidence == Confidence::high && f.sort != FindingSort::bound;
}

// "2.51 ms (21.6 %)"; empty for a finding without a time of its own.
std::string gain_text(const Finding& f, Ns step) {
  if (!f.gain) return {};
  const auto ns = static_cast<double>(f.gain->count());
  const auto whole = static_cast<double>(step.count());
  return fmt::format("{}{} ({})", is_exact(f) ? "" : "at most ", format_time(ns),
                     format_percent(whole > 0 ? ns / whole : 0));
}

std::string what_text(const Finding& f, Ns step) {
  const std::string gain = gain_text(f, step);
  return printable(say(f.what)) + (gain.empty() ? "" : ": " + gain) + ".";
}

// Faults of the replay state their gain themselves.
std::string head_of(const Finding& f, Ns step) {
  const bool says = f.gain && says_time(f.what, *f.gain);
  return says ? printable(say(f.what)) + "." : what_text(f, step);
}

// A finding that is larger than the one above it is not over with that one.
bool stays(const Finding& under, const Finding& above) {
  return under.under == above.key && under.gain > above.gain;
}

std::string whole_finding(std::span<const Finding> findings, std::size_t i, std::size_t number,
                          Ns step, std::size_t width) {
  const Finding& f = findings[i];
  std::string out = indented(fmt::format("{}. {}", number, head_of(f, step)), 2, width);
  for (const Message& e : f.evidence) out += indented(printable(say(e)) + ".", 5, width);
  out += indented("→ " + say(f.advice) + ".", 5, width);
  for (const Finding& under : findings.subspan(i + 1)) {
    if (under.under != f.key) continue;
    out += indented("the same time: " + head_of(under, step), 5, width);
    if (stays(under, f)) out += indented("→ " + say(under.advice) + ".", 5, width);
  }
  return out;
}

// The findings that are not under another one and were not said yet, by gain.
std::vector<const Finding*> by_gain(std::span<const Finding> findings, std::string_view but) {
  std::vector<const Finding*> first;
  for (const Finding& f : findings)
    if (f.under.empty() && f.key != but) first.push_back(&f);
  std::ranges::stable_sort(first, std::ranges::greater{},
                           [](const Finding* f) { return f->gain.value_or(Ns{-1}); });
  return first;
}

}  // namespace

std::string findings_text(std::span<const Finding> findings, const JobResult& job,
                          std::size_t width) {
  if (findings.empty()) return say_stopped(msg::no_findings(replay_tells(job))) + '\n';
  const Ns step = step_length(job);
  std::string out;
  for (std::size_t title = 0; title < titles.size(); ++title) {
    std::size_t number = 0;
    std::size_t left = 0;
    std::string list;
    for (std::size_t i = 0; i < findings.size(); ++i) {
      if (title_of(findings[i]) != title || !findings[i].under.empty()) continue;
      if (number == most_of_sort)
        ++left;
      else
        list += whole_finding(findings, i, ++number, step, width);
    }
    if (list.empty()) continue;
    out += fmt::format("{}{}\n{}", out.empty() ? "" : "\n", titles[title], list);
    if (left > 0) out += fmt::format("  … and {} more\n", left);
  }
  return out;
}

std::string first_findings_text(std::span<const Finding> findings, const JobResult& job,
                                std::string_view but, std::size_t most, std::size_t width) {
  std::vector<const Finding*> first = by_gain(findings, but);
  first.resize(std::min(first.size(), most));
  const Ns step = step_length(job);
  std::string out;
  for (std::size_t i = 0; i < first.size(); ++i) {
    out += indented(fmt::format("{}. {}", i + 1, head_of(*first[i], step)), 2, width, 2) +
           indented("→ " + say(first[i]->advice) + ".", 5, width, 2);
    const auto rest = std::ranges::find_if(
        findings, [&](const Finding& under) { return stays(under, *first[i]); });
    if (rest != findings.end()) out += indented("→ " + say(rest->advice) + ".", 5, width, 2);
  }
  return out;
}

const Finding* largest_finding(std::span<const Finding> findings) {
  const auto all = by_gain(findings, {});
  return all.empty() ? nullptr : all.front();
}

std::string named_findings_text(std::span<const Finding> findings, std::string_view but,
                                std::size_t most, std::size_t width) {
  Messages names;
  std::set<std::string_view> said;
  std::size_t more = 0;
  for (const Finding* f : by_gain(findings, but)) {
    if (names.size() == most || !f->gain)
      ++more;
    else if (said.insert(f->id).second)
      names.push_back(msg::try_named(label_of("finding", f->id), !is_exact(*f), *f->gain));
  }
  if (names.empty()) return {};
  return wrapped(msg::tries_named(!but.empty(), std::move(names), value_if(more > 0, more)), width);
}

}  // namespace stepscope
