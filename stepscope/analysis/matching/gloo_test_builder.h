// SPDX-License-Identifier: Apache-2.0
// Ranks of CPU jobs written by hand for tests: c10d operators on thread 1, and gloo's rows on
// worker threads (collectives) or on thread 1 (messages). Times in ns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/job_test_builder.h"

namespace stepscope {

inline constexpr std::int64_t ms = 1'000'000;

struct GlooCall {
  std::string_view kind = "all_reduce";  // of the row, "gloo:" before it
  std::string_view op = "allreduce_";    // "c10d::" before it
  std::int64_t elements = 64;            // 0: shapes are not recorded
  std::int64_t asked = 0;
  std::int64_t worker = 2;  // the thread of the row
  std::int64_t start = 0;
  std::int64_t end = 0;
  std::string_view concrete = "";  // the operator's arguments
};

struct GlooMessage {
  bool sends = true;
  int peer = -1;  // number in the group; -1: arguments are not recorded
  std::int64_t asked = 0;
  std::int64_t collected = 0;
  std::int64_t elements = 64;
  int tag = 0;
};

class GlooRank {
 public:
  GlooRank() { rank_.rows().op("aten::linear", 0, 1); }

  TestRank& rank() { return rank_; }
  TraceBuilder& rows() { return rank_.rows(); }

  GlooRank& group(std::string_view name, std::string_view description, std::vector<int> ranks) {
    ProcessGroup& group = rank_.built().metadata.groups.emplace_back();
    group.name = name;
    group.description = description;
    group.size = static_cast<int>(ranks.size());
    group.ranks = std::move(ranks);
    return *this;
  }
  // The operator takes 2 ns.
  void call(const GlooCall& c) {
    const std::string op = "c10d::" + std::string(c.op);
    const std::string row = "gloo:" + std::string(c.kind);
    const std::string size = std::to_string(c.elements);
    if (c.elements == 0) {
      rows().op(op, c.asked, c.asked + 2);
      rows().row(rows().thread(c.worker), Category::user_annotation, row, c.start, c.end);
      return;
    }
    rank_.op_with_inputs(Category::cpu_op, op, c.asked, c.asked + 2, "[[[" + size + "]],[],[],[]]",
                         R"(["TensorList","","",""])", c.concrete);
    rank_.op_with_inputs(Category::user_annotation, row, c.start, c.end, "[[" + size + "]]",
                         R"(["float"])", "", c.worker);
  }
  void message(const GlooMessage& m) {
    const std::string op = m.sends ? "c10d::send" : "c10d::recv_";
    const std::string row = m.sends ? "gloo:send" : "gloo:recv";
    const std::string size = std::to_string(m.elements);
    if (m.peer < 0) {
      rows().op(op, m.asked, m.asked + 2);
      rows().row(rows().thread(1), Category::user_annotation, row, m.asked + 1, m.collected);
      return;
    }
    const std::string concrete =
        R"(["","",")" + std::to_string(m.peer) + R"(",")" + std::to_string(m.tag) + R"("])";
    rank_.op_with_inputs(Category::cpu_op, op, m.asked, m.asked + 2, "[[[" + size + "]],[],[],[]]",
                         R"(["TensorList","","Scalar","Scalar"])", concrete);
    rank_.op_with_inputs(Category::user_annotation, row, m.asked + 1, m.collected,
                         "[[" + size + "]]", R"(["float"])");
  }

 private:
  TestRank rank_;
};

// The ranks share a host.
inline TestJob gloo_job(std::vector<GlooRank> ranks) {
  std::vector<TestRank> built;
  for (GlooRank& rank : ranks) {
    const std::string process = std::to_string(4711 + built.size());
    rank.rank().built().metadata.path = "node_" + process + ".1698957822175570404.pt.trace.json";
    built.push_back(std::move(rank.rank()));
  }
  return TestJob(std::move(built));
}

}  // namespace stepscope
