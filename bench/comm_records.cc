// SPDX-License-Identifier: Apache-2.0
// The reading speed of dumps and logs: parse_pickle on a generated pickle like a flight recorder's,
// and CommLogs on a generated log (one line in ten of a collective, the rest training output). Each
// is compared with memchr over the same bytes. Usage: comm_records [MB]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "stepscope/base/files/text_source.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/nccl/nccl_log.h"

namespace stepscope {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// A list of dicts of six members each; keys recalled from the memo, as c10 writes them.
std::string made_pickle(std::size_t bytes) {
  std::string out = "\x80\x02](";
  const auto key = [&](char slot, bool first) {
    if (first) {
      out += "X";
      out += std::string("\x0c\0\0\0", 4) + "record_field";
      out += 'q';
    } else {
      out += 'h';
    }
    out += slot;
  };
  for (bool first = true; out.size() < bytes; first = false) {
    out += "}(";
    for (char slot = 0; slot < 6; ++slot) {
      key(slot, first);
      if (slot == 0) out += std::string("\x8a\x08\x0f\x1e\x2d\x3c\x4b\x5a\x69\x17", 10);
      if (slot == 1)
        out +=
            "](](K\x10K\x20"
            "ee";
      if (slot == 2) out += std::string("X\x09\0\0\0completed", 14);
      if (slot == 3) out += "\x88";
      if (slot == 4) out += std::string("J\x40\x42\x0f\0", 5);
      if (slot == 5) out += "N";
    }
    out += "u";
  }
  return out + "e.";
}

std::string made_log(std::size_t bytes, std::size_t every) {
  std::string out =
      "h:1:1 [0] NCCL INFO comm 0xa rank 0 nranks 8 cudaDev 0 busId 1 - Init COMPLETE\n";
  for (std::size_t i = 0; out.size() < bytes; ++i) {
    if (i % every == 0)
      out += fmt::format(
          "h:1:1 [0] NCCL INFO AllReduce: opCount {:x} sendbuff 0x7fb201e00400 recvbuff "
          "0x7fb201e00400 count 1048576 datatype 7 op 0 root 0 comm 0xa [nranks=8] stream "
          "0x558f83fe3ca0\n",
          i / every);
    else
      out += fmt::format(
          " iteration {:8}/  100000 | consumed samples: {:12} | elapsed time per iteration (ms): "
          "606.0 | learning rate: 3.000E-04 | lm loss: 6.123456E+00 | loss scale: 1.0 |\n",
          i, i * 256);
  }
  return out;
}

// The number of lines, for the floor.
std::size_t lines_of(std::string_view text) {
  std::size_t lines = 0;
  for (const char* at = text.data(); at < text.data() + text.size(); ++lines) {
    const void* end =
        std::memchr(at, '\n', static_cast<std::size_t>(text.data() + text.size() - at));
    if (end == nullptr) break;
    at = static_cast<const char*>(end) + 1;
  }
  return lines;
}

template <class Work>
void report(const char* what, std::size_t bytes, Work work) {
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    const double seconds = work();
    rates.push_back(static_cast<double>(bytes) / 1e6 / seconds);
  }
  std::ranges::sort(rates);
  fmt::print("{:<44} {:8.0f} {:8.0f} {:8.0f} MB/s (min, median, max)\n", what, rates.front(),
             rates[rates.size() / 2], rates.back());
}

void measure_log(const char* what, const std::string& log) {
  report(what, log.size(), [&] {
    const auto begin = std::chrono::steady_clock::now();
    CommRecords records;
    CommInput input;
    CommLogs logs(records);
    TextSource source(log);
    if (!logs.add(source, input)) std::abort();
    logs.settle();
    return seconds_since(begin);
  });
}

}  // namespace
}  // namespace stepscope

int main(int argc, char** argv) {
  using namespace stepscope;
  const std::size_t bytes =
      (argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 100) * 1'000'000;
  const std::string pickle = made_pickle(bytes);
  report("parse_pickle", pickle.size(), [&] {
    std::string copy = pickle;
    const auto begin = std::chrono::steady_clock::now();
    if (!parse_pickle(std::move(copy), "made")) std::abort();
    return seconds_since(begin);
  });
  const std::string log = made_log(bytes, 10);
  measure_log("CommLogs, one line in ten a collective's", log);
  measure_log("CommLogs, every line a collective's", made_log(bytes, 1));
  report("memchr over the lines of the log", log.size(), [&] {
    const auto begin = std::chrono::steady_clock::now();
    if (lines_of(log) == 0) std::abort();
    return seconds_since(begin);
  });
  return 0;
}
