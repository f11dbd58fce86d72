// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/gzip_writer.h"

#include <isa-l/igzip_lib.h>

#include <utility>

namespace stepscope {

namespace {
constexpr std::size_t block = 1 << 20;
}

struct GzipWriter::Deflate {
  isal_zstream stream{};
  std::vector<std::uint8_t> level_buffer = std::vector<std::uint8_t>(ISAL_DEF_LVL1_DEFAULT);
  std::vector<char> packed = std::vector<char>(block);
};

Result<GzipWriter> GzipWriter::create(const std::string& path) {
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  return GzipWriter(std::move(*file), path.ends_with(".gz"));
}

GzipWriter::GzipWriter(OutputFile file, bool compress) : file_(std::move(file)) {
  if (!compress) return;
  deflate_ = std::make_unique<Deflate>();
  isal_zstream& s = deflate_->stream;
  isal_deflate_init(&s);
  s.gzip_flag = IGZIP_GZIP;
  s.level = 1;
  s.level_buf = deflate_->level_buffer.data();
  s.level_buf_size = static_cast<std::uint32_t>(deflate_->level_buffer.size());
}

GzipWriter::GzipWriter(GzipWriter&&) noexcept = default;
GzipWriter::~GzipWriter() = default;

void GzipWriter::write(std::string_view text) {
  pending_ += text;
  if (pending_.size() >= block) flush(false);
}

void GzipWriter::flush(bool last) {
  if (!deflate_) {
    file_.write(pending_);
    pending_.clear();
    return;
  }
  isal_zstream& s = deflate_->stream;
  s.next_in = reinterpret_cast<std::uint8_t*>(pending_.data());
  s.avail_in = static_cast<std::uint32_t>(pending_.size());
  s.end_of_stream = last ? 1 : 0;
  do {
    s.next_out = reinterpret_cast<std::uint8_t*>(deflate_->packed.data());
    s.avail_out = static_cast<std::uint32_t>(deflate_->packed.size());
    isal_deflate(&s);
    file_.write({deflate_->packed.data(), deflate_->packed.size() - s.avail_out});
  } while (s.avail_out == 0);
  pending_.clear();
}

Result<Done> GzipWriter::commit() {
  flush(true);
  return file_.commit();
}

}  // namespace stepscope
