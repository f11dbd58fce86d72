// SPDX-License-Identifier: Apache-2.0
// The bounds by which verdict, findings and warnings judge what is worth saying.
#pragma once

#include <chrono>
#include <cstddef>

#include "stepscope/base/quantity.h"

namespace stepscope::threshold {

// All findings: share of a step.
inline constexpr double least_gain = 0.01;

// Verdict: a peer loses time to a late rank if it waits for this share of its lateness, and a cause
// is named if it explains this share of it.
inline constexpr double share_of_lateness = 0.25;
// Verdict: a rank that no replay accuses is named as the latest from this share of a step on, if it
// is the latest in half of the steps and twice as late as the next.
inline constexpr double latest_share = 0.1;
inline constexpr double latest_steps = 0.5;
inline constexpr std::int64_t latest_times = 2;
// Verdict: work that begins late on a free device is mentioned from this share of a step on, and
// managed memory from this number of page faults on.
inline constexpr double late_starts_told = 0.05;
inline constexpr std::uint64_t many_faults = 100;
// Verdict: a window in which a device works for less than this share of the recorded time, after
// its context was created, shows start-up only.
inline constexpr double least_work = 0.01;
// Verdict: another process uses the GPU where launch latency takes this share of the time, a gap
// lasts this long on average, and kernels begin this long after their launch.
inline constexpr double late_starts_share = 0.2;
inline constexpr Ns late_start_gap = std::chrono::microseconds{50};
inline constexpr Ns late_start_slack = std::chrono::microseconds{100};
// Verdict: allocations that free cached memory first are named from this share of a step on.
inline constexpr double least_retries = 0.05;
// Verdict: an HFU below this is not mentioned.
inline constexpr double least_hfu = 0.0005;

// Links: share of what the machine's links allow; and how often a message must last as long as an
// empty one for its bytes, not its latency, to count.
inline constexpr double slow_link_share = 1.0 / 3;
inline constexpr double rate_bound_from = 3;
// Messages: share of a transfer that its latency takes, for it to be small.
inline constexpr double mostly_latency = 0.5;
// Congestion: slowest tenth over the median, with at least least_calls calls of one size and group.
inline constexpr double congestion_spread = 2;
inline constexpr std::size_t least_calls = 10;
// Algorithms: how many times the best algorithm's time a call takes, and the share of the calls
// that ran on one algorithm. The model's own error is far below the first.
inline constexpr double slower_algorithm = 1.3;
inline constexpr double one_algorithm_share = 0.9;
// Pipelines: how much longer than the mean of the others the busiest stage computes.
inline constexpr double uneven_stages = 0.05;
// Prefetch: share of the gain of the farthest prefetch that a nearer one must give back.
inline constexpr double enough_prefetch = 0.95;

// Matrix products: share of the peak that a large one reaches, a short one's duration, and the
// shares of all products' time from which short ones, ones without tensor cores and ones of single
// precision are mentioned.
inline constexpr double good_product_share = 0.7;
inline constexpr Ns short_product = std::chrono::microseconds{10};
inline constexpr double many_short_products = 0.3;
inline constexpr double many_slow_formats = 0.2;
// Fusion saves at most this share of elementwise time. From the second share on that is fused, the
// job is compiled.
inline constexpr double fusion_saves = 0.5;
inline constexpr double mostly_fused = 0.1;

// Work of the ranks of one role: least to most, as a share of the mean; how well the products' time
// must follow their FLOPs over how many points; and the share of their time that may lack shapes.
inline constexpr double uneven_work = 0.05;
inline constexpr double work_explains_time = 0.9;
inline constexpr std::size_t least_points = 4;
inline constexpr double most_without_shapes = 0.2;
// Padding: how far below the rate of aligned products of the same run an odd one is, and the share
// of its FLOPs that such an aligned product must have.
inline constexpr double odd_product_loss = 0.15;
inline constexpr double similar_product_size = 0.25;

// Device memory: share of the device left at the peak; share of the reserved memory not allocated
// at the peak, where at least this share of the device is reserved.
inline constexpr double memory_near_limit = 0.05;
inline constexpr double reserved_unused = 0.2;
inline constexpr double much_reserved = 0.5;
// Memory snapshots: share of what is reserved or held from which a loss is mentioned, and share of
// what is held from which a use is.
inline constexpr double memory_loss = 0.05;
inline constexpr double large_memory_use = 0.3;

// Checks of a few steps: from where on a figure is worth a look. How much longer than the median of
// its role the rank with most work computes; shares of the step; MFU; share of the device's memory
// that stays free.
inline constexpr double much_imbalance = 0.05;
inline constexpr double much_exposed = 0.10;
inline constexpr double much_idle = 0.10;
inline constexpr double little_overlap = 0.5;  // of what could overlap
inline constexpr double much_data = 0.05;
inline constexpr double much_memory_bound = 0.3;  // of the kernels' time
inline constexpr double little_mfu = 0.30;
inline constexpr double little_headroom = 0.10;

// The number of steps that a capture needs.
inline constexpr std::size_t enough_steps = 3;

// Clocks of GPUs: how far below its peers' the clock of a rank is alike; the share of what a rank
// is slower that a lower clock explains; and the share of the time from which a reason that limits
// a clock is named (beyond its peers' share).
inline constexpr double clock_alike = 0.03;
inline constexpr double clock_explains = 0.5;
inline constexpr double clock_limited = 0.1;

// Profiles of the host: share of its samples that a thread which trains spends in passes.
inline constexpr double least_in_passes = 0.1;
// Profiles with a trace: while a thread waits, a device that idles for at most the first share of
// the time loses little, and one that idles for at least the second loses it as well.
inline constexpr double hardly_idle = 0.1;
inline constexpr double mostly_idle = 0.5;

// The first sentence says so where this share of a step is not recorded, or is start-up: less
// changes no verdict, which needs a tenth (least_bound of culprit.cc).
inline constexpr double much_not_recorded = 0.1;
inline constexpr double much_start_up = 0.1;
// So it does where the window, which ends with the device's rows, is less than half of what was
// recorded.
inline constexpr double small_span = 0.5;

// Relative to a step that is not recorded: a recorded step this much longer is slowed by the
// recording.
inline constexpr double slowed_by_recording = 1.1;

}  // namespace stepscope::threshold
