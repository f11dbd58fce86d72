// SPDX-License-Identifier: Apache-2.0
// What users of the library need of the engine: training, the counters of a trainer, the optimizer
// shard, and the measurement of this machine. Installed where the build has the engine.
#pragma once

#include "engine/measure/calibrate.h"
#include "engine/telemetry/rank_recorder.h"
#include "engine/telemetry/stats_json.h"
#include "engine/telemetry/zero3_performance_stats.h"
#include "engine/train/train.h"
#include "engine/train/train_views.h"
#include "engine/zero/plan/shard.h"
