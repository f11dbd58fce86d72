// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "engine/nn/kernels/dropout.h"
#include "engine/nn/network/network_test_reference.h"

namespace stepscope::nn {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

struct Reader {
  const ReferenceNetwork& network;
  std::size_t unit;

  // The parameter whose name ends with `end`; empty without one.
  [[nodiscard]] std::span<const double> operator()(std::string_view end) const {
    for (const Parameter& p : network.units[unit].parameters) {
      if (p.name.ends_with(end)) {
        return std::span(network.parameters[unit]).subspan(size(p.offset), size(p.count));
      }
    }
    return {};
  }
};

Row linear(const Row& x, std::span<const double> w, std::span<const double> bias) {
  Row y(w.size() / x.size());
  for (std::size_t n = 0; n < y.size(); ++n) {
    double sum = bias.empty() ? 0 : bias[n];
    for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * w[n * x.size() + k];
    y[n] = sum;
  }
  return y;
}

Row norm(const NetworkConfig& c, const Row& x, std::span<const double> weight,
         std::span<const double> bias) {
  double mean = 0;
  if (c.family == NetworkFamily::gpt2) {
    for (const double v : x) mean += v / static_cast<double>(x.size());
  }
  double variance = 0;
  for (const double v : x) variance += (v - mean) * (v - mean) / static_cast<double>(x.size());
  Row y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    y[i] = (x[i] - mean) / std::sqrt(variance + static_cast<double>(c.norm_eps)) * weight[i] +
           (bias.empty() ? 0 : bias[i]);
  }
  return y;
}

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

void rotate(const NetworkConfig& c, std::size_t position, std::span<double> head) {
  const std::size_t half = head.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) *
                         std::pow(static_cast<double>(c.rope_theta),
                                  -2 * static_cast<double>(i) / static_cast<double>(head.size()));
    const double a = head[i];
    const double b = head[i + half];
    head[i] = a * std::cos(angle) - b * std::sin(angle);
    head[i + half] = b * std::cos(angle) + a * std::sin(angle);
  }
}

// q, k and v of the tokens of one sequence, heads side by side.
Rows attention(const NetworkConfig& c, Rows q, Rows k, const Rows& v) {
  const std::size_t d = size(head_size(c));
  const std::size_t group = size(c.heads / c.kv_heads);
  if (c.family == NetworkFamily::llama) {
    for (std::size_t t = 0; t < q.size(); ++t) {
      for (std::size_t i = 0; i < q[t].size(); i += d) rotate(c, t, std::span(q[t]).subspan(i, d));
      for (std::size_t i = 0; i < k[t].size(); i += d) rotate(c, t, std::span(k[t]).subspan(i, d));
    }
  }
  Rows out(q.size(), Row(q[0].size(), 0.0));
  for (std::size_t h = 0; h < size(c.heads); ++h) {
    const std::size_t kv = h / group * d;
    for (std::size_t t = 0; t < q.size(); ++t) {
      Row weight(t + 1);
      double sum = 0;
      for (std::size_t s = 0; s <= t; ++s) {
        double dot = 0;
        for (std::size_t i = 0; i < d; ++i) dot += q[t][h * d + i] * k[s][kv + i];
        sum += weight[s] = std::exp(dot / std::sqrt(static_cast<double>(d)));
      }
      for (std::size_t s = 0; s <= t; ++s) {
        for (std::size_t i = 0; i < d; ++i) out[t][h * d + i] += weight[s] / sum * v[s][kv + i];
      }
    }
  }
  return out;
}

// x[rows][C] times its mask, as the kernel draws it.
void drop(const ReferenceNetwork& n, const MicroBatch& micro, std::uint64_t stream, Rows& x) {
  if (n.config.dropout <= 0) return;
  std::vector<float> mask(x.size() * x[0].size(), 1.0F);
  dropout<float>(static_cast<std::int64_t>(mask.size()), n.config.dropout,
                 DropoutKey{micro.dropout_seed, stream}, mask.data(), mask.data());
  for (std::size_t i = 0; i < mask.size(); ++i) {
    x[i / x[0].size()][i % x[0].size()] *= static_cast<double>(mask[i]);
  }
}

Rows split(const Rows& x, std::size_t first, std::size_t count) {
  Rows part;
  for (const Row& row : x) {
    part.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                      row.begin() + static_cast<std::ptrdiff_t>(first + count));
  }
  return part;
}

Rows attend(const ReferenceNetwork& n, const Reader& p, const MicroBatch& micro, const Rows& x) {
  const NetworkConfig& c = n.config;
  const std::size_t q = size(c.channels);
  const std::size_t kv = size(c.kv_heads * head_size(c));
  Rows out;
  for (std::size_t b = 0; b < size(micro.batch); ++b) {
    Rows fused;
    for (std::size_t t = 0; t < size(micro.tokens); ++t) {
      const Row& in = x[b * size(micro.tokens) + t];
      Row row;
      if (c.family == NetworkFamily::gpt2) {
        row = linear(in, p("c_attn.weight"), p("c_attn.bias"));
      } else {
        for (const std::string_view name : {"q_proj.weight", "k_proj.weight", "v_proj.weight"}) {
          const Row part = linear(in, p(name), {});
          row.insert(row.end(), part.begin(), part.end());
        }
      }
      fused.push_back(row);
    }
    for (const Row& row :
         attention(c, split(fused, 0, q), split(fused, q, kv), split(fused, q + kv, kv))) {
      out.push_back(c.family == NetworkFamily::gpt2
                        ? linear(row, p("attn.c_proj.weight"), p("attn.c_proj.bias"))
                        : linear(row, p("o_proj.weight"), {}));
    }
  }
  return out;
}

Row feed_forward(const NetworkConfig& c, const Reader& p, const Row& x) {
  if (c.family == NetworkFamily::gpt2) {
    Row up = linear(x, p("c_fc.weight"), p("c_fc.bias"));
    for (double& v : up) v = gelu(v);
    return linear(up, p("mlp.c_proj.weight"), p("mlp.c_proj.bias"));
  }
  Row gate = linear(x, p("gate_proj.weight"), {});
  const Row up = linear(x, p("up_proj.weight"), {});
  for (std::size_t i = 0; i < gate.size(); ++i)
    gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return linear(gate, p("down_proj.weight"), {});
}

void add(Rows& x, const Rows& y) {
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::size_t i = 0; i < x[r].size(); ++i) x[r][i] += y[r][i];
  }
}

Rows embed(const ReferenceNetwork& n, const MicroBatch& micro) {
  const Reader p{n, 0};
  const std::size_t c = size(n.config.channels);
  const auto table =
      n.config.family == NetworkFamily::gpt2 ? p("wte.weight") : p("embed_tokens.weight");
  const auto positions = p("wpe.weight");
  Rows x;
  for (std::size_t i = 0; i < micro.inputs.size(); ++i) {
    Row row(c);
    for (std::size_t j = 0; j < c; ++j) {
      row[j] = table[static_cast<std::size_t>(micro.inputs[i]) * c + j] +
               (positions.empty() ? 0 : positions[i % size(micro.tokens) * c + j]);
    }
    x.push_back(row);
  }
  return x;
}

Rows all_logits(const ReferenceNetwork& n, const MicroBatch& micro, bool training) {
  const NetworkConfig& c = n.config;
  const bool gpt2 = c.family == NetworkFamily::gpt2;
  const auto norms = [&](const Rows& x, const Reader& p, const std::string& name) {
    Rows y;
    for (const Row& row : x) y.push_back(norm(c, row, p(name + ".weight"), p(name + ".bias")));
    return y;
  };
  Rows x = embed(n, micro);
  if (training) drop(n, micro, 0, x);
  for (std::size_t layer = 0; layer < size(c.layers); ++layer) {
    const Reader p{n, layer + 1};
    Rows branch = attend(n, p, micro, norms(x, p, gpt2 ? "ln_1" : "input_layernorm"));
    if (training) drop(n, micro, 2 * layer + 1, branch);
    add(x, branch);
    branch = norms(x, p, gpt2 ? "ln_2" : "post_attention_layernorm");
    for (Row& row : branch) row = feed_forward(c, p, row);
    if (training) drop(n, micro, 2 * layer + 2, branch);
    add(x, branch);
  }
  const Reader p{n, head_unit(c)};
  auto table = p("lm_head.weight");
  if (table.empty()) table = gpt2 ? p("wte.weight") : p("embed_tokens.weight");
  Rows logits;
  for (const Row& row : norms(x, p, gpt2 ? "ln_f" : "model.norm")) {
    logits.push_back(linear(row, table.first(size(c.vocab * c.channels)), {}));
  }
  return logits;
}

}  // namespace

double ReferenceNetwork::loss(const MicroBatch& micro, bool training) const {
  const Rows logits = all_logits(*this, micro, training);
  double sum = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (micro.targets[i] < 0) continue;
    double exps = 0;
    for (const double z : logits[i]) exps += std::exp(z);
    sum += std::log(exps) - logits[i][static_cast<std::size_t>(micro.targets[i])];
  }
  return sum;
}

std::vector<double> ReferenceNetwork::logits(const MicroBatch& micro, std::size_t row) const {
  return all_logits(*this, micro, false)[row];
}

}  // namespace stepscope::nn
