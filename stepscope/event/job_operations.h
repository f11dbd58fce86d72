// SPDX-License-Identifier: Apache-2.0
// The operations of a training job as columns, one row each. A job-level recorder writes them (the
// input of StragglerAnalysis, arXiv 2505.05713). One rank is recorded for each DP rank and pipeline
// stage; its tensor, context and expert groups are not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/quantity.h"
#include "stepscope/event/import_notes.h"

namespace stepscope {

enum class JobOp : std::uint8_t {
  forward_compute,
  backward_compute,
  forward_send,
  forward_recv,
  backward_send,
  backward_recv,
  params_all_gather,
  grads_reduce_scatter,
  separate_grads_all_reduce,
  layernorm_grads_all_reduce,
  embedding_grads_all_reduce,
  clip_grads,  // the norm of all gradients, over all ranks
  optimizer,
  garbage_collection,
};
inline constexpr std::size_t job_op_count = 14;
// Names as the tables spell them.
inline constexpr std::array<std::string_view, job_op_count> job_op_names = {
    "forward-compute",
    "backward-compute",
    "forward-send",
    "forward-recv",
    "backward-send",
    "backward-recv",
    "params-all-gather",
    "grads-reduce-scatter",
    "separate-grads-all-reduce",
    "layernorm-grads-all-reduce",
    "embedding-grads-all-reduce",
    "optimizer-clip-main-grad",
    "optimizer",
    "gc"};
static_assert(!job_op_names.back().empty());

constexpr std::string_view name_of(JobOp op) { return job_op_names[static_cast<std::size_t>(op)]; }
// nullopt if no JobOp has this name.
[[nodiscard]] std::optional<JobOp> job_op_of(std::string_view name);

constexpr bool is_pipeline_comm(JobOp op) {
  return op >= JobOp::forward_send && op <= JobOp::backward_recv;
}
// Data-parallel communication, without the small operations at the end of a step.
constexpr bool is_data_comm(JobOp op) {
  return op >= JobOp::params_all_gather && op <= JobOp::separate_grads_all_reduce;
}
constexpr bool is_comm(JobOp op) { return op >= JobOp::forward_send && op <= JobOp::clip_grads; }

// The job's meta file. Missing values are absent.
struct JobMeta {
  std::string trial_name{};
  std::optional<std::int64_t> run_id{};
  std::optional<int> dp_size{};
  std::optional<int> pp_size{};
  std::optional<int> tp_size{};
  std::optional<int> dsp_size{};  // a second data-parallel dimension, over sequences
  std::optional<int> vpp_size{};  // model chunks per stage
  std::optional<int> world_size{};
};

struct JobOperations {
  std::vector<std::int32_t> dp_rank;
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> rank;  // global rank
  std::vector<std::int64_t> step;
  std::vector<JobOp> op;
  std::vector<Seconds> start;  // as recorded, on one clock for all ranks
  std::vector<Seconds> duration;
  std::vector<std::int32_t> seq_id;  // number within kind, rank and step, by start
  std::vector<std::int32_t> mc;      // model chunk within its stage, -1 if none
  std::vector<std::int32_t> mb_id;   // microbatch of forward and backward compute
  std::vector<std::int32_t> gmc;     // model chunk within the model, -1 if none
  ImportNotes notes;
  std::uint64_t text_bytes = 0;  // bytes read, inflated

  [[nodiscard]] std::size_t size() const { return op.size(); }
};

}  // namespace stepscope
