// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/tree_columns.h"

#include <cmath>
#include <limits>
#include <sstream>
#include <string_view>
#include <unordered_map>

namespace nb = nanobind;

namespace stepscope::binding {
namespace {

enum class Kind : std::uint8_t { nothing, boolean, whole, real, text };

Kind kind_of(const Json& v) {
  if (v.is_null()) return Kind::nothing;
  if (v.is_boolean()) return Kind::boolean;
  if (v.is_number_unsigned() &&
      v.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return Kind::real;
  if (v.is_number_integer()) return Kind::whole;
  return v.is_number() ? Kind::real : Kind::text;
}

Kind kind_named(std::string_view name) {
  if (name == "int") return Kind::whole;
  if (name == "real") return Kind::real;
  return name == "bool" ? Kind::boolean : Kind::text;
}

// The kind that holds values of both.
Kind joined(Kind a, Kind b) {
  if (a == b || b == Kind::nothing) return a;
  if (a == Kind::nothing) return b;
  const bool numbers =
      (a == Kind::whole || a == Kind::real) && (b == Kind::whole || b == Kind::real);
  return numbers ? Kind::real : Kind::text;
}

// The memory of one column.
struct Cells {
  std::vector<std::uint8_t> valid;  // bits
  std::vector<std::uint8_t> bits;
  std::vector<std::int64_t> whole;
  std::vector<double> real;
  std::vector<std::int64_t> offsets;
  std::string text;
};

void set_bit(std::vector<std::uint8_t>& bits, std::size_t row) {
  bits[row / 8] = static_cast<std::uint8_t>(bits[row / 8] | 1U << row % 8);
}

bool has_bit(const void* bits, std::int64_t row) {
  const auto* bytes = static_cast<const std::uint8_t*>(bits);
  return (bytes[row / 8] >> (row % 8) & 1) != 0;
}

class ColumnBuilder {
 public:
  ColumnBuilder(Kind kind, std::size_t rows) : kind_(kind), rows_(rows) {
    cells_->valid.resize((rows + 7) / 8);
    if (kind == Kind::boolean) cells_->bits.resize((rows + 7) / 8);
    if (kind == Kind::whole) cells_->whole.resize(rows);
    if (kind == Kind::real) cells_->real.resize(rows);
    if (is_text()) cells_->offsets.reserve(rows + 1);
  }

  void add(std::size_t row, const Json* v) {
    if (is_text()) cells_->offsets.push_back(static_cast<std::int64_t>(cells_->text.size()));
    const bool none =
        v == nullptr || v->is_null() || (v->is_number_float() && !std::isfinite(v->get<double>()));
    if (none) {
      ++nulls_;
      return;
    }
    set_bit(cells_->valid, row);
    if (kind_ == Kind::boolean && v->get<bool>()) set_bit(cells_->bits, row);
    if (kind_ == Kind::whole) cells_->whole[row] = v->get<std::int64_t>();
    if (kind_ == Kind::real) cells_->real[row] = v->get<double>();
    if (is_text()) add_text(*v);
  }

  ArrowColumn finish(std::string name) {
    if (is_text()) cells_->offsets.push_back(static_cast<std::int64_t>(cells_->text.size()));
    ArrowColumn column{.name = std::move(name),
                       .format = format(),
                       .length = static_cast<std::int64_t>(rows_),
                       .nulls = nulls_,
                       .buffers = {cells_->valid.data()},
                       .owner = cells_};
    if (kind_ == Kind::boolean) column.buffers.push_back(cells_->bits.data());
    if (kind_ == Kind::whole) column.buffers.push_back(cells_->whole.data());
    if (kind_ == Kind::real) column.buffers.push_back(cells_->real.data());
    if (is_text()) {
      column.buffers.push_back(cells_->offsets.data());
      column.buffers.push_back(cells_->text.data());
    }
    return column;
  }

 private:
  [[nodiscard]] bool is_text() const { return kind_ == Kind::text || kind_ == Kind::nothing; }
  [[nodiscard]] const char* format() const {
    return kind_ == Kind::boolean ? "b"
           : kind_ == Kind::whole ? "l"
           : kind_ == Kind::real  ? "g"
                                  : "U";
  }
  void add_text(const Json& v) {
    cells_->text += v.is_string() ? valid_text(v.get_ref<const std::string&>()) : dump(v);
  }

  Kind kind_;
  std::size_t rows_;
  std::int64_t nulls_ = 0;
  std::shared_ptr<Cells> cells_ = std::make_shared<Cells>();
};

}  // namespace

std::shared_ptr<const ArrowTable> columns_of(const TreeTable& table) {
  std::vector<std::string> names;
  std::unordered_map<std::string, Kind> kinds;
  std::istringstream columns{std::string(table.columns)};
  for (std::string column; columns >> column;) {
    const std::size_t colon = column.find(':');
    names.push_back(column.substr(0, colon));
    kinds.emplace(names.back(), kind_named(column.substr(colon + 1)));
  }
  for (const Json& row : table.rows)
    for (const auto& [key, v] : row.items()) {
      const auto [at, fresh] = kinds.try_emplace(key, Kind::nothing);
      if (fresh) names.push_back(key);
      at->second = joined(at->second, kind_of(v));
    }
  auto out = std::make_shared<ArrowTable>();
  out->rows = static_cast<std::int64_t>(table.rows.size());
  for (const std::string& name : names) {
    ColumnBuilder column(kinds.at(name), table.rows.size());
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const auto found = table.rows[i].find(name);
      column.add(i, found == table.rows[i].end() ? nullptr : &*found);
    }
    out->columns.push_back(column.finish(name));
  }
  return out;
}

nb::object cell_of(const ArrowColumn& c, std::int64_t row) {
  if (c.buffers[0] != nullptr && !has_bit(c.buffers[0], row)) return nb::none();
  const void* values = c.buffers[1];
  std::int64_t index = -1;
  switch (c.format[0]) {
    case 'b':
      return nb::bool_(has_bit(values, row));
    case 'g':
      return nb::float_(static_cast<const double*>(values)[row]);
    case 'U': {
      const auto* offsets = static_cast<const std::int64_t*>(values);
      const auto* text = static_cast<const char*>(c.buffers[2]);
      return nb::str(text + offsets[row],
                     static_cast<std::size_t>(offsets[row + 1] - offsets[row]));
    }
    case 'C':
      index = static_cast<const std::uint8_t*>(values)[row];
      break;
    case 'I':
      index = static_cast<const std::uint32_t*>(values)[row];
      break;
    case 'i':
      index = static_cast<const std::int32_t*>(values)[row];
      break;
    case 's':
      index = static_cast<const std::int16_t*>(values)[row];
      break;
    default:
      index = static_cast<const std::int64_t*>(values)[row];
  }
  return c.dictionary ? cell_of(*c.dictionary, index) : nb::int_(index);
}

}  // namespace stepscope::binding
