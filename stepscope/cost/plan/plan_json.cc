// SPDX-License-Identifier: Apache-2.0
// Each field stands once in a table, from which it is both read and written.
#include "stepscope/cost/plan/plan_json.h"

#include <array>
#include <nlohmann/json.hpp>
#include <variant>

#include "stepscope/base/json_reader.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using Json = nlohmann::ordered_json;
using Names = std::span<const std::string_view>;

template <class Enum>
struct Choice {
  Enum Plan::* member;
  Names names;
};
struct Field {
  std::string_view key;
  std::variant<Int Plan::*, int Plan::*, bool Plan::*, std::vector<Int> Plan::*, Bytes Plan::*,
               Choice<TensorLayout>, Choice<ContextExchange>, Choice<Schedule>, Choice<Recompute>,
               Choice<Residence>>
      member;
};
constexpr std::array fields = {
    Field{"devices", &Plan::devices},
    Field{"tp", &Plan::tp},
    Field{"tensor_layout", Choice<TensorLayout>{&Plan::tensor_layout, tensor_layout_names}},
    Field{"tp_depth", &Plan::tp_depth},
    Field{"sequence_parallel", &Plan::sequence_parallel},
    Field{"cp", &Plan::cp},
    Field{"context_exchange",
          Choice<ContextExchange>{&Plan::context_exchange, context_exchange_names}},
    Field{"ep", &Plan::ep},
    Field{"pp", &Plan::pp},
    Field{"schedule", Choice<Schedule>{&Plan::schedule, schedule_names}},
    Field{"virtual_stages", &Plan::virtual_stages},
    Field{"stage_layers", &Plan::stage_layers},
    Field{"dp", &Plan::dp},
    Field{"zero", &Plan::zero},
    Field{"shard_group", &Plan::shard_group},
    Field{"sequence", &Plan::sequence},
    Field{"micro_batch", &Plan::micro_batch},
    Field{"global_batch", &Plan::global_batch},
    Field{"reduce_each_micro_batch", &Plan::reduce_each_micro_batch},
    Field{"recompute", Choice<Recompute>{&Plan::recompute, recompute_names}},
    Field{"recompute_every", &Plan::recompute_every},
    Field{"fused_attention", &Plan::fused_attention},
    Field{"vendor_attention", &Plan::vendor_attention},
    Field{"fused_pointwise", &Plan::fused_pointwise},
    Field{"compiled", &Plan::compiled},
    Field{"fused_loss", &Plan::fused_loss},
    Field{"fused_gradient_sum", &Plan::fused_gradient_sum},
    Field{"optimizer_at", Choice<Residence>{&Plan::optimizer_at, residence_names}},
    Field{"gradients_at", Choice<Residence>{&Plan::gradients_at, residence_names}},
    Field{"parameters_at", Choice<Residence>{&Plan::parameters_at, residence_names}},
    Field{"overlap_gradient_reduce", &Plan::overlap_gradient_reduce},
    Field{"overlap_parameter_gather", &Plan::overlap_parameter_gather},
    Field{"prefetch_units", &Plan::prefetch_units},
    Field{"bucket_bytes", &Plan::bucket},
    Field{"torch_buffers", &Plan::torch_buffers},
    Field{"overlap_tensor", &Plan::overlap_tensor},
    Field{"vocabulary_multiple", &Plan::vocabulary_multiple}};

struct PrecisionField {
  std::string_view key;
  int Precision::* member;
};
constexpr std::array precision_fields = {
    PrecisionField{"parameter_bytes", &Precision::parameter_bytes},
    PrecisionField{"gradient_bytes", &Precision::gradient_bytes},
    PrecisionField{"accumulated_gradient_bytes", &Precision::accumulated_gradient_bytes},
    PrecisionField{"master_bytes", &Precision::master_bytes},
    PrecisionField{"optimizer_state_bytes", &Precision::optimizer_state_bytes},
    PrecisionField{"activation_bytes", &Precision::activation_bytes}};

constexpr std::string_view unknown_field = "is not a field of a plan";
constexpr std::string_view where = "docs/reference/plans.md has all fields";
// check_plan knows the bounds.
constexpr IntegerRange any_integer{0, Int{1} << 60};
constexpr IntegerRange few{0, 1'000'000};

// One overload a kind of member.
struct Reader {
  JsonFields& in;
  std::string_view key;
  Plan& out;

  void operator()(Int Plan::* m) const { out.*m = in.integer(key, any_integer, out.*m); }
  void operator()(int Plan::* m) const { out.*m = static_cast<int>(in.integer(key, few, out.*m)); }
  void operator()(bool Plan::* m) const { out.*m = in.flag(key, out.*m); }
  void operator()(std::vector<Int> Plan::* m) const { out.*m = in.integers(key, any_integer); }
  void operator()(Bytes Plan::* m) const {
    (out.*m).value = in.integer(key, any_integer, (out.*m).value);
  }
  template <class Enum>
  void operator()(const Choice<Enum>& c) const {
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
  template <class Enum>
  void operator()(const Choice<Enum>& c) const {
    out = c.names[static_cast<std::size_t>(in.*c.member)];
  }
};

void read_precision(JsonFields& in, Precision& precision) {
  const JsonValue* part = in.find("precision");
  if (part == nullptr) return;
  JsonFields inner = in.inner("precision", *part);
  precision.matmul =
      static_cast<Dtype>(inner.choice("matmul", dtype_names, index(precision.matmul)));
  for (const PrecisionField& f : precision_fields) {
    precision.*f.member = static_cast<int>(inner.integer(f.key, few, precision.*f.member));
  }
  inner.finish(std::string(unknown_field), std::string(where));
}

// devices = tp * cp * pp * dp where one of devices and dp is absent.
void derive_devices(JsonFields& in, const JsonValue& root, Plan& plan) {
  const bool devices = root.find("devices") != nullptr;
  const bool dp = root.find("dp") != nullptr;
  if (devices && dp) return;
  constexpr Int enough = 100'000'000'000;
  Int product = 1;
  for (const Int d : {plan.tp, plan.cp, plan.pp, dp ? plan.dp : 1}) {
    if (d < 1 || d > 10'000'000) return;  // check_plan's to refuse
    product = std::min(product * d, enough);
  }
  if (!devices) {
    plan.devices = product;
  } else if (plan.devices % product == 0) {
    plan.dp = plan.devices / product;
  } else {
    in.fail("devices", "= " + std::to_string(plan.devices) +
                           " is no multiple of tp * cp * pp = " + std::to_string(product));
  }
}

}  // namespace

Result<Plan> parse_plan(std::string_view json, std::string_view path) {
  const Result<JsonValue> root = parse_json(json, path);
  if (!root) return root.error();
  JsonProblems problems(json, path);
  JsonFields in(*root, "", problems);
  Plan plan;
  for (const Field& f : fields) {
    std::visit(Reader{.in = in, .key = f.key, .out = plan}, f.member);
  }
  read_precision(in, plan.precision);
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
  for (const Field& f : fields) {
    std::visit(Writer{.in = plan, .out = out[std::string(f.key)]}, f.member);
  }
  out["precision"]["matmul"] = name(plan.precision.matmul);
  for (const PrecisionField& f : precision_fields) {
    out["precision"][std::string(f.key)] = plan.precision.*f.member;
  }
  return out.dump(2) + "\n";
}

}  // namespace stepscope
