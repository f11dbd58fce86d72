// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/compute_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope {
namespace {

constexpr double maximum_from = 1000;      // a power from which norm_p is the larger of the two
constexpr double reference_unit = 2.9e12;  // flop/s: 16-bit peak of one SM of an A100

double us(const ComputeModel& model, ComputeParameter p) { return of(model, p) * 1e-6; }

double norm(double a, double b, double p) {
  const double high = std::max(a, b);
  if (high <= 0 || p >= maximum_from) return high;
  if (p == 1) return a + b;
  return high * std::pow(1 + std::pow(std::min(a, b) / high, p), 1 / p);
}

bool below_16_bits(Dtype d) { return d == Dtype::fp8 || d == Dtype::fp4; }

std::string text(double value) {
  std::string s = std::to_string(value);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

// Where no share of the peak was measured: of a format nearby, else of the largest measured matmul.
double matmul_efficiency(const Machine& machine, Dtype dtype, ComputeModel& model) {
  constexpr double usual = 0.65;
  constexpr double sustained = 0.9;  // of the largest matmul: what training reaches of it
  const auto& known = machine.compute ? machine.compute->matmul_efficiency
                                      : std::array<std::optional<double>, dtype_count>{};
  if (const auto& own = known[index(dtype)]) return *own;
  double share = usual;
  std::string from = "as of most machines";
  if (const auto& most = machine.matmul_max[index(dtype)]) {
    share = sustained * most->value / machine.peak_rates[index(dtype)]->value;
    from = "0.9 of its largest measured matmul";
  }
  model.assumptions.push_back("compute.matmul_efficiency." + std::string(name(dtype)) + " = " +
                              text(share) + ", " + from);
  return share;
}

MatmulRates rates(const Machine& machine, Dtype dtype, ComputeModel& model) {
  MatmulRates r{.peak = machine.peak_rates[index(dtype)]->value};
  r.efficiency = matmul_efficiency(machine, dtype, model);
  if (below_16_bits(dtype)) {
    // Of fp4 each 16 elements share a scale of 8 bits.
    r.operands = dtype == Dtype::fp8 ? 0.5 : 4.5 / 16;
    r.cast = of(model, ComputeParameter::cast);
  }
  return r;
}

void resolve_parameters(const Machine& machine, ComputeModel& model) {
  for (std::size_t i = 0; i < compute_parameter_count; ++i) {
    const auto own = machine.compute ? machine.compute->values[i] : std::nullopt;
    model.values[i] = own.value_or(compute_parameters[i].usual);
    if (own) continue;
    model.assumptions.push_back("compute." + std::string(compute_parameters[i].name) + " = " +
                                text(compute_parameters[i].usual) + ", as of most machines");
  }
}

// 16 bits where the plan's format is narrower and the machine has them.
Dtype full_format(const Machine& machine, Dtype dtype) {
  if (!below_16_bits(dtype)) return dtype;
  for (const Dtype wide : {Dtype::bf16, Dtype::fp16}) {
    if (machine.peak_rates[index(wide)]) return wide;
  }
  return dtype;
}

double attention_efficiency(const Machine& machine, Dtype dtype, bool vendor, ComputeModel& model) {
  constexpr double usual = 0.4;
  if (machine.compute) {
    const auto& of_vendor = machine.compute->vendor_attention_efficiency[index(dtype)];
    if (vendor && of_vendor) return *of_vendor;
    if (const auto& own = machine.compute->attention_efficiency[index(dtype)]) return *own;
  }
  model.assumptions.push_back("compute.attention_efficiency." + std::string(name(dtype)) + " = " +
                              text(usual) + ", as of most machines");
  return usual;
}

Error lacks(const Machine& machine, const std::string& field, const std::string& why) {
  return Error{.what = "machine \"" + machine.name + "\" lacks " + field + ", " + why,
               .hint = "give it in a machine file (--machine FILE)"};
}

}  // namespace

Result<ComputeModel> make_compute_model(const Machine& machine, Dtype dtype,
                                        bool vendor_attention) {
  const auto format = std::string(name(dtype));
  if (!peak(machine, dtype)) {
    return lacks(machine, "peak_tflops." + format, "the rate of the plan's matrix products");
  }
  if (!machine.memory_rate) return lacks(machine, "memory_gb_per_s", "the rate of its memory");
  ComputeModel model;
  resolve_parameters(machine, model);
  if (machine.compute && machine.compute->units) {
    model.units = *machine.compute->units;
  } else {
    // As many as give each the reference rate, so that a tile takes as long as there.
    model.units = std::max(1.0, std::round(peak(machine, dtype)->value / reference_unit));
    model.assumptions.push_back("compute.units = " + text(model.units) +
                                ", as its peak at 2.9 Tflop/s a unit");
  }
  const Dtype full = full_format(machine, dtype);
  model.matmul = rates(machine, dtype, model);
  model.full = full == dtype ? model.matmul : rates(machine, full, model);
  model.attention_efficiency = attention_efficiency(machine, full, vendor_attention, model);
  model.memory_rate = machine.memory_rate->value;
  const auto& vector = machine.peak_rates[index(Dtype::fp32)];
  model.vector_rate = vector ? vector->value : model.full.peak / 16;
  if (!vector) {
    model.assumptions.push_back("peak_tflops.fp32 = " + text(model.vector_rate * 1e-12) +
                                ", a sixteenth of the matrix peak");
  }
  return model;
}

namespace {

// Rows and columns that one unit computes at a time, and how much longer it takes for each of its
// elements than with the largest tile, as it loads more operands for each.
struct Tile {
  double m, n, cost;
};
constexpr double load_share = 0.2;  // of loads, in the largest tile's time
constexpr Tile tile(double m, double n) {
  return {m, n, 1 - load_share + load_share * (256.0 * 128 / (256 + 128)) / (m * n / (m + n))};
}
constexpr std::array<Tile, 6> tiles = {tile(256, 128), tile(128, 256), tile(128, 128),
                                       tile(128, 64),  tile(64, 128),  tile(64, 64)};
constexpr std::array<double, 4> splits = {1, 2, 4, 8};  // of the depth, summed up at the end

double rounded_up(double whole, double part) { return std::ceil(whole / part) * part; }

// The work of the fastest choice of a tile, against m n k batch.
double fastest_tile(const ComputeModel& model, double m, double n, double k, double batch) {
  const double fill = of(model, ComputeParameter::fill);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& t : tiles) {
    const double count = std::ceil(m / t.m) * std::ceil(n / t.n) * batch;
    for (const double split : splits) {
      const double waves = rounded_up(count * split, model.units) / split;
      best = std::min(best, waves * t.m * t.n * t.cost * (k + fill * split));
    }
  }
  return best / (m * n * k * batch);
}

}  // namespace

double matmul_waves(const ComputeModel& model, const MatmulShape& s) {
  return fastest_tile(model, static_cast<double>(s.m), static_cast<double>(s.n),
                      static_cast<double>(s.k), static_cast<double>(s.batch));
}

Seconds matmul_arithmetic(const ComputeModel& model, const MatmulRates& rates,
                          const MatmulShape& shape) {
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const auto batch = static_cast<double>(shape.batch);
  if (m * n * k * batch <= 0) return Seconds{0};
  const bool aligned = shape.m % 8 == 0 && shape.n % 8 == 0 && shape.k % 8 == 0;
  const double align = aligned ? 1 : of(model, ComputeParameter::misaligned);
  const double tail = of(model, ComputeParameter::tail);
  const double slowdown = (tail > 0 ? 1 + tail * (matmul_waves(model, shape) - 1) : 1) * align;
  return Seconds{2 * m * n * k * batch * slowdown / (rates.peak * rates.efficiency)};
}

Seconds memory_time(const ComputeModel& model, double bytes) {
  const double rate = model.memory_rate * of(model, ComputeParameter::memory_efficiency);
  return Seconds{bytes / rate};
}

namespace {

// The shapes say how much of the peak is reached; the operation's own count of FLOPs (a masked half
// left out, adds counted one by one) how many there are.
double matmul_seconds(const ComputeModel& model, const MatmulRates& rates, const Pass& pass) {
  double seconds = 0;
  double counted = 0;
  for (const MatmulShape& shape : pass.matmuls) {
    seconds += matmul_arithmetic(model, rates, shape).count();
    counted += 2.0 * static_cast<double>(shape.batch) * static_cast<double>(shape.m) *
               static_cast<double>(shape.n) * static_cast<double>(shape.k);
  }
  if (counted <= 0) return pass.matrix.value / (rates.peak * rates.efficiency);
  return seconds * pass.matrix.value / counted;
}

// Operands in the format of the products, results in 16 bits; of a backward pass's weight bytes
// half are its gradient.
double matmul_bytes(const MatmulRates& rates, const Pass& pass, Direction direction) {
  const double weights = pass.weight_bytes * (direction == Direction::forward ? 1 : 0.5);
  return pass.bytes() - (1 - rates.operands) * (pass.input_bytes + pass.other_bytes + weights);
}

// One kernel that never writes scores; otherwise each of attention's products is a matmul of its
// own.
bool is_fused_attention(const Operation& operation) {
  return operation.kind == OperationClass::attention && operation.forward.matmuls.size() > 1;
}

}  // namespace

Seconds operation_time(const ComputeModel& model, const Operation& operation, Direction direction,
                       bool full_precision) {
  const bool fused = is_fused_attention(operation);
  const Pass& pass = direction == Direction::forward ? operation.forward : operation.backward;
  const double power = of(model, ComputeParameter::roofline_power);
  const double vector = pass.vector.value / model.vector_rate;
  if (pass.flops().value <= 0 && pass.bytes() <= 0) return Seconds{0};
  const bool attention = operation.kind == OperationClass::attention;
  if (operation.kind == OperationClass::matmul || (attention && !fused)) {
    const MatmulRates& rates = full_precision || attention ? model.full : model.matmul;
    const double traffic = memory_time(model, matmul_bytes(rates, pass, direction)).count() *
                           of(model, ComputeParameter::matmul_memory_share);
    // Two products of a backward pass read the same gradient, which is cast once.
    const double casts = pass.matmuls.size() > 1 ? 0.5 : 1;
    const double cast = rates.cast * casts * memory_time(model, pass.input_bytes).count();
    const double arithmetic = matmul_seconds(model, rates, pass) + vector;
    const double calls = std::max<double>(1, static_cast<double>(pass.matmuls.size()));
    return Seconds{calls * us(model, ComputeParameter::matmul_launch_us) +
                   norm(arithmetic, traffic, power) + cast};
  }
  const double traffic = memory_time(model, pass.bytes()).count();
  double arithmetic = vector;
  if (fused) {
    const double backward =
        direction == Direction::backward ? of(model, ComputeParameter::attention_backward) : 1;
    arithmetic += pass.matrix.value / (model.full.peak * model.attention_efficiency * backward);
  }
  return Seconds{us(model, ComputeParameter::launch_us) + norm(arithmetic, traffic, power)};
}

double host_excess(const ComputeModel& model, double device, double host, bool tp) {
  const ComputeParameter power =
      tp ? ComputeParameter::host_power_tp : ComputeParameter::host_power;
  return norm(device, host, of(model, power)) - device;
}

}  // namespace stepscope
