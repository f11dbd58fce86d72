// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/time/compute_time.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope {
namespace {

// NOLINTNEXTLINE(google-build-using-namespace): the numbers of a term
using namespace formula;

constexpr double reference_unit = 2.9e12;  // flop/s: 16-bit peak of one SM of an A100

double us(const ComputeModel& model, ComputeParameter p) { return of(model, p) * 1e-6; }

std::string text(double value) {
  std::string s = std::to_string(value);
  s.erase(s.find_last_not_of('0') + 1);
  if (s.back() == '.') s.pop_back();
  return s;
}

// If no share of the peak was measured, it is taken from a nearby format, else from the largest
// measured matmul.
double matmul_efficiency(const Machine& machine, Dtype dtype, ComputeModel& model) {
  constexpr double usual = 0.65;
  constexpr double sustained = 0.9;  // share of the largest matmul that training reaches
  const auto& known = machine.compute ? machine.compute->matmul_efficiency
                                      : std::array<std::optional<double>, dtype_count>{};
  if (const auto& own = known[index(dtype)]) return *own;
  double share = usual;
  std::string from;
  if (const auto& most = machine.matmul_max[index(dtype)]) {
    share = sustained * most->value / machine.peak_rates[index(dtype)]->value;
    from = "0.9 of its largest measured matmul";
  }
  model.assumptions.push_back(
      {"compute.matmul_efficiency." + std::string(name(dtype)), text(share), std::move(from)});
  return share;
}

// A cast writes an operand and its transpose, with a byte of scale for each 32 elements (fp8) or 16
// (fp4). That to fp4 reads the input twice: first for the scale of all elements.
constexpr double fp4_cast = (2 * 2 + 2 * 9.0 / 16) / (2 + 2 * 33.0 / 32);

MatmulRates rates(const Machine& machine, Dtype dtype, ComputeModel& model) {
  MatmulRates r{.peak = machine.peak_rates[index(dtype)]->value};
  r.efficiency = matmul_efficiency(machine, dtype, model);
  if (below_16_bits(dtype)) {
    r.operands = operand_bytes(dtype) / 2;
    r.cast = of(model, ComputeParameter::cast) * (dtype == Dtype::fp4 ? fp4_cast : 1);
  }
  return r;
}

void resolve_parameters(const Machine& machine, ComputeModel& model) {
  for (std::size_t i = 0; i < compute_parameter_count; ++i) {
    const auto own = machine.compute ? machine.compute->values[i] : std::nullopt;
    model.values[i] = own.value_or(compute_parameters[i].usual);
    if (own || !compute_parameters[i].told) continue;
    model.assumptions.push_back({"compute." + std::string(compute_parameters[i].name),
                                 text(compute_parameters[i].usual), ""});
  }
}

// 16 bits if the plan's format is narrower and the machine has them.
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
  model.assumptions.push_back(
      {"compute.attention_efficiency." + std::string(name(dtype)), text(usual), ""});
  return usual;
}

Error lacks(const Machine& machine, const std::string& field, const std::string& why) {
  return Error{.what = "machine \"" + machine.name + "\" lacks " + field + ", " + why,
               .hint = "give it in a machine file (--machine FILE)"};
}

}  // namespace

void shorten_launches(ComputeModel& model) {
  for (const auto p : {ComputeParameter::launch_us, ComputeParameter::matmul_launch_us}) {
    model.values[static_cast<std::size_t>(p)] *= graphed_gap;
  }
}

void keep_units(ComputeModel& model, int kept) {
  const double left = (model.units - kept) / model.units;
  model.units -= kept;
  model.matmul.efficiency *= left;
  model.full.efficiency *= left;
  model.attention_efficiency *= left;
  model.vector_rate *= left;
}

void pad_products(ComputeModel& model) {
  model.values[static_cast<std::size_t>(ComputeParameter::misaligned)] = 1;
  model.values[static_cast<std::size_t>(ComputeParameter::misaligned_fill)] = 0;
}

Result<ComputeModel> make_compute_model(const Machine& machine, Dtype dtype,
                                        bool vendor_attention) {
  const auto format = std::string(name(dtype));
  if (!peak(machine, dtype)) {
    Error error = lacks(machine, "peak_tflops." + format, "the rate of the plan's matrix products");
    for (const Dtype other : {Dtype::fp16, Dtype::bf16, Dtype::fp32})
      if (peak(machine, other)) {
        error.hint = "give --dtype " + std::string(name(other)) + ", whose rate it has, or " +
                     error.hint.substr(error.hint.starts_with("give ") ? 5 : 0);
        break;
      }
    return error;
  }
  if (!machine.memory_rate) return lacks(machine, "memory_gb_per_s", "the rate of its memory");
  ComputeModel model;
  resolve_parameters(machine, model);
  if (machine.compute && machine.compute->units) {
    model.units = *machine.compute->units;
  } else {
    // Number of units that gives each the reference rate, so that a tile takes the reference time.
    model.units = std::max(1.0, std::round(peak(machine, dtype)->value / reference_unit));
    model.assumptions.push_back(
        {"compute.units", text(model.units), "as its peak at 2.9 Tflop/s a unit"});
  }
  const Dtype full = full_format(machine, dtype);
  model.matmul = rates(machine, dtype, model);
  model.full = full == dtype ? model.matmul : rates(machine, full, model);
  model.attention_efficiency = attention_efficiency(machine, full, vendor_attention, model);
  model.memory_rate = machine.memory_rate->value;
  const auto& own = machine.vector_rates[index(full)];
  const auto& vector = own ? own : machine.peak_rates[index(Dtype::fp32)];
  model.vector_rate = vector ? vector->value : model.full.peak / 16;
  if (!vector) {
    model.assumptions.push_back(
        {"peak_tflops.fp32", text(model.vector_rate * 1e-12), "a sixteenth of the matrix peak"});
  }
  return model;
}

namespace {

// Rows and columns that one unit computes at a time, and the time per element relative to the
// largest tile. Smaller tiles load more operands per element.
struct Tile {
  double m, n, cost;
};
constexpr double load_share = 0.2;  // of loads, in the time of the largest tile
constexpr Tile tile(double m, double n) {
  return {m, n, 1 - load_share + load_share * (256.0 * 128 / (256 + 128)) / (m * n / (m + n))};
}
constexpr std::array<Tile, 6> tiles = {tile(256, 128), tile(128, 256), tile(128, 128),
                                       tile(128, 64),  tile(64, 128),  tile(64, 64)};
constexpr std::array<double, 4> splits = {1, 2, 4, 8};  // of the depth, summed at the end

double rounded_up(double whole, double part) { return std::ceil(whole / part) * part; }

// The work with the fastest tile, relative to m n k batch.
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

namespace {

template <Number N>
N parameter(const ComputeModel& model, ComputeParameter p) {
  return count<N>(of(model, p), compute_parameters[static_cast<std::size_t>(p)].name);
}

template <Number N>
N launch(const ComputeModel& model, ComputeParameter p) {
  return seconds<N>(us(model, p), "launch");
}

template <Number N>
N peak_reached(const MatmulRates& rates) {
  return flop_rate<N>(rates.peak, "peak") * count<N>(rates.efficiency, "eff");
}

// One product of `batch` at the rate of its shape.
template <Number N>
N product_time(const ComputeModel& model, const MatmulRates& rates, const MatmulShape& s,
               std::int64_t kernels) {
  const N all = flops<N>(2, "2") * count<N>(static_cast<double>(s.m), "m") *
                count<N>(static_cast<double>(s.n), "n") * count<N>(static_cast<double>(s.k), "k") *
                count<N>(static_cast<double>(s.batch), "batch");
  if (value(all) <= 0) return seconds<N>(0);
  N slowdown = 1.0;
  MatmulShape of_kernel = s;
  of_kernel.batch = std::max<std::int64_t>(1, s.batch / kernels);
  if (of(model, ComputeParameter::tail) > 0) {
    slowdown = 1.0 + parameter<N>(model, ComputeParameter::tail) *
                         (count<N>(matmul_waves(model, of_kernel), "waves") - 1.0);
  }
  const bool aligned = s.m % 8 == 0 && s.n % 8 == 0 && s.k % 8 == 0;
  if (!aligned) {
    slowdown = slowdown * parameter<N>(model, ComputeParameter::misaligned);
    if (of(model, ComputeParameter::misaligned_fill) > 0)
      slowdown = slowdown * (1.0 + parameter<N>(model, ComputeParameter::misaligned_fill) /
                                       count<N>(static_cast<double>(s.k), "k"));
  }
  return all * slowdown / peak_reached<N>(rates);
}

// `strided` and `mixed` are the parts of the bytes in such kernels.
template <Number N>
N traffic_time(const ComputeModel& model, double moved, double strided = 0, double mixed = 0) {
  N all = bytes<N>(moved, "bytes");
  if (strided > 0 && of(model, ComputeParameter::strided) != 1)
    all = all + (parameter<N>(model, ComputeParameter::strided) - 1.0) *
                    bytes<N>(strided, "strided bytes");
  if (mixed > 0 && of(model, ComputeParameter::mixed) != 1)
    all =
        all + (parameter<N>(model, ComputeParameter::mixed) - 1.0) * bytes<N>(mixed, "mixed bytes");
  return all / (byte_rate<N>(model.memory_rate, "memory rate") *
                parameter<N>(model, ComputeParameter::memory_efficiency));
}

// The shapes give the reached share of the peak. The operation's own count gives the FLOPs (without
// the masked half, or with single adds).
template <Number N>
N products_time(const ComputeModel& model, const MatmulRates& rates, const Pass& pass) {
  Total<N> all("products");
  double counted = 0;
  for (const MatmulShape& s : pass.matmuls) {
    all.add(product_time<N>(model, rates, s, pass.kernels));
    counted += 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) *
               static_cast<double>(s.n) * static_cast<double>(s.k);
  }
  if (counted <= 0) return flops<N>(pass.matrix.value, "FLOPs") / peak_reached<N>(rates);
  return scaled(all.value(), pass.matrix.value, counted, "share that the mask leaves");
}

// Operands are in the format of the products, results in 16 bits. Half of a backward pass's weight
// bytes are the gradient.
double matmul_bytes(const MatmulRates& rates, const Pass& pass, Direction direction) {
  const double weights = pass.weight_bytes * (direction == Direction::forward ? 1 : 0.5);
  return pass.bytes() - pass.apart_bytes -
         (1 - rates.operands) * (pass.input_bytes - pass.apart_bytes + pass.other_bytes + weights);
}

// True for one kernel that never writes scores. Otherwise each of attention's products is a matmul
// of its own.
bool is_fused_attention(const Operation& operation) {
  return operation.kind == OperationClass::attention && operation.forward.matmuls.size() > 1;
}

template <Number N>
N matmul_time(const ComputeModel& model, const MatmulRates& rates, const Pass& pass,
              Direction direction, const N& vector) {
  const N traffic = traffic_time<N>(model, matmul_bytes(rates, pass, direction)) *
                    parameter<N>(model, ComputeParameter::matmul_memory_share);
  const N calls =
      count<N>(std::max<std::int64_t>(1, std::ssize(pass.matmuls)) * pass.kernels, "calls");
  N time = calls * launch<N>(model, ComputeParameter::matmul_launch_us) +
           norm(products_time<N>(model, rates, pass) + vector, traffic,
                of(model, ComputeParameter::roofline_power));
  if (pass.apart_bytes > 0)
    time = time + launch<N>(model, ComputeParameter::launch_us) +
           traffic_time<N>(model, pass.apart_bytes);
  if (rates.cast <= 0 || pass.input_cast) return time;
  // Two products of a backward pass read the same gradient, which is cast only once.
  const double casts = pass.matmuls.size() > 1 ? 0.5 : 1;
  if (pass.kernels > 1) {
    time = time + count<N>(pass.kernels, "casts") * launch<N>(model, ComputeParameter::launch_us);
  }
  return time + count<N>(rates.cast * casts, "cast") *
                    traffic_time<N>(model, pass.input_bytes - pass.apart_bytes);
}

template <Number N>
N time_of(const ComputeModel& model, const Operation& operation, Direction direction,
          bool full_precision) {
  const bool fused = is_fused_attention(operation);
  const bool forward = direction == Direction::forward;
  const Pass& pass = forward ? operation.forward : operation.backward;
  if (pass.flops().value <= 0 && pass.bytes() <= 0) return seconds<N>(0, "nothing");
  N arithmetic =
      flops<N>(pass.vector.value, "vector FLOPs") / flop_rate<N>(model.vector_rate, "vector rate");
  const bool attention = operation.kind == OperationClass::attention;
  if (operation.kind == OperationClass::matmul || (attention && !fused)) {
    const MatmulRates& rates = full_precision || attention ? model.full : model.matmul;
    return matmul_time<N>(model, rates, pass, direction, arithmetic);
  }
  if (operation.kind == OperationClass::scan)
    arithmetic = arithmetic + flops<N>(pass.matrix.value, "FLOPs") /
                                  (flop_rate<N>(model.vector_rate, "vector rate") *
                                   parameter<N>(model, ComputeParameter::scan));
  if (fused) {
    if (of(model, ComputeParameter::softmax) != 1)
      arithmetic = arithmetic * parameter<N>(model, ComputeParameter::softmax);
    N rate = flop_rate<N>(model.full.peak, "peak") * count<N>(model.attention_efficiency, "eff");
    if (operation.attention_core && model.narrow_attention != 1)
      rate = rate * count<N>(model.narrow_attention, "narrow attention");
    if (!forward) rate = rate * parameter<N>(model, ComputeParameter::attention_backward);
    arithmetic = arithmetic + flops<N>(pass.matrix.value, "FLOPs") / rate;
    const auto edge =
        forward ? ComputeParameter::attention_edge : ComputeParameter::attention_edge_backward;
    if (of(model, edge) > 0)
      arithmetic =
          arithmetic * (1.0 + parameter<N>(model, edge) /
                                  count<N>(static_cast<double>(pass.matmuls.front().n), "keys"));
  }
  return launch<N>(model, ComputeParameter::launch_us) +
         norm(arithmetic,
              traffic_time<N>(model, pass.bytes(), pass.strided_bytes, pass.mixed_bytes),
              of(model, ComputeParameter::roofline_power));
}

}  // namespace

Seconds memory_time(const ComputeModel& model, double bytes, double mixed) {
  return Seconds{traffic_time<double>(model, bytes, 0, mixed)};
}

Seconds operation_time(const ComputeModel& model, const Operation& operation, Direction direction,
                       bool full_precision) {
  return Seconds{time_of<double>(model, operation, direction, full_precision)};
}

Formula operation_formula(const ComputeModel& model, const Operation& operation,
                          Direction direction, bool full_precision) {
  return time_of<Formula>(model, operation, direction, full_precision);
}

}  // namespace stepscope
