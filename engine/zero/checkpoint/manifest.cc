// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/manifest.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "stepscope/base/json_reader.h"
#include "stepscope/base/number_text.h"

namespace stepscope::zero {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view schema = "stepscope.checkpoint/1";
constexpr std::int64_t most_ranks = 1 << 24;

// Numbers beyond 2^53 are text: other readers of JSON would round them.
std::string text_of(std::uint64_t value) { return std::to_string(value); }

class Hash {  // FNV-1a, 64 bits
 public:
  void add(std::string_view text) {
    for (const char c : text) byte(static_cast<unsigned char>(c));
    byte(0);
  }
  void add(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    for (unsigned i = 0; i < 64; i += 8) byte((bits >> i) & 0xffU);
  }
  [[nodiscard]] std::uint64_t value() const { return hash_; }

 private:
  void byte(std::uint64_t b) { hash_ = (hash_ ^ b) * 0x100000001b3ULL; }
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

std::uint64_t unsigned_of(JsonFields& fields, std::string_view key) {
  const std::string text = fields.text(key);
  const auto value = number_of<std::uint64_t>(text);
  if (!value) fields.fail(key, "is not a whole number in quotes");
  return value.value_or(0);
}

Json json_of(const CheckpointUnit& unit) {
  Json tensors = Json::array();
  for (const CheckpointTensor& t : unit.tensors)
    tensors.push_back({{"name", t.name}, {"shape", t.shape}, {"offset", t.offset}});
  return {{"name", unit.name}, {"elements", unit.elements}, {"tensors", std::move(tensors)}};
}

std::vector<CheckpointUnit> units_of(const JsonValue& list, JsonFields& fields,
                                     JsonProblems& problems) {
  std::vector<CheckpointUnit> units;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const std::string at = "units[" + std::to_string(i) + "]";
    if (list.items[i].kind != JsonValue::Kind::object) {
      problems.fail(list.items[i], at + " is no object");
      break;
    }
    JsonFields unit = fields.inner(at, list.items[i]);
    CheckpointUnit& u = units.emplace_back();
    u.name = unit.text("name");
    u.elements = unit.integer("elements", {});
    const JsonValue* tensors = unit.find("tensors");
    const std::size_t count = tensors == nullptr ? 0 : tensors->items.size();
    for (std::size_t k = 0; k < count; ++k) {
      if (tensors->items[k].kind != JsonValue::Kind::object) {
        problems.fail(tensors->items[k], at + ": a tensor is no object");
        break;
      }
      JsonFields tensor = unit.inner("tensors[" + std::to_string(k) + "]", tensors->items[k]);
      CheckpointTensor& t = u.tensors.emplace_back();
      t.name = tensor.text("name");
      t.shape = tensor.integers("shape", {});
      t.offset = tensor.integer("offset", {});
      tensor.finish("is not known");
    }
    unit.finish("is not known");
  }
  return units;
}

TrainingCursor cursor_of(JsonFields& fields) {
  TrainingCursor cursor;
  cursor.seed = unsigned_of(fields, "seed");
  cursor.step = fields.integer("step", {});
  cursor.updates = fields.integer("updates", {});
  cursor.data_position = fields.integer("data_position", {});
  cursor.tokens = fields.integer("tokens", {});
  return cursor;
}

}  // namespace

std::uint64_t model_identity(const CheckpointModel& model) {
  Hash hash;
  hash.add(model.config);
  for (const CheckpointUnit& unit : model.units) {
    hash.add(unit.name);
    hash.add(unit.elements);
    for (const CheckpointTensor& tensor : unit.tensors) {
      hash.add(tensor.name);
      hash.add(tensor.offset);
      for (const std::int64_t n : tensor.shape) hash.add(n);
    }
  }
  return hash.value();
}

std::string manifest_text(const Manifest& manifest) {
  const CheckpointInfo& info = manifest.info;
  Json json;
  json["schema"] = schema;
  json["step"] = info.cursor.step;
  json["seed"] = text_of(info.cursor.seed);
  json["updates"] = info.cursor.updates;
  json["data_position"] = info.cursor.data_position;
  json["tokens"] = info.cursor.tokens;
  json["parameters"] = element_name(info.parameters);
  json["stage"] = info.stage;
  json["world_size"] = info.world_size;
  json["model_identity"] = text_of(model_identity(info.model));
  json["config"] = info.model.config;
  json["units"] = Json::array();
  for (const CheckpointUnit& unit : info.model.units) json["units"].push_back(json_of(unit));
  json["files"] = Json::array();
  for (const RankFileSummary& file : manifest.files)
    json["files"].push_back({{"bytes", file.bytes}, {"checksum", file.checksum}});
  constexpr int indent = 1;
  return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view path) {
  const auto root = parse_json(text, path, any_values);
  if (!root) return root.error();
  JsonProblems problems(text, path);
  if (root->kind != JsonValue::Kind::object) {
    return Error{.what = "is not the manifest of a checkpoint",
                 .file = std::string(path),
                 .hint = "use another checkpoint"};
  }
  JsonFields fields(*root, "", problems);
  constexpr std::array<std::string_view, 1> schemas = {schema};
  (void)fields.choice("schema", schemas);
  Manifest manifest;
  CheckpointInfo& info = manifest.info;
  info.cursor = cursor_of(fields);
  constexpr std::array<std::string_view, 2> types = {element_name(ElementType::f32),
                                                     element_name(ElementType::bf16)};
  info.parameters = fields.choice("parameters", types) == 0 ? ElementType::f32 : ElementType::bf16;
  info.stage = static_cast<int>(fields.integer("stage", {.least = 0, .most = 3}));
  info.world_size =
      static_cast<int>(fields.integer("world_size", {.least = 1, .most = most_ranks}));
  const std::uint64_t identity = unsigned_of(fields, "model_identity");
  info.model.config = fields.text("config");
  if (const JsonValue* units = fields.find("units")) {
    info.model.units = units_of(*units, fields, problems);
  }
  if (const JsonValue* files = fields.find("files")) {
    for (std::size_t i = 0; i < files->items.size(); ++i) {
      if (files->items[i].kind != JsonValue::Kind::object) {
        problems.fail(files->items[i], "a file is no object");
        break;
      }
      JsonFields file = fields.inner("files[" + std::to_string(i) + "]", files->items[i]);
      manifest.files.push_back(
          {.bytes = static_cast<std::uint64_t>(file.integer("bytes", {})),
           .checksum = static_cast<std::uint32_t>(
               file.integer("checksum", {.most = std::numeric_limits<std::uint32_t>::max()}))});
      file.finish("is not known");
    }
  }
  fields.finish("is not known", "this may be the checkpoint of a newer version");
  if (problems.error()) return *problems.error();
  if (manifest.files.size() != static_cast<std::size_t>(info.world_size) ||
      identity != model_identity(info.model)) {
    return Error{.what = "the fields of the manifest contradict each other",
                 .file = std::string(path),
                 .hint = "it was edited: use another checkpoint"};
  }
  return manifest;
}

}  // namespace stepscope::zero
