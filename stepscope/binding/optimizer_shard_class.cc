// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/string.h>

#include <cstdint>
#include <string>

#include "engine/zero/plan/shard.h"
#include "stepscope/binding/python_error.h"
#include "stepscope/binding/zero_classes.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

using zero::OptimizerShard;

template <class T>
T or_raise(const Result<T>& result) {
  if (!result) raise(result.error(), "");
  return *result;
}

OptimizerShard for_rank(std::int64_t rank, std::int64_t world_size, std::int64_t parameters) {
  return or_raise(OptimizerShard::for_rank(rank, world_size, parameters));
}

std::int64_t owner(std::int64_t parameter, std::int64_t world_size, std::int64_t parameters) {
  return or_raise(zero::shard_owner(parameter, world_size, parameters));
}

std::int64_t bytes_of(std::int64_t parameters, std::int64_t bytes_per_parameter) {
  if (bytes_per_parameter < 0)
    raise({.what = std::to_string(bytes_per_parameter) + " bytes a parameter",
           .hint = "give 8 for AdamW, 12 with f32 master weights",
           .code = ErrorCode::refused},
          "");
  return parameters * bytes_per_parameter;
}

std::string text_of(const OptimizerShard& s) {
  return "<OptimizerShard of rank " + std::to_string(s.rank) + " of " +
         std::to_string(s.world_size) + ": [" + std::to_string(s.param_start) + ", " +
         std::to_string(s.param_end) + ") of " + std::to_string(s.total_params) + " parameters>";
}

nb::object range_of(const OptimizerShard& s) {
  return nb::module_::import_("builtins").attr("range")(s.param_start, s.param_end);
}

}  // namespace

void bind_optimizer_shard(nb::module_& module) {
  const auto per_parameter = nb::arg("bytes_per_parameter") = zero::OptimizerBytes{}.states;
  nb::class_<OptimizerShard> shard(
      module, "OptimizerShard",
      "The range of a flat vector of parameters whose optimizer states one rank holds.\n\n"
      "The shards of all ranks cover the vector once; each has floor(N / W) parameters or one "
      "more\n"
      "(docs/reference/optimizer-shard.md). A shard is a value: it does not change.");
  shard
      .def_static("for_rank", for_rank, nb::arg("rank"), nb::arg("world_size"),
                  nb::arg("parameters"),
                  "The shard of a rank. UsageError unless 0 <= rank < world_size and "
                  "parameters >= 0.")
      .def_static("owner", owner, nb::arg("parameter"), nb::arg("world_size"),
                  nb::arg("parameters"),
                  "The rank whose shard holds a parameter. UsageError if there is no such "
                  "parameter.")
      .def_ro("rank", &OptimizerShard::rank)
      .def_ro("world_size", &OptimizerShard::world_size)
      .def_ro("param_start", &OptimizerShard::param_start, "The first parameter.")
      .def_ro("param_end", &OptimizerShard::param_end, "The last parameter + 1.")
      .def_ro("total_params", &OptimizerShard::total_params, "Of all shards.")
      .def_prop_ro("range", range_of, "range(param_start, param_end).")
      .def_prop_ro("size", &OptimizerShard::shard_size, "The number of parameters in the range.")
      .def("owns", &OptimizerShard::owns_param, nb::arg("parameter"),
           "Whether the parameter is in the range.")
      .def_prop_ro("memory_savings", &OptimizerShard::memory_savings,
                   "1 - own parameters / all parameters; 0 without parameters.")
      .def(
          "shard_memory_bytes",
          [](const OptimizerShard& s, std::int64_t each) { return bytes_of(s.shard_size(), each); },
          per_parameter,
          "Optimizer states of this shard: AdamW's m and v in f32 are 8 bytes each "
          "parameter.")
      .def(
          "full_memory_bytes",
          [](const OptimizerShard& s, std::int64_t each) { return bytes_of(s.total_params, each); },
          per_parameter, "The same without sharding.")
      .def(
          "__eq__", [](const OptimizerShard& a, const OptimizerShard& b) { return a == b; },
          nb::is_operator())
      .def("__hash__",
           [](const OptimizerShard& s) {
             return nb::hash(nb::make_tuple(s.rank, s.world_size, s.total_params));
           })
      .def("__copy__", [](const OptimizerShard& s) { return s; })
      .def(
          "__deepcopy__", [](const OptimizerShard& s, const nb::object& /*memo*/) { return s; },
          nb::arg("memo"))
      .def("__repr__", text_of);
}

}  // namespace stepscope::binding
