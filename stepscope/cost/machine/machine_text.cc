// SPDX-License-Identifier: Apache-2.0
#include "stepscope/cost/machine/machine_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace stepscope {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The figure for the file whose multiple is `value`: the shortest one that gives the value back.
// For 1979e12 flop/s it is 1979 and not 1979.0000000000002.
double in_units(double value, double unit) {
  const double plain = value / unit;
  for (int digits = 3; digits < 17; ++digits) {
    const double scale = std::pow(10, digits - 1 - std::floor(std::log10(plain)));
    const double candidate = std::round(plain * scale) / scale;
    if (candidate * unit == value) return candidate;
  }
  return plain;
}
// Whole figures are written without a decimal point.
OrderedJson number(double value) {
  constexpr double exact_to = 9e15;
  if (value == std::floor(value) && std::abs(value) < exact_to)
    return static_cast<std::int64_t>(value);
  return value;
}

void put(OrderedJson& to, const char* key, const std::optional<ByteRate>& rate) {
  if (rate) to[key] = number(in_units(rate->value, giga));
}
void put(OrderedJson& to, const char* key, const std::optional<Bytes>& bytes) {
  if (bytes) to[key] = number(in_units(static_cast<double>(bytes->value), giga));
}
void put(OrderedJson& to, const char* key, const std::optional<int>& whole) {
  if (whole) to[key] = *whole;
}

template <class T>
OrderedJson by_format(const std::array<std::optional<T>, dtype_count>& values) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t d = 0; d < dtype_count; ++d) {
    if (!values[d]) continue;
    const std::string format(dtype_names[d]);
    if constexpr (std::is_same_v<T, FlopRate>)
      json[format] = number(in_units(values[d]->value, tera));
    else
      json[format] = number(*values[d]);
  }
  return json;
}

template <class Values, class Infos>
void put_parameters(OrderedJson& to, const Values& values, const Infos& infos) {
  for (std::size_t p = 0; p < infos.size(); ++p) {
    if (values[p]) to[std::string(infos[p].name)] = number(*values[p]);
  }
}

OrderedJson compute_json(const ComputeCurves& curves) {
  OrderedJson json;
  put(json, "units", curves.units);
  const auto shares = [&](const char* key, const auto& values) {
    if (OrderedJson object = by_format(values); !object.empty()) json[key] = std::move(object);
  };
  shares("matmul_efficiency", curves.matmul_efficiency);
  shares("attention_efficiency", curves.attention_efficiency);
  shares("vendor_attention_efficiency", curves.vendor_attention_efficiency);
  put_parameters(json, curves.values, compute_parameters);
  json["source"] = curves.source;
  return json;
}

// The fields that both tiers have.
template <class Links>
void put_common(OrderedJson& json, const Links& links) {
  if (links.reduction) {
    OrderedJson reduction{{"name", links.reduction->name}};
    put(reduction, "group_from", links.reduction->group_from);
    json["switch_reduction"] = std::move(reduction);
  }
  if (links.timing) {
    OrderedJson timing = OrderedJson::object();
    put_parameters(timing, links.timing->values, link_parameters);
    put(timing, "measured_to_gb", links.timing->measured_to);
    timing["source"] = links.timing->source;
    json["timing"] = std::move(timing);
  }
}

OrderedJson scale_up_json(const ScaleUp& up) {
  OrderedJson json{{"name", up.name}};
  put(json, "gb_per_s_per_direction", up.per_direction);
  put(json, "p2p_gb_per_s_per_direction", up.peer_to_peer);
  put(json, "domain", up.domain);
  if (up.topology) json["topology"] = topology_names[static_cast<std::size_t>(*up.topology)];
  if (up.optional) json["optional"] = true;
  if (!up.peers.empty()) {
    OrderedJson peers = OrderedJson::array();
    for (const ByteRate peer : up.peers)
      peers.push_back(peer.value > 0 ? number(in_units(peer.value, giga)) : OrderedJson(0));
    json["peers_gb_per_s_per_direction"] = std::move(peers);
  }
  put_common(json, up);
  return json;
}

OrderedJson scale_out_json(const ScaleOut& out) {
  OrderedJson json = OrderedJson::object();
  if (!out.name.empty()) json["name"] = out.name;
  put(json, "gb_per_s_per_direction", out.per_direction);
  put(json, "ports_per_node", out.ports_per_node);
  put(json, "devices_per_node", out.devices_per_node);
  if (out.rails) json["rails"] = *out.rails;
  put(json, "pod_devices", out.pod_devices);
  if (out.oversubscription) json["oversubscription"] = number(*out.oversubscription);
  put_common(json, out);
  return json;
}

OrderedJson aliases_json(const Machine& machine) {
  OrderedJson aliases = OrderedJson::array();
  for (const MachineAlias& alias : machine.aliases) {
    if (alias.memory_must_match)
      aliases.push_back(OrderedJson{{"name", alias.name}, {"memory_must_match", true}});
    else
      aliases.push_back(alias.name);
  }
  return aliases;
}

void put_behind(OrderedJson& json, const Machine& machine) {
  if (machine.host) {
    OrderedJson host = OrderedJson::object();
    put(host, "gb_per_s_per_direction", machine.host->per_direction);
    put(host, "memory_gb_per_s", machine.host->memory_rate);
    put(host, "memory_gb", machine.host->memory);
    json["host"] = std::move(host);
  }
  if (machine.nvme) {
    OrderedJson nvme = OrderedJson::object();
    put(nvme, "read_gb_per_s", machine.nvme->read);
    put(nvme, "write_gb_per_s", machine.nvme->write);
    put(nvme, "capacity_gb", machine.nvme->capacity);
    json["nvme"] = std::move(nvme);
  }
}

}  // namespace

std::string machine_text(const Machine& machine) {
  check(!machine.name.empty() && !machine.sources.empty(), "a machine file names its sources");
  OrderedJson json{{"name", machine.name}};
  if (!machine.vendor.empty()) json["vendor"] = machine.vendor;
  if (!machine.aliases.empty()) json["aliases"] = aliases_json(machine);
  json["peak_tflops"] = by_format(machine.peak_rates);
  if (OrderedJson most = by_format(machine.matmul_max); !most.empty())
    json["matmul_max_tflops"] = most;
  if (OrderedJson rates = by_format(machine.vector_rates); !rates.empty())
    json["vector_tflops"] = rates;
  put(json, "memory_gb", machine.memory);
  put(json, "memory_gb_per_s", machine.memory_rate);
  if (machine.compute) json["compute"] = compute_json(*machine.compute);
  if (machine.scale_up) json["scale_up"] = scale_up_json(*machine.scale_up);
  if (machine.scale_out) json["scale_out"] = scale_out_json(*machine.scale_out);
  put_behind(json, machine);
  json["sources"] = machine.sources;
  if (!machine.notes.empty()) json["notes"] = machine.notes;
  return json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace stepscope
