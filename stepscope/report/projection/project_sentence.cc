// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/projection/project_sentence.h"

#include <fmt/format.h>

#include "stepscope/say/format.h"

namespace stepscope {

std::string degrees_in_words(const JobShape& shape) {
  std::string out;
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) out += fmt::format("{}{} {}", out.empty() ? "" : " ", name, degree);
  };
  add("dp", shape.dp);
  add("tp", shape.tp);
  add("cp", shape.cp);
  add("ep", shape.ep);
  add("pp", shape.pp);
  if (shape.micro_batches)
    out += fmt::format("{}{} micro-batch{}", out.empty() ? "" : ", ", *shape.micro_batches,
                       *shape.micro_batches == 1 ? "" : "es");
  if (shape.micro_batches && shape.micro_batch)
    out += fmt::format(" of {} sequence{}", *shape.micro_batch, *shape.micro_batch == 1 ? "" : "s");
  return out;
}

std::string project_sentence(const ProjectResult& r) {
  const Projection& p = r.projection;
  const auto job = [](const JobShape& shape) {
    const std::int64_t n = shape.devices();
    const std::string degrees = degrees_in_words(shape);
    return fmt::format("{} rank{}{}", n, n == 1 ? "" : "s",
                       degrees.empty() ? std::string() : " (" + degrees + ")");
  };
  return fmt::format(
      "On {} a step would take {}, with 80 % between {} and {}. In the traces, on {}, it takes {}.",
      job(p.shape), format_seconds(p.step), format_seconds(p.low), format_seconds(p.high),
      job(p.recorded_shape), format_seconds(p.recorded));
}

}  // namespace stepscope
