// SPDX-License-Identifier: Apache-2.0
#include "engine/telemetry/openmetrics.h"

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/telemetry/window_test_builder.h"

namespace stepscope {
namespace {

// A strict parser of OpenMetrics text 1.0, after the ABNF and the rules of its specification.
class Checker {
 public:
  // The first error; empty for a valid exposition.
  std::string fault(std::string_view text) {
    std::size_t line = 0;
    while (fault_.empty() && !text.empty()) {
      ++line;
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) return "the last line has no newline";
      check_line(text.substr(0, end));
      if (!fault_.empty()) return "line " + std::to_string(line) + ": " + fault_;
      text.remove_prefix(end + 1);
    }
    end_family();
    if (fault_.empty() && !ended_) fault_ = "no # EOF";
    return fault_;
  }
  std::map<std::string, double> samples;  // by name and labels as written

 private:
  struct Histogram {
    double last_bound = -INFINITY;
    double last_count = 0;
    bool infinite = false;
  };

  void fail(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  static bool is_name(std::string_view s, bool colon) {
    if (s.empty()) return false;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const char c = s[i];
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
      if (!letter && !(colon && c == ':') && !(i > 0 && c >= '0' && c <= '9')) return false;
    }
    return true;
  }
  static std::string_view word(std::string_view& s) {
    const std::size_t end = s.find(' ');
    const std::string_view w = s.substr(0, end);
    s.remove_prefix(end == std::string_view::npos ? s.size() : end + 1);
    return w;
  }

  void check_line(std::string_view line) {
    if (ended_) return fail("text after # EOF");
    if (line == "# EOF") {
      ended_ = true;
      return;
    }
    if (line.starts_with("# "))
      descriptor(line.substr(2));
    else if (line.starts_with('#') || line.empty())
      fail("neither a descriptor nor a sample");
    else
      sample(line);
  }

  void descriptor(std::string_view rest) {
    const std::string_view what = word(rest);
    const std::string name(word(rest));
    if (!is_name(name, true)) return fail("bad family name");
    if (name != family_) {
      end_family();
      if (!families_.insert(name).second) return fail("family " + name + " comes twice");
      family_ = name;
      type_ = "unknown";
      described_.clear();
      sampled_ = false;
    }
    if (sampled_) return fail("descriptor after samples of " + name);
    if (!described_.insert(std::string(what)).second) return fail("twice the same descriptor");
    if (what == "TYPE") {
      static const std::set<std::string, std::less<>> types = {
          "counter",  "gauge", "histogram", "gaugehistogram",
          "stateset", "info",  "summary",   "unknown"};
      if (!types.contains(rest)) return fail("no such type");
      type_ = rest;
    } else if (what == "UNIT") {
      if (!is_name(rest, false) || !name.ends_with("_" + std::string(rest)))
        return fail("the name of " + name + " does not end in its unit");
      if (type_ == "info" || type_ == "stateset") return fail("a unit where none may be");
    } else if (what == "HELP") {
      escaped(rest, "help");
    } else {
      fail("no such descriptor");
    }
  }

  void escaped(std::string_view s, const char* where) {
    for (std::size_t i = 0; i < s.size(); ++i) {
      if (s[i] == '"') return fail(std::string("bare quote in ") + where);
      if (s[i] != '\\') continue;
      ++i;
      if (i == s.size() || (s[i] != 'n' && s[i] != '\\' && s[i] != '"'))
        return fail(std::string("bad escape in ") + where);
    }
  }

  // Labels without braces. le and quantile are removed from the key.
  std::map<std::string, std::string> labels(std::string_view s) {
    std::map<std::string, std::string> out;
    while (!s.empty() && fault_.empty()) {
      const std::size_t equals = s.find("=\"");
      if (equals == std::string_view::npos) {
        fail("label without value");
        break;
      }
      const std::string name(s.substr(0, equals));
      std::size_t end = equals + 2;
      while (end < s.size() && s[end] != '"') end += s[end] == '\\' ? 2U : 1U;
      if (end >= s.size()) {
        fail("label value without end");
        break;
      }
      if (!is_name(name, false)) fail("bad label name " + name);
      const std::string value(s.substr(equals + 2, end - equals - 2));
      escaped(value, "label value");
      if (!out.emplace(name, value).second) fail("label " + name + " twice");
      s.remove_prefix(end + 1);
      if (s.empty()) break;
      if (s.front() != ',' || s.size() == 1) fail("labels are not separated by one comma");
      s.remove_prefix(1);
    }
    return out;
  }

  double number(std::string_view s) {
    if (s == "NaN") return NAN;
    if (s == "+Inf") return INFINITY;
    if (s == "-Inf") return -INFINITY;
    double value = 0;
    const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (error != std::errc{} || end != s.data() + s.size() || std::isinf(value))
      fail("'" + std::string(s) + "' is no number");
    return value;
  }

  void sample(std::string_view line) {
    sampled_ = true;
    std::size_t name_end = line.find_first_of("{ ");
    if (name_end == std::string_view::npos) return fail("sample without value");
    const std::string name(line.substr(0, name_end));
    if (!is_name(name, true)) return fail("bad metric name");
    std::map<std::string, std::string> found;
    std::string_view rest = line.substr(name_end);
    if (rest.starts_with('{')) {
      std::size_t end = 1;
      for (bool quoted = false; end < rest.size() && (quoted || rest[end] != '}'); ++end) {
        if (rest[end] == '\\')
          ++end;
        else if (rest[end] == '"')
          quoted = !quoted;
      }
      if (end >= rest.size()) return fail("labels without end");
      found = labels(rest.substr(1, end - 1));
      rest.remove_prefix(end + 1);
    }
    if (!rest.starts_with(' ')) return fail("no single space before the value");
    const double value = number(rest.substr(1));
    if (!fault_.empty()) return;
    if (!name.starts_with(family_)) return fail(name + " is not of family " + family_);
    const std::string suffix = name.substr(family_.size());
    if (!samples.emplace(std::string(line.substr(0, line.rfind(' '))), value).second)
      return fail("the same sample twice");
    check_type(suffix, found, value);
  }

  void check_type(const std::string& suffix, std::map<std::string, std::string> found,
                  double value) {
    const bool cumulative = suffix == "_total" || suffix == "_count" || suffix == "_bucket" ||
                            (suffix == "_sum" && type_ == "histogram");
    if (cumulative && !(value >= 0 && std::isfinite(value))) return fail("a count below 0 or NaN");
    if (type_ == "gauge" || type_ == "unknown") {
      if (!suffix.empty()) fail("suffix of a gauge");
    } else if (type_ == "counter") {
      if (suffix != "_total") fail("a counter's sample ends in _total");
    } else if (type_ == "info") {
      if (suffix != "_info" || value != 1) fail("an info is 1 and ends in _info");
    } else if (type_ == "summary") {
      if (suffix.empty()) {
        if (!found.contains("quantile")) return fail("a quantile without its label");
        const double q = number(found["quantile"]);
        if (!(q >= 0 && q <= 1)) fail("a quantile outside [0, 1]");
      } else if (suffix != "_count" && suffix != "_sum") {
        fail("suffix of a summary");
      }
    } else if (type_ == "histogram") {
      if (suffix == "_bucket") {
        if (!found.contains("le")) return fail("a bucket without le");
        const double bound = number(found["le"]);
        found.erase("le");
        Histogram& h = histograms_[found];
        if (bound <= h.last_bound) fail("buckets out of order");
        if (value < h.last_count) fail("buckets are not cumulative");
        h = {bound, value, std::isinf(bound)};
      } else if (suffix == "_count") {
        if (value != histograms_[found].last_count) fail("_count is not the +Inf bucket");
      } else if (suffix != "_sum") {
        fail("suffix of a histogram");
      }
    }
  }

  void end_family() {
    for (const auto& [of, histogram] : histograms_)
      if (!histogram.infinite) fail("histogram without a +Inf bucket");
    histograms_.clear();
  }

  std::string fault_;
  bool ended_ = false;
  std::string family_ = "\n";
  std::string type_;
  std::set<std::string> described_;
  bool sampled_ = false;
  std::set<std::string> families_;
  std::map<std::map<std::string, std::string>, Histogram> histograms_;
};

std::string fault(std::string_view text) { return Checker().fault(text); }

JobWindow some_job(std::uint64_t seed, int steps) {
  std::vector<RankWindow> ranks;
  for (int r = 0; r < 3; ++r)
    ranks.push_back(window_of(seed * 3 + static_cast<unsigned>(r), r, 3, steps));
  return *gather(ranks);
}

TEST(OpenMetrics, TheCheckerFindsFaults) {
  EXPECT_EQ(fault("# TYPE a counter\n# HELP a x\na_total 1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a counter\na_total 1\n"), "");           // no EOF
  EXPECT_NE(fault("# TYPE a counter\na_total 1\n# EOF"), "");      // no newline
  EXPECT_NE(fault("# TYPE a counter\na_total 1\n# EOF\n\n"), "");  // text after EOF
  EXPECT_NE(fault("# TYPE a counter\na 1\n# EOF\n"), "");          // no _total
  EXPECT_NE(fault("# TYPE a counter\na_total -1\n# EOF\n"), "");   // below 0
  EXPECT_NE(fault("# TYPE a gauge\na 1\na 2\n# EOF\n"), "");       // duplicate sample
  EXPECT_NE(fault("# TYPE a gauge\na 1\n# TYPE b gauge\n# TYPE a gauge\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\na{x=\"1\",} 1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\na{x=\"\\q\"} 1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\na{1x=\"q\"} 1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\na  1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\na inf\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a gauge\n# UNIT a seconds\na 1\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE a wrong\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE h histogram\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 1\n# EOF\n"),
            "");
  EXPECT_NE(fault("# TYPE h histogram\nh_bucket{le=\"1.0\"} 2\n# EOF\n"), "");
  EXPECT_NE(fault("# TYPE s summary\ns{quantile=\"1.5\"} 2\n# EOF\n"), "");
  EXPECT_NE(fault("a 1\n# EOF\n"), "");  // without a family
}

TEST(OpenMetrics, WhatIsWrittenIsValid) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const JobWindow job = some_job(seed, static_cast<int>(seed));
    const std::string text =
        openmetrics(job, {.references = {.peak = FlopRate{1e6}},
                          .gauges = {{.name = "loss", .help = "Of \"this\" step,\na\\b."},
                                     {.name = "clip_ratio", .unit = "ratio", .value = NAN}}});
    EXPECT_EQ(fault(text), "") << text;
  }
  EXPECT_EQ(fault(openmetrics({})), "");
}

TEST(OpenMetrics, ValuesAreThoseOfTheWindow) {
  const JobWindow job = some_job(4, 6);
  Checker checker;
  ASSERT_EQ(checker.fault(openmetrics(job, {.references = {.peak = FlopRate{1e6}}})), "");
  const JobTotals totals = job_totals(job);
  EXPECT_EQ(checker.samples.at("stepscope_steps_total"), totals.steps);
  EXPECT_EQ(checker.samples.at("stepscope_tokens_total"), static_cast<double>(totals.tokens));
  EXPECT_NEAR(checker.samples.at("stepscope_wall_seconds_total"), seconds(totals.wall).count(),
              1e-15);
  EXPECT_EQ(checker.samples.at("stepscope_step_seconds_count"), totals.steps);
  double activities = 0;
  double terms = 0;
  for (const auto& [name, value] : checker.samples) {
    if (name.starts_with("stepscope_activity_seconds_total{rank=\"1\"")) activities += value;
    if (name.starts_with("stepscope_mfu_budget_ratio{")) terms += value;
  }
  EXPECT_NEAR(activities, seconds(job.ranks[1].totals.wall).count(), 1e-12);
  EXPECT_NEAR(terms, 1, 1e-9);
}

TEST(OpenMetrics, LabelsMayHoldAnything) {
  RankRecorder recorder({.groups = {{"a \"group\"\nwith \\ all", 1}}});
  recorder.collective({.kind = CollectiveKind::barrier});
  recorder.end_step(1, {}, {});
  const JobWindow job = *gather(std::vector{recorder.take_window()});
  EXPECT_EQ(fault(openmetrics(job)), "");
}

}  // namespace
}  // namespace stepscope
