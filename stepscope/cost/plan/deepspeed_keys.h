// SPDX-License-Identifier: Apache-2.0
// The keys of a ds_config.json that are known but not read.
#pragma once

#include <array>
#include <string_view>

namespace stepscope::deepspeed_keys {

// Keys of negligible cost, and keys for logging, saving and scheduling.
inline constexpr std::array<std::string_view, 31> costless = {
    "steps_per_print",
    "wall_clock_breakdown",
    "memory_breakdown",
    "dump_state",
    "gradient_clipping",
    "prescale_gradients",
    "gradient_predivide_factor",
    "gradient_allreduce_op",
    "scheduler",
    "zero_allow_untested_optimizer",
    "zero_force_ds_cpu_optimizer",
    "tensorboard",
    "wandb",
    "csv_monitor",
    "comet",
    "comms_logger",
    "monitor_config",
    "flops_profiler",
    "checkpoint",
    "aio",
    "nebula",
    "seed",
    "dataloader_drop_last",
    "use_data_before_expert_parallelism",
    "log_level",
    "timers",
    "compile",
    "vocabulary_size",
    "graph_harvesting",
    "seq_parallel_communication_data_type",
    "managed_gradient_accumulation"};
// Features that change the cost, each a block with "enabled".
inline constexpr std::array<std::string_view, 10> features = {"amp",
                                                              "torch_autocast",
                                                              "progressive_layer_drop",
                                                              "curriculum_learning",
                                                              "elasticity",
                                                              "autotuning",
                                                              "eigenvalue",
                                                              "hybrid_engine",
                                                              "data_efficiency",
                                                              "quantize_training"};
// Features that are on if their block is present.
inline constexpr std::array<std::string_view, 3> blocks = {
    "sparse_attention", "compression_training", "weight_quantization"};
inline constexpr std::array<std::string_view, 24> zero_costless = {
    "contiguous_gradients",
    "use_multi_rank_bucket_allreduce",
    "allgather_bucket_size",
    "load_from_fp32_weights",
    "elastic_checkpoint",
    "sub_group_size",
    "cpu_offload_use_pin_memory",
    "stage3_param_persistence_threshold",
    "stage3_model_persistence_threshold",
    "stage3_gather_16bit_weights_on_model_save",
    "stage3_gather_fp16_weights_on_model_save",
    "stage3_module_granularity_threshold",
    "ignore_unused_parameters",
    "legacy_stage1",
    "round_robin_gradients",
    "zero_quantized_nontrainable_weights",
    "mics_hierarchical_params_gather",
    "memory_efficient_linear",
    "pipeline_loading_checkpoint",
    "override_module_apply",
    "log_trace_cache_warnings",
    "enable_sanity_checks",
    "save_muon_momentum_buffer_in_memory",
    "leaf_module"};

}  // namespace stepscope::deepspeed_keys
