// SPDX-License-Identifier: Apache-2.0
// Each field stands once in a table, from which it is both read and written.
#include "stepscope/cost/model/model_json.h"

#include <array>
#include <nlohmann/json.hpp>

#include "stepscope/base/json_reader.h"
#include "stepscope/cost/model/hugging_face.h"
#include "stepscope/cost/model/parameter_count.h"

namespace stepscope {
namespace {

using Int = std::int64_t;
using Json = nlohmann::ordered_json;

template <class Owner, class Value>
struct Field {
  std::string_view key;
  Value Owner::* member;
  bool required = false;
};

constexpr std::array sizes = {
    Field<Transformer, Int>{"layers", &Transformer::layers, true},
    Field<Transformer, Int>{"hidden", &Transformer::hidden, true},
    Field<Transformer, Int>{"heads", &Transformer::heads, true},
    Field<Transformer, Int>{"kv_heads", &Transformer::kv_heads},
    Field<Transformer, Int>{"head_size", &Transformer::head_size},
    Field<Transformer, Int>{"feed_forward", &Transformer::feed_forward},
    Field<Transformer, Int>{"norms_per_layer", &Transformer::norms_per_layer},
    Field<Transformer, Int>{"max_positions", &Transformer::max_positions},
    Field<Transformer, Int>{"vocabulary", &Transformer::vocabulary},
    Field<Transformer, Int>{"classes", &Transformer::classes},
    Field<Transformer, Int>{"token_types", &Transformer::token_types},
    Field<Transformer, Int>{"window_every", &Transformer::window_every}};
constexpr std::array flags = {
    Field<Transformer, bool>{"gated", &Transformer::gated},
    Field<Transformer, bool>{"norm_bias", &Transformer::norm_bias},
    Field<Transformer, bool>{"parallel_block", &Transformer::parallel_block},
    Field<Transformer, bool>{"qk_norm", &Transformer::qk_norm},
    Field<Transformer, bool>{"embedding_norm", &Transformer::embedding_norm},
    Field<Transformer, bool>{"final_norm", &Transformer::final_norm},
    Field<Transformer, bool>{"qkv_bias", &Transformer::qkv_bias},
    Field<Transformer, bool>{"attention_output_bias", &Transformer::attention_output_bias},
    Field<Transformer, bool>{"feed_forward_bias", &Transformer::feed_forward_bias},
    Field<Transformer, bool>{"head_bias", &Transformer::head_bias},
    Field<Transformer, bool>{"tied_embeddings", &Transformer::tied_embeddings},
    Field<Transformer, bool>{"head_transform", &Transformer::head_transform},
    Field<Transformer, bool>{"pooler", &Transformer::pooler},
    Field<Transformer, bool>{"head", &Transformer::head},
    Field<Transformer, bool>{"causal", &Transformer::causal}};
constexpr std::array latent_sizes = {
    Field<LatentAttention, Int>{"query_rank", &LatentAttention::query_rank},
    Field<LatentAttention, Int>{"kv_rank", &LatentAttention::kv_rank, true},
    Field<LatentAttention, Int>{"rope_head_size", &LatentAttention::rope_head_size, true},
    Field<LatentAttention, Int>{"nope_head_size", &LatentAttention::nope_head_size, true},
    Field<LatentAttention, Int>{"value_head_size", &LatentAttention::value_head_size, true}};
constexpr std::array expert_sizes = {
    Field<Experts, Int>{"count", &Experts::count, true},
    Field<Experts, Int>{"top_k", &Experts::top_k, true},
    Field<Experts, Int>{"feed_forward", &Experts::feed_forward, true},
    Field<Experts, Int>{"shared_feed_forward", &Experts::shared_feed_forward},
    Field<Experts, Int>{"first_dense_layers", &Experts::first_dense_layers},
    Field<Experts, Int>{"every", &Experts::every}};
constexpr std::array expert_flags = {Field<Experts, bool>{"shared_gate", &Experts::shared_gate},
                                     Field<Experts, bool>{"router_bias", &Experts::router_bias}};
constexpr std::array patch_sizes = {Field<Patches, Int>{"image", &Patches::image, true},
                                    Field<Patches, Int>{"patch", &Patches::patch, true},
                                    Field<Patches, Int>{"channels", &Patches::channels}};
constexpr std::array patch_flags = {Field<Patches, bool>{"class_token", &Patches::class_token}};

constexpr std::string_view unknown = "is not a field of a model file";
constexpr std::string_view where =
    "docs/reference/models.md has all fields, data/models has examples";

// check_model knows the bounds; here they only keep sums of a few from overflowing.
constexpr IntegerRange any{0, Int{1} << 60};

template <class Owner, class Fields>
void read_integers(JsonFields& in, const Fields& fields, Owner& out) {
  for (const auto& f : fields) {
    out.*f.member =
        in.integer(f.key, any, f.required ? std::nullopt : std::optional(out.*f.member));
  }
}

template <class Owner, class Fields>
void read_flags(JsonFields& in, const Fields& fields, Owner& out) {
  for (const auto& f : fields) out.*f.member = in.flag(f.key, out.*f.member);
}

template <class Enum, std::size_t n>
void read_choice(JsonFields& in, std::string_view key, const std::array<std::string_view, n>& names,
                 Enum& out) {
  out = static_cast<Enum>(in.choice(key, names, static_cast<std::size_t>(out)));
}

void read_parts(JsonFields& in, Transformer& m) {
  if (const JsonValue* part = in.find("latent")) {
    JsonFields fields = in.inner("latent", *part);
    read_integers(fields, latent_sizes, m.latent.emplace());
    fields.finish(std::string(unknown), std::string(where));
  }
  if (const JsonValue* part = in.find("experts")) {
    JsonFields fields = in.inner("experts", *part);
    Experts& e = m.experts.emplace();
    read_integers(fields, expert_sizes, e);
    read_flags(fields, expert_flags, e);
    e.dense_layers = fields.integers("dense_layers", any);
    if (fields.find("capacity_factor") != nullptr) {
      e.capacity_factor = fields.number("capacity_factor", 0, 1e6, 1);
    }
    fields.finish(std::string(unknown), std::string(where));
  }
  if (const JsonValue* part = in.find("patches")) {
    JsonFields fields = in.inner("patches", *part);
    Patches& p = m.patches.emplace();
    read_integers(fields, patch_sizes, p);
    read_flags(fields, patch_flags, p);
    fields.finish(std::string(unknown), std::string(where));
  }
}

// What follows from other fields where it is not given.
void derive(JsonFields& in, const JsonValue& root, Transformer& m) {
  if (root.find("kv_heads") == nullptr) m.kv_heads = m.heads;
  if (root.find("head_size") != nullptr) return;
  if (m.latent) {
    m.head_size = m.latent->rope_head_size + m.latent->nope_head_size;
  } else if (m.heads > 0 && m.hidden % m.heads == 0) {
    m.head_size = m.hidden / m.heads;
  } else {
    in.fail("head_size", "is missing, and heads do not divide hidden");
  }
}

Transformer read_fields(const JsonValue& root, JsonFields& in) {
  Transformer m;
  m.name = in.text("name");
  m.source = in.text("source");
  read_integers(in, sizes, m);
  read_flags(in, flags, m);
  read_choice(in, "activation", activation_names, m.activation);
  read_choice(in, "norm", norm_names, m.norm);
  read_choice(in, "positions", positions_names, m.positions);
  m.dropout = in.number("dropout", 0, 1, 0);
  m.activation_dropout = in.number("activation_dropout", 0, 1, 0);
  m.window = in.optional_integer("window", {1, any.most});
  m.notes = in.texts("notes");
  read_parts(in, m);
  if (root.kind == JsonValue::Kind::object) derive(in, root, m);
  return m;
}

// What check_model says begins with the field that is wrong, where one is: "experts.top_k = 9 ...".
std::string_view field_of(std::string_view problem) {
  return problem.substr(0, problem.find_first_not_of("abcdefghijklmnopqrstuvwxyz_."));
}

Result<Transformer> from_json(const JsonValue& root, std::string_view json, std::string_view path) {
  JsonProblems problems(json, path);
  JsonFields in(root, "", problems);
  Transformer m = read_fields(root, in);
  const auto published = in.optional_integer("parameters", {1, any.most});
  in.finish(std::string(unknown), std::string(where));
  if (problems.error()) return *problems.error();
  if (const Result<Done> checked = check_model(m); !checked) {
    Error error = checked.error();
    error.what = json_place(root, json, field_of(error.what)) + ": " + error.what;
    error.file = path;
    return error;
  }
  if (published && parameter_count(m).total != *published) {
    in.fail("parameters", "is " + std::to_string(*published) + ", but the sizes make " +
                              std::to_string(parameter_count(m).total));
    return *problems.error();
  }
  return m;
}

template <class Owner, class Fields>
void write(Json& out, const Fields& fields, const Owner& in) {
  const Owner plain{};
  for (const auto& f : fields) {
    if (f.required || in.*f.member != plain.*f.member) out[std::string(f.key)] = in.*f.member;
  }
}

}  // namespace

Result<Transformer> parse_model(std::string_view json, std::string_view path) {
  const Result<JsonValue> root = parse_json(json, path);
  if (!root) return root.error();
  if (is_hugging_face(*root)) return hugging_face_model(*root, json, path);
  return from_json(*root, json, path);
}

Result<Transformer> read_model(const std::string& path) {
  const Result<std::string> text = read_text(path);
  if (!text) return text.error();
  return parse_model(*text, path);
}

std::string model_json(const Transformer& model) {
  Json out;
  out["name"] = model.name;
  out["source"] = model.source;
  write(out, sizes, model);
  out["kv_heads"] = model.kv_heads;
  out["head_size"] = model.head_size;
  write(out, flags, model);
  out["activation"] = activation_names[static_cast<std::size_t>(model.activation)];
  out["norm"] = norm_names[static_cast<std::size_t>(model.norm)];
  out["positions"] = positions_names[static_cast<std::size_t>(model.positions)];
  if (model.dropout > 0) out["dropout"] = model.dropout;
  if (model.activation_dropout > 0) out["activation_dropout"] = model.activation_dropout;
  if (model.window) out["window"] = *model.window;
  if (model.latent) write(out["latent"], latent_sizes, *model.latent);
  if (model.experts) {
    write(out["experts"], expert_sizes, *model.experts);
    write(out["experts"], expert_flags, *model.experts);
    if (!model.experts->dense_layers.empty()) {
      out["experts"]["dense_layers"] = model.experts->dense_layers;
    }
    if (model.experts->capacity_factor) {
      out["experts"]["capacity_factor"] = *model.experts->capacity_factor;
    }
  }
  if (model.patches) {
    write(out["patches"], patch_sizes, *model.patches);
    write(out["patches"], patch_flags, *model.patches);
  }
  if (!model.notes.empty()) out["notes"] = model.notes;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace stepscope
