// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/plan/plan_json.h"

#include <nlohmann/json.hpp>
#include <string>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using Json = nlohmann::ordered_json;
constexpr std::string_view unknown_field = "is not a field of a plan";
constexpr std::string_view where = "docs/reference/plans.md has all fields";
// plan_table() has the least values; check_plan what depends on other fields.
constexpr Int most_integer = Int{1} << 60;
constexpr Int most_int = 1'000'000;

constexpr std::string_view precision = "precision.";

// One overload per kind of member.
struct Reader {
  JsonFields& in;
  std::string_view key;
  Int least;

  [[nodiscard]] Int integer(Int most, Int otherwise) const {
    return in.integer(key, {least, most}, otherwise);
  }
  void operator()(Int* n) const { *n = integer(most_integer, *n); }
  void operator()(int* n) const { *n = static_cast<int>(integer(most_int, *n)); }
  void operator()(bool* b) const { *b = in.flag(key, *b); }
  void operator()(std::vector<Int>* list) const { *list = in.integers(key, {least, most_integer}); }
  void operator()(Bytes* bytes) const { bytes->value = integer(most_integer, bytes->value); }
  void operator()(WidthRef width) const { (*this)(width.bytes); }
  void operator()(const ChoiceRef& c) const {
    *c.index = static_cast<std::uint8_t>(in.choice(key, c.names, *c.index));
  }
  void operator()(const NamesRef& set) const {
    if (in.find(key) == nullptr) return;
    *set.bits = 0;
    for (const std::string& name : in.texts(key)) {
      const auto index = index_of(set.names, name);
      if (!index) {
        in.fail(key, "has \"" + name + "\"", "docs/reference/plans.md has the names");
        return;
      }
      *set.bits = static_cast<std::uint16_t>(*set.bits | 1U << *index);
    }
  }
  void operator()(std::monostate) const {}
};

struct Writer {
  Json& out;

  void operator()(const auto* member) const { out = *member; }
  void operator()(const Bytes* bytes) const { out = bytes->value; }
  void operator()(WidthRef width) const { out = *width.bytes; }
  void operator()(const ChoiceRef& c) const { out = c.names[*c.index]; }
  void operator()(const NamesRef& set) const {
    out = Json::array();
    for (std::size_t i = 0; i < set.names.size(); ++i)
      if ((*set.bits >> i & 1U) != 0) out.push_back(set.names[i]);
  }
  void operator()(std::monostate) const {}
};

// Calls visit(field, key in its object) for the fields of "precision", or for the others.
void each_field(bool inner, auto visit) {
  for (const PlanField& f : plan_table()) {
    if (f.key.empty() || f.key.starts_with(precision) != inner) continue;
    visit(f, f.key.substr(inner ? precision.size() : 0));
  }
}

void read_fields(JsonFields& in, bool inner, Plan& plan) {
  each_field(inner, [&](const PlanField& f, std::string_view key) {
    std::visit(Reader{.in = in, .key = key, .least = f.least}, f.in(plan));
  });
}

void read_precision(JsonFields& in, Plan& plan) {
  const JsonValue* part = in.find("precision");
  if (part == nullptr) return;
  JsonFields inner = in.inner("precision", *part);
  read_fields(inner, true, plan);
  inner.finish(std::string(unknown_field), std::string(where));
}

// devices = tensor_ranks * cp * pp * dp if devices or dp is absent.
void derive_devices(JsonFields& in, const JsonValue& root, Plan& plan) {
  const bool devices = root.find("devices") != nullptr;
  const bool dp = root.find("dp") != nullptr;
  if (devices && dp) return;
  constexpr Int enough = 1'000'000'000;  // its square fits an Int
  Int product = 1;
  for (const Int d : {plan.tp, plan.cp, plan.pp, dp ? plan.dp : 1}) {
    if (d < 1 || d > 10'000'000) return;  // check_plan refuses it
  }
  for (const Int d : {tensor_ranks(plan), plan.cp, plan.pp, dp ? plan.dp : 1}) {
    product = std::min(product * std::min(d, enough), enough);
  }
  if (!devices) {
    plan.devices = product;
  } else if (plan.devices % product == 0) {
    plan.dp = plan.devices / product;
  } else {
    in.fail("devices", "= " + std::to_string(plan.devices) + " is no multiple of " +
                           (tensor_ranks(plan) == plan.tp ? "tp" : "lcm(tp, sequence_degree)") +
                           " * cp * pp = " + std::to_string(product));
  }
}

}  // namespace

Result<Plan> parse_plan(std::string_view json, std::string_view path) {
  const Result<JsonValue> root = parse_json(json, path);
  if (!root) return root.error();
  JsonProblems problems(json, path);
  JsonFields in(*root, "", problems);
  Plan plan;
  read_fields(in, false, plan);
  read_precision(in, plan);
  derive_devices(in, *root, plan);
  in.finish(std::string(unknown_field), std::string(where));
  if (problems.error()) return *problems.error();
  return plan;
}

Result<Plan> read_plan(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  return parse_plan(*text, path);
}

std::string plan_json(const Plan& plan) {
  Json out;
  for (const bool inner : {false, true}) {
    Json& object = inner ? out["precision"] : out;
    each_field(inner, [&](const PlanField& f, std::string_view key) {
      std::visit(Writer{object[std::string(key)]}, place_of(f, plan));
    });
  }
  return out.dump(2) + "\n";
}

}  // namespace stepscope
