// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/scenario_words.h"

#include <fmt/format.h>

#include <optional>

#include "stepscope/say/format.h"

namespace stepscope {
namespace {

std::string name_of_kind(const std::optional<CollectiveKind>& kind) {
  return kind ? std::string(collective_kind_names[static_cast<std::size_t>(*kind)])
              : "communication";
}

std::string change_words(const Scenario& s) {
  switch (s.change) {
    case Change::no_waiting:
      return "no waiting for peers";
    case Change::communication_free:
      return name_of_kind(s.kind) + " takes no time";
    case Change::bandwidth:
      return fmt::format("{} at {} × the bandwidth", name_of_kind(s.kind), s.factor);
    case Change::latency:
      return fmt::format("{} with 1/{} of the latency", name_of_kind(s.kind), s.factor);
    case Change::compute:
      return fmt::format(
          "{} {} × as fast",
          s.kernel_class ? name_class_names[static_cast<std::size_t>(*s.kernel_class)] : "compute",
          s.factor);
    case Change::host_free:
      return "host and launches take no time";
    case Change::host:
      return fmt::format("host {} × as fast", s.factor);
    case Change::data_free:
      return "data loading takes no time";
    case Change::allocator_free:
      return "allocating and freeing device memory takes no time";
    case Change::collector_free:
      return "garbage collection takes no time";
    case Change::unseen_free:
      return "what the host does without a row takes no time";
    case Change::profiler_free:
      return "the profiler's own overhead is gone";
    case Change::sync_free:
      return "no call waits for the device, or for a collective before it is needed";
    case Change::syncs_once:
      return "no repeated waits for the device within a step";
    case Change::pauses_free:
      return "no pauses of the host";
    case Change::copies_free:
      return "copies take no time";
    case Change::device_alone:
      return "no other process has the device in between";
    case Change::rank_as_peers:
      if (!s.part) return fmt::format("rank {} works as its peers do", s.rank.value_or(-1));
      return fmt::format("rank {}'s {} takes as long as its peers'", s.rank.value_or(-1),
                         *s.part == WorkPart::data
                             ? "data loading"
                             : work_part_names[static_cast<std::size_t>(*s.part)]);
    case Change::group_as_siblings:
      return fmt::format("group {} transfers as its siblings do", s.group);
    case Change::step_as_others:
      return fmt::format("step {} works as the other steps do", s.step.value_or(0));
    case Change::stages_balanced:
      return "pipeline stages balanced";
    case Change::ranks_balanced:
      return "ranks of one role have equal compute";
    case Change::bucket:
      return fmt::format("gradients in messages of {}",
                         format_bytes(static_cast<double>(s.size.value_or(Bytes{}).value)));
    case Change::prefetch:
      return fmt::format("parameters fetched {} unit{} ahead", s.factor, s.factor == 1 ? "" : "s");
  }
  return {};
}

}  // namespace

std::string scenario_words(const Scenario& s) {
  const bool named =
      s.change == Change::rank_as_peers || s.change == Change::group_as_siblings || !s.rank;
  return named ? change_words(s) : fmt::format("{} on rank {}", change_words(s), *s.rank);
}

}  // namespace stepscope
