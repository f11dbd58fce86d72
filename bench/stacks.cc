// SPDX-License-Identifier: Apache-2.0
// stacks [--bytes N] [--rounds N] [--folder DIR] [--no-peer]: reads host profiles of N bytes
// (default 1e9; generated here, removed at the end) by one thread: collapsed stacks with many
// repeats, collapsed stacks that are all different, and perf script. Two comparisons run in turn:
// the floor, a scan of the same bytes for line ends, and Perl merging the lines in a hash. Prints
// Markdown: medians as MB/s, ratios as median (min … max).
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "stepscope/base/files/open_source.h"
#include "stepscope/stack/read_profile.h"

namespace stepscope::bench {
namespace {

[[noreturn]] void stop(const std::string& why) {
  std::fprintf(stderr, "stacks: %s\n", why.c_str());
  std::exit(1);
}

double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Functions of a training program, each with some callees.
struct Program {
  struct Function {
    std::string python;
    std::string native;
    std::vector<std::uint32_t> callees;
  };
  std::vector<Function> functions;

  explicit Program(std::mt19937_64& random) {
    for (std::uint32_t i = 0; i < 3000; ++i) {
      Function f;
      char text[160];
      std::snprintf(text, sizeof text, "Module_%u.forward_step (deepspeed/runtime/part_%u.py:%u)",
                    i, i / 40, 10 + i % 900);
      f.python = text;
      std::snprintf(text, sizeof text,
                    "at::native::kernel_%u(at::Tensor const&, long)+0x%x "
                    "(/usr/lib/python3/torch/lib/libtorch_cpu.so)",
                    i, 1 + i % 97);
      f.native = text;
      for (int c = 0; c < 4; ++c) f.callees.push_back(static_cast<std::uint32_t>(random() % 3000));
      functions.push_back(std::move(f));
    }
  }
  // Mostly the first callee: some stacks are frequent, many are rare.
  void walk(std::mt19937_64& random, std::vector<std::uint32_t>& stack) const {
    stack.assign(1, static_cast<std::uint32_t>(random() % 4));
    const std::size_t depth = 8 + random() % 24;
    while (stack.size() < depth) {
      const auto& callees = functions[stack.back()].callees;
      const std::uint64_t dice = random() % 64;
      stack.push_back(callees[dice < 58 ? 0 : dice < 62 ? 1 : dice < 63 ? 2 : 3]);
    }
  }
};

class Writer {
 public:
  explicit Writer(const std::string& path) : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) stop("cannot write " + path);
  }
  ~Writer() { std::fclose(file_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      stop("cannot write: disk full?");
    bytes_ += text.size();
  }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  std::FILE* file_;
  std::uint64_t bytes_ = 0;
};

void write_collapsed(const std::string& path, std::uint64_t bytes, bool distinct) {
  std::mt19937_64 random(1);
  const Program program(random);
  Writer out(path);
  std::vector<std::uint32_t> stack;
  std::string line;
  for (std::uint64_t n = 0; out.bytes() < bytes; ++n) {
    // Different stacks are sorted in a folded file: runs of neighbours share their beginning.
    if (!distinct || n % 24 == 0) program.walk(random, stack);
    line = "process 4242:\"python train.py\";thread (0x7F0012): MainThread";
    for (const std::uint32_t f : stack) line.append(";").append(program.functions[f].python);
    const auto number = [&line](std::uint64_t v) { line.append(std::to_string(v)); };
    if (distinct) {
      line.append(";leaf_");
      number(n);
      line.append(" (torch/_ops.py:");
      number(n % 999);
      line.append(")");
    }
    line.append(" ");
    number(1 + n % 7);
    line.append("\n");
    out.write(line);
  }
}

void write_perf(const std::string& path, std::uint64_t bytes) {
  std::mt19937_64 random(2);
  const Program program(random);
  Writer out(path);
  std::vector<std::uint32_t> stack;
  std::string record;
  for (std::uint64_t n = 0; out.bytes() < bytes; ++n) {
    program.walk(random, stack);
    char header[128];
    std::snprintf(header, sizeof header,
                  "pt_autograd_%d 4242/%d [%03d] %llu.%06llu:   10101010 cpu-clock:pppH: \n",
                  static_cast<int>(n % 4), static_cast<int>(4250 + n % 4), static_cast<int>(n % 16),
                  static_cast<unsigned long long>(1000 + n / 1000),
                  static_cast<unsigned long long>(n % 1000 * 1000));
    record = header;
    for (std::size_t i = stack.size(); i-- > 0;) {
      char address[32];
      // The innermost frame has any address in its function; callers have the addresses of their
      // calls.
      const std::uint64_t inside = i + 1 == stack.size() ? random() % 512 : 64;
      std::snprintf(address, sizeof address, "\t%16llx ",
                    static_cast<unsigned long long>(0x7f0000000000 + stack[i] * 1024ULL + inside));
      record += address + program.functions[stack[i]].native + "\n";
    }
    out.write(record + "\n");
  }
}

double floor_seconds(const std::string& path) {
  return seconds_of([&] {
    auto source = open_source(path);
    if (!source) stop(source.error().message());
    std::string block(1 << 20, '\0');
    std::uint64_t lines = 0;
    for (;;) {
      const auto got = (*source)->read(block);
      if (!got) stop(got.error().message());
      const char* end = block.data() + *got;
      for (const char* at = block.data(); at < end; ++at, ++lines) {
        at = static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
        if (at == nullptr) break;
      }
      if (*got < block.size()) break;
    }
    if (lines == 0) stop("no lines");
  });
}

double our_seconds(const std::string& path, double& weight, std::uint32_t& nodes) {
  return seconds_of([&] {
    const auto profile = read_profile(path);
    if (!profile) stop(profile.error().message());
    weight = profile->tree.total[0];
    nodes = profile->tree.size();
  });
}

// The work of stackcollapse scripts in a few lines of Perl; prints the sum of weights.
constexpr const char* perl_collapsed =
    "while (<>) { $h{$1} += $2 if /^(.*) (\\d+)$/ } $s += $_ for values %h; print $s";
constexpr const char* perl_perf =
    "while (<>) { chomp; if (/^\\s+[0-9a-f]+ (.+) \\((.+)\\)$/) { $f = $1; $f =~ "
    "s/\\+0x[0-9a-f]+$//; "
    "unshift @s, $f } elsif (/^(\\S.+?)\\s+(\\d+)/) { $w = \"$1-$2\"; @s = () } elsif ($_ eq '' && "
    "$w) "
    "{ $h{join ';', $w, @s}++; $w = '' } } $s += $_ for values %h; print $s";

double peer_seconds(const std::string& path, bool perf, double& weight) {
  const std::string command = "perl -e \"$STEPSCOPE_PEER\" " + path;
  setenv("STEPSCOPE_PEER", perf ? perl_perf : perl_collapsed, 1);
  return seconds_of([&] {
    std::FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr || std::fscanf(pipe, "%lf", &weight) != 1)
      stop("perl does not run; --no-peer");
    pclose(pipe);
  });
}

struct Spread {
  std::vector<double> values;
  [[nodiscard]] double median() {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }
  [[nodiscard]] std::string words() {
    const double middle = median();
    char text[96];
    std::snprintf(text, sizeof text, "%.2f (%.2f … %.2f)", middle, values.front(), values.back());
    return text;
  }
};

struct Options {
  std::uint64_t bytes = 1'000'000'000;
  int rounds = 5;
  std::string folder = std::filesystem::temp_directory_path().string();
  bool peer = true;
};

void measure(const std::string& name, const std::string& path, bool perf, const Options& options) {
  const double mb = static_cast<double>(std::filesystem::file_size(path)) / 1e6;
  Spread ours;
  Spread floor;
  Spread above;
  Spread faster;
  double weight = 0;
  double theirs = 0;
  std::uint32_t nodes = 0;
  for (int round = 0; round < options.rounds; ++round) {
    const double scan = floor_seconds(path);
    const double read = our_seconds(path, weight, nodes);
    floor.values.push_back(mb / scan);
    ours.values.push_back(mb / read);
    above.values.push_back(read / scan);
    // Perl takes minutes per gigabyte: one run is enough.
    if (options.peer && round == 0) {
      faster.values.push_back(peer_seconds(path, perf, theirs) / read);
      if (theirs != weight) stop("Perl counts otherwise");
    }
  }
  std::printf("| %s | %.0f MB | %u | %.0f | %.0f | %s | %s |\n", name.c_str(), mb, nodes,
              ours.median(), floor.median(), above.words().c_str(),
              faster.values.empty() ? "-" : faster.words().c_str());
  std::fflush(stdout);
}

Options options_of(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    const bool more = i + 1 < argc;
    if (flag == "--bytes" && more)
      o.bytes = std::strtoull(argv[++i], nullptr, 10);
    else if (flag == "--rounds" && more)
      o.rounds = std::atoi(argv[++i]);
    else if (flag == "--folder" && more)
      o.folder = argv[++i];
    else if (flag == "--no-peer")
      o.peer = false;
    else
      stop("usage: stacks [--bytes N] [--rounds N] [--folder DIR] [--no-peer]");
  }
  if (o.rounds < 1 || o.bytes < 1000) stop("too few rounds or bytes");
  return o;
}

}  // namespace
}  // namespace stepscope::bench

int main(int argc, char** argv) {
  using namespace stepscope::bench;
  const Options options = options_of(argc, argv);
  const std::string path = options.folder + "/stepscope-stacks-" + std::to_string(getpid());
  std::printf(
      "| profile | size | nodes | stepscope MB/s | scan MB/s | × scan | Perl / stepscope "
      "|\n|---|---|---|---|---|---|---|\n");
  write_collapsed(path, options.bytes, false);
  measure("collapsed, repeated stacks", path, false, options);
  write_collapsed(path, options.bytes, true);
  measure("collapsed, all different", path, false, options);
  write_perf(path, options.bytes);
  measure("perf script", path, true, options);
  std::filesystem::remove(path);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("\npeak memory %.0f MB\n", static_cast<double>(usage.ru_maxrss) / 1e3);
  return 0;
}
