// SPDX-License-Identifier: Apache-2.0
// Lines of MLPerf's logging that have every milestone of a run.
#pragma once

#include <string>

namespace stepscope::contract {

// Without blocks of training, which would be steps of their own.
inline std::string milestones_of_mlperf() {
  std::string text;
  int ms = 1000;
  const auto add = [&](const std::string& key, const std::string& value,
                       const std::string& metadata = "") {
    text += R"(:::MLLOG {"time_ms": )" + std::to_string(ms += 100) + R"(, "key": ")" + key +
            R"(", "value": )" + value + R"(, "metadata": {)" + metadata + "}}\n";
  };
  for (const char* key : {"benchmark", "org", "platform", "division"})
    add("submission_" + std::string(key), R"("x")");
  add("target_accuracy", "0.5");
  for (const char* key : {"init_start", "init_stop", "run_start", "eval_start"}) add(key, "null");
  add("eval_accuracy", "0.4", R"("samples_count": 64)");
  add("eval_stop", "null");
  add("run_stop", "null", R"("status": "success")");
  return text;
}

}  // namespace stepscope::contract
