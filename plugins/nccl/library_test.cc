// SPDX-License-Identifier: Apache-2.0
// The shared library as a file: its exports and its dependencies.
#include <dlfcn.h>
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <vector>

namespace stepscope::nccl {
namespace {

class ElfFile {
 public:
  explicit ElfFile(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
  }
  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    T value = {};
    if (offset + sizeof(T) <= bytes_.size()) std::memcpy(&value, &bytes_[offset], sizeof(T));
    return value;
  }
  [[nodiscard]] std::string text(std::size_t offset) const {
    return offset < bytes_.size() ? std::string(&bytes_[offset]) : std::string();
  }
  [[nodiscard]] std::vector<Elf64_Shdr> sections(std::uint32_t type) const {
    const auto header = at<Elf64_Ehdr>(0);
    std::vector<Elf64_Shdr> found;
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(header.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type == type) found.push_back(section);
    }
    return found;
  }
  [[nodiscard]] Elf64_Shdr section(std::size_t number) const {
    return at<Elf64_Shdr>(at<Elf64_Ehdr>(0).e_shoff + number * sizeof(Elf64_Shdr));
  }

 private:
  std::vector<char> bytes_;
};

TEST(NcclLibrary, ExportsTheSixVersionsAndNothingElse) {
  const ElfFile file(STEPSCOPE_NCCL_PLUGIN);
  const auto tables = file.sections(SHT_DYNSYM);
  ASSERT_EQ(tables.size(), 1U);
  const std::size_t texts = file.section(tables[0].sh_link).sh_offset;
  std::set<std::string> exported;
  for (std::size_t i = 0; i < tables[0].sh_size / sizeof(Elf64_Sym); ++i) {
    const auto symbol = file.at<Elf64_Sym>(tables[0].sh_offset + i * sizeof(Elf64_Sym));
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_info >> 4U == STB_LOCAL) continue;
    exported.insert(file.text(texts + symbol.st_name));
    EXPECT_EQ(symbol.st_info & 0xfU, unsigned{STT_OBJECT});
#ifndef STEPSCOPE_SANITIZED  // sanitizers put a red zone behind each
    EXPECT_EQ(symbol.st_size, 48U);
#endif
  }
  EXPECT_EQ(exported,
            (std::set<std::string>{"ncclProfiler_v1", "ncclProfiler_v2", "ncclProfiler_v3",
                                   "ncclProfiler_v4", "ncclProfiler_v5", "ncclProfiler_v6"}));
}

// No CUDA, no NCCL, no C++ runtime. Sanitizers add their own libraries.
TEST(NcclLibrary, NeedsTheCLibraryAlone) {
#ifdef STEPSCOPE_SANITIZED
  GTEST_SKIP() << "a sanitizer's runtime is linked in";
#endif
  const ElfFile file(STEPSCOPE_NCCL_PLUGIN);
  const auto tables = file.sections(SHT_DYNAMIC);
  ASSERT_EQ(tables.size(), 1U);
  const std::size_t texts = file.section(tables[0].sh_link).sh_offset;
  for (std::size_t i = 0; i < tables[0].sh_size / sizeof(Elf64_Dyn); ++i) {
    const auto entry = file.at<Elf64_Dyn>(tables[0].sh_offset + i * sizeof(Elf64_Dyn));
    if (entry.d_tag != DT_NEEDED) continue;
    const std::string needed = file.text(texts + entry.d_un.d_val);
    EXPECT_TRUE(needed == "libc.so.6" || needed.starts_with("ld-linux")) << needed;
  }
}

TEST(NcclLibrary, CanBeLoadedAndUnloadedAgain) {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(STEPSCOPE_NCCL_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    EXPECT_NE(dlsym(library, "ncclProfiler_v6"), nullptr);
    EXPECT_EQ(dlclose(library), 0);
  }
}

}  // namespace
}  // namespace stepscope::nccl
