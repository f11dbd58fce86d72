// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/expected_operators.h"

#include <algorithm>
#include <array>
#include <functional>

#include "stepscope/base/ascii.h"
#include "stepscope/cost/time/compute_time.h"
#include "stepscope/event/name_rules.h"
#include "stepscope/fit/mfu_rank.h"

namespace stepscope {
namespace {

constexpr std::string_view aten = "aten::";

// True for assumptions about launches, the host, and work during communication: they do not matter
// here.
bool is_of_hosts(std::string_view key) {
  constexpr std::array<std::string_view, 5> names = {"compute.launch", "compute.matmul_launch",
                                                     "compute.host", "compute.optimizer",
                                                     "compute.contention"};
  return std::ranges::any_of(names, [&](auto name) { return key.starts_with(name); });
}

// The curves of each format, and of the vendor's attention. Made on demand.
class Models {
 public:
  explicit Models(const Machine& machine) : machine_(machine) {}

  const ComputeModel* of(Dtype dtype, bool vendor_attention) {
    auto& slot = made_[2 * index(dtype) + (vendor_attention ? 1U : 0U)];
    if (!slot.asked) {
      slot.asked = true;
      auto model = make_compute_model(machine_, dtype, vendor_attention);
      if (model)
        add(slot, *std::move(model));
      else if (!error_)
        error_ = model.error();
    }
    return slot.model ? &*slot.model : nullptr;
  }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }
  [[nodiscard]] std::vector<std::string> assumptions() const { return assumptions_; }

 private:
  struct Slot {
    bool asked = false;
    std::optional<ComputeModel> model;
  };

  void add(Slot& slot, ComputeModel model) {
    for (const ComputeParameter p :
         {ComputeParameter::launch_us, ComputeParameter::matmul_launch_us})
      model.values[static_cast<std::size_t>(p)] = 0;
    for (const TakenValue& value : model.assumptions) {
      if (is_of_hosts(value.key)) continue;
      if (std::string text = value.text();
          std::ranges::find(assumptions_, text) == assumptions_.end())
        assumptions_.push_back(std::move(text));
    }
    slot.model = std::move(model);
  }

  const Machine& machine_;
  std::array<Slot, 2 * dtype_count> made_;
  std::optional<Error> error_;
  std::vector<std::string> assumptions_;
};

// fp32 products on tensor cores are tf32. Only kernels' names show this, so operators take it from
// there.
OperandFormat fp32_products(const RankResult& rank) {
  Ns plain{};
  Ns tensor{};
  for (const ExecutedStep& step : rank.work.executed.steps) {
    plain += step.products[static_cast<std::size_t>(OperandFormat::fp32)].time;
    tensor += step.products[static_cast<std::size_t>(OperandFormat::tf32)].time;
  }
  return tensor > plain ? OperandFormat::tf32 : OperandFormat::fp32;
}

MatmulShape matrices(const Dims& a, const Dims& b) {
  const std::size_t r = a.size() - 2;
  return {.batch = a.size() == 3 ? a[0] : 1, .m = a[r], .n = b.back(), .k = a[r + 1]};
}

// Seconds of one call by `model`, computed as an operation of the performance model with the bytes
// of the shapes.
double product_seconds(const ComputeModel& model, std::optional<MatmulShape> shape, double flops,
                       double bytes) {
  Operation o{.name = "", .kind = OperationClass::matmul};
  o.forward.matrix = Flops{flops};
  o.forward.output_bytes = bytes;
  if (shape) o.forward.matmuls = {*shape};
  return operation_time(model, o, Direction::forward).count();
}

// Two products make it fused; their sizes do not matter.
double attention_seconds(const ComputeModel& model, Direction direction, double flops,
                         double bytes) {
  Operation o{.name = "", .kind = OperationClass::attention};
  o.forward.matmuls.resize(2);
  Pass& pass = direction == Direction::forward ? o.forward : o.backward;
  pass.matrix = Flops{flops};
  pass.output_bytes = bytes;
  return operation_time(model, o, direction).count();
}

// Seconds of a kernel with next to no work: the shortest 1 % of the kernels of recorded runs
// take 1.5 to 1.6 us on A100 and H100, 2 us on V100 and 4 us on MI300X.
constexpr double least_kernel = 1.5e-6;

class Expectations {
 public:
  Expectations(const RankResult& rank, const Machine& machine)
      : strings_(*rank.strings), machine_(machine), models_(machine), fp32_(fp32_products(rank)) {}

  // Total of all calls of the row, in seconds.
  std::optional<double> of(const OperatorRow& row) {
    const auto calls = static_cast<double>(row.device_calls);
    if (calls == 0 || row.device <= Ns{}) return std::nullopt;
    const double bytes = row.bytes ? static_cast<double>(row.bytes->value) / calls : 0;
    if (row.over_host) return times(calls, over_host(bytes));
    if (row.kind == NameClass::matmul && row.flops)
      return times(calls, product(row, row.flops->value / calls, bytes));
    if (row.kind == NameClass::attention && row.flops)
      return times(calls, attention(row, row.flops->value / calls, bytes));
    if (streams(row) && row.bytes) return times(calls, streaming(bytes));
    return std::nullopt;
  }

  [[nodiscard]] const Models& models() const { return models_; }

 private:
  static std::optional<double> times(double calls, std::optional<double> one) {
    if (!one || *one <= 0) return std::nullopt;
    return calls * std::max(*one, least_kernel);
  }

  // Softmax and reductions have no class of their own, but their traffic bounds them too.
  static bool streams(const OperatorRow& row) {
    return row.kind != NameClass::matmul && row.kind != NameClass::attention &&
           row.kind != NameClass::communication && !row.flops;
  }

  std::optional<Dtype> format(const OperatorRow& row) const {
    return dtype_of(row.precision == OperandFormat::fp32 ? fp32_ : row.precision);
  }

  std::optional<double> product(const OperatorRow& row, double flops, double bytes) {
    const std::string_view name = strings_[row.name];
    if (contains(name, "conv")) return std::nullopt;
    const auto dtype = format(row);
    const ComputeModel* model = dtype ? models_.of(*dtype, false) : nullptr;
    if (model == nullptr) return std::nullopt;
    const auto inputs = parse_inputs(strings_[row.dims], strings_[row.types], "");
    return product_seconds(*model, inputs ? product_shape(name, *inputs) : std::nullopt, flops,
                           bytes);
  }

  std::optional<double> attention(const OperatorRow& row, double flops, double bytes) {
    const std::string_view name = strings_[row.name];
    const auto dtype = format(row);
    const ComputeModel* model = dtype ? models_.of(*dtype, contains(name, "cudnn")) : nullptr;
    if (model == nullptr) return std::nullopt;
    const bool backward = contains(name, "backward") || contains(name, "bwd");
    return attention_seconds(*model, backward ? Direction::backward : Direction::forward, flops,
                             bytes);
  }

  [[nodiscard]] std::optional<double> over_host(double bytes) const {
    if (!machine_.host || !machine_.host->per_direction) return std::nullopt;
    return bytes / machine_.host->per_direction->value;
  }

  // Traffic does not depend on the format; any format of the machine will do.
  std::optional<double> streaming(double bytes) {
    for (const Dtype d : {Dtype::bf16, Dtype::fp16, Dtype::fp32})
      if (const ComputeModel* model = models_.of(d, false))
        return memory_time(*model, bytes).count();
    return std::nullopt;
  }

  const StringPool& strings_;
  const Machine& machine_;
  Models models_;
  OperandFormat fp32_;
};

}  // namespace

std::optional<MatmulShape> product_shape(std::string_view name, const OpInputs& inputs) {
  if (!name.starts_with(aten)) return std::nullopt;
  name.remove_prefix(aten.size());
  const auto plain = [&](std::size_t first, std::size_t rank) -> std::optional<MatmulShape> {
    const Dims* a = inputs.tensor(first, rank);
    const Dims* b = inputs.tensor(first + 1, rank);
    if (a == nullptr || b == nullptr || a->size() != rank || b->size() != rank) return std::nullopt;
    return matrices(*a, *b);
  };
  if (name == "mm" || name == "_scaled_mm" || name == "_int_mm") return plain(0, 2);
  if (name == "addmm" || name == "addmm_" || name == "_addmm_activation") return plain(1, 2);
  if (name == "bmm") return plain(0, 3);
  if (name == "baddbmm" || name == "baddbmm_") return plain(1, 3);
  if (name != "linear" && name != "mkldnn_linear" && name != "_mkldnn_linear") return std::nullopt;
  const Dims* x = inputs.tensor(0, 1);
  const Dims* w = inputs.tensor(1, 2);
  const auto elements = x != nullptr ? element_count(*x) : std::nullopt;
  if (!elements || w == nullptr || x->back() <= 0) return std::nullopt;
  return MatmulShape{.m = *elements / x->back(), .n = w->front(), .k = x->back()};
}

Result<ExpectedOperators> expected_operators(const RankResult& rank, const Machine& machine) {
  ExpectedOperators result{.rank = rank.rank};
  if (rank.strings == nullptr) return result;
  Expectations expectations(rank, machine);
  std::array<ExpectedOperatorClass, name_class_count> classes{};
  for (const OperatorRow& row : rank.work.operators) {
    ExpectedOperatorClass& c = classes[static_cast<std::size_t>(row.kind)];
    const double measured = seconds(row.device).count();
    const auto expected = expectations.of(row);
    if (!expected) {
      c.unknown += measured;
      continue;
    }
    c.expected += *expected;
    c.measured += measured;
    result.operators.push_back({&row, *expected, measured});
  }
  if (result.operators.empty() && expectations.models().error())
    return *expectations.models().error();
  for (std::size_t c = 0; c < name_class_count; ++c) {
    classes[c].kind = static_cast<NameClass>(c);
    // Lists products and attention of unknown size too.
    const bool product = c == static_cast<std::size_t>(NameClass::matmul) ||
                         c == static_cast<std::size_t>(NameClass::attention);
    if (classes[c].expected > 0 || (product && classes[c].unknown > 0))
      result.classes.push_back(classes[c]);
  }
  std::ranges::stable_sort(result.classes, std::greater<>(), &ExpectedOperatorClass::gap);
  std::ranges::stable_sort(result.operators, std::greater<>(), &ExpectedOperator::gap);
  result.assumptions = expectations.models().assumptions();
  return result;
}

}  // namespace stepscope
