// SPDX-License-Identifier: Apache-2.0
// Some rows of a table, as a table of their own.
#pragma once

#include <cstdint>
#include <memory>

#include "stepscope/binding/arrow_stream.h"

namespace stepscope::binding {

// `count` rows: that of `start`, then each `step` behind the one before. All of them are rows of
// the table. Columns are copied, dictionaries are shared.
[[nodiscard]] std::shared_ptr<const ArrowTable> taken_rows(const ArrowTable& table,
                                                           std::int64_t start, std::int64_t step,
                                                           std::int64_t count);

}  // namespace stepscope::binding
