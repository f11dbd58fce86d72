// SPDX-License-Identifier: Apache-2.0
// Machine files: strict, so that a misspelt field is an error and not an unknown figure.
#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "stepscope/base/json_reader.h"
#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_fields.h"

namespace stepscope {
namespace {

using Json = nlohmann::json;
using Fields = MachineFields;

constexpr std::array<std::string_view, 14> root_fields = {
    "name",      "vendor",          "aliases",  "peak_tflops", "matmul_max_tflops",
    "memory_gb", "memory_gb_per_s", "scale_up", "scale_out",   "sources",
    "notes",     "compute",         "host",     "nvme"};
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

// `tree` is the same text as `root`: it knows where a wrong field stands.
Result<Machine> from_json(const Json& root, const JsonValue& tree, std::string_view json,
                          std::string_view path) {
  Fields fields(path);
  if (!root.is_object()) {
    return Error{.what = "a machine file holds one JSON object", .file = std::string(path)};
  }
  fields.only(root, "", root_fields);
  Machine machine{.name = fields.text(root, "", "name", true),
                  .vendor = fields.text(root, "", "vendor", false),
                  .aliases = read_aliases(root, fields),
                  .peak_rates = read_rates(root, "peak_tflops", true, fields),
                  .matmul_max = read_rates(root, "matmul_max_tflops", false, fields),
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
  if (!fields.error()) return machine;
  Error error = *fields.error();
  error.what = json_place(tree, json, fields.wrong_field()) + ": " + error.what;
  return error;
}

}  // namespace

Result<Machine> parse_machine(std::string_view json, std::string_view path) {
  const Result<JsonValue> tree = parse_json(json, path);
  if (!tree) {
    Error error = tree.error();
    error.hint = "data/machines shows what a machine file looks like";
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
