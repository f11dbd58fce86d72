// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/explain/explain.h"

#include <algorithm>
#include <optional>

#include "stepscope/cost/explain/explain_parts.h"
#include "stepscope/cost/model/nearest_names.h"

namespace stepscope {
namespace {

using namespace explain_parts;

const std::vector<Part>& parts() {
  static const std::vector<Part> all = [] {
    std::vector<Part> joined;
    for (const auto& some : {step_parts(), data_parts(), memory_parts(), rate_parts()}) {
      joined.insert(joined.end(), some.begin(), some.end());
    }
    return joined;
  }();
  return all;
}

// Of one of explained_names(); absent where the name is of an operation, or unknown.
std::optional<std::string> of_name(const Evaluated& e, std::string_view name) {
  if (const auto* at = std::ranges::find(step_term_names, name); at != step_term_names.end()) {
    return of_step(e, static_cast<StepTerm>(at - step_term_names.begin()));
  }
  if (const auto* at = std::ranges::find(memory_term_names, name); at != memory_term_names.end()) {
    return of_memory(e, static_cast<MemoryTerm>(at - memory_term_names.begin()));
  }
  const auto part = std::ranges::find(parts(), name, &Part::name);
  if (part == parts().end()) return std::nullopt;
  return part->explain(e, name);
}

template <class Answer>
auto evaluated(CostContext& context, const Plan& plan, Answer answer)
    -> decltype(answer(std::declval<const Evaluated&>())) {
  const Result<StepCost> cost = evaluate(context, plan);
  if (!cost) return cost.error();
  const Result<const DataEntry*> data = data_entry(context, plan);
  if (!data) return data.error();
  const Result<OffloadRates> offload = offload_rates(*context.machine, plan);
  if (!offload) return offload.error();
  return answer(Evaluated{context, plan, *cost, **data, *offload});
}

using Lines = Result<std::vector<std::string>>;

Lines unknown(const Evaluated& e, std::string_view name) {
  std::vector<std::string_view> names = explained_names();
  const auto operations = operation_names(e);
  names.insert(names.end(), operations.begin(), operations.end());
  constexpr std::size_t longest = 80;  // of what is still printed
  return Error{.what = "there is no term \"" + std::string(name.substr(0, longest)) + "\"",
               .hint = "did you mean " + nearest_names(name, names) + "?"};
}

}  // namespace

std::vector<std::string_view> explained_names() {
  std::vector<std::string_view> names(step_term_names.begin(), step_term_names.end());
  names.insert(names.end(), memory_term_names.begin(), memory_term_names.end());
  for (const Part& part : parts()) names.push_back(part.name);
  return names;
}

Lines explain(CostContext& context, const Plan& plan, std::string_view name) {
  return evaluated(context, plan, [name](const Evaluated& e) -> Lines {
    if (name.empty()) return unknown(e, name);
    auto lines = of_operations(e, name);  // some have a term's name
    if (auto line = of_name(e, name)) lines.insert(lines.begin(), *std::move(line));
    if (lines.empty()) return unknown(e, name);
    return lines;
  });
}

Lines explain_all(CostContext& context, const Plan& plan) {
  return evaluated(context, plan, [](const Evaluated& e) -> Lines {
    std::vector<std::string> lines;
    for (const std::string_view name : explained_names()) lines.push_back(*of_name(e, name));
    for (std::string& line : of_operations(e, {})) lines.push_back(std::move(line));
    return lines;
  });
}

Result<std::string> explain(CostContext& context, const Plan& plan, StepTerm term) {
  return evaluated(context, plan,
                   [term](const Evaluated& e) -> Result<std::string> { return of_step(e, term); });
}

Result<std::string> explain(CostContext& context, const Plan& plan, MemoryTerm term) {
  return evaluated(context, plan, [term](const Evaluated& e) -> Result<std::string> {
    return of_memory(e, term);
  });
}

}  // namespace stepscope
