// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "stepscope/base/json_reader.h"

namespace stepscope::zero {
namespace {

constexpr std::string_view metadata_key = "__metadata__";
constexpr std::string_view damaged_hint = "the file is damaged or cut: write or copy it again";

// The bits of an element; 0 for a type that the format does not have.
std::uint64_t bits_of(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::uint64_t>, 15> types = {{{"BOOL", 8},
                                                                                 {"U8", 8},
                                                                                 {"I8", 8},
                                                                                 {"F8_E5M2", 8},
                                                                                 {"F8_E4M3", 8},
                                                                                 {"I16", 16},
                                                                                 {"U16", 16},
                                                                                 {"F16", 16},
                                                                                 {"BF16", 16},
                                                                                 {"I32", 32},
                                                                                 {"U32", 32},
                                                                                 {"F32", 32},
                                                                                 {"F64", 64},
                                                                                 {"I64", 64},
                                                                                 {"U64", 64}}};
  const auto* it =
      std::ranges::find(types, dtype, &std::pair<std::string_view, std::uint64_t>::first);
  return it == types.end() ? 0 : it->second;
}

// The bytes of a tensor with this dtype and shape; empty if they exceed any file.
std::optional<std::uint64_t> bytes_of(const SafetensorsTensor& tensor) {
  std::uint64_t elements = 1;
  for (const std::int64_t n : tensor.shape) {
    if (__builtin_mul_overflow(elements, static_cast<std::uint64_t>(n), &elements))
      return std::nullopt;
  }
  std::uint64_t bits = 0;
  if (__builtin_mul_overflow(elements, bits_of(tensor.dtype), &bits)) return std::nullopt;
  return bits / 8;
}

Error tensor_error(std::string_view path, const SafetensorsTensor& tensor,
                   const std::string& what) {
  return {.what = "tensor \"" + tensor.name + "\" " + what,
          .file = std::string(path),
          .byte = tensor.begin,
          .hint = std::string(damaged_hint)};
}

// Reads dtype, shape and offsets. Offsets count from `data`.
SafetensorsTensor tensor_of(const std::string& name, const JsonValue& value, std::uint64_t data,
                            JsonFields& fields, JsonProblems& problems) {
  SafetensorsTensor tensor{.name = name};
  JsonFields object = fields.inner(name, value);
  tensor.dtype = object.text("dtype");
  tensor.shape = object.integers("shape", {});
  const auto offsets = object.integers("data_offsets", {});
  object.finish("is not known");
  if (problems.error()) return tensor;
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    problems.fail(value, "tensor \"" + name + "\": data_offsets are no begin and end");
  } else if (bits_of(tensor.dtype) == 0) {
    problems.fail(value, "tensor \"" + name + "\": dtype \"" + tensor.dtype + "\" is not known");
  } else {
    tensor.begin = data + static_cast<std::uint64_t>(offsets[0]);
    tensor.end = data + static_cast<std::uint64_t>(offsets[1]);
  }
  return tensor;
}

// Checks that the tensors fill the file to its end without overlaps or holes.
Result<Done> check_places(const std::vector<SafetensorsTensor>& tensors, std::uint64_t data,
                          std::uint64_t file_bytes, std::string_view path) {
  std::uint64_t at = data;
  for (const SafetensorsTensor& tensor : tensors) {
    const auto bytes = bytes_of(tensor);
    if (!bytes || tensor.end - tensor.begin != *bytes) {
      return tensor_error(path, tensor,
                          "has " + std::to_string(tensor.end - tensor.begin) + " bytes, but " +
                              tensor.dtype + " " + shape_text(tensor.shape) + " needs " +
                              (bytes ? std::to_string(*bytes) : "more than any file has"));
    }
    if (tensor.begin < at) return tensor_error(path, tensor, "overlaps the tensor before it");
    if (tensor.begin > at) {
      return tensor_error(
          path, tensor,
          "leaves a hole of " + std::to_string(tensor.begin - at) + " bytes before it");
    }
    if (tensor.end > file_bytes) {
      return tensor_error(path, tensor,
                          "ends at byte " + std::to_string(tensor.end) + ", beyond the file's " +
                              std::to_string(file_bytes));
    }
    at = tensor.end;
  }
  if (at == file_bytes) return Done{};
  return Error{
      .what = "the tensors end here, but the file has " + std::to_string(file_bytes) + " bytes",
      .file = std::string(path),
      .byte = at,
      .hint = std::string(damaged_hint)};
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                                   std::string_view path) {
  const auto root = parse_json(json, path, any_values);
  if (!root) return root.error();
  if (root->kind != JsonValue::Kind::object || !json.starts_with('{')) {
    return Error{.what = "the header is no JSON object",
                 .file = std::string(path),
                 .byte = 8,
                 .hint = std::string(damaged_hint)};
  }
  JsonProblems problems(json, path);
  JsonFields fields(*root, "", problems);
  SafetensorsHeader header;
  const std::uint64_t data = 8 + json.size();
  for (std::size_t i = 0; i < root->keys.size() && !problems.error(); ++i) {
    const JsonValue& value = root->items[i];
    if (value.kind != JsonValue::Kind::object) {
      problems.fail(value, "\"" + root->keys[i] + "\" is no object");
    } else if (root->keys[i] != metadata_key) {
      header.tensors.push_back(tensor_of(root->keys[i], value, data, fields, problems));
    } else {
      JsonFields metadata = fields.inner(metadata_key, value);
      for (const std::string& key : value.keys) header.metadata[key] = metadata.text(key);
    }
  }
  if (problems.error()) return *problems.error();
  std::ranges::stable_sort(header.tensors, {},
                           [](const SafetensorsTensor& t) { return std::pair(t.begin, t.end); });
  if (auto checked = check_places(header.tensors, data, file_bytes, path); !checked)
    return checked.error();
  return header;
}

Result<SafetensorsHeader> read_safetensors_header(const std::string& path) {
  const auto file = DiskFile::open(path);
  if (!file) return file.error();
  const auto bytes = file->size();
  if (!bytes) return bytes.error();
  std::uint64_t length = 0;
  if (*bytes < sizeof length) {
    return Error{.what = "is no safetensors file: it has " + std::to_string(*bytes) + " bytes",
                 .file = path,
                 .byte = *bytes,
                 .hint = std::string(damaged_hint)};
  }
  if (auto read = file->read(0, std::as_writable_bytes(std::span(&length, 1))); !read)
    return read.error();
  if (length > most_safetensors_header || length > *bytes - sizeof length) {
    return Error{.what = "is no safetensors file, or cut: a header of " + std::to_string(length) +
                         " bytes in a file of " + std::to_string(*bytes),
                 .file = path,
                 .byte = 0,
                 .hint = std::string(damaged_hint)};
  }
  std::string json(length, '\0');
  if (auto read = file->read(sizeof length, std::as_writable_bytes(std::span(json))); !read)
    return read.error();
  return parse_safetensors_header(json, *bytes, path);
}

namespace {

// "transformer.h.0.ln_1.bias" -> "h.0.ln_1.bias".
std::string_view without_first_part(std::string_view name) {
  return name.substr(name.find('.') + 1);
}

// The parameter's shape in the file.
std::vector<std::int64_t> file_shape(const nn::Parameter& parameter) {
  std::vector<std::int64_t> shape = parameter.shape;
  if (!shape.empty()) shape.front() -= parameter.pad_rows;
  if (parameter.transposed_in_file) std::ranges::reverse(shape);
  return shape;
}

bool is_buffer(std::string_view name) {
  constexpr std::array<std::string_view, 3> buffers = {".attn.bias", ".attn.masked_bias",
                                                       ".inv_freq"};
  return std::ranges::any_of(buffers, [&](std::string_view b) { return name.ends_with(b); });
}

// The tensors by name that are not taken yet.
class Tensors {
 public:
  Tensors(std::string path, const SafetensorsHeader& header) : path_(std::move(path)) {
    for (const SafetensorsTensor& t : header.tensors) by_name_.emplace(t.name, &t);
  }

  Result<StoredTensor> take(const nn::Parameter& parameter) {
    auto it = by_name_.find(parameter.name);
    if (it == by_name_.end()) it = by_name_.find(without_first_part(parameter.name));
    if (it == by_name_.end()) {
      return Error{.what = "tensor \"" + parameter.name + "\" is missing",
                   .file = path_,
                   .hint = "choose the model that the file is of; sharded files have to be joined"};
    }
    const SafetensorsTensor& tensor = *it->second;
    by_name_.erase(it);
    const auto shape = file_shape(parameter);
    if (tensor.shape != shape) {
      return Error{.what = "tensor \"" + tensor.name + "\" has the shape " +
                           shape_text(tensor.shape) + ", the model's is " + shape_text(shape),
                   .file = path_,
                   .byte = tensor.begin,
                   .hint = "choose the model that the file is of"};
    }
    StoredTensor stored{.offset = tensor.begin,
                        .rows = parameter_rows(parameter).rows,
                        .transposed = parameter.transposed_in_file};
    if (tensor.dtype == "BF16") {
      stored.type = StoredType::bf16;
    } else if (tensor.dtype == "F16") {
      stored.type = StoredType::f16;
    } else if (tensor.dtype != "F32") {
      return Error{.what = "tensor \"" + tensor.name + "\" is " + tensor.dtype +
                           "; F32, BF16 and F16 can be read",
                   .file = path_,
                   .byte = tensor.begin,
                   .hint = "convert the file"};
    }
    return stored;
  }
  // The remaining tensors, except buffers.
  [[nodiscard]] Result<Done> finish() const {
    for (const auto& [name, tensor] : by_name_) {
      if (is_buffer(name) || name == "lm_head.weight") continue;
      return Error{.what = "tensor \"" + std::string(name) + "\" is not of the model",
                   .file = path_,
                   .byte = tensor->begin,
                   .hint = "choose the model that the file is of"};
    }
    return Done{};
  }

 private:
  std::string path_;
  std::map<std::string_view, const SafetensorsTensor*> by_name_;
};

}  // namespace

Result<StoredWeights> open_safetensors(const std::string& path,
                                       const std::vector<nn::Unit>& units) {
  const auto header = read_safetensors_header(path);
  if (!header) return header.error();
  Tensors tensors(path, *header);
  std::vector<std::vector<StoredTensor>> stored;
  for (const nn::Unit& unit : units) {
    auto& of_unit = stored.emplace_back();
    for (const nn::Parameter& parameter : unit.parameters) {
      const auto tensor = tensors.take(parameter);
      if (!tensor) return tensor.error();
      of_unit.push_back(*tensor);
    }
  }
  if (auto finished = tensors.finish(); !finished) return finished.error();
  auto file = DiskFile::open(path);
  if (!file) return file.error();
  return StoredWeights(*std::move(file), units, std::move(stored));
}

Result<Done> write_safetensors(const std::string& path, const std::vector<nn::Unit>& units,
                               ElementType type, const ReadWeights& weights) {
  const StoredType stored = stored_type(type);
  nlohmann::ordered_json json;
  json[metadata_key] = {{"format", "pt"}};  // orientation and names are PyTorch's; readers check it
  std::uint64_t at = 0;
  for (const nn::Unit& unit : units) {
    for (const nn::Parameter& p : unit.parameters) {
      const ParameterRows rows = parameter_rows(p);
      const std::uint64_t end =
          at + static_cast<std::uint64_t>(rows.rows * rows.columns) * stored_bytes(stored);
      json[p.name] = {{"dtype", type == ElementType::f32 ? "F32" : "BF16"},
                      {"shape", file_shape(p)},
                      {"data_offsets", {at, end}}};
      at = end;
    }
  }
  std::string header = json.dump();
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the format pads with spaces
  return write_in_place(path, [&](const DiskFile& file) -> Result<Done> {
    const std::uint64_t length = header.size();
    if (auto done = file.write(0, std::as_bytes(std::span(&length, 1))); !done) return done.error();
    if (auto done = file.write(8, std::as_bytes(std::span(header))); !done) return done.error();
    std::uint64_t offset = 8 + length;
    for (std::size_t u = 0; u < units.size(); ++u) {
      for (const nn::Parameter& p : units[u].parameters) {
        const ParameterRows rows = parameter_rows(p);
        const StoredTensor tensor{.offset = offset,
                                  .type = stored,
                                  .rows = rows.rows,
                                  .transposed = p.transposed_in_file};
        if (auto done = write_tensor(file, tensor, u, p, weights); !done) return done.error();
        offset += static_cast<std::uint64_t>(rows.rows * rows.columns) * stored_bytes(stored);
      }
    }
    return Done{};
  });
}

}  // namespace stepscope::zero
