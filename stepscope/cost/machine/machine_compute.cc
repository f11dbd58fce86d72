// SPDX-License-Identifier: Apache-2.0
// The parts of a machine file that say how near the device comes to its peaks, and what lies behind
// it: "compute", "host", "nvme".
#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "stepscope/cost/machine/machine_fields.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;
using Fields = MachineFields;
using Shares = std::array<std::optional<double>, dtype_count>;

constexpr std::array<std::string_view, 3> host_fields = {"gb_per_s_per_direction",
                                                         "memory_gb_per_s", "memory_gb"};
constexpr std::array<std::string_view, 3> nvme_fields = {"read_gb_per_s", "write_gb_per_s",
                                                         "capacity_gb"};

// By number format; at most 1.
Shares read_shares(const Json& compute, const char* key, Fields& fields) {
  Shares shares;
  const auto it = compute.find(key);
  const std::string at = std::string("compute.") + key;
  if (it == compute.end() || !fields.is_object(*it, at)) return shares;
  for (const auto& [format, value] : it->items()) {
    const std::string place = at + "." + format;
    const auto* found = std::ranges::find(dtype_names, format);
    if (found == dtype_names.end()) {
      fields.fail(place, "is not a number format (fp64, fp32, tf32, fp16, bf16, fp8, fp4)");
      continue;
    }
    const auto share = fields.number(value, place);
    if (share && *share > 1) fields.fail(place, "is a share of the peak: at most 1");
    shares[static_cast<std::size_t>(found - dtype_names.begin())] = share;
  }
  return shares;
}

void read_parameter(const std::string& key, const Json& value, ComputeCurves& curves,
                    Fields& fields) {
  const std::string place = "compute." + key;
  const auto* p = std::ranges::find(compute_parameters, key, &ComputeParameterInfo::name);
  if (p == compute_parameters.end()) {
    fields.fail(place, "is not a field of a machine file");
    return;
  }
  const bool fits =
      value.is_number() && value.get<double>() >= p->low && value.get<double>() <= p->high;
  if (!fits) {
    fields.fail(place, "must be a number between " + std::to_string(p->low) + " and " +
                           std::to_string(p->high));
    return;
  }
  curves.values[static_cast<std::size_t>(p - compute_parameters.begin())] = value.get<double>();
}

std::optional<Bytes> read_gb(const Json& object, const std::string& at, const char* key,
                             Fields& fields) {
  const auto gb = fields.number(object, at, key);
  if (!gb) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(std::llround(*gb * giga))};
}

}  // namespace

std::optional<ComputeCurves> read_compute(const Json& root, Fields& fields) {
  const auto it = root.find("compute");
  if (it == root.end() || !fields.is_object(*it, "compute")) return std::nullopt;
  ComputeCurves curves;
  curves.units = fields.whole(*it, "compute.", "units");
  curves.matmul_efficiency = read_shares(*it, "matmul_efficiency", fields);
  curves.attention_efficiency = read_shares(*it, "attention_efficiency", fields);
  curves.vendor_attention_efficiency = read_shares(*it, "vendor_attention_efficiency", fields);
  curves.source = fields.text(*it, "compute.", "source", true);
  for (const auto& [key, value] : it->items()) {
    const bool read = key == "units" || key == "matmul_efficiency" ||
                      key == "attention_efficiency" || key == "vendor_attention_efficiency" ||
                      key == "source";
    if (!read) read_parameter(key, value, curves, fields);
  }
  return curves;
}

std::optional<Host> read_host(const Json& root, Fields& fields) {
  const auto it = root.find("host");
  if (it == root.end() || !fields.is_object(*it, "host")) return std::nullopt;
  fields.only(*it, "host.", host_fields);
  return Host{.per_direction = fields.rate(*it, "host.", "gb_per_s_per_direction"),
              .memory_rate = fields.rate(*it, "host.", "memory_gb_per_s"),
              .memory = read_gb(*it, "host.", "memory_gb", fields)};
}

std::optional<Nvme> read_nvme(const Json& root, Fields& fields) {
  const auto it = root.find("nvme");
  if (it == root.end() || !fields.is_object(*it, "nvme")) return std::nullopt;
  fields.only(*it, "nvme.", nvme_fields);
  return Nvme{.read = fields.rate(*it, "nvme.", "read_gb_per_s"),
              .write = fields.rate(*it, "nvme.", "write_gb_per_s"),
              .capacity = read_gb(*it, "nvme.", "capacity_gb", fields)};
}

}  // namespace stepscope
