// SPDX-License-Identifier: Apache-2.0
// Columns as an Arrow stream of one batch, by Arrow's C data and stream interface
// (https://arrow.apache.org/docs/format/CDataInterface.html). Consumers read the columns' memory in
// place.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct ArrowArrayStream;
struct ArrowSchema;

namespace stepscope::binding {

// One column. `format` is Arrow's: "l" int64, "g" float64, "I" uint32, "C" uint8, "b" bits, "U"
// UTF-8 with int64 offsets. `buffers` are those of the format, the validity bits first (null: all
// rows are valid), and live as long as `owner`. A column with a dictionary has the format of its
// indices.
struct ArrowColumn {
  std::string name;
  std::string format;
  std::int64_t length = 0;
  std::int64_t nulls = 0;
  std::vector<const void*> buffers;
  std::shared_ptr<const void> owner;
  std::shared_ptr<const ArrowColumn> dictionary{};  // of values; null: none
};

// Columns of one length; their names differ.
struct ArrowTable {
  std::int64_t rows = 0;
  std::vector<ArrowColumn> columns;
};

// Fills `out`, which the consumer releases; it shares the table.
void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out);
void export_schema(const ArrowTable& table, ArrowSchema* out);

// A stream or schema on the heap for a Python capsule, and what frees it: released first where the
// consumer has not done so.
[[nodiscard]] ArrowArrayStream* new_stream(std::shared_ptr<const ArrowTable> table);
void delete_stream(ArrowArrayStream* stream);
[[nodiscard]] ArrowSchema* new_schema(const ArrowTable& table);
void delete_schema(ArrowSchema* schema);

}  // namespace stepscope::binding
