// SPDX-License-Identifier: Apache-2.0
#include "tests/roundtrip/chrome_file.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "tests/roundtrip/file_text.h"

namespace stepscope::roundtrip {
namespace {

using Json = nlohmann::json;
using Row = std::pair<std::int64_t, std::int64_t>;  // pid, tid

struct Span {
  std::int64_t start = 0;
  std::int64_t end = 0;
  bool device = false;
};

struct FlowEnd {
  Row row;
  std::int64_t time = 0;
};

// Times are microseconds with three decimals. A double holds them exactly to the ns here.
std::int64_t nanoseconds(const Json& microseconds) {
  return std::llround(microseconds.get<double>() * 1000);
}

class Inspection {
 public:
  void read(const Json& trace) {
    for (const Json& event : trace.at("traceEvents")) add(event);
    for (auto& [row, spans] : rows_) check_row(row, spans);
    check_flows();
    for (const Row& row : device_rows_)
      if (!named_threads_.contains(row)) say("no thread_name for " + text(row));
    for (const auto& [row, spans] : rows_)
      if (!named_processes_.contains(row.first)) say("no process_name for " + text(row));
  }
  [[nodiscard]] ChromeFile result() && { return std::move(file_); }
  void say(std::string problem) {
    if (file_.problems.size() < 20) file_.problems.push_back(std::move(problem));
  }

 private:
  static std::string text(const Row& row) {
    return "pid " + std::to_string(row.first) + " tid " + std::to_string(row.second);
  }

  void add(const Json& event) {
    const std::string phase = event.at("ph");
    const Row row{event.at("pid"), event.value("tid", std::int64_t{0})};  // counters have no thread
    if (phase == "X") {
      const std::string cat = event.value("cat", "");
      const bool device = cat == "kernel" || cat == "gpu_memcpy" || cat == "gpu_memset";
      const std::int64_t start = nanoseconds(event.at("ts"));
      rows_[row].push_back({start, start + nanoseconds(event.at("dur")), device});
      ++file_.slices;
      if (device) device_rows_.insert(row);
      file_.device_slices += device ? 1U : 0U;
    } else if (phase == "s") {
      sources_[event.at("id")].push_back({row, nanoseconds(event.at("ts"))});
    } else if (phase == "f") {
      targets_[event.at("id")].push_back({row, nanoseconds(event.at("ts"))});
    } else if (phase == "M" && event.at("name") == "process_name") {
      named_processes_.insert(row.first);
    } else if (phase == "M" && event.at("name") == "thread_name") {
      named_threads_.insert(row);
    }
  }

  // In order of start, longest first, a span must end within all open ones.
  void check_row(const Row& row, std::vector<Span>& spans) {
    std::ranges::sort(spans, [](const Span& a, const Span& b) {
      return a.start != b.start ? a.start < b.start : a.end > b.end;
    });
    if (!device_rows_.contains(row)) return;
    std::vector<std::int64_t> open;
    for (const Span& span : spans) {
      while (!open.empty() && open.back() <= span.start) open.pop_back();
      if (!open.empty() && span.end > open.back())
        say("slices overlap without nesting on " + text(row) + " at " + std::to_string(span.start));
      open.push_back(span.end);
    }
  }

  void check_flows() {
    for (const auto& [id, starts] : sources_)
      if (!targets_.contains(id)) say("flow " + std::to_string(id) + " has no end");
    for (const auto& [id, ends] : targets_) {
      if (!sources_.contains(id)) say("flow " + std::to_string(id) + " has no start");
      file_.flows += ends.size();
    }
    for (const auto* side : {&sources_, &targets_})
      for (const auto& [id, ends] : *side)
        for (const FlowEnd& end : ends)
          if (!begins_slice(end)) say("flow " + std::to_string(id) + " ends outside any slice");
  }

  // Our flows are at the start of their slices.
  [[nodiscard]] bool begins_slice(const FlowEnd& end) const {
    const auto row = rows_.find(end.row);
    if (row == rows_.end()) return false;
    const auto at = std::ranges::lower_bound(row->second, end.time, {}, &Span::start);
    return at != row->second.end() && at->start == end.time;
  }

  ChromeFile file_;
  std::map<Row, std::vector<Span>> rows_;
  std::set<Row> device_rows_;
  std::set<Row> named_threads_;
  std::set<std::int64_t> named_processes_;
  std::map<std::int64_t, std::vector<FlowEnd>> sources_;
  std::map<std::int64_t, std::vector<FlowEnd>> targets_;
};

}  // namespace

ChromeFile inspect(const std::string& path) {
  Inspection inspection;
  try {
    inspection.read(Json::parse(file_text(path)));
  } catch (const std::exception& e) {
    inspection.say(e.what());
  }
  return std::move(inspection).result();
}

}  // namespace stepscope::roundtrip
