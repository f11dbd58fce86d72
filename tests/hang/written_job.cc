// SPDX-License-Identifier: Apache-2.0
// The records of a simulated job's ranks: pickles as c10 writes them (protocol 2, keys memorised),
// JSON, and NCCL's lines.
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <map>

#include "tests/hang/simulated_job.h"

namespace stepscope::hang {
namespace {

class PickleText {
 public:
  PickleText() { out_ = "\x80\x02"; }
  void text(const std::string& words) {
    const auto [at, fresh] = memo_.try_emplace(words, static_cast<std::uint32_t>(memo_.size()));
    if (!fresh) {
      out_ += 'j';
      number(at->second, 4);
      return;
    }
    out_ += 'X';
    number(words.size(), 4);
    out_ += words;
    out_ += 'r';
    number(at->second, 4);
  }
  void integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
      out_ += 'K';
      number(static_cast<std::uint64_t>(value), 1);
    } else {
      out_ += "\x8a\x08";
      number(static_cast<std::uint64_t>(value), 8);
    }
  }
  void raw(std::string_view opcodes) { out_ += opcodes; }
  [[nodiscard]] std::string finished() const { return out_ + "."; }

 private:
  void number(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_ += static_cast<char>(value >> (8 * i) & 0xFFU);
  }
  std::string out_;
  std::map<std::string, std::uint32_t> memo_;
};

std::string ranks_text(const std::vector<int>& ranks) {
  std::string out = "[";
  for (std::size_t i = 0; i < ranks.size(); ++i)
    out += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return out + "]";
}

struct DumpedCall {
  std::int64_t sequence = 0;
  const JobCall* call = nullptr;
  std::string state;
  std::int64_t in = 0;
  std::int64_t out = 0;
};

std::vector<DumpedCall> dumped(const SimulatedJob& job, std::size_t rank) {
  std::vector<DumpedCall> out;
  std::map<std::size_t, std::int64_t> sequence;
  const RankCalls& r = job.ranks[rank];
  for (std::size_t i = 0; i < r.calls.size(); ++i) {
    const JobCall& c = r.calls[i];
    const auto n = static_cast<std::int64_t>(job.groups[c.group].size());
    out.push_back({.sequence = ++sequence[c.group],
                   .call = &c,
                   .state = i < r.done    ? "completed"
                            : i == r.done ? "started"
                                          : "scheduled",
                   .in = c.operation == "reduce_scatter" ? c.count * n : c.count,
                   .out = c.operation == "all_gather" ? c.count * n : c.count});
  }
  return out;
}

std::string name_of_group(const SimulatedJob& job, std::size_t group) {
  return group == 0 ? "default_pg" : job.groups[group].size() == 4 ? "tp" : "dp";
}

std::string pickled(const SimulatedJob& job, std::size_t rank) {
  PickleText p;
  const auto sizes = [&](std::int64_t size) {
    p.raw("](](");
    p.integer(size);
    p.raw("ee");
  };
  p.raw("}(");
  p.text("version");
  p.text("2.10");
  p.text("pg_config");
  p.raw("}(");
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    if (std::ranges::find(job.groups[g], static_cast<int>(rank)) == job.groups[g].end()) continue;
    p.text(std::to_string(g));
    p.raw("}(");
    p.text("desc");
    p.text(name_of_group(job, g));
    p.text("ranks");
    p.text(ranks_text(job.groups[g]));
    p.raw("u");
  }
  p.raw("u");
  p.text("entries");
  p.raw("](");
  std::int64_t record = 0;
  for (const DumpedCall& d : dumped(job, rank)) {
    p.raw("}(");
    p.text("record_id");
    p.integer(record++);
    p.text("pg_id");
    p.integer(static_cast<std::int64_t>(d.call->group));
    p.text("process_group");
    p.text(std::to_string(d.call->group));
    p.text(name_of_group(job, d.call->group));
    p.raw("\x86");
    p.text("collective_seq_id");
    p.integer(d.sequence);
    p.text("p2p_seq_id");
    p.integer(0);
    p.text("profiling_name");
    p.text("nccl:" + d.call->operation);
    p.text("time_created_ns");
    p.integer(1724779239936775119 + record * 1000);
    p.text("input_sizes");
    sizes(d.in);
    p.text("output_sizes");
    sizes(d.out);
    for (const char* types : {"input_dtypes", "output_dtypes"}) {
      p.text(types);
      p.raw("](");
      p.text("Float");
      p.raw("e");
    }
    p.text("state");
    p.text(d.state);
    p.text("retired");
    p.raw(d.state == "completed" ? "\x88" : "\x89");
    p.text("is_p2p");
    p.raw("\x89u");
  }
  p.raw("eu");
  return p.finished();
}

std::string as_json(const SimulatedJob& job, std::size_t rank) {
  std::string out = R"({"version":"2.10","pg_config":{)";
  std::string comma;
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    if (std::ranges::find(job.groups[g], static_cast<int>(rank)) == job.groups[g].end()) continue;
    out += comma + "\"" + std::to_string(g) + R"(":{"desc":")" + name_of_group(job, g) +
           R"(","ranks":")" + ranks_text(job.groups[g]) + "\"}";
    comma = ",";
  }
  out += R"(},"entries":[)";
  comma.clear();
  for (const DumpedCall& d : dumped(job, rank)) {
    const std::string group = std::to_string(d.call->group);
    out += comma + R"({"pg_id":)" + group + R"(,"process_group":[")" + group + R"(",")" +
           name_of_group(job, d.call->group) + R"("],"collective_seq_id":)" +
           std::to_string(d.sequence) + R"(,"profiling_name":"nccl:)" + d.call->operation +
           R"(","input_sizes":[[)" + std::to_string(d.in) + R"(]],"output_sizes":[[)" +
           std::to_string(d.out) + R"(]],"input_dtypes":["Float"],"state":")" + d.state +
           R"(","retired":)" + (d.state == "completed" ? "true" : "false") + R"(,"is_p2p":false})";
    comma = ",";
  }
  return out + "]}";
}

// "AllReduce" for "all_reduce".
std::string nccl_name(const std::string& operation) {
  std::string out;
  bool upper = true;
  for (const char c : operation) {
    if (c != '_') out += upper ? static_cast<char>(c - 'a' + 'A') : c;
    upper = c == '_';
  }
  return out;
}

std::vector<std::string> log_lines(const SimulatedJob& job, std::size_t rank, bool with_ids) {
  const std::string head = "node" + std::to_string(rank / 4) + ":" + std::to_string(4000 + rank) +
                           ":" + std::to_string(5000 + rank) + " [" + std::to_string(rank % 4) +
                           "] NCCL INFO ";
  std::vector<std::string> lines;
  const auto pointer = [&](std::size_t g) {
    return "0x7f00" + std::to_string(10 + rank) + "0" + std::to_string(g) + "00";
  };
  for (std::size_t g = 0; g < job.groups.size(); ++g) {
    const auto& members = job.groups[g];
    const auto at = std::ranges::find(members, static_cast<int>(rank));
    if (at == members.end()) continue;
    const std::string comm =
        "comm " + pointer(g) + " rank " + std::to_string(at - members.begin()) + " nranks " +
        std::to_string(members.size()) + " cudaDev " + std::to_string(rank % 4) + " busId 5d000";
    if (with_ids) {
      const std::string id = " commId 0x" + std::to_string(900 + g) + "f";
      lines.push_back(head + "ncclCommInitRank " + comm + id + " - Init START");
      lines.push_back(head + "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read");
      lines.push_back(head + "ncclCommInitRank " + comm + id + " - Init COMPLETE");
    } else {
      lines.push_back(head + comm + " - Init COMPLETE");
    }
  }
  std::map<std::size_t, std::int64_t> sequence;
  for (const JobCall& c : job.ranks[rank].calls) {
    std::array<char, 20> hex{};
    std::snprintf(hex.data(), hex.size(), "%llx",
                  static_cast<unsigned long long>(sequence[c.group]++));
    lines.push_back(head + nccl_name(c.operation) + ": opCount " + hex.data() +
                    " sendbuff 0x7fb201e00400 recvbuff 0x7fb201e00400 count " +
                    std::to_string(c.count) + " datatype 7 op 0 root 0 comm " + pointer(c.group) +
                    " [nranks=" + std::to_string(job.groups[c.group].size()) +
                    "] stream 0x558f83fe3ca0");
  }
  return lines;
}

}  // namespace

void write_dumps(const SimulatedJob& job, const std::filesystem::path& folder, bool some_json) {
  for (std::size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.fault == Fault::no_record && static_cast<int>(r) == job.rank) continue;
    const bool json = some_json && r % 2 == 1;
    std::ofstream out(folder / ((json ? "json_rank_" : "nccl_trace_rank_") + std::to_string(r)),
                      std::ios::binary);
    out << (json ? as_json(job, r) : pickled(job, r));
  }
}

void write_log(const SimulatedJob& job, const std::filesystem::path& file, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<std::string>> lines;
  for (std::size_t r = 0; r < job.ranks.size(); ++r) lines.push_back(log_lines(job, r, true));
  std::vector<std::size_t> next(lines.size(), 0);
  std::ofstream out(file, std::ios::binary);
  out << "NCCL version 2.21.5+cuda12.4\n";
  for (;;) {
    std::vector<std::size_t> left;
    for (std::size_t r = 0; r < lines.size(); ++r)
      if (next[r] < lines[r].size()) left.push_back(r);
    if (left.empty()) break;
    const std::size_t r = left[random() % left.size()];
    const std::string& line = lines[r][next[r]++];
    switch (random() % 12) {
      case 0:
        out << " iteration 12/ 100 | elapsed time per iteration (ms): 606.0 |\n" << line << '\n';
        break;
      case 1:
        out << "\x1b[32m" << line << "\x1b[0m\r\n";
        break;
      case 2:  // another process writes into the same line
        out << "Loading extension module fused_adam..." << line << '\n';
        break;
      case 3:
        if (left.size() > 1) {
          const std::size_t other = left[0] == r ? left[1] : left[0];
          out << line << lines[other][next[other]++] << '\n';
          break;
        }
        [[fallthrough]];
      default:
        out << line << '\n';
    }
  }
}

}  // namespace stepscope::hang
