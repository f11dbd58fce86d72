// SPDX-License-Identifier: Apache-2.0
// A table of a tree as Arrow columns, and cells of Arrow columns as Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "stepscope/binding/arrow_stream.h"
#include "stepscope/face/tree/csv_tables.h"

namespace stepscope::binding {

// The table's own columns, then one for each further key that any row has, in the order of their
// first rows. A column without a type of its own is int64 where
// all its values are whole numbers, else float64 where all are numbers, bits where all are true or
// false, else UTF-8. A row without the key, null and a number that is not finite are nulls.
[[nodiscard]] std::shared_ptr<const ArrowTable> columns_of(const TreeTable& table);

// The cell of a row of a column that this module made: int, float, bool, str or None. The caller
// has the GIL.
[[nodiscard]] nanobind::object cell_of(const ArrowColumn& column, std::int64_t row);

}  // namespace stepscope::binding
