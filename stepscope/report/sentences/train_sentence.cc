// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/train_sentence.h"

#include <fmt/format.h>

#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"
#include "stepscope/say/say.h"

namespace stepscope {

std::string train_sentence(const TrainResult& r) {
  if (r.steps.empty()) return "No step was completed.";
  const TrainRates rates = train_rates(r);
  std::string out = fmt::format("A step takes {}: {} tokens/s", format_time(rates.step_ns),
                                format_count(rates.tokens_per_second));
  if (rates.mfu) {
    out += fmt::format(", {} of the {} peak of {} (MFU, causal attention counted half",
                       format_percent(*rates.mfu), r.setup.precision,
                       counted(static_cast<std::uint64_t>(r.setup.ranks), "core"));
    out += rates.hfu && *rates.hfu > *rates.mfu
               ? fmt::format("; HFU {})", format_percent(*rates.hfu))
               : std::string(")");
  }
  return out + fmt::format("; loss {:.3f} → {:.3f} in {}.", r.steps.front().loss,
                           r.steps.back().loss, counted(r.steps.size(), "step"));
}

std::string train_verdict_sentence(const TrainResult& r) {
  const TrainVerdict& v = r.verdict;
  if (v.culprits.empty())
    return v.why_none.empty() ? std::string() : fmt::format("No verdict: {}.", v.why_none);
  const std::string steps = fmt::format("Steps {}–{}: ", v.first_step, v.last_step);
  if (is_fault(v.culprits.front().kind)) return steps + say_stopped(v.culprits.front().sentence);
  return r.setup.ranks < 2 ? std::string() : steps + "no rank stands out.";
}

}  // namespace stepscope
