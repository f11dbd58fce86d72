// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/live/live_metrics.h"

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <vector>

#include "stepscope/metrics/metric_text.h"

namespace stepscope {
namespace {

void put_steps(MetricText& out, const JobState& job) {
  out.family("stepscope_live_steps", MetricType::counter, "", "Steps that were seen.");
  out.sample("_total", {}, job.curve().steps());
  if (const auto recent = job.curve().recent_ns()) {
    out.family("stepscope_live_step_seconds", MetricType::gauge, "seconds",
               "Median time of the last 20 steps or means of steps.");
    out.sample("", {}, *recent / 1e9);
  }
}

void put_processes(MetricText& out, const LiveView& view) {
  std::int64_t writing = 0, silent = 0, late = 0;
  double quiet = 0;
  std::vector<const LiveProcess*> named;
  for (const LiveProcess& p : view.job.processes()) {
    if (p.records == 0 || p.replaced) continue;
    (p.silent || view.job.stands_still() ? silent : writing) += 1;
    quiet = std::max(quiet, view.now - p.heard);
    if (p.late_in.empty()) continue;
    ++late;
    named.push_back(&p);
  }
  out.family("stepscope_live_processes", MetricType::gauge, "",
             "Processes of the job, by whether they write.");
  const std::array writes = {MetricLabel{"state", "writing"}};
  const std::array quiets = {MetricLabel{"state", "silent"}};
  out.sample("", writes, writing);
  out.sample("", quiets, silent);
  out.family("stepscope_live_quiet_seconds", MetricType::gauge, "seconds",
             "Time since the process that is quiet for longest wrote something.");
  out.sample("", {}, quiet);
  out.family("stepscope_live_late_ranks", MetricType::gauge, "", "Ranks that are late.");
  out.sample("", {}, late);
  if (late == 0) return;
  out.family("stepscope_live_late_seconds", MetricType::gauge, "seconds",
             "How late a rank comes, a step; of at most 16 late ranks.");
  std::ranges::stable_sort(named, std::greater<>(), &LiveProcess::late_ns);
  if (named.size() > most_late_series) named.resize(most_late_series);
  std::vector<int> ranks;
  for (const LiveProcess* p : named) {
    if (std::ranges::find(ranks, p->rank) != ranks.end()) continue;
    ranks.push_back(p->rank);
    const std::string rank = p->rank >= 0 ? std::to_string(p->rank) : p->name;
    const std::array labels = {MetricLabel{"rank", rank}};
    out.sample("", labels, p->late_ns / 1e9);
  }
}

void put_coverage(MetricText& out, const LiveView& view) {
  const LiveCoverage c = view.job.coverage();
  out.family("stepscope_live_records", MetricType::counter, "",
             "Records of collectives: of those that all ranks reported, of others, and what has no "
             "record.");
  const auto put = [&](std::string_view state, std::uint64_t n) {
    const std::array labels = {MetricLabel{"state", state}};
    out.sample("_total", labels, n);
  };
  put("matched", c.matched);
  put("unmatched", c.unmatched);
  put("dropped", c.dropped);
  put("unrecorded", c.unrecorded);
  put("not_gpu_timed", c.not_gpu_timed);
  out.family("stepscope_live_lines", MetricType::counter, "", "Lines that were read.");
  out.sample("_total", {}, view.files.lines);
  out.family("stepscope_live_lines_not_understood", MetricType::counter, "",
             "Lines that were read and not understood.");
  out.sample("_total", {}, view.files.not_understood);
}

void put_waiting(MetricText& out, const JobState& job) {
  double wait = 0, transfer = 0;
  for (const auto& c : job.communicators()) {
    wait += c->mean_wait();
    transfer += c->transfer();
  }
  if (!(wait + transfer > 0)) return;
  out.family("stepscope_live_wait_ratio", MetricType::gauge, "ratio",
             "Share of the time in collectives in which ranks waited for others, of the last half "
             "minute or so.");
  out.sample("", {}, wait / (wait + transfer));
}

}  // namespace

std::string live_metrics(const LiveView& view) {
  MetricText out;
  out.family("stepscope_live_followed_seconds", MetricType::gauge, "seconds",
             "Time since following began.");
  out.sample("", {}, view.now - view.since);
  put_steps(out, view.job);
  put_processes(out, view);
  put_waiting(out, view.job);
  out.family("stepscope_live_stands_still", MetricType::gauge, "",
             "1 if no process writes anything, else 0.");
  out.sample("", {}, std::int64_t{view.job.stands_still() ? 1 : 0});
  out.family("stepscope_live_events", MetricType::counter, "", "Events by kind.");
  for (std::size_t k = 0; k < live_event_names.size(); ++k) {
    const std::array labels = {MetricLabel{"event", live_event_names[k]}};
    out.sample("_total", labels, view.job.event_counts()[k]);
  }
  put_coverage(out, view);
  return out.finish();
}

std::string live_textfile(const LiveView& view) {
  const std::string text = live_metrics(view);
  std::set<std::string, std::less<>> counters;
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const bool type = line.starts_with("# TYPE ");
    if (type || line.starts_with("# HELP ")) {
      constexpr std::size_t name_at = 7;
      const std::size_t name_end = line.find(' ', name_at);
      const std::string name = line.substr(name_at, name_end - name_at);
      if (type && line.ends_with(" counter")) counters.insert(name);
      if (counters.contains(name)) line.insert(name_end, "_total");
    } else if (line.starts_with('#')) {
      continue;  // units and the end
    }
    out += line + '\n';
  }
  return out;
}

}  // namespace stepscope
