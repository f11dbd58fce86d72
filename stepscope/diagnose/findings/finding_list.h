// SPDX-License-Identifier: Apache-2.0
// The findings of a job while they are looked for, and the searches that fill the list. It takes
// none whose needs the recording lacks (needs.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/analysis/runs/step_facts.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/model/transformer.h"
#include "stepscope/diagnose/finding.h"

namespace stepscope {

struct FindingContext {
  const JobResult& job;
  const Machine* machine = nullptr;  // of the ranks' GPU, null: unknown
  std::optional<int> world_size{};
  const Transformer* model = nullptr;  // that was trained, null: unknown
};

class FindingList {
 public:
  explicit FindingList(const FindingContext& context)
      : context_(context), facts_(recorded_facts(context.job)) {}

  [[nodiscard]] const FindingContext& context() const { return context_; }
  [[nodiscard]] const JobResult& job() const { return context_.job; }
  // The mean step of the job; 0 without steps.
  [[nodiscard]] Ns step() const;
  [[nodiscard]] double share(Ns time) const;  // of it

  // Whether the traces show PyTorch: advice that names it is for those.
  [[nodiscard]] bool pytorch() const;
  // False where they show that nothing is trained: a forward pass or operators, and neither a
  // backward pass nor an optimizer.
  [[nodiscard]] bool trains() const;

  // The standing what-if of this name; null where it changes nothing.
  [[nodiscard]] const WhatIf* what_if(std::string_view name) const;
  // Sum over ranks of what the critical path spends on `label`, a step.
  [[nodiscard]] Ns on_path(std::string_view label) const;
  // The longest piece of the path with this label, to be looked at.
  [[nodiscard]] std::optional<FindingPlace> place_on_path(std::string_view label) const;

  // With the gain that the replay says; dropped below threshold::least_gain of a step.
  void add_replayed(Finding finding, const WhatIf* scenario);
  // With at most `gain`; dropped below threshold::least_gain of a step.
  void add_bounded(Finding finding, Ns gain, Message how);
  // Whether a fault with this id was added.
  [[nodiscard]] bool has_fault(std::string_view id) const;

  // Costs no time of its own, or has its gain already.
  void add(Finding finding);

  // Faults and opportunities, largest gain first, then bounds, then what costs no time; each with
  // its key, and with what is under it right behind it.
  [[nodiscard]] std::vector<Finding> take();

 private:
  const FindingContext& context_;
  Facts facts_;
  std::vector<Finding> findings_;
};

// The two calls of a rank that take most time, each as a line.
[[nodiscard]] Messages most_calls(const RankResult& r, std::span<const CallSum> calls,
                                  MessageMaker<5> line);
// About Python's lock, without evidence.
[[nodiscard]] Finding lock_finding();

// The faults that the replay found. They come first, because other findings ask for them.
void find_faults(FindingList& list);
void find_communication(FindingList& list);
// Whether larger messages of gradients were found to pay.
bool find_bucket_size(FindingList& list);
void find_algorithms(FindingList& list);
void find_shapes(FindingList& list);
void find_prefetch(FindingList& list);
void find_host(FindingList& list);
void find_compute(FindingList& list);
void find_memory_and_capture(FindingList& list);
void find_lock_and_retries(FindingList& list);
void find_clocks(FindingList& list);

// Findings that cost at least a hundredth of a step, and those that cost no time; largest gain
// first. A gain that is only bounded counts half. Empty = nothing was found.
[[nodiscard]] std::vector<Finding> find_findings(const FindingContext& context);

}  // namespace stepscope
