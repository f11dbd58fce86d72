// SPDX-License-Identifier: Apache-2.0
// What the recorded shapes say: ranks that are given different numbers of tokens, and products
// whose dimensions the tensor cores have to fill up.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "stepscope/diagnose/findings/finding_list.h"
#include "stepscope/diagnose/given_work.h"
#include "stepscope/diagnose/thresholds.h"
#include "stepscope/fit/expected_operators.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

std::optional<MatmulShape> shape_of(const RankResult& r, const OperatorRow& row) {
  const auto inputs =
      parse_inputs((*r.strings)[row.dims], (*r.strings)[row.types], std::string_view());
  return inputs ? product_shape((*r.strings)[row.name], *inputs) : std::nullopt;
}

double flops_of(const MatmulShape& s) {
  return 2.0 * static_cast<double>(s.batch) * static_cast<double>(s.m) * static_cast<double>(s.n) *
         static_cast<double>(s.k);
}

// ---- sequence_imbalance ----------------------------------------------------------------------

// The weights (k × n) that most work of all ranks meets, and the mean rows that each rank sends
// through them.
struct TokenRows {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::vector<double> mean;  // by rank of the role
};

std::optional<TokenRows> token_rows(std::span<const RankResult* const> ranks) {
  struct Seen {
    std::vector<double> rows;
    std::vector<double> calls;
    double flops = 0;
  };
  std::map<std::pair<std::int64_t, std::int64_t>, Seen> weights;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    for (const OperatorRow& row : ranks[i]->work.operators) {
      if (row.kind != NameClass::matmul || row.device_calls == 0) continue;
      const auto shape = shape_of(*ranks[i], row);
      if (!shape || shape->batch != 1) continue;
      Seen& seen = weights[{shape->k, shape->n}];
      seen.rows.resize(ranks.size());
      seen.calls.resize(ranks.size());
      const auto calls = static_cast<double>(row.calls);
      seen.rows[i] += calls * static_cast<double>(shape->m);
      seen.calls[i] += calls;
      seen.flops += calls * flops_of(*shape);
    }
  const Seen* best = nullptr;
  TokenRows found;
  for (const auto& [size, seen] : weights) {
    const bool everywhere = std::ranges::all_of(seen.calls, [](double n) { return n > 0; });
    if (!everywhere || (best != nullptr && seen.flops <= best->flops)) continue;
    best = &seen;
    found.k = size.first;
    found.n = size.second;
  }
  if (best == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    found.mean.push_back(best->rows[i] / best->calls[i]);
  return found;
}

// The mean rows of each rank; of many ranks the least and the most.
Message rows_text(const UnevenWork& role, const TokenRows& rows) {
  constexpr std::size_t most_named = 4;
  Messages named;
  const auto name = [&](std::size_t i) {
    named.push_back(msg::rows_on_rank(Digits{rows.mean[i]}, role.ranks[i]->rank));
  };
  const bool many = rows.mean.size() > most_named;
  if (many) {
    const auto [low, high] = std::ranges::minmax_element(rows.mean);
    name(static_cast<std::size_t>(low - rows.mean.begin()));
    name(static_cast<std::size_t>(high - rows.mean.begin()));
  } else {
    for (std::size_t i = 0; i < rows.mean.size(); ++i) name(i);
  }
  return msg::mean_rows(rows.k, rows.n, std::move(named), many);
}

void find_sequence_imbalance(FindingList& list) {
  const auto work = uneven_work(list.job());
  if (!work) return;
  const auto rows = token_rows(work->ranks);
  Finding f{.id = "sequence_imbalance",
            .sort = FindingSort::fault,
            .what = msg::found_uneven_work(),
            .evidence = {msg::work_spread(Percent{work->spread}, work->ranks.size(),
                                          Digits{work->follows})},
            .place = list.place_on_path("matmul"),
            .advice = msg::balance_tokens()};
  if (rows) f.evidence.push_back(rows_text(*work, *rows));
  list.add_replayed(std::move(f), list.what_if("ranks_balanced"));
}

// ---- padding ---------------------------------------------------------------------------------

// Elements in 16 and in 128 bytes: below the first a dimension keeps the tensor cores from whole
// loads, and multiples of the second are best from A100 on (NVIDIA, Matrix Multiplication
// Background User's Guide, "Requirements to use tensor cores").
struct Alignment {
  std::int64_t least = 0;
  std::int64_t best = 0;
};

std::optional<Alignment> alignment_of(OperandFormat format) {
  switch (format) {
    case OperandFormat::fp16:
    case OperandFormat::bf16:
      return Alignment{8, 64};
    case OperandFormat::tf32:
      return Alignment{4, 32};
    case OperandFormat::fp8:
    case OperandFormat::int8:
      return Alignment{16, 128};
    default:
      return std::nullopt;
  }
}

std::int64_t filled_up(std::int64_t dim, std::int64_t to) { return (dim + to - 1) / to * to; }

struct Product {
  const OperatorRow* row = nullptr;
  MatmulShape shape;
  Alignment alignment;

  // A dimension that is no multiple; 0: all are.
  [[nodiscard]] std::int64_t odd() const {
    for (const std::int64_t d : {shape.n, shape.k, shape.m})
      if (d % alignment.least != 0) return d;
    return 0;
  }
  [[nodiscard]] double rate() const {
    return row->flops->value / static_cast<double>(row->device.count());
  }
  // Executed FLOPs after filling up, over those before.
  [[nodiscard]] double growth() const {
    MatmulShape full = shape;
    for (std::int64_t* d : {&full.m, &full.k, &full.n})
      if (*d % alignment.least != 0) *d = filled_up(*d, alignment.best);
    return flops_of(full) / flops_of(shape);
  }
};

std::vector<Product> products_of(const RankResult& r) {
  std::vector<Product> products;
  for (const OperatorRow& row : r.work.operators) {
    if (row.kind != NameClass::matmul || !row.flops || row.flops->value <= 0 ||
        row.device <= Ns{0} || row.device_calls == 0)
      continue;
    const auto alignment = alignment_of(row.precision);
    const auto shape = shape_of(r, row);
    if (alignment && shape && flops_of(*shape) > 0) products.push_back({&row, *shape, *alignment});
  }
  return products;
}

// The rate that aligned products of the same format and at least a quarter of the size reach: the
// median, weighted by time.
std::optional<double> aligned_rate(std::span<const Product> products, const Product& odd) {
  std::vector<std::pair<double, double>> rates;  // and time
  double all = 0;
  for (const Product& p : products) {
    if (p.odd() != 0 || p.row->precision != odd.row->precision ||
        flops_of(p.shape) < threshold::similar_product_size * flops_of(odd.shape))
      continue;
    rates.emplace_back(p.rate(), static_cast<double>(p.row->device.count()));
    all += rates.back().second;
  }
  std::ranges::sort(rates);
  double seen = 0;
  for (const auto& [rate, time] : rates) {
    seen += time;
    if (2 * seen >= all) return rate;
  }
  return std::nullopt;
}

// Which size of the model a dimension is; nothing: none, or the model is not known.
Message size_in(const Transformer* model, std::int64_t dim) {
  if (model == nullptr) return {};
  if (dim == model->vocabulary) return msg::size_vocabulary();
  if (dim == model->feed_forward) return msg::size_feed_forward();
  if (dim == model->hidden) return msg::size_hidden();
  return dim == model->head_size ? msg::size_head() : Message();
}

Message padding_advice(const Message& size, std::int64_t to) {
  if (size.kind == MessageKind::size_vocabulary) return msg::pad_vocabulary(to);
  return size.empty() ? msg::pad_dimension(to) : msg::choose_size(size, to);
}

void find_padding(FindingList& list) {
  double lost = 0;  // ns, over ranks
  double all = 0;
  const Product* worst = nullptr;
  const RankResult* rank = nullptr;
  double worst_lost = 0;
  double reference = 0;
  std::vector<std::vector<Product>> kept;
  for (const RankResult& r : list.job().ranks) {
    for (const OperatorRow& row : r.work.operators)
      if (row.kind == NameClass::matmul || row.kind == NameClass::attention)
        all += static_cast<double>(row.device.count());
    if (r.device.is_cpu()) continue;
    const auto& products = kept.emplace_back(products_of(r));
    for (const Product& p : products) {
      if (p.odd() == 0) continue;
      const auto rate = aligned_rate(products, p);
      if (!rate || p.rate() >= (1 - threshold::odd_product_loss) * *rate) continue;
      const auto time = static_cast<double>(p.row->device.count());
      const double here = time - p.row->flops->value * p.growth() / *rate;
      if (here <= 0) continue;
      lost += here;
      if (here <= worst_lost) continue;
      worst = &p;
      rank = &r;
      worst_lost = here;
      reference = *rate;
    }
  }
  if (worst == nullptr || all <= 0) return;
  const Message size = size_in(list.context().model, worst->odd());
  const std::int64_t to = filled_up(worst->odd(), worst->alignment.best);
  const auto path =
      static_cast<double>((list.on_path("matmul") + list.on_path("attention")).count());
  list.add_bounded(
      {.id = "padding",
       .what = msg::found_padding(size, worst->odd(), worst->alignment.least),
       .evidence = {msg::aligned_products(printable((*rank->strings)[worst->row->name]),
                                          printable((*rank->strings)[worst->row->dims]),
                                          Digits{worst->rate() / 1e3}, Digits{reference / 1e3}),
                    msg::filled_up(to, Percent{worst->growth() - 1})},
       .place = list.place_on_path("matmul"),
       .advice = padding_advice(size, to)},
      Ns{std::llround(path * lost / all)}, msg::by_aligned_products());
}

}  // namespace

void find_shapes(FindingList& list) {
  find_sequence_imbalance(list);
  find_padding(list);
}

}  // namespace stepscope
