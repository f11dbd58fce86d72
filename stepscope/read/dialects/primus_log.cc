// SPDX-License-Identifier: Apache-2.0
// Primus runs Megatron-LM and prints each figure twice: "elapsed time per iteration (ms):
// 9480.0/9500.0" is the last step and the mean of recent ones, "hip mem
// usage/free/total/usage_ratio: 143.55GB/48.44GB/191.98GB/74.77%" the memory
// (primus/modules/trainer/megatron/trainer.py). The reader of Megatron-LM's lines reads them.
#include "stepscope/read/log/log_dialect.h"

namespace stepscope {

const LogDialect primus_log = {
    .tool = {.name = "primus", .label = "Primus", .counting = FlopCounting::megatron},
    .how = "elapsed time per iteration",
    .means = true};

}  // namespace stepscope
