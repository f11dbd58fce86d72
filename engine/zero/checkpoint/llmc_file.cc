// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/llmc_file.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/zero/drive/disk_file.h"

namespace stepscope::zero {
namespace {

constexpr std::int32_t llmc_magic = 20240326;
constexpr std::int32_t version_f32 = 3;
constexpr std::int32_t version_bf16 = 5;
constexpr std::uint64_t llmc_header_bytes = 1024;
using Header = std::array<std::int32_t, 256>;

// The kinds of tensors in the file's order. The kinds of of_layers have one tensor per layer.
constexpr std::array<std::string_view, 2> before_layers = {"transformer.wte.weight",
                                                           "transformer.wpe.weight"};
constexpr std::array<std::string_view, 12> of_layers = {
    "ln_1.weight",        "ln_1.bias",        "attn.c_attn.weight", "attn.c_attn.bias",
    "attn.c_proj.weight", "attn.c_proj.bias", "ln_2.weight",        "ln_2.bias",
    "mlp.c_fc.weight",    "mlp.c_fc.bias",    "mlp.c_proj.weight",  "mlp.c_proj.bias"};
constexpr std::array<std::string_view, 2> after_layers = {"transformer.ln_f.weight",
                                                          "transformer.ln_f.bias"};

// One parameter in the file's order.
struct Place {
  std::size_t unit = 0;
  std::size_t parameter = 0;
  std::uint64_t first = 0;  // element of the file's data
};

struct Layout {
  std::vector<nn::Unit> units{};
  std::vector<Place> places{};
  std::uint64_t elements = 0;
};

// For a network with the file's padded vocabulary.
Layout layout_of(const nn::NetworkConfig& config) {
  Layout layout{.units = nn::network_units(config)};
  const auto add = [&](const std::string& name) {
    for (std::size_t u = 0; u < layout.units.size(); ++u) {
      const auto& parameters = layout.units[u].parameters;
      const auto it = std::ranges::find(parameters, name, &nn::Parameter::name);
      if (it == parameters.end()) continue;
      layout.places.push_back({.unit = u,
                               .parameter = static_cast<std::size_t>(it - parameters.begin()),
                               .first = layout.elements});
      layout.elements += static_cast<std::uint64_t>(it->count);
      return;
    }
    check(false, "GPT-2 has the tensors of llm.c's file");
  };
  for (const auto name : before_layers) add(std::string(name));
  for (const auto name : of_layers) {
    for (std::int64_t l = 0; l < config.layers; ++l)
      add("transformer.h." + std::to_string(l) + "." + std::string(name));
  }
  for (const auto name : after_layers) add(std::string(name));
  return layout;
}

Error llmc_error(const std::string& path, std::uint64_t byte, std::string what, std::string hint) {
  return {.what = std::move(what), .file = path, .byte = byte, .hint = std::move(hint)};
}

struct Start {
  nn::NetworkConfig config;
  StoredType type = StoredType::f32;
};

Result<Start> start_of(const std::string& path, const Header& header) {
  if (header[0] != llmc_magic) {
    return llmc_error(
        path, 0, "is not a checkpoint of llm.c (magic number " + std::to_string(header[0]) + ")",
        "give a checkpoint that llm.c or stepscope --export wrote");
  }
  if (header[1] != version_f32 && header[1] != version_bf16) {
    return llmc_error(
        path, 4, "version " + std::to_string(header[1]) + " is not known; 3 (f32) and 5 (bf16) are",
        "write it again with a newer llm.c");
  }
  Start start{.config = {.layers = header[4],
                         .heads = header[5],
                         .kv_heads = header[5],
                         .channels = header[6],
                         .hidden = std::int64_t{4} * header[6],
                         .vocab = header[3],
                         .padded_vocab = header[7],
                         .context = header[2]},
              .type = header[1] == version_f32 ? StoredType::f32 : StoredType::bf16};
  if (auto checked = nn::check_network(start.config); !checked) {
    return llmc_error(path, 8, "the sizes are no network: " + checked.error().what,
                      "the file is damaged: write or copy it again");
  }
  return start;
}

struct Opened {
  DiskFile file;
  Start start;
  Layout layout;
};
Result<Opened> open(const std::string& path) {
  auto file = DiskFile::open(path);
  if (!file) return file.error();
  const auto bytes = file->size();
  if (!bytes) return bytes.error();
  if (*bytes < llmc_header_bytes) {
    return llmc_error(path, *bytes, "the file ends within its header", "it is cut: copy it again");
  }
  Header header{};
  if (auto read = file->read(0, std::as_writable_bytes(std::span(header))); !read)
    return read.error();
  auto start = start_of(path, header);
  if (!start) return start.error();
  // Check before allocating anything of that size: a layer has more than 12 C^2 elements.
  const auto c = static_cast<double>(start->config.channels);
  const auto least = 12 * c * c * static_cast<double>(start->config.layers);
  if (least * static_cast<double>(stored_bytes(start->type)) > static_cast<double>(*bytes)) {
    return llmc_error(path, *bytes, "the file ends before the weights that its header names",
                      "it is cut: copy it again");
  }
  Layout layout = layout_of(start->config);
  const std::uint64_t expected = llmc_header_bytes + layout.elements * stored_bytes(start->type);
  if (*bytes != expected) {
    return llmc_error(path, std::min(*bytes, expected),
                      "the file has " + std::to_string(*bytes) + " bytes; its header names " +
                          std::to_string(expected),
                      "it is cut or damaged: copy it again");
  }
  return Opened{*std::move(file), *std::move(start), std::move(layout)};
}

// The differences from the file's header.
std::string difference(const nn::NetworkConfig& file, const nn::NetworkConfig& config) {
  struct Field {
    std::string_view name;
    std::int64_t nn::NetworkConfig::* member;
  };
  constexpr std::array<Field, 6> fields = {{{"layers", &nn::NetworkConfig::layers},
                                            {"heads", &nn::NetworkConfig::heads},
                                            {"channels", &nn::NetworkConfig::channels},
                                            {"hidden", &nn::NetworkConfig::hidden},
                                            {"vocabulary", &nn::NetworkConfig::vocab},
                                            {"context", &nn::NetworkConfig::context}}};
  if (config.family != nn::NetworkFamily::gpt2 || !config.tied) {
    return "llm.c's checkpoints hold GPT-2 with a tied head";
  }
  for (const Field& f : fields) {
    if (file.*f.member == config.*f.member) continue;
    return std::string(f.name) + " " + std::to_string(file.*f.member) + " in the file, " +
           std::to_string(config.*f.member) + " in the model";
  }
  return {};
}

}  // namespace

Result<nn::NetworkConfig> llmc_network(const std::string& path) {
  const auto opened = open(path);
  if (!opened) return opened.error();
  return opened->start.config;
}

Result<StoredWeights> open_llmc(const std::string& path, const nn::NetworkConfig& config) {
  auto opened = open(path);
  if (!opened) return opened.error();
  if (const std::string what = difference(opened->start.config, config); !what.empty()) {
    return Error{.what = "is of another model: " + what,
                 .file = path,
                 .byte = 8,
                 .hint = "choose the model that the file is of"};
  }
  auto units = nn::network_units(config);
  std::vector<std::vector<StoredTensor>> stored(units.size());
  for (std::size_t u = 0; u < units.size(); ++u) stored[u].resize(units[u].parameters.size());
  for (const Place& place : opened->layout.places) {
    stored[place.unit][place.parameter] = {
        .offset = llmc_header_bytes + place.first * stored_bytes(opened->start.type),
        .type = opened->start.type,
        .rows = parameter_rows(units[place.unit].parameters[place.parameter]).rows};
  }
  return StoredWeights(std::move(opened->file), std::move(units), std::move(stored));
}

Result<Done> write_llmc(const std::string& path, const nn::NetworkConfig& config, ElementType type,
                        const ReadWeights& weights) {
  if (config.family != nn::NetworkFamily::gpt2 || !config.tied ||
      config.hidden != 4 * config.channels) {
    return Error{.what =
                     "llm.c's checkpoints hold GPT-2 with a tied head and a hidden size of four "
                     "times the channels",
                 .file = path,
                 .hint = "write safetensors instead"};
  }
  const std::array<std::int64_t, 8> words = {
      llmc_magic,      type == ElementType::f32 ? version_f32 : version_bf16,
      config.context,  config.vocab,
      config.layers,   config.heads,
      config.channels, config.padded_vocab};
  Header header{};
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] > std::numeric_limits<std::int32_t>::max()) {
      return Error{.what = "a size does not fit the file's 32 bits: " + std::to_string(words[i]),
                   .file = path};
    }
    header[i] = static_cast<std::int32_t>(words[i]);
  }
  const StoredType stored = stored_type(type);
  const Layout layout = layout_of(config);
  return write_in_place(path, [&](const DiskFile& file) -> Result<Done> {
    if (auto done = file.write(0, std::as_bytes(std::span(header))); !done) return done.error();
    for (const Place& place : layout.places) {
      const nn::Parameter& parameter = layout.units[place.unit].parameters[place.parameter];
      const ParameterRows rows = parameter_rows(parameter);
      const StoredTensor tensor{.offset = llmc_header_bytes + place.first * stored_bytes(stored),
                                .type = stored,
                                .rows = rows.rows + parameter.pad_rows};
      if (auto done = write_tensor(file, tensor, place.unit, parameter, weights); !done)
        return done.error();
    }
    return Done{};
  });
}

}  // namespace stepscope::zero
