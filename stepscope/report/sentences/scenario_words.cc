// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/scenario_words.h"

#include <fmt/format.h>

#include <optional>
#include <string>

namespace stepscope {
namespace {

std::string_view name_of_kind(const std::optional<CollectiveKind>& kind) {
  return kind ? collective_kind_names[static_cast<std::size_t>(*kind)] : "communication";
}

std::string_view name_of_part(WorkPart part) {
  return part == WorkPart::data ? "data loading" : work_part_names[static_cast<std::size_t>(part)];
}

Message change_words(const Scenario& s) {
  const std::string factor = fmt::format("{}", s.factor);
  switch (s.change) {
    case Change::no_waiting:
      return msg::no_waiting();
    case Change::communication_free:
      return msg::takes_no_time(name_of_kind(s.kind));
    case Change::bandwidth:
      return msg::at_bandwidth(name_of_kind(s.kind), factor);
    case Change::latency:
      return msg::at_latency(name_of_kind(s.kind), factor);
    case Change::compute:
      return msg::so_fast(
          s.kernel_class ? name_class_names[static_cast<std::size_t>(*s.kernel_class)] : "compute",
          factor);
    case Change::host_free:
      return msg::host_takes_no_time();
    case Change::host:
      return msg::so_fast("host", factor);
    case Change::data_free:
      return msg::data_takes_no_time();
    case Change::allocator_free:
      return msg::allocator_takes_no_time();
    case Change::collector_free:
      return msg::collector_takes_no_time();
    case Change::unseen_free:
      return msg::unseen_takes_no_time();
    case Change::profiler_free:
      return msg::without_profiler();
    case Change::sync_free:
      return msg::without_syncs();
    case Change::syncs_once:
      return msg::syncs_once();
    case Change::pauses_free:
      return msg::without_pauses();
    case Change::copies_free:
      return msg::copies_take_no_time();
    case Change::device_alone:
      return msg::device_alone();
    case Change::rank_as_peers:
      return s.part ? msg::part_as_peers(s.rank.value_or(-1), name_of_part(*s.part))
                    : msg::rank_as_peers(s.rank.value_or(-1));
    case Change::group_as_siblings:
      return msg::group_as_siblings(s.group);
    case Change::step_as_others:
      return msg::step_as_others(s.step.value_or(0));
    case Change::stages_balanced:
      return msg::stages_balanced();
    case Change::ranks_balanced:
      return msg::ranks_balanced();
    case Change::bucket:
      return msg::gradients_in_messages(s.size.value_or(Bytes{}));
    case Change::prefetch:
      return msg::fetched_ahead(factor, s.factor != 1);
  }
  return {};
}

}  // namespace

Message scenario_words(const Scenario& s) {
  const bool named =
      s.change == Change::rank_as_peers || s.change == Change::group_as_siblings || !s.rank;
  return named ? change_words(s) : msg::change_on_rank(change_words(s), *s.rank);
}

}  // namespace stepscope
