// SPDX-License-Identifier: Apache-2.0
#include "training_notes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "stepscope/cost/model/model_json.h"
#include "training_setup.h"

namespace stepscope::bench {
namespace {

// Letters and digits, in lower case.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) out += static_cast<char>(std::tolower(u));
  }
  return out;
}

// Names under which tables of performance list models.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> table_names = {
    {{"nemotron3nano", "nemotron-3-nano-30b-a3b"},
     {"nemotronv3nano30b", "nemotron-3-nano-30b-a3b"},
     {"nemotron3super", "nemotron-3-super-120b-a12b"}}};

constexpr std::array<std::pair<std::string_view, RecomputeModule>, 8> module_words = {
    {{"core_attn", RecomputeModule::core_attention},
     {"layernorm", RecomputeModule::norms},
     {"moe_act", RecomputeModule::expert_activation},
     {"moe", RecomputeModule::experts},
     {"mlp", RecomputeModule::feed_forward},
     {"mla_up_proj", RecomputeModule::latent_up},
     {"shared_experts", RecomputeModule::experts},
     {"mhc", RecomputeModule::hyper_connections}}};

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// "name=true" or "name=false"; the first one counts, because a later one may belong to another run.
std::optional<bool> stated_switch(std::string_view text, std::string_view name) {
  const std::size_t yes = text.find(std::string(name) + "=true");
  const std::size_t no = text.find(std::string(name) + "=false");
  if (yes == no) return std::nullopt;  // neither
  return yes < no;
}

}  // namespace

const Transformer* published_architecture(std::string_view name, std::int64_t layers,
                                          std::int64_t hidden) {
  const std::string row = plain(name.substr(0, name.find('(')));
  const Transformer* best = nullptr;
  std::size_t longest = 0;
  for (const Transformer& m : model_catalogue()) {
    const std::string known = plain(m.name);
    if (known.size() <= longest) continue;
    if (layers > 0 && hidden > 0) {
      if (m.layers != layers || m.hidden != hidden || !has(row, known)) continue;
    } else if (row != known) {
      continue;
    }
    best = &m;
    longest = known.size();
  }
  if (best != nullptr) return best;
  for (const auto& [word, model] : table_names) {
    if (row != word) continue;
    const auto all = model_catalogue();
    return &*std::ranges::find(all, model, &Transformer::name);
  }
  return nullptr;
}

namespace {

// One letter for each layer of "0 x3, 4 x6, 128 x7"; empty if the model knows no such ratio.
std::string ratio_letters(const Transformer& m, std::string_view text) {
  std::string letters;
  while (!text.empty()) {
    std::int64_t ratio = 0;
    std::int64_t layers = 0;
    const char* end = text.data() + text.size();
    const char* at = std::from_chars(text.data(), end, ratio).ptr;
    if (end - at < 3 || at[0] != ' ' || at[1] != 'x') return {};
    at = std::from_chars(at + 2, end, layers).ptr;
    const CompressedAttention& c = *m.compressed;
    const bool known = ratio == 0 || ratio == c.sparse_ratio || ratio == c.dense_ratio;
    if (!known || layers < 1 || layers > m.layers) return {};
    letters.append(static_cast<std::size_t>(layers), ratio == 0                ? 'W'
                                                     : ratio == c.sparse_ratio ? 'C'
                                                                               : 'H');
    if (end - at < 2 || at[0] != ',') break;
    text = std::string_view(at + 2, static_cast<std::size_t>(end - at - 2));
  }
  return letters;
}

}  // namespace

std::optional<Transformer> cut_architecture(std::string_view name, std::int64_t layers,
                                            std::int64_t hidden, std::string_view notes) {
  if (!has(name, "(" + std::to_string(layers) + " layers)")) return std::nullopt;
  const std::string row = plain(name.substr(0, name.find('(')));
  const auto all = model_catalogue();
  const auto at = std::ranges::find_if(all, [&](const Transformer& m) {
    return plain(m.name) == row && m.hidden == hidden && m.layers > layers;
  });
  if (at == all.end() || layers < 1) return std::nullopt;
  Transformer m = *at;
  m.layers = layers;
  m.pattern.resize(m.pattern.empty() ? 0 : static_cast<std::size_t>(layers));
  if (m.experts) m.experts->hash_layers = std::min(m.experts->hash_layers, layers);
  constexpr std::string_view ratios = "cr pattern ";
  const std::size_t stated = notes.find(ratios);
  if (!m.compressed || stated == notes.npos) return m;
  m.pattern = ratio_letters(m, notes.substr(stated + ratios.size()));
  if (static_cast<std::int64_t>(m.pattern.size()) != layers) return std::nullopt;
  return m;
}

StatedSettings stated_settings(std::string_view text) {
  StatedSettings s;
  if (has(text, "cuda graph: none")) s.cuda_graphs = CudaGraphs::none;
  for (const std::string_view word :
       {"cuda graph: full", "full-iteration cuda graph", "full_cuda_graph=true"}) {
    if (has(text, word)) s.cuda_graphs = CudaGraphs::step;
  }
  if (has(text, "cuda graph: transformer_engine") || has(text, "te cuda graph")) {
    s.cuda_graphs = CudaGraphs::layers;
  }
  if (has(text, "etp 1")) s.expert_tp = 1;
  if (has(text, "overlap_moe_expert_parallel_comm=true") || has(text, "ep overlap")) {
    s.overlap_expert = true;
  }
  if (has(text, "dispatcher alltoall")) s.dispatch = ExpertDispatch::all_to_all;
  if (has(text, "hybridep") || has(text, "deepep")) s.dispatch = ExpertDispatch::forwarded;
  s.predicts = has(text, "with mtp") || has(text, "w/ mtp") || has(text, "mtp layers") ||
               has(text, "mtp block");
  if (const std::size_t at = text.find("ddp bucket "); at != text.npos) {
    const std::string_view rest = text.substr(at + std::string_view("ddp bucket ").size());
    std::int64_t n = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), n);
    constexpr std::int64_t least = 1'000'000;  // below, another unit is meant
    if (n >= least) s.bucket = n;
  }
  s.narrow_attention = has(text, "fp8_dot_product_attention=true") || has(text, "fp8 attention");
  s.narrow_head = has(text, "lm head in mxfp8") || has(text, "lm head in fp8");
  s.grouped_experts = has(text, "fused grouped mlp");
  s.drops_tokens = has(text, "tokendrop") || has(text, "token-drop ");
  s.narrow_parameters = has(text, "params gathered in fp8") || has(text, "fp8 param gather");
  if (has(text, "adam moments ")) s.half_moments = has(text, "adam moments bfloat16");
  s.memory_in_gib = has(text, "max_memory_allocated in gib") || has(text, "peak allocated gib");
  s.half_gradients = stated_switch(text, "grad_reduce_in_fp32");
  if (s.half_gradients) s.half_gradients = !*s.half_gradients;
  if (has(text, "grads reduced in bf16")) s.half_gradients = true;
  s.overlap_tensor = stated_switch(text, "tp_comm_overlap");
  s.overlap_gradients = stated_switch(text, "overlap_grad_reduce");
  s.overlap_parameters = stated_switch(text, "overlap_param_gather");
  return s;
}

std::optional<RecomputeModules> stated_modules(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.find(')', open);
  if (open == text.npos || close == text.npos) return std::nullopt;
  std::string_view list = text.substr(open + 1, close - open - 1);
  RecomputeModules modules;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view word = without_blanks(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
    const auto* at =
        std::ranges::find_if(module_words, [&](const auto& w) { return w.first == word; });
    if (at != module_words.end()) {
      modules.add(at->second);
    } else if (!word.starts_with("the ")) {  // "core_attn, the default"
      return std::nullopt;
    }
  }
  return modules;
}

}  // namespace stepscope::bench
