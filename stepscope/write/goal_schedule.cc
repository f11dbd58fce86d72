// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/goal_schedule.h"

#include <algorithm>
#include <string_view>

#include "stepscope/base/output_file.h"

namespace stepscope {
namespace {

constexpr std::size_t flush_at = std::size_t{1} << 20;
// LogGOPSim numbers cores with 8 bits.
constexpr std::uint32_t most_cores = 200;
// Tags are few (32 bits in LogGOPSim), and the rounds of collectives have others than messages.
// Messages of one pair of ranks with one tag arrive in the order of their sends.
constexpr std::uint64_t message_tags = 1U << 16U;
constexpr std::uint64_t collective_tags = 1U << 13U;
constexpr std::uint64_t rounds_of_tag = 1U << 10U;

// A core for each node of a rank. What waits for the last work of a core goes on there; other work
// gets a core of its own, or, when these are used up, the one that is free first. So work that ran
// in parallel with other work in the recording does not wait for it.
class Cores {
 public:
  explicit Cores(const RankProgram& rank) {
    std::vector<Ns> ends(rank.nodes.size());
    core_.resize(rank.nodes.size());
    for (std::uint32_t n = 0; n < rank.nodes.size(); ++n) {
      const ProgramNode& node = rank.nodes[n];
      Ns begin = node.start;
      std::uint32_t core = no_core;
      for (const std::uint32_t d : node.after) {
        begin = std::max(begin, ends[d]);
        if (cores_[core_[d]].last != d) continue;
        if (core == no_core || cores_[core_[d]].free > cores_[core].free) core = core_[d];
      }
      ends[n] = begin + node.duration;
      if (core == no_core) core = unused(begin);
      core_[n] = core;
      cores_[core] = {.last = n, .free = std::max(cores_[core].free, ends[n])};
    }
  }
  [[nodiscard]] std::uint32_t of(std::size_t node) const { return core_[node]; }

 private:
  static constexpr std::uint32_t no_core = most_cores;
  struct Core {
    std::uint32_t last = 0;  // node
    Ns free{};
  };

  std::uint32_t unused(Ns at) {
    const auto first = std::ranges::min_element(cores_, {}, &Core::free);
    if (first != cores_.end() && (first->free < at || cores_.size() == most_cores))
      return static_cast<std::uint32_t>(first - cores_.begin());
    cores_.emplace_back();
    return static_cast<std::uint32_t>(cores_.size() - 1);
  }

  std::vector<Core> cores_;
  std::vector<std::uint32_t> core_;  // by node
};

class GoalWriter {
 public:
  GoalWriter(OutputFile& out, const JobProgram& program, const GoalOptions& options)
      : out_(out), program_(program), options_(options) {}

  void run() {
    text_ = "num_ranks " + std::to_string(program_.ranks.size()) + "\n";
    for (std::uint32_t r = 0; r < program_.ranks.size(); ++r) rank(r);
    out_.write(text_);
  }

 private:
  void rank(std::uint32_t row) {
    row_ = row;
    label_ = 0;
    text_ += "\nrank " + std::to_string(row) + " {\n";
    last_.assign(program_.ranks[row].nodes.size(), 0);
    const Cores cores(program_.ranks[row]);
    for (std::size_t n = 0; n < program_.ranks[row].nodes.size(); ++n) {
      on_core_ = cores.of(n) == 0 ? "" : " cpu " + std::to_string(cores.of(n));
      node(program_.ranks[row].nodes[n]);
      last_[n] = label_;
      if (text_.size() >= flush_at) {
        out_.write(text_);
        text_.clear();
      }
    }
    text_ += "}\n";
  }

  // A new label; it waits for `before`, or for what the node waits for.
  std::uint64_t add(const std::string& operation, const ProgramNode& n, std::uint64_t before) {
    text_ += 'l' + std::to_string(++label_) + ": " + operation + on_core_ + '\n';
    const auto wait = [&](std::uint64_t on) {
      text_ += 'l' + std::to_string(label_) + " requires l" + std::to_string(on) + '\n';
    };
    if (before > 0)
      wait(before);
    else
      for (const std::uint32_t d : n.after) wait(last_[d]);
    return label_;
  }
  static std::string calc(Ns time) {
    return "calc " + std::to_string(std::max<std::int64_t>(0, time.count()));
  }
  static std::string message(bool sends, std::int64_t bytes, std::uint64_t peer,
                             std::uint64_t tag) {
    return (sends ? "send " : "recv ") + std::to_string(std::max<std::int64_t>(1, bytes)) + "b " +
           (sends ? "to " : "from ") + std::to_string(peer) + " tag " + std::to_string(tag);
  }

  void node(const ProgramNode& n) {
    switch (n.work) {
      case ProgramWork::host:
      case ProgramWork::kernel:
        add(calc(n.duration), n, 0);
        return;
      case ProgramWork::send:
      case ProgramWork::receive: {
        const bool sends = n.work == ProgramWork::send;
        if (!options_.recorded_times) {
          add(message(sends, n.bytes.value, n.peer, n.tag % message_tags), n, 0);
          return;
        }
        // Both ends meet: a byte each way.
        const std::uint64_t tag = n.tag * 2 % message_tags;
        const std::uint64_t out = add(message(true, 1, n.peer, tag + (sends ? 0 : 1)), n, 0);
        const std::uint64_t in = add(message(false, 1, n.peer, tag + (sends ? 1 : 0)), n, 0);
        after_both(calc(n.duration), out, in);
        return;
      }
      case ProgramWork::collective:
        collective(n);
    }
  }

  void after_both(const std::string& operation, std::uint64_t a, std::uint64_t b) {
    text_ += 'l' + std::to_string(++label_) + ": " + operation + on_core_ + '\n';
    for (const std::uint64_t on : {a, b})
      text_ += 'l' + std::to_string(label_) + " requires l" + std::to_string(on) + '\n';
  }

  // One round: a message to a member and one from a member, both behind `before`; a calc without
  // time joins them.
  std::uint64_t round(const ProgramNode& n, std::uint64_t before, std::uint64_t number,
                      std::int64_t bytes, std::uint32_t to, std::uint32_t from) {
    const std::uint64_t tag = first_tag(n) + number % rounds_of_tag;
    const std::uint64_t out = add(message(true, bytes, to, tag), n, before);
    const std::uint64_t in = add(message(false, bytes, from, tag), n, before);
    after_both("calc 0", out, in);
    return label_;
  }
  [[nodiscard]] std::uint64_t first_tag(const ProgramNode& n) const {
    return message_tags + n.tag % collective_tags * rounds_of_tag;
  }

  void collective(const ProgramNode& n) {
    const auto& ranks = program_.groups[n.group].ranks;
    const auto size = static_cast<std::uint32_t>(ranks.size());
    const auto here = static_cast<std::uint32_t>(std::ranges::find(ranks, row_) - ranks.begin());
    const auto member = [&](std::uint32_t away) { return ranks[(here + away) % size]; };
    const std::int64_t part = n.bytes.value / size;
    if (size < 2) {
      add(calc(n.duration), n, 0);
      return;
    }
    std::uint64_t before = 0;
    if (options_.recorded_times || n.kind == CollectiveKind::barrier) {
      // Dissemination: everyone has heard of everyone after log2 rounds.
      std::uint64_t number = 0;
      for (std::uint32_t away = 1; away < size; away *= 2)
        before = round(n, before, number++, 1, member(away), member(size - away));
      if (options_.recorded_times) add(calc(n.duration), n, before);
      return;
    }
    switch (n.kind) {
      case CollectiveKind::all_to_all:
        for (std::uint32_t away = 1; away < size; ++away)
          before = round(n, before, away, part, member(away), member(size - away));
        return;
      case CollectiveKind::all_gather:
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::all_reduce: {
        const std::uint32_t times = n.kind == CollectiveKind::all_reduce ? 2 : 1;
        for (std::uint32_t k = 0; k < times * (size - 1); ++k)
          before = round(n, before, k, part, member(1), member(size - 1));
        return;
      }
      default: {  // a chain from the first member on
        if (here > 0)
          before = add(message(false, n.bytes.value, ranks[here - 1], first_tag(n)), n, before);
        if (here + 1 < size)
          before = add(message(true, n.bytes.value, ranks[here + 1], first_tag(n)), n, before);
        return;
      }
    }
  }

  OutputFile& out_;
  const JobProgram& program_;
  const GoalOptions& options_;
  std::string text_;
  std::string on_core_;
  std::vector<std::uint64_t> last_;  // by node of the rank: its last label
  std::uint64_t label_ = 0;
  std::uint32_t row_ = 0;
};

}  // namespace

Result<Done> write_goal(const JobProgram& program, const std::string& path,
                        const GoalOptions& options) {
  auto file = OutputFile::create(path);
  if (!file) return file.error();
  GoalWriter(*file, program, options).run();
  return file->commit();
}

}  // namespace stepscope
