// SPDX-License-Identifier: Apache-2.0
#include "stepscope/write/chakra_trace_queues.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace stepscope {
namespace {

constexpr std::uint32_t no_piece = std::numeric_limits<std::uint32_t>::max();

bool meets(ProgramWork work) { return work != ProgramWork::host && work != ProgramWork::kernel; }

struct Span {
  Ns begin{};  // of communication: when its rank has come
  Ns end{};
};

// A replay in which every node begins when it can, in the order of time.
class TimedReplay {
 public:
  explicit TimedReplay(const JobProgram& program) : program_(program) {
    for (std::uint32_t r = 0; r < program.ranks.size(); ++r) {
      const auto& nodes = program.ranks[r].nodes;
      spans.emplace_back(nodes.size());
      met.emplace_back();
      missing_.emplace_back(nodes.size());
      followers_.emplace_back(nodes.size());
      left_ += nodes.size();
      for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        missing_[r][n] = nodes[n].after.size();
        for (const std::uint32_t before : nodes[n].after) followers_[r][before].push_back(n);
        if (missing_[r][n] == 0) ready_.push({Ns{}, r, n});
      }
    }
  }

  // False if something waits for what never comes.
  bool run() {
    while (!ready_.empty()) {
      const auto [at, rank, node] = ready_.top();
      ready_.pop();
      const ProgramNode& n = program_.ranks[rank].nodes[node];
      if (!meets(n.work)) {
        end(rank, node, at);
        continue;
      }
      const bool collective = n.work == ProgramWork::collective;
      auto& came = came_[{collective, n.tag}];
      came.emplace_back(rank, node);
      if (came.size() < (collective ? program_.groups[n.group].ranks.size() : 2)) continue;
      for (const auto& [r, m] : came) met[r].push_back(m);
      for (const auto& [r, m] : came) end(r, m, at);
    }
    return left_ == 0;
  }

  std::vector<std::vector<Span>> spans;         // by rank and node
  std::vector<std::vector<std::uint32_t>> met;  // by rank: its communication, as all had come

 private:
  using Ready = std::tuple<Ns, std::uint32_t, std::uint32_t>;

  void end(std::uint32_t rank, std::uint32_t node, Ns start) {
    Span& span = spans[rank][node];
    span.end = start + program_.ranks[rank].nodes[node].duration;
    if (!meets(program_.ranks[rank].nodes[node].work)) span.begin = start;
    --left_;
    for (const std::uint32_t f : followers_[rank][node]) {
      Span& next = spans[rank][f];
      next.begin = std::max(next.begin, span.end);
      if (--missing_[rank][f] == 0) ready_.push({next.begin, rank, f});
    }
  }

  const JobProgram& program_;
  std::vector<std::vector<std::size_t>> missing_;
  std::vector<std::vector<std::vector<std::uint32_t>>> followers_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;
  std::map<std::pair<bool, std::uint64_t>, std::vector<std::pair<std::uint32_t, std::uint32_t>>>
      came_;
  std::size_t left_ = 0;
};

// One rank's nodes as pieces that follow one another in their queue.
class RankQueues {
 public:
  RankQueues(const RankProgram& rank, const std::vector<Span>& spans,
             const std::vector<std::uint32_t>& met, const QueueOptions& options)
      : nodes_(rank.nodes), spans_(spans), last_(rank.nodes.size(), no_piece) {
    find_delays();
    const std::vector<Stay> host = stays(ProgramWork::host);
    const std::vector<Stay> kernels = stays(ProgramWork::kernel);
    first_lead_.assign(rank.nodes.size(), no_piece);
    cut(host, ProgramWork::host);
    cut(kernels, ProgramWork::kernel);
    communicate(met, options);
    wait_for_others();
    out_.rank = rank.rank;
    number();
  }

  RankProgram take() { return std::move(out_); }

 private:
  // A node's time in its queue. `leads`: the delay before communication.
  struct Stay {
    Ns begin{};
    Ns end{};
    std::uint32_t node = 0;
    bool leads = false;
    std::uint32_t first = no_piece;  // piece
  };
  struct Piece {
    ProgramNode node;
    Ns order{};
    std::vector<std::uint32_t> begins{};  // nodes whose first piece it is
  };

  // Hosts that only lead to the device are no work of a core. Nodes wait for what is before them.
  void find_delays() {
    const std::size_t count = nodes_.size();
    std::vector<bool> leads_to_host(count, false);
    std::vector<bool> leads(count, false);
    delay_.assign(count, false);
    for (std::size_t n = count; n > 0; --n) {
      const ProgramNode& node = nodes_[n - 1];
      delay_[n - 1] = node.work == ProgramWork::host && !node.after.empty() && leads[n - 1] &&
                      !leads_to_host[n - 1];
      for (const std::uint32_t d : node.after) {
        leads[d] = true;
        if (node.work == ProgramWork::host && !delay_[n - 1]) leads_to_host[d] = true;
      }
    }
    after_.resize(count);
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<std::uint32_t>& after = after_[n];
      for (const std::uint32_t d : nodes_[n].after)
        if (delay_[d])
          after.insert(after.end(), after_[d].begin(), after_[d].end());
        else
          after.push_back(d);
      std::ranges::sort(after);
      after.erase(std::ranges::unique(after).begin(), after.end());
    }
  }
  // When all that the node waits for has ended, but for delays.
  [[nodiscard]] Ns could_begin(std::uint32_t n) const {
    Ns at{};
    for (const std::uint32_t d : after_[n]) at = std::max(at, spans_[d].end);
    return after_[n].empty() ? spans_[n].begin : at;
  }

  // Communication with a delay before it has a piece for the delay; so has what waits for a
  // message, since messages have no order that those after it could keep.
  [[nodiscard]] bool leads_in_queue(std::uint32_t n, Ns could_begin) const {
    if (!meets(nodes_[n].work)) return false;
    if (could_begin < spans_[n].begin) return true;
    return nodes_[n].work != ProgramWork::receive &&
           std::ranges::any_of(
               after_[n], [&](std::uint32_t d) { return nodes_[d].work == ProgramWork::receive; });
  }

  std::vector<Stay> stays(ProgramWork queue) const {
    std::vector<Stay> found;
    for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
      const ProgramWork work = nodes_[n].work;
      if (delay_[n]) continue;
      const Ns from = queue == ProgramWork::kernel ? could_begin(n) : spans_[n].begin;
      if (work == queue)
        found.push_back({.begin = from, .end = spans_[n].end, .node = n});
      else if (queue == ProgramWork::kernel && leads_in_queue(n, from))
        found.push_back({.begin = from, .end = spans_[n].begin, .node = n, .leads = true});
    }
    std::ranges::stable_sort(found, {}, &Stay::begin);
    return found;
  }

  std::uint32_t put(ProgramNode node) {
    const Ns order = node.start;
    pieces_.push_back({.node = std::move(node), .order = order});
    return static_cast<std::uint32_t>(pieces_.size() - 1);
  }
  // The next piece of the queue.
  std::uint32_t follow(const Stay& stay, ProgramWork queue, Ns begin, Ns end,
                       std::uint32_t& before) {
    std::vector<std::uint32_t> after;
    if (before != no_piece) after.push_back(before);
    before = put({.work = queue,
                  .name = stay.leads ? "launch latency" : nodes_[stay.node].name,
                  .start = begin,
                  .duration = end - begin,
                  .after = std::move(after)});
    return before;
  }
  void cut(std::vector<Stay> stays, ProgramWork queue) {
    std::vector<Ns> times;
    for (const Stay& s : stays) {
      times.push_back(s.begin);
      times.push_back(s.end);
    }
    std::ranges::sort(times);
    times.erase(std::ranges::unique(times).begin(), times.end());
    std::vector<std::size_t> running;
    std::size_t next = 0;
    std::uint32_t before = no_piece;
    for (std::size_t t = 0; t < times.size(); ++t) {
      std::erase_if(running, [&](std::size_t s) { return stays[s].end <= times[t]; });
      std::vector<std::size_t> starting;
      for (; next < stays.size() && stays[next].begin == times[t]; ++next) {
        if (stays[next].end > times[t]) {
          starting.push_back(next);
          continue;
        }
        note(stays[next], follow(stays[next], queue, times[t], times[t], before));
      }
      running.insert(running.end(), starting.begin(), starting.end());
      if (running.empty()) continue;
      const std::uint32_t piece =
          follow(stays[running.back()], queue, times[t], times[t + 1], before);
      for (const std::size_t s : running) note(stays[s], piece);
    }
  }
  void note(Stay& stay, std::uint32_t piece) {
    if (stay.first == no_piece) {
      stay.first = piece;
      pieces_[piece].begins.push_back(stay.node);
    }
    (stay.leads ? first_lead_ : last_)[stay.node] = piece;
  }

  // One after the other as all had come, or, where ranks do not meet, as they ended.
  void communicate(std::vector<std::uint32_t> met, const QueueOptions& options) {
    if (options.recorded_times)
      std::ranges::stable_sort(met, {}, [&](std::uint32_t n) { return spans_[n].end; });
    Ns busy{};
    for (const std::uint32_t n : met) {
      ProgramNode node = nodes_[n];
      node.after.clear();
      node.start = spans_[n].begin;
      if (options.recorded_times) {
        const bool alone = node.work != ProgramWork::receive;
        const Ns from = alone ? std::max(node.start, busy) : node.start;
        node.duration = std::max(Ns{0}, spans_[n].end - from);
        if (alone) busy = from + node.duration;
      }
      last_[n] = put(std::move(node));
      communication_.push_back(n);
    }
  }

  // Pieces that begin a node wait for what the node waits for.
  void wait_for_others() {
    for (Piece& piece : pieces_)
      for (const std::uint32_t n : piece.begins)
        for (const std::uint32_t d : after_[n]) piece.node.after.push_back(last_[d]);
    // By queue: what the communication before has waited for.
    std::array<std::uint32_t, 3> waited{no_piece, no_piece, no_piece};
    Ns order{};
    for (const std::uint32_t n : communication_) {
      Piece& piece = pieces_[last_[n]];
      auto& after = piece.node.after;
      for (const std::uint32_t d : after_[n]) after.push_back(last_[d]);
      if (first_lead_[n] != no_piece) after.push_back(first_lead_[n]);
      if (piece.node.work == ProgramWork::receive) continue;
      for (const std::uint32_t w : waited)
        if (w != no_piece) after.push_back(w);
      for (const std::uint32_t a : after) {
        if (pieces_[a].node.work == ProgramWork::receive) continue;
        const ProgramWork work = pieces_[a].node.work;
        auto& w = waited[work == ProgramWork::host ? 0 : work == ProgramWork::kernel ? 1 : 2];
        if (w == no_piece || w < a) w = a;
      }
      order = piece.order = std::max(order, piece.order);
    }
  }

  // In the order of time, each behind all that it waits for.
  void number() {
    std::vector<std::size_t> missing(pieces_.size());
    std::vector<std::vector<std::uint32_t>> followers(pieces_.size());
    using Ready = std::pair<Ns, std::uint32_t>;
    std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
    for (std::uint32_t p = 0; p < pieces_.size(); ++p) {
      auto& after = pieces_[p].node.after;
      std::ranges::sort(after);
      after.erase(std::ranges::unique(after).begin(), after.end());
      missing[p] = after.size();
      for (const std::uint32_t a : after) followers[a].push_back(p);
      if (after.empty()) ready.push({pieces_[p].order, p});
    }
    std::vector<std::uint32_t> number(pieces_.size(), no_piece);
    while (!ready.empty()) {
      const std::uint32_t p = ready.top().second;
      ready.pop();
      number[p] = static_cast<std::uint32_t>(out_.nodes.size());
      ProgramNode node = std::move(pieces_[p].node);
      for (std::uint32_t& a : node.after) a = number[a];
      std::ranges::sort(node.after);
      out_.nodes.push_back(std::move(node));
      for (const std::uint32_t f : followers[p])
        if (--missing[f] == 0) ready.push({pieces_[f].order, f});
    }
  }

  const std::vector<ProgramNode>& nodes_;
  const std::vector<Span>& spans_;
  std::vector<bool> delay_;                        // by node
  std::vector<std::vector<std::uint32_t>> after_;  // by node, without delays
  std::vector<Piece> pieces_;
  std::vector<std::uint32_t> last_;        // by node: its last piece
  std::vector<std::uint32_t> first_lead_;  // by node: the last piece of the delay before it
  std::vector<std::uint32_t> communication_;
  RankProgram out_;
};

}  // namespace

JobProgram in_queues(const JobProgram& program, const QueueOptions& options) {
  TimedReplay replay(program);
  if (!replay.run()) return program;
  JobProgram queued{
      .groups = program.groups, .ranks = {}, .steps = program.steps, .notes = program.notes};
  for (std::size_t r = 0; r < program.ranks.size(); ++r)
    queued.ranks.push_back(
        RankQueues(program.ranks[r], replay.spans[r], replay.met[r], options).take());
  return queued;
}

}  // namespace stepscope
