// SPDX-License-Identifier: Apache-2.0
// perfetto [--slices N] [--rounds N] [--folder DIR]: writes a generated trace (N slices, default
// 3,000,000: operators with shapes, launches, kernels) as native Perfetto and as Chrome JSON, and
// reads both, by one thread. The files are removed at the end. The floor of reading the native
// trace runs in turn: it reads the same bytes with read(2) and steps over every field of every
// packet, event and annotation. Prints Markdown: medians, ratios as median (min … max).
#include "stepscope/read/perfetto/perfetto.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/proto_wire.h"
#include "stepscope/read/kineto/kineto.h"
#include "stepscope/write/merged_trace.h"

namespace stepscope::bench {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "perfetto: %s\n", why.c_str());
  std::exit(1);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// One third are operators, one third launches inside them, one third kernels.
Trace generate(std::uint32_t slices) {
  Trace t;
  t.metadata.clock = Clock::unix_epoch;
  t.metadata.rank = 0;
  t.tracks.push_back({.pid = 41, .tid = 42});
  t.tracks.push_back({.pid = 0, .tid = 7, .device = true, .device_index = 0});
  std::vector<StringId> operators;
  std::vector<StringId> kernels;
  std::vector<StringId> shapes;
  for (int i = 0; i < 400; ++i) {
    const std::string n = std::to_string(i);
    operators.push_back(t.strings.intern("aten::operator_" + n));
    kernels.push_back(
        t.strings.intern("void at::native::kernel_" + n + "<float, 4>(int, Functor)"));
    shapes.push_back(t.strings.intern("[[" + n + ", 4096], [4096, 1024], []]"));
  }
  const StringId launch = t.strings.intern("cudaLaunchKernel");
  const StringId types = t.strings.intern(R"(["c10::BFloat16", "c10::BFloat16", "Scalar"])");
  constexpr std::int64_t epoch = 1'700'000'000'000'000'000;
  for (std::uint32_t i = 0; i < slices / 3; ++i) {
    const std::int64_t at = epoch + std::int64_t{i} * 10'000;
    t.ops.input_dims.push_back(shapes[i % 400]);
    t.ops.input_types.push_back(types);
    t.ops.concrete_inputs.push_back(empty_string);
    t.ops.sequence.push_back(static_cast<std::int32_t>(i));
    t.ops.forward_thread.push_back(0);
    append(t, {.start = Ns{at},
               .dur = Ns{9'000},
               .name = operators[i % 400],
               .category = Category::cpu_op,
               .external_id = i + 1,
               .detail = i});
    append(t, {.start = Ns{at + 1'000},
               .dur = Ns{3'000},
               .name = launch,
               .category = Category::runtime,
               .correlation = i + 1,
               .external_id = i + 1});
    append(t, {.start = Ns{at + 5'000},
               .dur = Ns{9'990},
               .name = kernels[i * 7 % 400],
               .track = TrackId{1},
               .category = Category::kernel,
               .correlation = i + 1,
               .external_id = i + 1});
  }
  seal(t);
  return t;
}

// Visits every field of a message, and of inner messages that the reader also enters.
std::uint64_t walk(std::string_view message, int depth) {
  std::uint64_t sum = 0;
  for (ProtoFields f(message); f.next();) {
    sum += f.number() + f.bytes().size();
    const bool entered = depth == 0 ? f.field() == 11 || f.field() == 12 : f.field() == 4;
    if (f.is_bytes() && depth < 2 && entered) sum += walk(f.bytes(), depth + 1);
  }
  return sum;
}

std::uint64_t walk_file(const std::string& path) {
  const auto source = open_source(path);
  if (!source) stop(source.error().message());
  PerfettoPackets packets(**source);
  ImportNotes notes;
  std::uint64_t sum = 0;
  for (std::string_view packet;;) {
    const auto more = packets.next(packet, notes);
    if (!more) stop(more.error().message());
    if (!*more) return sum;
    sum += walk(packet, 0);
  }
}

void check_slices(const Result<std::vector<Trace>>& traces, std::size_t slices) {
  if (!traces) stop(traces.error().message());
  if (traces->size() != 1 || (*traces)[0].slices.size() != slices) stop("slices are missing");
}

void row(const char* what, double megabytes, const std::vector<double>& seconds,
         const std::vector<double>& floor, std::size_t slices) {
  std::vector<double> ratio;
  for (std::size_t i = 0; i < seconds.size(); ++i) ratio.push_back(seconds[i] / floor[i]);
  const auto [low, high] = std::ranges::minmax(ratio);
  std::printf("| %s | %.0f | %.0f | %.2f | %.1f (%.1f … %.1f) |\n", what, megabytes,
              megabytes / median(seconds), static_cast<double>(slices) / median(seconds) / 1e6,
              median(ratio), low, high);
}

void measure(std::uint32_t wanted, int rounds, const std::string& stem) {
  const Trace trace = generate(wanted);
  const std::vector<RankToWrite> ranks = {{0, &trace}};
  const std::string native = stem + ".pftrace";
  const std::string chrome = stem + ".json";
  std::vector<double> write_native;
  std::vector<double> write_chrome;
  std::vector<double> floor;
  std::vector<double> read_native;
  std::vector<double> read_chrome;
  std::uint64_t sink = 0;
  const auto write = [&](const std::string& path) {
    const auto written = write_merged_trace(ranks, path);
    if (!written) stop(written.error().message());
  };
  const std::size_t slices = trace.slices.size();
  for (int i = 0; i < rounds; ++i) {
    write_native.push_back(seconds_of([&] { write(native); }));
    write_chrome.push_back(seconds_of([&] { write(chrome); }));
    floor.push_back(seconds_of([&] { sink += walk_file(native); }));
    read_native.push_back(seconds_of([&] {
      const auto source = open_source(native);
      check_slices(read_perfetto_from(**source, native, {}), slices);
    }));
    read_chrome.push_back(seconds_of([&] { check_slices(read_kineto(chrome, {}), slices); }));
  }
  const double native_mb = static_cast<double>(std::filesystem::file_size(native)) / 1e6;
  const double chrome_mb = static_cast<double>(std::filesystem::file_size(chrome)) / 1e6;
  std::puts("| what | MB | MB/s | slices, M/s | time against the floor |");
  std::puts("|---|---|---|---|---|");
  row("walk over the packets (floor)", native_mb, floor, floor, slices);
  row("read .pftrace", native_mb, read_native, floor, slices);
  row("read .json of the same", chrome_mb, read_chrome, floor, slices);
  row("write .pftrace", native_mb, write_native, floor, slices);
  row("write .json", chrome_mb, write_chrome, floor, slices);
  std::filesystem::remove(native);
  std::filesystem::remove(chrome);
  if (sink == 42) std::puts("");
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  using namespace stepscope::bench;
  long slices = 3'000'000;
  long rounds = 5;
  std::string folder = std::filesystem::temp_directory_path().string();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--slices") slices = std::strtol(argv[i + 1], nullptr, 10);
    if (flag == "--rounds") rounds = std::strtol(argv[i + 1], nullptr, 10);
    if (flag == "--folder") folder = argv[i + 1];
  }
  if (slices < 3 || slices > 1'000'000'000 || rounds < 1)
    stop("usage: perfetto [--slices N] [--rounds N] [--folder DIR]");
  measure(static_cast<std::uint32_t>(slices), static_cast<int>(rounds),
          folder + "/stepscope-bench-" + std::to_string(::getpid()));
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::printf("\npeak memory %.0f MB\n", static_cast<double>(usage.ru_maxrss) / 1e3);
  return 0;
}
