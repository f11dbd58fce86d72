// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/telemetry/stats_json.h"
#include "engine/telemetry/window_bytes.h"
#include "engine/telemetry/zero3_performance_stats.h"
#include "stepscope/base/nearest_names.h"
#include "stepscope/binding/python_error.h"
#include "stepscope/binding/python_tree.h"
#include "stepscope/binding/zero_classes.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

using Stats = Zero3PerformanceStats;
using Detail = Stats::CommunicationDetail;

[[noreturn]] void refuse(std::string what, std::string hint) {
  raise({.what = std::move(what), .hint = std::move(hint), .code = ErrorCode::refused}, "");
}

void done(const Result<Done>& result) {
  if (!result) raise(result.error(), "");
}

// From seconds. A century is below the largest count of nanoseconds.
Ns ns(double duration) {
  constexpr double longest = 3e9;
  if (!(std::abs(duration) < longest))
    refuse("a duration of " + std::to_string(duration) + " seconds", "give seconds");
  return Ns{std::llround(duration * 1e9)};
}

std::optional<Ns> ns(std::optional<double> duration) {
  return duration ? std::optional(ns(*duration)) : std::nullopt;
}

std::optional<double> in_seconds(std::optional<Ns> time) {
  return time ? std::optional(seconds(*time).count()) : std::nullopt;
}

template <class Kind, std::size_t n>
Kind named(std::string_view what, const std::string& name,
           const std::array<std::string_view, n>& names) {
  for (std::size_t i = 0; i < n; ++i)
    if (names[i] == name) return static_cast<Kind>(i);
  refuse(std::string(what) + ' ' + name + " is unknown",
         "did you mean " + nearest_names(name, names) + "?");
}

CollectiveKind kind_of(const std::string& name) {
  return named<CollectiveKind>("operation", name, collective_kind_names);
}

TransferDirection direction_of(const std::string& name) {
  return named<TransferDirection>("direction", name, transfer_direction_names);
}

ElementType type_of(const std::string& name) {
  using enum ElementType;
  constexpr std::array<std::string_view, 9> names = {"f32", "bf16", "f16",  "f64", "i64",
                                                     "u8",  "fp32", "fp16", "fp64"};
  // Only the bytes of an element count: f16 has those of bf16.
  constexpr std::array<ElementType, 9> types = {f32, bf16, bf16, f64, i64, u8, f32, bf16, f64};
  return types[named<std::size_t>("dtype", name, names)];
}

void record_transfer(Stats& s, double duration, std::int64_t bytes, const std::string& direction,
                     std::optional<double> stall) {
  done(s.record_parameter_transfer(ns(duration), Bytes{bytes}, direction_of(direction), ns(stall)));
}

void record_sync(Stats& s, double duration, std::int64_t gradients, int world_size,
                 const std::string& dtype, const std::string& operation, const std::string& group,
                 std::optional<double> stall, std::optional<double> waited) {
  done(s.record_gradient_sync(
      ns(duration), gradients, world_size, type_of(dtype), kind_of(operation),
      Detail{.stall = ns(stall), .waited_for_peers = ns(waited), .group = group}));
}

void record_communication(Stats& s, const std::string& operation, double duration,
                          std::int64_t bytes, int group_size, const std::string& purpose,
                          const std::string& group, std::optional<double> stall,
                          std::optional<double> waited) {
  done(s.record_communication(
      kind_of(operation), ns(duration), Bytes{bytes},
      Detail{.group_size = group_size,
             .purpose = named<CollectivePurpose>("purpose", purpose, collective_purpose_names),
             .stall = ns(stall),
             .waited_for_peers = ns(waited),
             .group = group}));
}

using Links = std::vector<std::tuple<std::string, std::string, double, double>>;
using Rates = std::map<std::string, double>;

// `links`: (group, operation, GB/s, seconds of start); `transfers`: {direction: GB/s}.
void set_references(Stats& s, std::optional<double> peak_flops, const std::string& peak_source,
                    const Links& links, const Rates& transfers) {
  ReferenceRates rates{.peak_source = peak_source};
  if (peak_flops) rates.peak = FlopRate{*peak_flops};
  for (const auto& [group, operation, rate, start] : links)
    rates.collectives.push_back({.group = group,
                                 .kind = kind_of(operation),
                                 .link = {.start = Seconds{start}, .rate = ByteRate{rate * 1e9}}});
  for (const auto& [direction, rate] : transfers)
    rates.transfers[slot(direction_of(direction))] =
        LinkReference{.start = {}, .rate = ByteRate{rate * 1e9}};
  done(s.set_references(std::move(rates)));
}

nb::object summary(const Stats& s) {
  return python_of(Json::parse(stats_json(s.performance_summary())));
}

nb::object part_of_summary(const Stats& s, const char* key) {
  return python_of(Json::parse(stats_json(s.performance_summary()))[key]);
}

// By name.
nb::dict layer_timings(const Stats& s) {
  nb::dict layers;
  for (const nb::handle layer : nb::cast<nb::list>(part_of_summary(s, "layers")))
    layers[layer["name"]] = layer;
  return layers;
}

std::string in_words(const Stats& s) {
  return "<Zero3PerformanceStats: ranks " + std::to_string(s.window().ranks.size()) +
         ", forward passes " + std::to_string(s.forward_passes()) + ", backward passes " +
         std::to_string(s.backward_passes()) + ", optimizer steps " +
         std::to_string(s.optimizer_steps()) + '>';
}

// The windows of the ranks, to send them to another process. References stay behind.
nb::list state_of(const Stats& s) {
  nb::list windows;
  std::vector<std::byte> bytes;
  for (const RankWindow& rank : s.window().ranks) {
    encode(rank, bytes);
    windows.append(nb::bytes(bytes.data(), bytes.size()));
  }
  return windows;
}

JobWindow window_of(const nb::list& state) {
  JobWindow window;
  for (const nb::handle item : state) {
    const auto bytes = nb::cast<nb::bytes>(item);
    auto rank = decode_window(std::as_bytes(std::span(bytes.c_str(), bytes.size())));
    if (!rank) raise(rank.error(), "");
    window.ranks.push_back(std::move(*rank));
  }
  return window;
}

void bind_records(nb::class_<Stats>& stats) {
  const auto duration = nb::arg("duration");
  const auto name = nb::arg("name");
  const auto stall = nb::arg("stall") = nb::none();
  const auto waited = nb::arg("waited_for_peers") = nb::none();
  const auto group = nb::arg("group") = "";
  stats
      .def(
          "record_forward_pass",
          [](Stats& s, double t, std::int64_t n) { done(s.record_forward_pass(ns(t), n)); },
          duration, nb::arg("tokens"))
      .def(
          "record_backward_pass",
          [](Stats& s, double t, std::int64_t n) { done(s.record_backward_pass(ns(t), n)); },
          duration, nb::arg("tokens"))
      .def(
          "record_optimizer_step",
          [](Stats& s, double t, std::int64_t n) { done(s.record_optimizer_step(ns(t), n)); },
          duration, nb::arg("parameters"), "Ends the step.")
      .def(
          "record_layer_execution",
          [](Stats& s, const std::string& layer, double t) {
            done(s.record_layer_execution(layer, ns(t)));
          },
          name, duration)
      .def(
          "record_layer_backward",
          [](Stats& s, const std::string& layer, double t) {
            done(s.record_layer_backward(layer, ns(t)));
          },
          name, duration)
      .def(
          "record_layer_recompute",
          [](Stats& s, const std::string& layer, double t) {
            done(s.record_layer_recompute(layer, ns(t)));
          },
          name, duration)
      .def("record_parameter_transfer", record_transfer, duration, nb::arg("bytes"),
           nb::arg("direction"), stall, "direction: \"host_to_device\", \"nvme_to_host\", ...")
      .def("record_gradient_sync", record_sync, duration, nb::arg("gradients"),
           nb::arg("world_size"), nb::arg("dtype") = "f32", nb::arg("operation") = "reduce_scatter",
           group, stall, waited,
           "gradients: elements of dtype (\"f32\", \"bf16\", \"f16\", \"f64\"; also as \"fp32\").")
      .def("record_communication", record_communication, nb::arg("operation"), duration,
           nb::arg("bytes"), nb::arg("group_size") = 0, nb::arg("purpose") = "other", group, stall,
           waited, "bytes: the message size of nccl-tests. group_size 0: all ranks.")
      .def(
          "record_flops",
          [](Stats& s, double model, std::optional<double> executed) {
            done(s.record_flops(Flops{model}, Flops{executed.value_or(model)}));
          },
          nb::arg("model"), nb::arg("executed") = nb::none(), "Of the current step, for MFU.")
      .def(
          "end_step", [](Stats& s) { done(s.end_step()); },
          "Ends a step without an optimizer step.");
}

template <Ns (Stats::*time)() const>
double total_of(const Stats& s) {
  return seconds((s.*time)()).count();
}

void bind_members(nb::class_<Stats>& stats) {
  stats.def_prop_ro("forward_passes", &Stats::forward_passes)
      .def_prop_ro("backward_passes", &Stats::backward_passes)
      .def_prop_ro("optimizer_steps", &Stats::optimizer_steps)
      .def_prop_ro("total_forward_time", total_of<&Stats::total_forward_time>)
      .def_prop_ro("total_backward_time", total_of<&Stats::total_backward_time>)
      .def_prop_ro("total_optimizer_time", total_of<&Stats::total_optimizer_time>)
      .def_prop_ro("parameter_transfer_time", total_of<&Stats::parameter_transfer_time>)
      .def_prop_ro("gradient_sync_time", total_of<&Stats::gradient_sync_time>)
      .def_prop_ro("layer_timings", layer_timings, "`layers` of the summary, by name.");
  constexpr std::pair<const char*, const char*> parts[] = {
      {"throughput_metrics", "throughput"},
      {"memory_transfer_metrics", "memory_transfers"},
      {"communication_stats", "communication"},
      {"optimization_efficiency", "efficiency"}};
  for (const auto& [member, key] : parts)
    stats.def_prop_ro(member, [key](const Stats& s) { return part_of_summary(s, key); });
}

}  // namespace

void bind_zero3_stats(nb::module_& module) {
  nb::class_<Stats> stats(
      module, "Zero3PerformanceStats",
      "The performance statistics of a training loop that reports its own durations, in "
      "seconds.\n\n"
      "Each rank records in its own object; one rank merges those of the others, which can be\n"
      "pickled (torch.distributed.all_gather_object). docs/reference/zero3-statistics.md");
  stats.def(
      "__init__",
      [](Stats* self, int rank, int world_size) {
        if (rank < 0 || rank >= world_size)
          refuse("rank " + std::to_string(rank) + " of " + std::to_string(world_size),
                 "give 0 <= rank < world_size");
        new (self) Stats(rank, world_size);
      },
      nb::arg("rank") = 0, nb::arg("world_size") = 1);
  bind_records(stats);
  bind_members(stats);
  stats
      .def("set_references", set_references, nb::arg("peak_flops") = nb::none(),
           nb::arg("peak_source") = "", nb::arg("links") = Links{}, nb::arg("transfers") = Rates{},
           "What efficiencies are relative to. links: (group, operation, GB/s, seconds of start); "
           "transfers: {direction: GB/s}.")
      .def(
          "set_clock_offset", [](Stats& s, double offset) { s.set_clock_offset(ns(offset)); },
          nb::arg("seconds"), "The job's clock minus this host's.")
      .def("reset", &Stats::reset, "Drops all records and begins a step.")
      .def(
          "merge", [](Stats& s, const Stats& other) { done(s.merge(other)); }, nb::arg("other"),
          "Adds the ranks of another object over the same steps.")
      .def("summary", summary, "All figures, with the keys of `stats` of train's JSON.")
      .def_prop_ro("average_forward_time",
                   [](const Stats& s) { return in_seconds(s.average_forward_time()); })
      .def_prop_ro("average_backward_time",
                   [](const Stats& s) { return in_seconds(s.average_backward_time()); })
      .def_prop_ro("average_optimizer_time",
                   [](const Stats& s) { return in_seconds(s.average_optimizer_time()); })
      .def_prop_ro("tokens_per_second", &Stats::tokens_per_second)
      .def_prop_ro("memory_bandwidth_gb_per_s", &Stats::memory_bandwidth_gb_per_s)
      .def_prop_ro("communication_efficiency", &Stats::communication_efficiency)
      .def_prop_ro("training_efficiency", &Stats::training_efficiency, "MFU.")
      .def("__repr__", in_words)
      .def("__getstate__", state_of)
      .def("__setstate__",
           [](Stats& s, const nb::list& state) { new (&s) Stats(window_of(state)); });
}

}  // namespace stepscope::binding
