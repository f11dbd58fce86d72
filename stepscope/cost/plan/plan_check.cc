// SPDX-License-Identifier: Apache-2.0
// The rules for a plan. Each check assumes that the previous checks passed, so that numbers are in
// range and products cannot overflow.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope {
namespace {

using Problem = std::optional<Error>;
using Int = std::int64_t;

constexpr Int most_devices = 10'000'000;
constexpr std::size_t most_suggestions = 12;

std::string decimal(Int n) { return std::to_string(n); }

Error problem(std::string what, std::string hint) {
  return Error{.what = std::move(what), .hint = std::move(hint)};
}

// "1, 2, 4 or 8": the values up to `limit` that `fits` accepts.
std::string choices(Int limit, const std::function<bool(Int)>& fits) {
  std::vector<Int> found;
  for (Int n = 1; n <= limit && found.size() < most_suggestions; ++n) {
    if (fits(n)) found.push_back(n);
  }
  std::string list;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (i > 0) list += i + 1 == found.size() ? " or " : ", ";
    list += decimal(found[i]);
  }
  return list;
}

std::string divisors(Int n) {
  return choices(std::min(n, most_devices), [n](Int d) { return n % d == 0; });
}

// The value of a numeric field.
struct NumberOf {
  const Plan& plan;

  std::optional<Int> operator()(Int Plan::* m) const { return plan.*m; }
  std::optional<Int> operator()(int Plan::* m) const { return plan.*m; }
  std::optional<Int> operator()(int Precision::* m) const { return plan.precision.*m; }
  std::optional<Int> operator()(Int TrainedParts::* m) const { return plan.trained.*m; }
  std::optional<Int> operator()(Bytes Plan::* m) const { return (plan.*m).value; }
  std::optional<Int> operator()(const auto&) const { return std::nullopt; }
};

Problem numbers(const Transformer& m, const Plan& p) {
  const Int n = std::clamp(p.devices, Int{1}, most_devices);
  for (const PlanField& field : plan_table()) {
    const std::optional<Int> value = std::visit(NumberOf{p}, field.member);
    if (!value) continue;
    const bool degree = field.most.of == PlanBound::Of::devices && field.key != "devices";
    const Int most = degree                                    ? n
                     : field.most.of == PlanBound::Of::devices ? most_devices
                     : field.most.of == PlanBound::Of::layers  ? m.layers
                                                               : field.most.number;
    if (*value >= field.least && *value <= most) continue;
    return problem(std::string(field.key) + " = " + decimal(*value) + " is out of range",
                   degree && *value > n
                       ? "it must be 1 to " + decimal(n) + ", the devices"
                       : "it must be " + decimal(field.least) + " to " + decimal(most));
  }
  return std::nullopt;
}

// tp * cp * pp * dp = devices, with the least common multiple of tp and the sequence degree in
// place of tp. Each factor is at most most_devices.
Problem degrees(const Transformer&, const Plan& p) {
  constexpr Int enough = 100'000'000'000;  // times most_devices it still fits an Int
  const Int ranks = std::min(tensor_ranks(p), enough);
  Int product = ranks;
  for (const Int d : {p.cp, p.pp, p.dp}) product = std::min(product * d, enough);
  if (product == p.devices) return std::nullopt;
  const Int model_ranks = std::min(std::min(ranks * p.cp, enough) * p.pp, enough);
  const bool wider = tensor_ranks(p) != p.tp;
  const std::string tensor = wider ? "lcm(tp, sequence_degree)" : "tp";
  const std::string all = tensor + " * cp * pp * dp = " + decimal(ranks) + " * " + decimal(p.cp) +
                          " * " + decimal(p.pp) + " * " + decimal(p.dp);
  return problem(
      all + (product == enough ? " is far more than" : " = " + decimal(product) + ", not") +
          " the " + decimal(p.devices) + " devices",
      p.devices % model_ranks == 0
          ? "with this tp, " + std::string(wider ? "sequence_degree, " : "") +
                "cp and pp dp must be " + decimal(p.devices / model_ranks)
          : tensor + " * cp * pp must divide " + decimal(p.devices) + ", and " +
                decimal(model_ranks) + " does not");
}

std::string layout_name(const Plan& p) {
  return std::string(tensor_layout_names[static_cast<std::size_t>(p.tensor_layout)]);
}

// Fields of a grid that the layout does not have.
Problem grid_fields(const Plan& p) {
  const bool one_d = p.tensor_layout == TensorLayout::one_d;
  for (const auto& [field, n] :
       {std::pair{"tp_rows", p.tp_rows}, std::pair{"tp_columns", p.tp_columns}}) {
    if (!one_d || n == 0) continue;
    return problem(std::string(field) + " = " + decimal(n) +
                       " belongs to the 2d, 2.5d and 3d layouts, not to 1d",
                   "leave it out or take tensor_layout 2d");
  }
  if (p.tp_depth != 1 && (one_d || p.tensor_layout == TensorLayout::two_d)) {
    return problem("tp_depth = " + decimal(p.tp_depth) +
                       " belongs to the 2.5d and 3d layouts, not to " + layout_name(p),
                   "leave it out or take tensor_layout 2.5d");
  }
  return std::nullopt;
}

// Why tp forms no grid.
Error no_grid(const Plan& p) {
  const bool sides = p.tp_rows > 0 || p.tp_columns > 0;
  const std::string tp = "tp = " + decimal(p.tp);
  const std::string or_sides = ", or give tp_rows and tp_columns";
  if (!sides) {
    const bool cube = p.tensor_layout == TensorLayout::three_d && p.tp_depth == 1;
    const bool deep = p.tp_depth != 1;
    return problem(tp + " is no grid of the " + layout_name(p) + " layout",
                   (cube   ? "it must be a cube: 1, 8, 27, 64, ..."
                    : deep ? "tp / tp_depth must be a square: 1, 4, 9, 16, ..."
                           : "it must be a square: 1, 4, 9, 16, ...") +
                       or_sides);
  }
  std::string fields;
  std::string values;
  Int product = 1;
  for (const auto& [field, n] :
       {std::pair{"tp_rows", p.tp_rows}, std::pair{"tp_columns", p.tp_columns},
        std::pair{"tp_depth", p.tensor_layout == TensorLayout::two_d ? 0 : p.tp_depth}}) {
    if (n == 0) continue;
    fields += (fields.empty() ? "" : " * ") + std::string(field);
    values += (values.empty() ? "" : " * ") + decimal(n);
    product = std::min(product * n, Int{100'000'000'000});
  }
  if (p.tp_rows > 0 && p.tp_columns > 0) {
    return problem(fields + " = " + values + " = " + decimal(product) + ", not " + tp,
                   "the sides of the grid must multiply to tp");
  }
  return problem(fields + " = " + values + " does not divide " + tp,
                 "the sides of the grid must multiply to tp");
}

// What the grid cuts must divide: sides of one length as a whole, other grids side by side.
Problem grid_divides(const Transformer& m, const Plan& p, const DeviceGrid& g) {
  const bool three = p.tensor_layout == TensorLayout::three_d;
  const Int inner = panels(g);
  struct Cut {
    const char* what;
    Int size;
    Int parts;
    const char* field;  // of the parts
  };
  const char* both = "tp_rows and tp_columns";
  const Int values = m.heads * (m.latent ? m.latent->value_head_size : m.head_size);
  const std::array cuts{
      Cut{"heads", m.heads, g.columns, "tp_columns"},
      Cut{"hidden", m.hidden, three ? g.depth : inner, three ? "tp_depth" : both},
      Cut{"feed_forward", m.feed_forward, three ? g.columns : inner, three ? "tp_columns" : both},
      Cut{"heads * head_size", values, three ? g.columns : inner, three ? "tp_columns" : both},
      Cut{"tokens of a pass", p.sequence / p.cp * p.micro_batch, g.rows, "tp_rows"}};
  for (const Cut& c : cuts) {
    if (c.size % c.parts == 0) continue;
    const bool square = g.rows == g.columns && (!three || g.rows == g.depth);
    if (square) {
      return problem(std::string(c.what) + " = " + decimal(c.size) +
                         " cannot be split over the side " + decimal(g.rows) + " of the " +
                         layout_name(p) + " grid",
                     "the side must divide it");
    }
    return problem(std::string(c.what) + " = " + decimal(c.size) + " cannot be cut into " +
                       decimal(c.parts) + " parts by " + c.field + " of the " + layout_name(p) +
                       " grid " + decimal(g.rows) + " x " + decimal(g.columns) + " x " +
                       decimal(g.depth),
                   c.field == both ? "the least common multiple of tp_rows and tp_columns must "
                                     "divide it"
                                   : std::string(c.field) + " must divide it");
  }
  return std::nullopt;
}

Problem grid(const Transformer& m, const Plan& p) {
  if (Problem found = grid_fields(p)) return found;
  if (p.tensor_layout == TensorLayout::one_d) return std::nullopt;
  const auto found = tensor_grid(p);
  if (!found) return no_grid(p);
  const bool sides = p.tp_rows > 0 || p.tp_columns > 0;
  if (p.tensor_layout == TensorLayout::two_and_half_d && !sides && found->depth > found->rows) {
    return problem("tp_depth = " + decimal(p.tp_depth) + " exceeds the side " +
                       decimal(found->rows) + " of its grid",
                   "a 2.5d grid without tp_rows and tp_columns has at most as many copies as its "
                   "side; give them to take more");
  }
  if (p.sequence_parallel) {
    return problem("sequence_parallel belongs to the 1d layout; " + layout_name(p) +
                       " splits every activation itself",
                   "leave it out");
  }
  return grid_divides(m, p, *found);
}

// The division of norms, dropout and residuals (1d).
Problem sequence_division(const Transformer&, const Plan& p) {
  const std::string degree = "sequence_degree = " + decimal(p.sequence_degree);
  if (p.sequence_degree > 1 && !p.sequence_parallel) {
    return problem(degree + " without sequence_parallel, which splits nothing",
                   "give sequence_parallel, or leave it out");
  }
  const Int parts = sequence_parts(p);
  const Int part = p.sequence / p.cp;
  if (part % parts == 0) return std::nullopt;
  if (p.sequence_degree == 0) {
    return problem("sequence / cp = " + decimal(part) +
                       " cannot be split over tp = " + decimal(p.tp) + " (sequence_parallel)",
                   "tp must divide it");
  }
  return problem("sequence / cp = " + decimal(part) + " cannot be split over " + degree,
                 "it may be " + divisors(part));
}

bool shares_heads(Int heads, Int ranks) { return heads % ranks == 0 || ranks % heads == 0; }

Problem tensor(const Transformer& m, const Plan& p) {
  if (p.tensor_layout != TensorLayout::one_d) {
    if (!m.compressed && !m.hyper && m.window_heads == 0) return std::nullopt;
    return problem("the " + layout_name(p) + " layout with " +
                       (m.compressed ? "compressed attention"
                        : m.hyper    ? "hyper_connections"
                                     : "window_heads"),
                   "use the 1d layout");
  }
  if (m.compressed && m.compressed->output_groups % p.tp != 0) {
    return problem("compressed.output_groups = " + decimal(m.compressed->output_groups) +
                       " cannot be split over tp = " + decimal(p.tp),
                   "tp may be " + divisors(m.compressed->output_groups));
  }
  if (m.heads % p.tp != 0) {
    return problem(decimal(m.heads) + " heads cannot be split over tp = " + decimal(p.tp),
                   "tp may be " + divisors(m.heads));
  }
  if (m.window_heads % p.tp != 0) {
    return problem(decimal(m.window_heads) +
                       " heads of layers with a window cannot be split over " +
                       "tp = " + decimal(p.tp),
                   "tp may be " + divisors(std::gcd(m.heads, m.window_heads)));
  }
  if (!shares_heads(m.kv_heads, p.tp)) {
    return problem(decimal(m.kv_heads) +
                       " key-value heads can be neither split nor replicated over " +
                       "tp = " + decimal(p.tp),
                   "tp must divide them or be a multiple of them: " + choices(m.heads, [&m](Int t) {
                     return m.heads % t == 0 && shares_heads(m.kv_heads, t);
                   }));
  }
  std::vector<std::pair<std::string, Int>> widths{{"feed_forward", m.feed_forward}};
  if (m.experts) {
    widths.emplace_back("experts.feed_forward", m.experts->feed_forward);
    widths.emplace_back("experts.shared_feed_forward", m.experts->shared_feed_forward);
  }
  for (const auto& [what, width] : widths) {
    if (width % p.tp == 0) continue;
    return problem(what + " = " + decimal(width) + " cannot be split over tp = " + decimal(p.tp),
                   "tp must divide it");
  }
  return std::nullopt;
}

Problem tokens(const Transformer& m, const Plan& p) {
  if (m.patches && p.sequence != image_tokens(*m.patches)) {
    return problem("sequence = " + decimal(p.sequence) + ", but an image of " + m.name + " has " +
                       decimal(image_tokens(*m.patches)) + " tokens",
                   "sequence must be " + decimal(image_tokens(*m.patches)));
  }
  if (m.positions == Positions::learned && p.sequence > m.max_positions) {
    return problem("sequence = " + decimal(p.sequence) + " exceeds the " +
                       decimal(m.max_positions) + " learned positions of " + m.name,
                   "raise max_positions in the model file, or shorten the sequence");
  }
  return std::nullopt;
}

Problem context(const Transformer& m, const Plan& p) {
  if (p.cp == 1) return std::nullopt;
  const bool exchange_heads = p.context_exchange == ContextExchange::all_to_all;
  // A rank takes one chunk from the front and one from the back, so that all masks cost the same.
  const Int chunks = m.causal && !exchange_heads ? 2 * p.cp : p.cp;
  if (p.sequence % chunks != 0) {
    return problem("sequence = " + decimal(p.sequence) + " cannot be cut into " + decimal(chunks) +
                       " chunks (cp = " + decimal(p.cp) +
                       (chunks == p.cp ? ")" : ", two a rank to balance the causal mask)"),
                   "it must be a multiple of " + decimal(chunks));
  }
  return std::nullopt;
}

// An all-to-all gives each rank whole heads of the whole sequence.
Problem exchange(const Transformer& m, const Plan& p) {
  if (p.cp == 1 || p.context_exchange != ContextExchange::all_to_all) return std::nullopt;
  const Int ranks = p.tp * p.cp;
  if (m.heads % ranks != 0) {
    return problem(decimal(m.heads) + " heads cannot be split over tp * cp = " + decimal(ranks) +
                       " (context_exchange all_to_all)",
                   "cp may be " + divisors(m.heads / p.tp) + ", or take ring or all_gather");
  }
  if (m.window_heads % ranks != 0) {
    return problem(decimal(m.window_heads) +
                       " heads of layers with a window cannot be split over " +
                       "tp * cp = " + decimal(ranks) + " (context_exchange all_to_all)",
                   "take ring or all_gather");
  }
  if (!shares_heads(m.kv_heads, ranks)) {
    return problem(decimal(m.kv_heads) +
                       " key-value heads can be neither split nor replicated over " +
                       "tp * cp = " + decimal(ranks) + " (context_exchange all_to_all)",
                   "tp * cp must divide them or be a multiple of them");
  }
  return std::nullopt;
}

// States of linear attention and Mamba-2 are divided by heads, over tp and cp.
Problem states(const Transformer& m, const Plan& p) {
  const std::int64_t parts = p.tp * p.cp;
  if (parts == 1) return std::nullopt;
  const std::int64_t linear = m.linear ? m.linear->value_heads : 0;
  const std::int64_t mamba = m.state_space ? m.state_space->heads : 0;
  for (const std::int64_t heads : {linear, mamba}) {
    if (heads % parts == 0) continue;
    return problem("the states of " + decimal(heads) +
                       " heads cannot be split over tp * cp = " + decimal(parts),
                   "tp * cp may be " + divisors(heads));
  }
  if ((m.linear || m.state_space) && p.tensor_layout != TensorLayout::one_d) {
    return problem("linear attention and Mamba-2 are not modelled under the tensor layout " +
                       std::string(tensor_layout_names[static_cast<std::size_t>(p.tensor_layout)]),
                   "use tensor_layout 1d");
  }
  return std::nullopt;
}

Problem expert_tensor(const Plan& p) {
  if (p.expert_tp != 0 && p.expert_tp != 1 && p.expert_tp != p.tp) {
    return problem(
        "expert_tp = " + decimal(p.expert_tp) + " is neither 1 nor tp = " + decimal(p.tp),
        "it may be 1 or " + decimal(p.tp));
  }
  if (!whole_experts(p)) return std::nullopt;
  if (p.tensor_layout == TensorLayout::one_d && sequence_parts(p) == p.tp) return std::nullopt;
  return problem(
      "expert_tp = 1 with tp = " + decimal(p.tp) + " needs the tokens split over the tp ranks",
      "set sequence_parallel, in tensor_layout 1d without sequence_degree");
}

Problem experts(const Transformer& m, const Plan& p) {
  if (auto found = m.experts ? expert_tensor(p) : std::nullopt) return found;
  if (!m.experts && (p.fused_experts || p.narrow_dispatch || p.expert_load > 100 || p.expert_sms))
    return problem("a plan for experts, but " + m.name + " has none",
                   "leave out fused_experts, narrow_dispatch, expert_load and expert_sms");
  if (p.expert_load > 100 && m.experts->capacity_factor)
    return problem("expert_load with a capacity that drops tokens", "leave it out");
  if (p.expert_sms > 0 && !p.overlap_expert)
    return problem("expert_sms without overlap_expert", "add it or leave expert_sms out");
  if (p.ep == 1) return std::nullopt;
  if (!m.experts)
    return problem("ep = " + decimal(p.ep) + ", but " + m.name + " has no experts", "leave ep out");
  if (m.experts->count % p.ep != 0) {
    return problem(
        decimal(m.experts->count) + " experts cannot be split over ep = " + decimal(p.ep),
        "ep may be " + divisors(m.experts->count));
  }
  const Int ranks = expert_ranks(p);
  if (ranks % p.ep != 0) {
    return problem("ep = " + decimal(p.ep) + " does not divide " +
                       (whole_experts(p) ? "tp * cp * dp = " : "cp * dp = ") + decimal(ranks) +
                       ", whose ranks it is taken from",
                   "ep may be " + divisors(std::gcd(m.experts->count, ranks)));
  }
  return std::nullopt;
}

std::string joined(const std::vector<Int>& list) {
  std::string out;
  for (const Int n : list) {
    if (!out.empty()) out += ',';
    out += decimal(n);
  }
  return out;
}

Problem given_stages(const Transformer& m, const Plan& p, Int stages) {
  const auto& list = p.stage_layers;
  if (list.size() != static_cast<std::size_t>(stages)) {
    return problem("stage_layers has " + std::to_string(list.size()) + " entries for pp * " +
                       "virtual_stages = " + decimal(stages) + " stages",
                   "give one for each");
  }
  Int sum = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool end = i == 0 || i + 1 == list.size();
    if (list[i] < (end ? 0 : 1) || list[i] > m.layers) {
      return problem("stage_layers has " + decimal(list[i]) + " for stage " + std::to_string(i),
                     "a stage has 1 to " + decimal(m.layers) +
                         " layers, the first and the last may have none");
    }
    sum += list[i];
  }
  if (sum == m.layers) return std::nullopt;
  return problem("stage_layers add up to " + decimal(sum) + ", and " + m.name + " has " +
                     decimal(m.layers) + " layers",
                 "as even as can be: " + joined(even_stages(m.layers, stages)));
}

Problem stages(const Transformer& m, const Plan& p) {
  const Int count = p.pp * p.virtual_stages;
  constexpr Int ends = 2;  // stages that stage_layers may leave without layers
  if (count > m.layers + (p.stage_layers.empty() ? 0 : ends)) {
    return problem(
        "pp * virtual_stages = " + decimal(count) + " stages for " + decimal(m.layers) + " layers",
        "there must be a layer for each");
  }
  if (!p.stage_layers.empty()) return given_stages(m, p, count);
  if (m.layers % count == 0) return std::nullopt;
  return problem("pp * virtual_stages = " + decimal(count) + " stages do not divide " +
                     decimal(m.layers) + " layers evenly",
                 "give stage_layers, as even as can be: " + joined(even_stages(m.layers, count)));
}

Problem dualpipe(const Plan& p) {
  if (p.pp % 2 != 0) {
    return problem("the schedule dualpipe with pp = " + decimal(p.pp),
                   "its stages are mirrored: pp must be even");
  }
  const Int m = micro_batches(p);
  if (m % 2 == 0 && m >= 2 * p.pp) return std::nullopt;
  return problem(
      "the schedule dualpipe with " + decimal(m) + " micro-batches on pp = " + decimal(p.pp),
      "their number must be even, and 2 * pp or more");
}

Problem schedule(const Transformer&, const Plan& p) {
  if (p.schedule == Schedule::dualpipe) {
    if (Problem found = dualpipe(p)) return found;
  }
  const bool interleaved = p.schedule == Schedule::interleaved;
  if (!interleaved && p.virtual_stages > 1) {
    return problem("virtual_stages = " + decimal(p.virtual_stages) + " with the schedule " +
                       std::string(schedule_names[static_cast<std::size_t>(p.schedule)]),
                   "only interleaved has several stages a device");
  }
  if (!interleaved) return std::nullopt;
  if (p.pp < 2 || p.virtual_stages < 2) {
    return problem("the interleaved schedule with pp = " + decimal(p.pp) +
                       " and virtual_stages = " + decimal(p.virtual_stages),
                   "it needs 2 or more of both");
  }
  if (micro_batches(p) % p.pp == 0) return std::nullopt;
  return problem("the interleaved schedule with " + decimal(micro_batches(p)) +
                     " micro-batches on pp = " + decimal(p.pp),
                 "their number must be a multiple of pp: global_batch a multiple of " +
                     decimal(p.dp * p.micro_batch * p.pp));
}

Problem batch(const Transformer&, const Plan& p) {
  const Int pass = p.dp * p.micro_batch;
  if (p.global_batch % pass == 0) return std::nullopt;
  const Int below = p.global_batch / pass * pass;
  return problem("global_batch = " + decimal(p.global_batch) +
                     " is no multiple of dp * micro_batch = " + decimal(p.dp) + " * " +
                     decimal(p.micro_batch) + " = " + decimal(pass),
                 "give " + (below > 0 ? decimal(below) + " or " : "") + decimal(below + pass));
}

Problem sharding(const Transformer&, const Plan& p) {
  if (p.shard_group == 0) return std::nullopt;
  if (p.zero == 0) {
    return problem(
        "shard_group = " + decimal(p.shard_group) + " with zero = 0, which shards nothing",
        "take zero 1, 2 or 3");
  }
  if (p.dp * p.cp % p.shard_group == 0) return std::nullopt;
  return problem("shard_group = " + decimal(p.shard_group) +
                     " does not divide dp * cp = " + decimal(p.dp * p.cp),
                 "it may be " + divisors(p.dp * p.cp));
}

Problem recomputation(const Transformer& m, const Plan& p) {
  if (p.recompute_modules.has(RecomputeModule::hyper_connections) && !m.hyper) {
    return problem("recompute_modules has hyper_connections, which the model does not have",
                   "leave it out");
  }
  const bool besides = p.recompute == Recompute::none || p.recompute == Recompute::selective;
  if (p.recompute_modules.bits != 0 && !besides) {
    return problem("recompute_modules beside recompute " +
                       std::string(recompute_names[static_cast<std::size_t>(p.recompute)]),
                   "use them with recompute none or selective");
  }
  if (p.recompute == Recompute::every_k || p.recompute_every == 1) return std::nullopt;
  return problem(
      "recompute_every = " + decimal(p.recompute_every) + " belongs to recompute every_k",
      "leave it out or take recompute every_k");
}

Problem images(const Transformer& m, const Plan& p) {
  if (!m.tower) {
    if (p.images == 0 && p.image_patches == 0) return std::nullopt;
    return problem("images with a model that has no tower", "leave images out");
  }
  const Tower& t = *m.tower;
  if (p.tensor_layout != TensorLayout::one_d) {
    return problem("the " + layout_name(p) + " layout with a tower", "use the 1d layout");
  }
  const Int group = t.merge * t.merge;
  if (t.heads % p.tp != 0 || t.feed_forward % p.tp != 0 || group * t.hidden % p.tp != 0) {
    return problem("the tower with " + decimal(t.heads) + " heads and feed_forward = " +
                       decimal(t.feed_forward) + " cannot be split over tp = " + decimal(p.tp),
                   "tp must divide both");
  }
  if ((p.images == 0) != (p.image_patches == 0)) {
    return problem(p.images == 0 ? "image_patches without images" : "images without image_patches",
                   "give both or neither");
  }
  if (p.image_patches % group != 0) {
    return problem("image_patches = " + decimal(p.image_patches) + " is no multiple of " +
                       decimal(group) + ", the patches of a token",
                   "give a multiple");
  }
  if (p.image_patches / group > p.sequence || p.images > p.sequence ||
      p.images * (p.image_patches / group) > p.sequence) {
    return problem("the images are " + decimal(p.images) + " * " +
                       decimal(p.image_patches / group) +
                       " tokens, more than sequence = " + decimal(p.sequence),
                   "give a longer sequence or fewer images");
  }
  return std::nullopt;
}

Problem narrow_copies(const Transformer& m, const Plan& p) {
  if (p.narrow_swiglu && !(m.gated && m.activation == Activation::silu)) {
    return problem("narrow_swiglu with a model that has no SwiGLU", "leave it out");
  }
  const std::string products = " with products in " + std::string(name(p.precision.matmul));
  if (p.fp8_rowwise && p.precision.matmul != Dtype::fp8)
    return problem("fp8_rowwise" + products, "leave it out or take dtype fp8");
  if (p.narrow_dispatch && !below_16_bits(p.precision.matmul))
    return problem("narrow_dispatch" + products, "leave it out or take dtype fp8 or fp4");
  if (!p.narrow_attention_output) return std::nullopt;
  if (!below_16_bits(p.precision.matmul)) {
    return problem("narrow_attention_output" + products + ", which read their inputs whole",
                   "leave it out or take dtype fp8 or fp4");
  }
  if (p.fused_attention) return std::nullopt;
  return problem("narrow_attention_output with materialised attention, which keeps its scores",
                 "leave it out or take attention fused");
}

Problem training(const Transformer& m, const Plan& p) {
  if (trains_all(p.trained)) return std::nullopt;
  if (const Result<Done> parts = check_trained_parts(m, p.trained); !parts) return parts.error();
  if (p.tensor_layout != TensorLayout::one_d) {
    return problem(
        "frozen parts and adapters are not modelled under the tensor layout " + layout_name(p),
        "use tensor_layout 1d");
  }
  if (!gathers_singly(p)) return std::nullopt;
  return problem("frozen parts and adapters are not modelled with gather_singly", "leave it out");
}

constexpr std::array<Problem (*)(const Transformer&, const Plan&), 18> checks = {
    &numbers,           &degrees,  &tokens,        &grid,          &context,  &tensor,
    &sequence_division, &exchange, &states,        &experts,       &stages,   &batch,
    &schedule,          &sharding, &recomputation, &narrow_copies, &training, &images};

}  // namespace

std::vector<std::int64_t> even_stages(std::int64_t layers, std::int64_t stages) {
  std::vector<Int> list(static_cast<std::size_t>(stages), layers / stages);
  const Int more = layers % stages;
  const Int first = (stages - more + 1) / 2;
  for (Int i = first; i < first + more; ++i) ++list[static_cast<std::size_t>(i)];
  return list;
}

Result<Done> check_plan(const Transformer& model, const Plan& plan) {
  for (const auto& check : checks) {
    if (Problem found = check(model, plan)) return *std::move(found);
  }
  return Done{};
}

}  // namespace stepscope
