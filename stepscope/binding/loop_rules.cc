// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/loop_rules.h"

#include <nanobind/stl/vector.h>

#include <vector>

#include "stepscope/stats/lateness/excess.h"
#include "stepscope/stats/lateness/late_rule.h"

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

std::size_t member_of(const LateRule& rule, std::size_t member) {
  if (member >= rule.members()) throw nb::index_error("the group has no such member");
  return member;
}

void add_round(LateRule& rule, const std::vector<float>& late, double step_ns) {
  if (late.size() != rule.members()) throw nb::value_error("give one value per member");
  rule.add(late, step_ns);
}

}  // namespace

void bind_loop_rules(nb::module_& module) {
  nb::class_<LateRule> rule(module, "LateRule");
  rule.def(nb::init<std::size_t>(), nb::arg("members"))
      .def("add", add_round, nb::arg("late"), nb::arg("step_ns"))
      .def("named", [](const LateRule& r, std::size_t m) { return r.named(member_of(r, m)); })
      .def("lateness", [](const LateRule& r, std::size_t m) { return r.lateness(member_of(r, m)); })
      .def("rounds_late",
           [](const LateRule& r, std::size_t m) { return r.rounds_late(member_of(r, m)); });
  rule.def_static(
      "least", [](double step_ns) { return LateLimits{}.least(step_ns); }, nb::arg("step_ns"));
  module.def(
      "stands_out",
      [](const std::vector<double>& excess, double sure) { return stands_out(excess, sure); },
      nb::arg("excess"), nb::arg("sure") = sure_again);
}

}  // namespace stepscope::binding
