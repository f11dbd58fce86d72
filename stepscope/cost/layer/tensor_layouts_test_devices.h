// SPDX-License-Identifier: Apache-2.0
// Virtual devices that hold integer matrices and pass them on in rings. They count every sent
// element: the oracle for the volumes in tensor_layouts.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace stepscope::layout_test {

struct Matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<std::int64_t> values{};

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), values(r * c) {}
  std::int64_t& at(std::size_t i, std::size_t j) { return values[i * columns + j]; }
  [[nodiscard]] std::int64_t at(std::size_t i, std::size_t j) const {
    return values[i * columns + j];
  }
  bool operator==(const Matrix&) const = default;
};

inline Matrix random_matrix(std::size_t rows, std::size_t columns, std::mt19937& source) {
  std::uniform_int_distribution<std::int64_t> digits(-4, 4);
  Matrix m(rows, columns);
  for (auto& v : m.values) v = digits(source);
  return m;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t l = 0; l < a.columns; ++l) {
      for (std::size_t j = 0; j < b.columns; ++j) c.at(i, j) += a.at(i, l) * b.at(l, j);
    }
  }
  return c;
}

inline Matrix transposed(const Matrix& a) {
  Matrix t(a.columns, a.rows);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < a.columns; ++j) t.at(j, i) = a.at(i, j);
  }
  return t;
}

inline void add_to(Matrix& sum, const Matrix& a) {
  if (sum.values.empty()) sum = Matrix(a.rows, a.columns);
  for (std::size_t i = 0; i < a.values.size(); ++i) sum.values[i] += a.values[i];
}

// X, W and the gradient of Y = X W.
struct Layer {
  Matrix x;
  Matrix w;
  Matrix dy;
};

inline Layer random_layer(std::size_t tokens, std::size_t in, std::size_t out,
                          std::mt19937& source) {
  return {random_matrix(tokens, in, source), random_matrix(in, out, source),
          random_matrix(tokens, out, source)};
}

// Block (i, j) of a cut into `down` x `across` blocks.
inline Matrix block(const Matrix& a, std::size_t down, std::size_t across, std::size_t i,
                    std::size_t j) {
  Matrix b(a.rows / down, a.columns / across);
  for (std::size_t r = 0; r < b.rows; ++r) {
    for (std::size_t c = 0; c < b.columns; ++c)
      b.at(r, c) = a.at(i * b.rows + r, j * b.columns + c);
  }
  return b;
}

inline Matrix stacked(const std::vector<Matrix>& parts) {
  Matrix all(0, parts.front().columns);
  for (const Matrix& p : parts) {
    all.values.insert(all.values.end(), p.values.begin(), p.values.end());
    all.rows += p.rows;
  }
  return all;
}

using Group = std::vector<std::size_t>;  // devices in ring order

class Devices {
 public:
  explicit Devices(std::size_t n) : sent_(n) {}
  [[nodiscard]] const std::vector<std::size_t>& sent() const { return sent_; }

  // All get the root's matrix: it travels around once, and the last member passes it on to nobody.
  Matrix broadcast(const Group& g, std::size_t root, const Matrix& m) {
    for (std::size_t hop = 0; hop + 1 < g.size(); ++hop) {
      sent_[g[(root + hop) % g.size()]] += m.values.size();
    }
    return m;
  }

  // The sum of everyone's matrix ends at the root.
  Matrix reduce(const Group& g, std::size_t root, const std::vector<Matrix>& own) {
    Matrix sum = own[(root + 1) % g.size()];
    for (std::size_t hop = 1; hop < g.size(); ++hop) {
      sent_[g[(root + hop) % g.size()]] += sum.values.size();
      add_to(sum, own[(root + hop + 1) % g.size()]);
    }
    return sum;
  }

  // Everyone's rows, stacked in order. In each round a member passes on the rows of the previous
  // round.
  Matrix all_gather(const Group& g, const std::vector<Matrix>& own) {
    for (std::size_t round = 0; round + 1 < g.size(); ++round) {
      for (std::size_t r = 0; r < g.size(); ++r) {
        sent_[g[r]] += own[(r + g.size() - round) % g.size()].values.size();
      }
    }
    return stacked(own);
  }

  // Member r keeps the r-th part of the rows of the sum.
  std::vector<Matrix> reduce_scatter(const Group& g, const std::vector<Matrix>& own) {
    std::vector<Matrix> left;
    for (std::size_t part = 0; part < g.size(); ++part) {
      std::vector<Matrix> parts;
      for (const Matrix& m : own) parts.push_back(block(m, g.size(), 1, part, 0));
      left.push_back(reduce(g, part, parts));
    }
    return left;
  }

  Matrix all_reduce(const Group& g, const std::vector<Matrix>& own) {
    return all_gather(g, reduce_scatter(g, own));
  }

 private:
  std::vector<std::size_t> sent_;
};

}  // namespace stepscope::layout_test
