// SPDX-License-Identifier: Apache-2.0
// Any bytes as the header of a safetensors file, as a checkpoint's manifest, and as files of a
// checkpoint's rank and of llm.c. Accepted data is inside its file, and an accepted manifest
// survives writing and reading.
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "engine/zero/checkpoint/llmc_file.h"
#include "engine/zero/checkpoint/manifest.h"
#include "engine/zero/checkpoint/rank_file.h"
#include "engine/zero/checkpoint/safetensors.h"

namespace stepscope::zero {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void try_header(std::string_view bytes) {
  if (bytes.empty()) return;
  // The first byte is the number of bytes behind the header.
  const std::uint64_t data = static_cast<unsigned char>(bytes.front());
  const std::string_view json = bytes.substr(1);
  const std::uint64_t size = 8 + json.size() + data;
  const auto header = parse_safetensors_header(json, size, "input");
  if (!header) return expect(!header.error().message().empty(), "an error says something");
  std::uint64_t at = 8 + json.size();
  for (const SafetensorsTensor& tensor : header->tensors) {
    expect(tensor.begin == at && tensor.end >= at, "tensors follow each other");
    at = tensor.end;
  }
  expect(at == size, "tensors fill the file");
}

void try_manifest(std::string_view json) {
  const auto manifest = parse_manifest(json, "input");
  if (!manifest) return expect(!manifest.error().message().empty(), "an error says something");
  const auto again = parse_manifest(manifest_text(*manifest), "again");
  expect(again && again->info == manifest->info && again->files == manifest->files,
         "a manifest is read back to the same");
}

void try_files(std::string_view bytes) {
  static const std::string path = std::filesystem::temp_directory_path() /
                                  ("stepscope_weights_fuzz." + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
  if (const auto file = RankFile::open(path)) {
    for (const RankFile::Extent& extent : file->extents()) {
      std::array<float, 3> some{};
      const std::size_t n = extent.count < some.size() ? extent.count : some.size();
      for (const StatePart part : {StatePart::master, StatePart::m, StatePart::v}) {
        const auto read = file->read(extent, part, extent.count - n, std::span(some).first(n));
        expect(read || !read.error().message().empty(), "an error says something");
      }
    }
    expect(file->summary().bytes == bytes.size(), "a file is as long as it says");
  }
  if (const auto network = llmc_network(path)) {
    expect(open_llmc(path, *network).has_value(), "a network that is named is read");
  }
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace stepscope::zero

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  stepscope::zero::try_header(bytes);
  stepscope::zero::try_manifest(bytes);
  stepscope::zero::try_files(bytes);
  return 0;
}
