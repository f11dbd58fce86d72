// SPDX-License-Identifier: Apache-2.0
// Reads machine files. An unknown field is an error, so that a misspelt field does not become a
// missing figure.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/json_reader.h"
#include "stepscope/base/quantity.h"
#include "stepscope/base/result.h"
#include "stepscope/cost/machine/compute_parameters.h"
#include "stepscope/cost/machine/links.h"
#include "stepscope/cost/machine/machine.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;

// Reads fields and keeps what is wrong with them: all is reported together.
class Fields {
 public:
  explicit Fields(std::string_view path) : path_(path) {}

  void fail(const std::string& field, const std::string& why);
  bool is_object(const Json& value, const std::string& field);
  // Refuses any other key.
  void only(const Json& object, const std::string& prefix, std::span<const std::string_view> known);
  std::string text(const Json& object, const std::string& prefix, const char* key, bool required);
  std::optional<double> number(const Json& value, const std::string& field);
  std::optional<double> number(const Json& object, const std::string& prefix, const char* key);
  std::optional<int> whole(const Json& object, const std::string& prefix, const char* key);
  std::optional<bool> truth(const Json& object, const std::string& prefix, const char* key);
  std::optional<ByteRate> rate(const Json& object, const std::string& prefix, const char* key);
  [[nodiscard]] std::optional<Error> error() const;
  // The first field that the error is about, dotted.
  [[nodiscard]] const std::string& wrong_field() const { return wrong_.front().field; }

 private:
  struct Wrong {
    std::string field;
    std::string why;
  };
  std::string path_;
  std::vector<Wrong> wrong_;
};

constexpr std::string_view pattern =
    "data/machines shows machine files, which leave out what is not known";

// The limits of any figure as written: bytes stay below 2^63, and times of real work are finite.
constexpr double smallest = 1e-6;
constexpr double largest = 1e9;

void Fields::fail(const std::string& field, const std::string& why) {
  constexpr std::size_t most = 8;
  if (wrong_.size() < most) wrong_.push_back({field, why});
}

std::optional<Error> Fields::error() const {
  if (wrong_.empty()) return std::nullopt;
  Error error{.what = {}, .file = path_};
  for (const auto& [field, why] : wrong_)
    error.what += (error.what.empty() ? "field \"" : "; field \"") + field + "\" " + why;
  return error;
}

bool Fields::is_object(const Json& value, const std::string& field) {
  if (!value.is_object()) fail(field, "must be an object");
  return value.is_object();
}

void Fields::only(const Json& object, const std::string& prefix,
                  std::span<const std::string_view> known) {
  for (const auto& [key, unused] : object.items()) {
    if (std::ranges::find(known, key) == known.end()) {
      fail(prefix + key, "is not a field of a machine file");
    }
  }
}

std::string Fields::text(const Json& object, const std::string& prefix, const char* key,
                         bool required) {
  const auto it = object.find(key);
  if (it == object.end()) {
    if (required) fail(prefix + key, "is missing");
    return {};
  }
  if (it->is_string() && !it->get_ref<const std::string&>().empty()) return *it;
  fail(prefix + key, "must be a text that is not empty");
  return {};
}

std::optional<double> Fields::number(const Json& value, const std::string& field) {
  if (value.is_number()) {
    const double n = value.get<double>();
    if (n >= smallest && n <= largest) return n;
  }
  fail(field, "must be a number from 1e-6 to 1e9");
  return std::nullopt;
}

std::optional<double> Fields::number(const Json& object, const std::string& prefix,
                                     const char* key) {
  const auto it = object.find(key);
  return it == object.end() ? std::nullopt : number(*it, prefix + key);
}

std::optional<int> Fields::whole(const Json& object, const std::string& prefix, const char* key) {
  const auto n = number(object, prefix, key);
  if (!n) return std::nullopt;
  if (*n == std::floor(*n) && *n <= 1e6) return static_cast<int>(*n);
  fail(prefix + key, "must be a whole number");
  return std::nullopt;
}

std::optional<bool> Fields::truth(const Json& object, const std::string& prefix, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return std::nullopt;
  if (it->is_boolean()) return it->get<bool>();
  fail(prefix + key, "must be true or false");
  return std::nullopt;
}

std::optional<ByteRate> Fields::rate(const Json& object, const std::string& prefix,
                                     const char* key) {
  const auto n = number(object, prefix, key);
  return n ? std::optional(ByteRate{*n * giga}) : std::nullopt;
}

std::optional<Bytes> read_gb(const Json& object, const std::string& at, const char* key,
                             Fields& fields) {
  const auto gb = fields.number(object, at, key);
  if (!gb) return std::nullopt;
  return Bytes{static_cast<std::int64_t>(std::llround(*gb * giga))};
}

constexpr std::array<std::string_view, 9> scale_up_fields = {"name",
                                                             "gb_per_s_per_direction",
                                                             "p2p_gb_per_s_per_direction",
                                                             "domain",
                                                             "topology",
                                                             "peers_gb_per_s_per_direction",
                                                             "optional",
                                                             "switch_reduction",
                                                             "timing"};
constexpr std::array<std::string_view, 9> scale_out_fields = {"name",
                                                              "gb_per_s_per_direction",
                                                              "ports_per_node",
                                                              "devices_per_node",
                                                              "rails",
                                                              "pod_devices",
                                                              "oversubscription",
                                                              "switch_reduction",
                                                              "timing"};
constexpr std::array<std::string_view, 2> reduction_fields = {"name", "group_from"};

std::optional<Topology> read_topology(const Json& link, const std::string& at, Fields& fields) {
  const std::string text = fields.text(link, at, "topology", false);
  if (text.empty()) return std::nullopt;
  const auto* found = std::ranges::find(topology_names, text);
  if (found != topology_names.end()) return static_cast<Topology>(found - topology_names.begin());
  fields.fail(at + "topology", "must be one of: switch, mesh, hybrid mesh, 2D torus, 3D torus");
  return std::nullopt;
}

// To the devices 1, 2, ... places further; 0 if there is no link.
std::vector<ByteRate> read_peers(const Json& link, const std::string& at, Fields& fields) {
  std::vector<ByteRate> peers;
  const auto it = link.find("peers_gb_per_s_per_direction");
  if (it == link.end()) return peers;
  const std::string place = at + "peers_gb_per_s_per_direction";
  if (!it->is_array() || it->empty()) fields.fail(place, "must be a list of rates");
  for (const Json& value : *it) {
    const bool none = value.is_number() && value.get<double>() == 0.0;
    const auto rate = none ? 0.0 : fields.number(value, place);
    peers.push_back(ByteRate{rate.value_or(0) * giga});
  }
  return peers;
}

std::optional<SwitchReduction> read_reduction(const Json& link, const std::string& at,
                                              Fields& fields) {
  const auto it = link.find("switch_reduction");
  const std::string place = at + "switch_reduction";
  if (it == link.end() || !fields.is_object(*it, place)) return std::nullopt;
  fields.only(*it, place + ".", reduction_fields);
  return SwitchReduction{.name = fields.text(*it, place + ".", "name", true),
                         .group_from = fields.whole(*it, place + ".", "group_from")};
}

void read_parameter(const std::string& key, const Json& value, const std::string& at, bool outer,
                    LinkTiming& timing, Fields& fields) {
  const auto* p = std::ranges::find(link_parameters, key, &LinkParameterInfo::name);
  if (p == link_parameters.end() || !(outer ? p->out : p->up)) {
    fields.fail(at + key, "is not a timing of these links (docs/reference/machines.md)");
    return;
  }
  const auto n = fields.number(value, at + key);
  if (n && (*n < p->low || *n > p->high)) {
    fields.fail(at + key,
                "must lie between " + Json(p->low).dump() + " and " + Json(p->high).dump());
  }
  timing.values[static_cast<std::size_t>(p - link_parameters.begin())] = n;
}

std::optional<LinkTiming> read_timing(const Json& link, const std::string& prefix, bool outer,
                                      Fields& fields) {
  const auto it = link.find("timing");
  const std::string at = prefix + "timing.";
  if (it == link.end() || !fields.is_object(*it, prefix + "timing")) return std::nullopt;
  LinkTiming timing{.values = {}, .source = fields.text(*it, at, "source", true)};
  timing.measured_to = read_gb(*it, at, "measured_to_gb", fields);
  for (const auto& [key, value] : it->items()) {
    if (key != "source" && key != "measured_to_gb")
      read_parameter(key, value, at, outer, timing, fields);
  }
  return timing;
}

std::optional<ScaleUp> read_scale_up(const Json& root, Fields& fields) {
  const auto it = root.find("scale_up");
  if (it == root.end() || !fields.is_object(*it, "scale_up")) return std::nullopt;
  const std::string at = "scale_up.";
  fields.only(*it, at, scale_up_fields);
  return ScaleUp{.name = fields.text(*it, at, "name", true),
                 .per_direction = fields.rate(*it, at, "gb_per_s_per_direction"),
                 .peer_to_peer = fields.rate(*it, at, "p2p_gb_per_s_per_direction"),
                 .domain = fields.whole(*it, at, "domain"),
                 .topology = read_topology(*it, at, fields),
                 .optional = fields.truth(*it, at, "optional").value_or(false),
                 .peers = read_peers(*it, at, fields),
                 .reduction = read_reduction(*it, at, fields),
                 .timing = read_timing(*it, at, false, fields)};
}

std::optional<ScaleOut> read_scale_out(const Json& root, Fields& fields) {
  const auto it = root.find("scale_out");
  if (it == root.end() || !fields.is_object(*it, "scale_out")) return std::nullopt;
  const std::string at = "scale_out.";
  fields.only(*it, at, scale_out_fields);
  ScaleOut link{.name = fields.text(*it, at, "name", false),
                .per_direction = fields.rate(*it, at, "gb_per_s_per_direction"),
                .ports_per_node = fields.whole(*it, at, "ports_per_node"),
                .devices_per_node = fields.whole(*it, at, "devices_per_node"),
                .rails = fields.truth(*it, at, "rails"),
                .pod_devices = fields.whole(*it, at, "pod_devices"),
                .oversubscription = fields.number(*it, at, "oversubscription"),
                .reduction = read_reduction(*it, at, fields),
                .timing = read_timing(*it, at, true, fields)};
  if (link.oversubscription && *link.oversubscription < 1) {
    fields.fail(at + "oversubscription", "is below 1");
  }
  return link;
}

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

constexpr std::array<std::string_view, 15> root_fields = {
    "name",          "vendor",    "aliases",         "peak_tflops", "matmul_max_tflops",
    "vector_tflops", "memory_gb", "memory_gb_per_s", "scale_up",    "scale_out",
    "sources",       "notes",     "compute",         "host",        "nvme"};
constexpr std::array<std::string_view, 2> alias_fields = {"name", "memory_must_match"};

std::vector<MachineAlias> read_aliases(const Json& root, Fields& fields) {
  std::vector<MachineAlias> aliases;
  const auto it = root.find("aliases");
  if (it == root.end()) return aliases;
  if (!it->is_array()) {
    fields.fail("aliases", "must be a list");
    return aliases;
  }
  for (std::size_t i = 0; i < it->size(); ++i) {
    const Json& item = (*it)[i];
    const std::string place = "aliases[" + std::to_string(i) + "]";
    if (item.is_string()) {
      aliases.push_back({.name = item});
      continue;
    }
    if (!fields.is_object(item, place)) continue;
    fields.only(item, place + ".", alias_fields);
    MachineAlias alias{.name = fields.text(item, place + ".", "name", true)};
    if (const auto must = item.find("memory_must_match"); must != item.end()) {
      if (!must->is_boolean()) fields.fail(place + ".memory_must_match", "must be true or false");
      alias.memory_must_match = must->is_boolean() && must->get<bool>();
    }
    aliases.push_back(std::move(alias));
  }
  return aliases;
}

std::array<std::optional<FlopRate>, dtype_count> read_rates(const Json& root, const char* key,
                                                            bool required, Fields& fields) {
  std::array<std::optional<FlopRate>, dtype_count> rates;
  const auto it = root.find(key);
  if (it == root.end()) {
    if (required) fields.fail(key, "is missing (an empty object where no peak is known)");
    return rates;
  }
  if (!fields.is_object(*it, key)) return rates;
  for (const auto& [dtype, value] : it->items()) {
    const std::string place = std::string(key) + "." + dtype;
    std::size_t d = 0;
    while (d < dtype_count && dtype_names[d] != dtype) ++d;
    if (d == dtype_count) {
      fields.fail(place, "is not a number format (fp64, fp32, tf32, fp16, bf16, fp8, fp4)");
    } else if (const auto n = fields.number(value, place)) {
      rates[d] = FlopRate{*n * tera};
    }
  }
  return rates;
}

void read_provenance(const Json& root, Machine& machine, Fields& fields) {
  const auto sources = root.find("sources");
  if (sources == root.end() || !sources->is_array() || sources->empty()) {
    fields.fail("sources", "must be a list that names where the figures are from");
  } else {
    for (const Json& s : *sources) {
      if (s.is_string())
        machine.sources.push_back(s);
      else
        fields.fail("sources", "must hold texts");
    }
  }
  const auto notes = root.find("notes");
  if (notes == root.end() || !fields.is_object(*notes, "notes")) return;
  for (const auto& [field, note] : notes->items()) {
    const std::string_view root_field = std::string_view(field).substr(0, field.find('.'));
    if (std::ranges::find(root_fields, root_field) == root_fields.end()) {
      fields.fail("notes." + field, "speaks of no field of a machine file");
    }
    if (note.is_string())
      machine.notes[field] = note;
    else
      fields.fail("notes." + field, "must be a text");
  }
}

// `tree` is the same text as `root`, with the positions of fields.
Result<Machine> from_json(const Json& root, const JsonValue& tree, std::string_view json,
                          std::string_view path) {
  Fields fields(path);
  if (!root.is_object()) {
    return Error{.what = "a machine file must be one JSON object: {...}",
                 .file = std::string(path),
                 .hint = std::string(pattern)};
  }
  fields.only(root, "", root_fields);
  Machine machine{.name = fields.text(root, "", "name", true),
                  .vendor = fields.text(root, "", "vendor", false),
                  .aliases = read_aliases(root, fields),
                  .peak_rates = read_rates(root, "peak_tflops", true, fields),
                  .matmul_max = read_rates(root, "matmul_max_tflops", false, fields),
                  .vector_rates = read_rates(root, "vector_tflops", false, fields),
                  .memory = {},
                  .memory_rate = fields.rate(root, "", "memory_gb_per_s"),
                  .compute = read_compute(root, fields),
                  .host = read_host(root, fields),
                  .nvme = read_nvme(root, fields),
                  .scale_up = read_scale_up(root, fields),
                  .scale_out = read_scale_out(root, fields),
                  .sources = {},
                  .notes = {}};
  if (const auto gb = fields.number(root, "", "memory_gb")) {
    machine.memory = Bytes{static_cast<std::int64_t>(std::llround(*gb * giga))};
  }
  read_provenance(root, machine, fields);
  const std::optional<Error> wrong = fields.error();
  if (!wrong) return machine;
  Error error = *wrong;
  error.what = json_place(tree, json, fields.wrong_field()) + ": " + error.what;
  error.hint = pattern;
  return error;
}

}  // namespace

Result<Machine> parse_machine(std::string_view json, std::string_view path) {
  const Result<JsonValue> tree = parse_json(json, path);
  if (!tree) {
    Error error = tree.error();
    error.hint = pattern;
    return error;
  }
  return from_json(Json::parse(json), *tree, json, path);
}

Result<Machine> read_machine(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  return parse_machine(*text, path);
}

}  // namespace stepscope
