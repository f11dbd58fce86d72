// SPDX-License-Identifier: Apache-2.0
// A requested change as written on the command line, and its answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/enum_names.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/say/message.h"

namespace stepscope {

enum class Change : std::uint8_t {
  no_waiting,          // transfers begin when their own rank is ready
  communication_free,  // transfers of a kind take no time; waiting stays
  bandwidth,           // transfers: latency + (rest) / factor
  latency,             // transfers: latency / factor + rest
  compute,             // kernels of a class take 1 / factor
  host_free,           // host and launches take no time, except data loading
  host,                // host time / factor
  data_free,           // data loading takes no time
  allocator_free,      // calls that allocate, free or map memory take no time (host.h)
  collector_free,      // Python's garbage collector takes no time
  unseen_free,         // long host time that no row shows takes no time
  profiler_free,       // the profiler's own overhead takes no time
  sync_free,           // calls do not wait for the device; without one, threads do not wait for
                       // collectives before they need them (early_waits.h)
  syncs_once,  // calls that wait for the device several times a step do so at most once, at its end
  pauses_free,  // host work that took much longer now and then takes its usual time
                // (fault_changes.h)
  copies_free,
  device_alone,       // no other process takes a device in between (NodeKind::held)
  rank_as_peers,      // a rank's own work takes as long as at its peers (peer_median.h)
  group_as_siblings,  // transfers of a process group take as long as in its siblings
  step_as_others,     // the work of one step takes as long as in the other steps
  stages_balanced,    // layers are spread evenly over the pipeline stages
  ranks_balanced,     // each piece of compute takes the mean of the ranks of its role
  bucket,             // gradients are sent in messages of another size (bucket_change.h)
  prefetch,           // parameters are fetched `factor` units ahead (prefetch_replay.h)
};

// The part of a rank's own work.
enum class WorkPart : std::uint8_t { compute, host, data };  // data: of the host, its data loading
inline constexpr auto work_part_names = enum_names<WorkPart::data>;

struct Scenario {
  Change change = Change::no_waiting;
  double factor = 1;                        // bandwidth, latency, compute, host, prefetch
  std::optional<CollectiveKind> kind{};     // communication_free, bandwidth, latency: absent = all
  std::optional<NameClass> kernel_class{};  // compute: absent = all
  std::optional<int> rank{};                // only this rank's work; rank_as_peers needs it
  std::optional<Bytes> size{};              // bucket
  std::optional<WorkPart> part{};           // rank_as_peers: absent = all
  std::string group{};                      // group_as_siblings: name of the process group
  std::optional<std::int64_t> step{};       // step_as_others: Step::index
};

// "communication_free:all_gather", "bandwidth:2", "compute:matmul:1.3@0", "rank_as_peers:host@3",
// "group_as_siblings:tp0", "step_as_others:12", "bucket:25MB".
[[nodiscard]] std::string name_of(const Scenario& scenario);
// Parses such a name. The error lists the known ones.
[[nodiscard]] Result<Scenario> parse_scenario(std::string_view text);

// One row per change, in the order of `Change`: the source of help, completion and errors.
struct ScenarioHelp {
  std::string syntax;        // "bandwidth[:COLLECTIVE]:FACTOR[@RANK]"
  std::string_view meaning;  // one sentence without a full stop
  std::string_view example;  // parse_scenario() takes it
};
[[nodiscard]] std::vector<ScenarioHelp> scenario_help();

struct WhatIf {
  Scenario scenario;
  Ns step{};   // predicted; the longest, if there are bounds
  Ns saved{};  // per step; negative if it costs time
  // Both are shares of (step − step with every standing cause removed): the gain from removing this
  // cause alone, and its cost alone while the others are removed. Causes interact: neither sums to
  // 1. Absent if nothing can be removed.
  std::optional<double> removed;
  std::optional<double> added;
  std::optional<Ns> beside_fault{};   // saved once the first fault is undone (faults.h); absent: no
                                      // fault, or not asked
  std::optional<Ns> shortest_step{};  // absent: `step` is no bound
  bool doubted = false;               // the bounds are those of the replay's error (explanation.h)
  std::size_t unsplit = 0;            // calls of one rank whose waiting and transfer are one: the
                                      // bounds are those of their transfer (what_if.h)
  std::size_t nodes = 0;              // nodes that it changed
  Message refused{};                  // reason if these traces cannot answer; empty = answered
  Messages notes{};                   // assumptions of the answer
};

// `saved` is the least if there are bounds.
[[nodiscard]] inline Ns most_saved(const WhatIf& w) {
  return w.saved + (w.shortest_step ? w.step - *w.shortest_step : Ns{0});
}

}  // namespace stepscope
