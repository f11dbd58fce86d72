// SPDX-License-Identifier: Apache-2.0
// The division of a layer over tensor-parallel and context-parallel devices.
#include <array>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "stepscope/cost/plan/plan_fields.h"
#include "stepscope/cost/plan/plan_rules.h"
#include "stepscope/cost/plan/tensor_grid.h"

namespace stepscope::plan_rules {
namespace {

std::string layout_name(const Plan& p) {
  return std::string(tensor_layout_names[static_cast<std::size_t>(p.tensor.layout)]);
}

std::string take_layout(const Plan& p, std::string_view name) {
  return flag_of(p, &p.tensor.layout) + " " + std::string(name);
}

std::string tp_must_divide(const Plan& p) { return flag_of(p, &p.tp) + " must divide it"; }

std::string tp_may_be(const Plan& p, Int n) { return flag_of(p, &p.tp) + " may be " + divisors(n); }

// Fields of a grid that the layout does not have.
Problem grid_fields(const Plan& p) {
  const bool one_d = p.tensor.layout == TensorLayout::one_d;
  for (const Int* side : {&p.tensor.rows, &p.tensor.columns}) {
    if (!one_d || *side == 0) continue;
    return problem(flag_with_value(p, side) + " belongs to the 2d, 2.5d and 3d layouts, not to 1d",
                   "leave it out or take " + take_layout(p, "2d"));
  }
  if (p.tensor.depth == 1 || (!one_d && p.tensor.layout != TensorLayout::two_d))
    return std::nullopt;
  return problem(flag_with_value(p, &p.tensor.depth) +
                     " belongs to the 2.5d and 3d layouts, not to " + layout_name(p),
                 "leave it out or take " + take_layout(p, "2.5d"));
}

// Why tp forms no grid.
Error no_grid(const Plan& p) {
  const TensorDivision& t = p.tensor;
  const std::string tp = flag_with_value(p, &p.tp);
  if (t.rows == 0 && t.columns == 0) {
    const bool cube = t.layout == TensorLayout::three_d && t.depth == 1;
    const std::string square =
        t.depth == 1 ? "it" : flag_of(p, &p.tp) + " / " + flag_of(p, &t.depth);
    return problem(tp + " is no grid of the " + layout_name(p) + " layout",
                   (cube ? "it must be a cube: 1, 8, 27, 64, ..."
                         : square + " must be a square: 1, 4, 9, 16, ...") +
                       ", or give " + flag_of(p, &t.rows) + " and " + flag_of(p, &t.columns));
  }
  std::string fields;
  std::string values;
  Int product = 1;
  for (const Int* side : {&t.rows, &t.columns, &t.depth}) {
    if (*side == 0 || (side == &t.depth && t.layout == TensorLayout::two_d)) continue;
    fields += (fields.empty() ? "" : " * ") + flag_of(p, side);
    values += (values.empty() ? "" : " * ") + decimal(*side);
    product = std::min(product * *side, Int{100'000'000'000});
  }
  return problem(fields + " = " + values +
                     (t.rows > 0 && t.columns > 0 ? " = " + decimal(product) + ", not "
                                                  : " does not divide ") +
                     tp,
                 "the sides of the grid must multiply to " + flag_of(p, &p.tp));
}

// What the grid cuts must divide: sides of one length as a whole, other grids side by side.
Problem grid_divides(const Transformer& m, const Plan& p, const DeviceGrid& g) {
  const bool three = p.tensor.layout == TensorLayout::three_d;
  const Int inner = panels(g);
  struct Cut {
    const char* what;
    Int size;
    Int parts;
    const Int* side;  // of the parts; null: rows and columns
  };
  const TensorDivision& t = p.tensor;
  const Int* wide = three ? &t.columns : nullptr;
  const Int values = m.heads * (m.latent ? m.latent->value_head_size : m.head_size);
  const std::array cuts{
      Cut{"heads", m.heads, g.columns, &t.columns},
      Cut{"hidden", m.hidden, three ? g.depth : inner, three ? &t.depth : nullptr},
      Cut{"feed_forward", m.feed_forward, three ? g.columns : inner, wide},
      Cut{"heads * head_size", values, three ? g.columns : inner, wide},
      Cut{"tokens of a pass", p.batch.sequence / p.cp * p.batch.micro, g.rows, &t.rows}};
  for (const Cut& c : cuts) {
    if (c.size % c.parts == 0) continue;
    const std::string size = std::string(c.what) + " = " + decimal(c.size);
    if (g.rows == g.columns && (!three || g.rows == g.depth))
      return problem(size + " cannot be split over the side " + decimal(g.rows) + " of the " +
                         layout_name(p) + " grid",
                     "the side must divide it");
    const std::string by = c.side != nullptr
                               ? flag_of(p, c.side)
                               : flag_of(p, &t.rows) + " and " + flag_of(p, &t.columns);
    return problem(
        size + " cannot be cut into " + decimal(c.parts) + " parts by " + by + " of the " +
            layout_name(p) + " grid " + decimal(g.rows) + " x " + decimal(g.columns) + " x " +
            decimal(g.depth),
        (c.side != nullptr ? by : "the least common multiple of " + by) + " must divide it");
  }
  return std::nullopt;
}

bool shares_heads(Int heads, Int ranks) { return heads % ranks == 0 || ranks % heads == 0; }

}  // namespace

Problem grid(const Transformer& m, const Plan& p) {
  if (Problem found = grid_fields(p)) return found;
  if (p.tensor.layout == TensorLayout::one_d) return std::nullopt;
  const auto found = tensor_grid(p);
  if (!found) return no_grid(p);
  const bool sides = p.tensor.rows > 0 || p.tensor.columns > 0;
  if (p.tensor.layout == TensorLayout::two_and_half_d && !sides && found->depth > found->rows)
    return problem(flag_with_value(p, &p.tensor.depth) + " exceeds the side " +
                       decimal(found->rows) + " of its grid",
                   "a 2.5d grid without " + flag_of(p, &p.tensor.rows) + " and " +
                       flag_of(p, &p.tensor.columns) +
                       " has at most as many copies as its side; give them to take more");
  if (p.tensor.sequence_parallel)
    return problem(flag_of(p, &p.tensor.sequence_parallel) + " belongs to the 1d layout; " +
                       layout_name(p) + " splits every activation itself",
                   "leave it out, or give " + flag_of(p, &p.tensor.sequence_parallel) + "=false");
  return grid_divides(m, p, *found);
}

Problem context(const Transformer& m, const Plan& p) {
  if (p.cp == 1) return std::nullopt;
  const bool exchange_heads = p.context_exchange == ContextExchange::all_to_all;
  // A rank takes one chunk from the front and one from the back, so that all masks cost the same.
  const Int chunks = m.causal && !exchange_heads ? 2 * p.cp : p.cp;
  if (p.batch.sequence % chunks == 0) return std::nullopt;
  return problem(flag_with_value(p, &p.batch.sequence) + " cannot be cut into " + decimal(chunks) +
                     " chunks (" + flag_with_value(p, &p.cp) +
                     (chunks == p.cp ? ")" : ", two a rank to balance the causal mask)"),
                 "it must be a multiple of " + decimal(chunks));
}

Problem tensor(const Transformer& m, const Plan& p) {
  const auto over_tp = [&] { return " cannot be split over " + flag_with_value(p, &p.tp); };
  if (p.tensor.layout != TensorLayout::one_d) {
    if (!m.compressed && !m.hyper && m.window_heads == 0) return std::nullopt;
    return problem("the " + layout_name(p) + " layout with " +
                       (m.compressed ? "compressed attention"
                        : m.hyper    ? "hyper_connections"
                                     : "window_heads"),
                   "use " + take_layout(p, "1d"));
  }
  if (m.compressed && m.compressed->output_groups % p.tp != 0)
    return problem("compressed.output_groups = " + decimal(m.compressed->output_groups) + over_tp(),
                   tp_may_be(p, m.compressed->output_groups));
  if (m.heads % p.tp != 0)
    return problem(decimal(m.heads) + " heads" + over_tp(), tp_may_be(p, m.heads));
  if (m.window_heads % p.tp != 0)
    return problem(decimal(m.window_heads) + " heads of layers with a window" + over_tp(),
                   tp_may_be(p, std::gcd(m.heads, m.window_heads)));
  if (!shares_heads(m.kv_heads, p.tp))
    return problem(
        decimal(m.kv_heads) + " key-value heads can be neither split nor replicated over " +
            flag_with_value(p, &p.tp),
        flag_of(p, &p.tp) +
            " must divide them or be a multiple of them: " + choices(m.heads, [&m](Int t) {
              return m.heads % t == 0 && shares_heads(m.kv_heads, t);
            }));
  std::vector<std::pair<std::string, Int>> widths{{"feed_forward", m.feed_forward}};
  if (m.experts) {
    widths.emplace_back("experts.feed_forward", m.experts->feed_forward);
    widths.emplace_back("experts.shared_feed_forward", m.experts->shared_feed_forward);
  }
  for (const auto& [what, width] : widths)
    if (width % p.tp != 0)
      return problem(what + " = " + decimal(width) + over_tp(), tp_must_divide(p));
  return std::nullopt;
}

// The division of norms, dropout and residuals (1d).
Problem sequence_division(const Transformer&, const Plan& p) {
  const TensorDivision& t = p.tensor;
  const auto parallel = [&] { return flag_of(p, &t.sequence_parallel); };
  const auto degree = [&] { return flag_with_value(p, &t.sequence_degree); };
  if (t.sequence_degree > 1 && !t.sequence_parallel)
    return problem(degree() + " without " + parallel() + ", which splits nothing",
                   "give " + parallel() + ", or leave it out");
  const Int part = p.batch.sequence / p.cp;
  if (part % sequence_parts(p) == 0) return std::nullopt;
  const auto tokens = [&] {
    return flag_of(p, &p.batch.sequence) + " / " + flag_of(p, &p.cp) + " = " + decimal(part) +
           " cannot be split over ";
  };
  if (t.sequence_degree == 0)
    return problem(tokens() + flag_with_value(p, &p.tp) + " (" + parallel() + ")",
                   tp_must_divide(p));
  return problem(tokens() + degree(), "it may be " + divisors(part));
}

// An all-to-all gives each rank whole heads of the whole sequence.
Problem exchange(const Transformer& m, const Plan& p) {
  if (p.cp == 1 || p.context_exchange != ContextExchange::all_to_all) return std::nullopt;
  const Int ranks = p.tp * p.cp;
  const auto all = [&] { return product_of(p, {&p.tp, &p.cp}); };
  const auto over = [&] {
    return " over " + all() + " = " + decimal(ranks) + " (" +
           flag_with_value(p, &p.context_exchange) + ")";
  };
  if (m.heads % ranks != 0)
    return problem(
        decimal(m.heads) + " heads cannot be split" + over(),
        flag_of(p, &p.cp) + " may be " + divisors(m.heads / p.tp) + ", or take ring or all_gather");
  if (m.window_heads % ranks != 0)
    return problem(
        decimal(m.window_heads) + " heads of layers with a window cannot be split" + over(),
        "take ring or all_gather");
  if (shares_heads(m.kv_heads, ranks)) return std::nullopt;
  return problem(
      decimal(m.kv_heads) + " key-value heads can be neither split nor replicated" + over(),
      all() + " must divide them or be a multiple of them");
}

// States of linear attention and Mamba-2 are divided by heads, over tp and cp.
Problem states(const Transformer& m, const Plan& p) {
  const Int parts = p.tp * p.cp;
  if (parts == 1) return std::nullopt;
  const auto all = [&] { return product_of(p, {&p.tp, &p.cp}); };
  const Int linear = m.linear ? m.linear->value_heads : 0;
  const Int mamba = m.state_space ? m.state_space->heads : 0;
  for (const Int heads : {linear, mamba})
    if (heads % parts != 0)
      return problem("the states of " + decimal(heads) + " heads cannot be split over " + all() +
                         " = " + decimal(parts),
                     all() + " may be " + divisors(heads));
  if ((!m.linear && !m.state_space) || p.tensor.layout == TensorLayout::one_d) return std::nullopt;
  return problem(
      "linear attention and Mamba-2 are not modelled under " + flag_with_value(p, &p.tensor.layout),
      "use " + take_layout(p, "1d"));
}

}  // namespace stepscope::plan_rules
