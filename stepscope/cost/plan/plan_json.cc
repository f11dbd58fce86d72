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

// One overload per kind of member.
struct Reader {
  JsonFields& in;
  std::string_view key;
  Int least;
  Plan& out;

  [[nodiscard]] Int integer(Int most, Int otherwise) const {
    return in.integer(key, {least, most}, otherwise);
  }
  void operator()(Int Plan::* m) const { out.*m = integer(most_integer, out.*m); }
  void operator()(int Plan::* m) const { out.*m = static_cast<int>(integer(most_int, out.*m)); }
  void operator()(bool Plan::* m) const { out.*m = in.flag(key, out.*m); }
  void operator()(std::vector<Int> Plan::* m) const {
    out.*m = in.integers(key, {least, most_integer});
  }
  void operator()(Bytes Plan::* m) const { (out.*m).value = integer(most_integer, (out.*m).value); }
  void operator()(int Precision::* m) const {
    out.precision.*m = static_cast<int>(integer(most_int, out.precision.*m));
  }
  void operator()(RecomputeModules Plan::* m) const {
    if (in.find(key) == nullptr) return;
    out.*m = {};
    for (const std::string& name : in.texts(key)) {
      const auto at = std::ranges::find(recompute_module_names, std::string_view(name));
      if (at == recompute_module_names.end()) {
        in.fail(key, "has \"" + name + "\"", "docs/reference/plans.md has the names");
        return;
      }
      (out.*m).add(static_cast<RecomputeModule>(at - recompute_module_names.begin()));
    }
  }
  void operator()(Int TrainedParts::* m) const {
    out.trained.*m = integer(most_integer, out.trained.*m);
  }
  void operator()(LoraTargets TrainedParts::* m) const { names(out.trained.*m, lora_target_names); }
  void operator()(ModelParts TrainedParts::* m) const { names(out.trained.*m, model_part_names); }
  template <class Enum, std::size_t n>
  void names(NameSet<Enum>& into, const std::array<std::string_view, n>& known) const {
    if (in.find(key) == nullptr) return;
    into = {};
    for (const std::string& name : in.texts(key)) {
      const auto at = std::ranges::find(known, lora_target_name(name));
      if (at == known.end()) {
        in.fail(key, "has \"" + name + "\"", "docs/reference/plans.md has the names");
        return;
      }
      into.add(static_cast<Enum>(at - known.begin()));
    }
  }
  void operator()(std::monostate) const {}
  template <class Enum>
  void operator()(const PlanChoice<Enum>& c) const {
    out.*c.member =
        static_cast<Enum>(in.choice(key, c.names, static_cast<std::size_t>(out.*c.member)));
  }
};

struct Writer {
  const Plan& in;
  Json& out;

  template <class Value>
  void operator()(Value Plan::* m) const {
    out = in.*m;
  }
  void operator()(Bytes Plan::* m) const { out = (in.*m).value; }
  void operator()(RecomputeModules Plan::* m) const {
    out = Json::array();
    for (std::size_t i = 0; i < recompute_module_names.size(); ++i) {
      if ((in.*m).has(static_cast<RecomputeModule>(i))) out.push_back(recompute_module_names[i]);
    }
  }
  void operator()(Int TrainedParts::* m) const { out = in.trained.*m; }
  void operator()(LoraTargets TrainedParts::* m) const { names(in.trained.*m, lora_target_names); }
  void operator()(ModelParts TrainedParts::* m) const { names(in.trained.*m, model_part_names); }
  template <class Enum, std::size_t n>
  void names(NameSet<Enum> set, const std::array<std::string_view, n>& known) const {
    out = Json::array();
    for (std::size_t i = 0; i < n; ++i) {
      if (set.has(static_cast<Enum>(i))) out.push_back(known[i]);
    }
  }
  void operator()(int Precision::* m) const { out = in.precision.*m; }
  void operator()(std::monostate) const {}
  template <class Enum>
  void operator()(const PlanChoice<Enum>& c) const {
    out = c.names[static_cast<std::size_t>(in.*c.member)];
  }
};

bool of_precision(const PlanField& field) {
  return std::holds_alternative<int Precision::*>(field.member);
}

// The fields of one object: those of "precision", or the others.
void read_fields(JsonFields& in, bool precision, Plan& plan) {
  for (const PlanField& f : plan_table()) {
    if (f.key.empty() || of_precision(f) != precision) continue;
    std::visit(Reader{.in = in, .key = f.key, .least = f.least, .out = plan}, f.member);
  }
}

void write_fields(const Plan& plan, bool precision, Json& out) {
  for (const PlanField& f : plan_table()) {
    if (f.key.empty() || of_precision(f) != precision) continue;
    std::visit(Writer{.in = plan, .out = out[std::string(f.key)]}, f.member);
  }
}

void read_precision(JsonFields& in, Plan& plan) {
  const JsonValue* part = in.find("precision");
  if (part == nullptr) return;
  JsonFields inner = in.inner("precision", *part);
  Dtype& matmul = plan.precision.matmul;
  matmul = static_cast<Dtype>(inner.choice("matmul", dtype_names, index(matmul)));
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
  write_fields(plan, false, out);
  out["precision"]["matmul"] = name(plan.precision.matmul);
  write_fields(plan, true, out["precision"]);
  return out.dump(2) + "\n";
}

}  // namespace stepscope
