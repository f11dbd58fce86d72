// SPDX-License-Identifier: Apache-2.0
// floor FILE: the least work of a reader of trace JSON, on one thread. It reads the file in blocks,
// inflates gzip, and walks traceEvents with simdjson on demand. It touches ts, dur and name of each
// element and keeps nothing. Prints "seconds cpu_seconds json_bytes events 0 implementation".
//
// It does everything twice and times the second run. On demand needs the whole text and an index of
// it in memory; the time to allocate gigabytes for the first time must not count.
//
// simdjson finds the structure (stage 1) with the best code for this CPU. Its walk is header code
// with the caller's instruction set, so a portable build would get the scalar walk. A pragma
// therefore compiles the walk for AVX2, in a separate program that refuses other CPUs. clang does
// not know the pragma and uses the scalar walk; the output says so.
#if defined(__GNUC__) && !defined(__clang__)
#define STEPSCOPE_FLOOR_AVX2
#define SIMDJSON_BUILTIN_IMPLEMENTATION haswell
#pragma GCC target("avx2,bmi,bmi2,pclmul,lzcnt,popcnt")
#endif

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <simdjson.h>
#pragma GCC diagnostic pop

namespace stepscope::bench {
namespace {

using simdjson::ondemand::raw_json_string;

#ifdef STEPSCOPE_FLOOR_AVX2
constexpr const char* walk_code = "avx2";
#else
constexpr const char* walk_code = "scalar";
#endif
constexpr std::size_t block_bytes = 1 << 20;

struct Text {
  std::unique_ptr<char[]> bytes;
  std::size_t size = 0;
  std::size_t room = 0;

  void reserve(std::size_t wanted) {
    if (wanted + simdjson::SIMDJSON_PADDING <= room) return;
    room = std::max(wanted + simdjson::SIMDJSON_PADDING, room * 2);
    auto larger = std::make_unique_for_overwrite<char[]>(room);
    if (size > 0) std::memcpy(larger.get(), bytes.get(), size);
    bytes = std::move(larger);
  }
};

// The text's size if known: the file's size, or the size in a gzip trailer (modulo 2^32).
std::size_t expected_text(int fd, bool gzip) {
  const auto file_bytes = static_cast<std::size_t>(::lseek(fd, 0, SEEK_END));
  std::uint32_t trailer = 0;
  if (gzip && ::pread(fd, &trailer, 4, static_cast<off_t>(file_bytes - 4)) != 4) trailer = 0;
  ::lseek(fd, 0, SEEK_SET);
  return gzip ? trailer : file_bytes;
}

bool read_plain(int fd, Text& text) {
  for (;;) {
    text.reserve(text.size + block_bytes);
    const ssize_t got = ::read(fd, text.bytes.get() + text.size, block_bytes);
    if (got <= 0) return got == 0;
    text.size += static_cast<std::size_t>(got);
  }
}

bool inflate(int fd, Text& text) {
  auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  std::vector<std::uint8_t> block(block_bytes);
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (state->avail_in == 0) {
      const ssize_t got = ::read(fd, block.data(), block.size());
      if (got <= 0) return false;
      state->next_in = block.data();
      state->avail_in = static_cast<std::uint32_t>(got);
    }
    text.reserve(text.size + block_bytes);
    state->next_out = reinterpret_cast<std::uint8_t*>(text.bytes.get() + text.size);
    state->avail_out = block_bytes;
    if (isal_inflate(state.get()) != ISAL_DECOMP_OK) return false;
    text.size += block_bytes - state->avail_out;
  }
  return true;
}

bool load(const char* path, Text& text) {
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  unsigned char magic[2] = {};
  const bool gzip = ::pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
  text.size = 0;
  text.reserve(expected_text(fd, gzip) + block_bytes);
  const bool done = gzip ? inflate(fd, text) : read_plain(fd, text);
  ::close(fd);
  return done;
}

// Members are in the writer's order: one pass ends at the third of the three.
simdjson::error_code touch(simdjson::ondemand::object event, std::uint64_t& touched) {
  int left = 3;
  for (auto field : event) {
    raw_json_string key;
    if (const auto error = field.key().get(key)) return error;
    double number = 0;
    std::string_view name;
    if (key == "ts" || key == "dur") {
      if (const auto error = field.value().get(number)) return error;
      touched += number > 0 ? 1 : 0;
    } else if (key == "name") {
      if (const auto error = field.value().get(name)) return error;
      touched += name.size();
    } else {
      continue;
    }
    if (--left == 0) break;
  }
  return simdjson::SUCCESS;
}

struct Floor {
  std::uint64_t events = 0;
  std::uint64_t touched = 0;  // of the three members; keeps the compiler from dropping the work
};

simdjson::error_code walk(const Text& text, simdjson::ondemand::parser& parser, Floor& floor) {
  simdjson::ondemand::document document;
  if (const auto error = parser.iterate(text.bytes.get(), text.size, text.room).get(document))
    return error;
  simdjson::ondemand::array events;
  if (const auto error = document["traceEvents"].get(events)) return error;
  for (auto element : events) {
    simdjson::ondemand::object event;
    if (const auto error = element.get(event)) return error;
    if (const auto error = touch(event, floor.touched)) return error;
    ++floor.events;
  }
  return simdjson::SUCCESS;
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

int run(const char* path) {
#ifdef STEPSCOPE_FLOOR_AVX2
  if (!__builtin_cpu_supports("avx2"))
    return std::fputs("floor: this CPU has no AVX2\n", stderr), 1;
#endif
  Text text;
  simdjson::ondemand::parser parser;
  Floor floor;
  std::chrono::steady_clock::time_point begin;
  double cpu_begin = 0;
  for (int pass = 0; pass < 2; ++pass) {
    begin = std::chrono::steady_clock::now();
    cpu_begin = cpu_seconds();
    floor = {};
    if (!load(path, text)) return std::fprintf(stderr, "floor: cannot read all of %s\n", path), 1;
    if (const auto error = walk(text, parser, floor))
      return std::fprintf(stderr, "floor: %s: %s\n", path, simdjson::error_message(error)), 1;
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.6f %.6f %zu %llu 0 stage 1 %s, walk %s\n", took.count(), cpu_seconds() - cpu_begin,
              text.size, static_cast<unsigned long long>(floor.events),
              simdjson::get_active_implementation()->name().c_str(), walk_code);
  return floor.touched > 0 ? 0 : 1;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  if (argc == 2) return stepscope::bench::run(argv[1]);
  std::fputs("usage: floor FILE\n", stderr);
  return 2;
}
