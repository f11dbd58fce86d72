// SPDX-License-Identifier: Apache-2.0
// Any bytes as a Parquet file: the result is a table with columns of equal length, or an error that
// names a byte of the file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "stepscope/analysis/job_table/straggler_job.h"
#include "stepscope/read/job_table/job_parquet.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string_view file(reinterpret_cast<const char*>(data), size);
  const auto table = read_job_parquet(file, "input");
  if (!table && (!table.error().byte || *table.error().byte > size)) {
    std::fprintf(stderr, "no place in the file: %s\n", table.error().message().c_str());
    std::abort();
  }
  if (table && (table->dp_rank.size() != table->gmc.size() ||
                table->start.size() != table->op.size() || table->notes.events < table->size()))
    std::abort();
  return 0;
}
