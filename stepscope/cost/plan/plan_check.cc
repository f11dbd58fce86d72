// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_rules.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace plan_rules {

Error problem(std::string what, std::string hint) {
  return Error{.what = std::move(what), .hint = std::move(hint)};
}

std::string decimal(Int n) { return std::to_string(n); }

std::string joined(std::span<const Int> list) {
  std::string out;
  for (const Int n : list) out += (out.empty() ? "" : ",") + decimal(n);
  return out;
}

std::string choices(Int limit, const std::function<bool(Int)>& fits) {
  constexpr std::size_t most = 12;
  std::vector<Int> found;
  for (Int n = 1; n <= limit && found.size() < most; ++n)
    if (fits(n)) found.push_back(n);
  std::string list;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) list += i + 1 == found.size() ? " or " : ", ";
    list += decimal(found[i]);
  }
  return list;
}

std::string divisors(Int n) {
  return choices(std::min(n, most_devices), [n](Int d) { return n % d == 0; });
}

std::string product_of(const Plan& p, std::initializer_list<const Int*> members) {
  std::string out;
  for (const Int* member : members) out += (out.empty() ? "" : " * ") + flag_of(p, member);
  return out;
}

namespace {

// The value of a numeric field.
struct NumberOf {
  std::optional<Int> operator()(Int* n) const { return *n; }
  std::optional<Int> operator()(int* n) const { return *n; }
  std::optional<Int> operator()(Bytes* bytes) const { return bytes->value; }
  std::optional<Int> operator()(WidthRef width) const { return *width.bytes; }
  std::optional<Int> operator()(const auto&) const { return std::nullopt; }
};

Problem numbers(const Transformer& m, const Plan& p) {
  const Int n = std::clamp(p.devices, Int{1}, most_devices);
  for (const PlanField& field : plan_table()) {
    const FieldRef place = place_of(field, p);
    const std::optional<Int> value = std::visit(NumberOf{}, place);
    if (!value) continue;
    const bool degree = field.most.of == PlanBound::Of::devices && field.key != "devices";
    const Int most = degree                                    ? n
                     : field.most.of == PlanBound::Of::devices ? most_devices
                     : field.most.of == PlanBound::Of::layers  ? m.layers
                                                               : field.most.number;
    if (*value >= field.least && *value <= most) continue;
    // Flags for bytes take number formats, so a wrong number comes from a plan file.
    const bool by_key = field.name.empty() || std::holds_alternative<WidthRef>(place);
    return problem(
        (by_key ? std::string(field.key) + " = " : "--" + std::string(field.name) + " ") +
            decimal(*value) + " is out of range",
        degree && *value > n ? "it must be 1 to " + decimal(n) + ", the devices"
                             : "it must be " + decimal(field.least) + " to " + decimal(most));
  }
  return std::nullopt;
}

// tp * cp * pp * dp = devices, with the least common multiple of tp and the sequence degree in
// place of tp. Each factor is at most most_devices.
Problem degrees(const Transformer&, const Plan& p) {
  constexpr Int enough = 100'000'000'000;  // times most_devices it still fits an Int
  const Int ranks = std::min(tensor_ranks(p), enough);
  Int product = ranks;
  for (const Int d : {p.cp, p.pp, p.dp}) product = std::min(product * d, enough);
  if (product == p.devices) return std::nullopt;
  const Int model_ranks = std::min(std::min(ranks * p.cp, enough) * p.pp, enough);
  const bool wider = tensor_ranks(p) != p.tp;
  const std::string tp = flag_of(p, &p.tp);
  const std::string degree = flag_of(p, &p.tensor.sequence_degree);
  const std::string tensor = wider ? "lcm(" + tp + ", " + degree + ")" : tp;
  const std::string all = tensor + " * " + product_of(p, {&p.cp, &p.pp, &p.dp}) + " = " +
                          decimal(ranks) + " * " + decimal(p.cp) + " * " + decimal(p.pp) + " * " +
                          decimal(p.dp);
  return problem(
      all + (product == enough ? " is far more than" : " = " + decimal(product) + ", not") +
          " the " + decimal(p.devices) + " devices",
      p.devices % model_ranks == 0
          ? "with this " + tp + ", " + (wider ? degree + ", " : "") + flag_of(p, &p.cp) + " and " +
                flag_of(p, &p.pp) + ", " + flag_of(p, &p.dp) + " must be " +
                decimal(p.devices / model_ranks)
          : tensor + " * " + product_of(p, {&p.cp, &p.pp}) + " must divide " + decimal(p.devices) +
                ", and " + decimal(model_ranks) + " does not");
}

constexpr std::array<Rule*, 19> rules = {&numbers,
                                         &degrees,
                                         &tokens,
                                         &grid,
                                         &context,
                                         &tensor,
                                         &sequence_division,
                                         &exchange,
                                         &states,
                                         &experts,
                                         &stages,
                                         &batch,
                                         &schedule,
                                         &sharding,
                                         &secondary_sharding,
                                         &recomputation,
                                         &narrow_copies,
                                         &training,
                                         &images};

}  // namespace
}  // namespace plan_rules

std::vector<std::int64_t> even_stages(std::int64_t layers, std::int64_t stages) {
  std::vector<std::int64_t> list(static_cast<std::size_t>(stages), layers / stages);
  const std::int64_t more = layers % stages;
  const std::int64_t first = (stages - more + 1) / 2;
  for (std::int64_t i = first; i < first + more; ++i) ++list[static_cast<std::size_t>(i)];
  return list;
}

Result<Done> check_plan(const Transformer& model, const Plan& plan) {
  for (const auto& rule : plan_rules::rules)
    if (plan_rules::Problem found = rule(model, plan)) return *std::move(found);
  return Done{};
}

}  // namespace stepscope
