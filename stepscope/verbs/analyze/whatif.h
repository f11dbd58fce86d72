// SPDX-License-Identifier: Apache-2.0
// `stepscope whatif`: what would a change buy? The recorded steps are replayed with something
// changed.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "stepscope/analysis/replay/explanation.h"
#include "stepscope/base/progress.h"
#include "stepscope/base/result.h"
#include "stepscope/say/message.h"
#include "stepscope/verbs/analyze/analyze.h"
#include "stepscope/verbs/inputs/traces.h"

namespace stepscope {

// The number of standing questions that are shown and remarked on, largest gain first.
inline constexpr std::size_t most_standing = 20;

struct WhatIfRequest {
  TracesRequest traces{};
  // A machine of the catalogue or a file, whose links give the time of messages of sizes that the
  // traces lack; empty: none.
  std::string machine{};
  std::vector<Scenario> changes{};  // parse_scenario() reads them; empty: the standing questions
};

struct WhatIfResult {
  std::string version;
  std::vector<InputRow> inputs;
  Explanation
      explanation;  // its `asked` answers the changes, else its `what_ifs` the standing questions
  bool asked = false;
  Messages warnings{};
  std::vector<Error> failures{};  // inputs that could not be read, changes that are not answered
};

// The answers to show: those asked for, else the first of the standing ones.
[[nodiscard]] std::span<const WhatIf> shown_answers(const WhatIfResult& result);

// Names that a scenario may ask for: what the traces have.
struct RecordedNames {
  std::vector<int> ranks{};              // ascending
  std::set<CollectiveKind> kinds{};      // of collectives
  std::set<NameClass> kernel_classes{};  // of compute; of operators in runs without a device
};
// Why these traces cannot answer the scenario: the rank, the collective or the class that it names
// is not in them. Empty: it is.
[[nodiscard]] Message why_not_recorded(const Scenario& scenario, const RecordedNames& names);

// Errors: no rank is left (the first failure), no step to replay, interrupted.
[[nodiscard]] Result<WhatIfResult> whatif(const WhatIfRequest& request,
                                          const Progress& progress = {});

// The same for traces that analyze() has read, without reading them again; the request's traces are
// those of the analysis. The ranks' traces are classified again, so nothing else may use them
// meanwhile.
[[nodiscard]] Result<WhatIfResult> whatif(const WhatIfRequest& request,
                                          const AnalyzeResult& analyzed,
                                          const Progress& progress = {});

}  // namespace stepscope
