// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/job_arguments.h"

#include <algorithm>
#include <array>
#include <optional>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/comm_lines/nccl_line.h"

namespace stepscope {
namespace {

// Arguments that `predict` takes as well.
constexpr std::array<std::string_view, 11> wanted_settings = {"tensor_model_parallel_size",
                                                              "pipeline_model_parallel_size",
                                                              "train_micro_batch_size_per_gpu",
                                                              "micro_batch_size",
                                                              "global_batch_size",
                                                              "train_batch_size",
                                                              "seq_length",
                                                              "recompute_granularity",
                                                              "zero_optimization_stage",
                                                              "model_name_or_path",
                                                              "_name_or_path"};

// "world_size ..... 16", "world size: 16", "WORLD_SIZE=16"; Lightning's "All distributed processes
// registered. Starting with 16 processes".
void read_world_size(std::string_view text, const std::string& path, Incident& into) {
  std::optional<int> size;
  for (const std::string_view key :
       {"world_size", "world size", "WORLD_SIZE", "World size", "World Size"}) {
    const auto rest = behind(text, key);
    if (!rest) continue;
    std::string_view number = *rest;
    while (!number.empty() && contains(" .:='\"", number.substr(0, 1))) number.remove_prefix(1);
    size = leading_number<int>(number);
    break;
  }
  if (!size && contains(text, "All distributed processes registered"))
    if (const auto rest = behind(text, "Starting with ")) size = leading_number<int>(*rest);
  if (size && *size > 1 && *size < 10'000'000 && into.world_sizes.size() < 100)
    into.world_sizes.try_emplace(*size, path);
}

// "  micro_batch_size .......... 2", "train_batch_size: 16", "\"_name_or_path\": \"org/model\"".
void read_setting(std::string_view text, Incident& into) {
  for (const std::string_view name : wanted_settings) {
    const std::size_t at = text.find(name);
    if (at == std::string_view::npos) continue;
    const bool begins = at == 0 || contains(" \t\"'(,{-", text.substr(at - 1, 1));
    std::string_view value = text.substr(at + name.size());
    if (!begins || value.empty() || !contains(" \t.=:\"'", value.substr(0, 1))) continue;
    while (!value.empty() && contains(" \t.=:\"'", value.substr(0, 1))) value.remove_prefix(1);
    value = value.substr(0, std::min(value.find_first_of(" \t,\"'})"), value.size()));
    if (value.empty() || value.size() > 120) continue;
    into.settings.insert_or_assign(std::string(name), std::string(value));
    return;
  }
}

}  // namespace

void read_job_arguments(std::string_view line, const std::string& path, Incident& into) {
  read_world_size(line, path, into);
  read_setting(line, into);
}

}  // namespace stepscope
