// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/sentences/train_sentence.h"

#include "stepscope/report/sentences/names.h"
#include "stepscope/say/format.h"
#include "stepscope/say/phrases.h"

namespace stepscope {

Message train_sentence(const TrainResult& r) {
  if (r.steps.empty()) return msg::no_step_completed();
  const TrainRates rates = train_rates(r);
  return msg::trained_at(Nanoseconds(rates.step_ns), format_count(rates.tokens_per_second),
                         percent_of(rates.mfu), r.setup.precision, r.setup.ranks,
                         rates.hfu > rates.mfu ? percent_of(rates.hfu) : Value(),
                         Digits{r.steps.front().loss}, Digits{r.steps.back().loss}, r.steps.size());
}

Message train_verdict_sentence(const TrainResult& r) {
  const TrainVerdict& v = r.verdict;
  if (v.culprits.empty()) return v.why_none.empty() ? Message() : msg::no_verdict(v.why_none);
  const Culprit& first = v.culprits.front();
  if (!is_fault(first.kind) && r.setup.ranks < 2) return {};
  return msg::verdict_of_steps(v.first_step, v.last_step,
                               is_fault(first.kind) ? first.sentence : msg::no_rank_stands_out());
}

}  // namespace stepscope
