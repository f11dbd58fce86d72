// SPDX-License-Identifier: Apache-2.0
#include "stepscope/zero/drive/shard_files.h"

#include <algorithm>
#include <utility>

namespace stepscope::zero {
namespace {

constexpr std::array<std::string_view, 3> file_names = {"parameters", "gradients",
                                                        "optimizer states"};

std::size_t file_of(ShardColumn column) { return std::min(at(column), std::size_t{2}); }

struct FileLayout {
  ByColumn<std::vector<std::uint64_t>> offsets;
  std::array<std::uint64_t, 3> sizes{};
};

FileLayout lay_out(const ShardColumns& columns, std::span<const std::int64_t> counts) {
  FileLayout layout;
  for (const ShardColumn column : shard_columns) {
    if (!columns.has(column)) continue;
    std::uint64_t& end = layout.sizes[file_of(column)];
    for (const std::int64_t count : counts) {
      layout.offsets[at(column)].push_back(end);
      end += offload_aligned(static_cast<std::uint64_t>(count * columns.bytes(column)));
    }
  }
  return layout;
}

}  // namespace

bool ShardColumns::any() const { return std::ranges::find(in_file, true) != in_file.end(); }

std::int64_t ShardColumns::bytes(ShardColumn column) const {
  const bool typed = column == ShardColumn::parameters || column == ShardColumn::gradients;
  return static_cast<std::int64_t>(typed ? element_bytes(type) : sizeof(float));
}

ShardColumns offloaded_columns(const OffloadParts& parts, ElementType type) {
  return {
      .in_file = {parts.parameters, parts.gradients, parts.optimizer && type != ElementType::f32,
                  parts.optimizer, parts.optimizer},
      .type = type};
}

Bytes ShardFiles::bytes_for(const ShardColumns& columns, std::span<const std::int64_t> counts) {
  std::uint64_t sum = 0;
  for (const std::uint64_t size : lay_out(columns, counts).sizes) sum += size;
  return {static_cast<std::int64_t>(sum)};
}

Result<ShardFiles> ShardFiles::create(const OffloadDirs& dirs, const ShardColumns& columns,
                                      std::span<const std::int64_t> counts, int outstanding,
                                      bool io_uring) {
  ShardFiles files;
  files.columns_ = columns;
  FileLayout layout = lay_out(columns, counts);
  files.offsets_ = std::move(layout.offsets);
  const std::array<const std::string*, file_count> places = {&dirs.parameters, &dirs.gradients,
                                                             &dirs.optimizer};
  for (std::size_t f = 0; f < file_count; ++f) {
    const auto columns_of_file = static_cast<int>(std::ranges::count_if(
        shard_columns, [&](ShardColumn c) { return columns.has(c) && file_of(c) == f; }));
    if (columns_of_file == 0) continue;
    auto file = OffloadFile::create({.dir = *places[f],
                                     .bytes = {static_cast<std::int64_t>(layout.sizes[f])},
                                     .outstanding = outstanding * columns_of_file,
                                     .io_uring = io_uring});
    if (!file) return file.error();
    files.files_[f].emplace(*std::move(file));
  }
  return files;
}

OffloadFile& ShardFiles::file(ShardColumn column) {
  check(columns_.has(column), "the column is in a file");
  return *files_[file_of(column)];
}

std::uint64_t ShardFiles::place(ShardColumn column, std::size_t unit, std::int64_t first) const {
  return offsets_[at(column)][unit] + static_cast<std::uint64_t>(first * columns_.bytes(column));
}

Result<ShardTicket> ShardFiles::read(ShardColumn column, std::size_t unit, std::int64_t first,
                                     std::span<std::byte> into) {
  const auto ticket = file(column).read(place(column, unit, first), into);
  if (!ticket) return ticket.error();
  return ShardTicket{
      .ticket = *ticket, .column = column, .bytes = {static_cast<std::int64_t>(into.size())}};
}

Result<ShardTicket> ShardFiles::write(ShardColumn column, std::size_t unit, std::int64_t first,
                                      std::span<const std::byte> bytes) {
  const auto ticket = file(column).write(place(column, unit, first), bytes);
  if (!ticket) return ticket.error();
  return ShardTicket{.ticket = *ticket,
                     .column = column,
                     .write = true,
                     .bytes = {static_cast<std::int64_t>(bytes.size())}};
}

bool ShardFiles::test(const ShardTicket& ticket) { return file(ticket.column).test(ticket.ticket); }

Result<Done> ShardFiles::wait(const ShardTicket& ticket) {
  const auto times = file(ticket.column).wait(ticket.ticket);
  if (!times) return times.error();
  if (observer_ != nullptr) {
    observer_->moved({.column = ticket.column,
                      .write = ticket.write,
                      .bytes = ticket.bytes,
                      .begin = times->submitted,
                      .end = times->finished});
  }
  return Done{};
}

void ShardFiles::poll() noexcept {
  for (auto& file : files_)
    if (file) file->poll();
}

std::vector<std::string> ShardFiles::descriptions() const {
  std::vector<std::string> lines;
  for (std::size_t f = 0; f < file_count; ++f) {
    if (!files_[f]) continue;
    lines.push_back(std::string(file_names[f]) + ": " + std::to_string(files_[f]->size().value) +
                    " bytes, " + files_[f]->description());
  }
  return lines;
}

}  // namespace stepscope::zero
