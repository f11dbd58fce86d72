// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/bucket_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/parallel_for.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr double smallest_step_of_sizes = 1.5;  // two closer sizes do not determine a line
constexpr std::size_t most_each_way = 3;        // sizes that the search tries below and above

// "1.23 MB", for sentences.
std::string about(double bytes) {
  constexpr std::array<const char*, 4> units = {"B", "KB", "MB", "GB"};
  std::size_t unit = 0;
  for (; unit + 1 < units.size() && bytes >= 1000; ++unit) bytes /= 1000;
  std::array<char, 32> room{};
  const int length = std::snprintf(room.data(), room.size(), "%.3g %s", bytes, units[unit]);
  return {room.data(), static_cast<std::size_t>(std::max(0, length))};
}

std::string_view kind_name(CollectiveKind kind) {
  return collective_kind_names[static_cast<std::size_t>(kind)];
}

// A line through the typical times of two sizes.
MessageTime line_through(MessageTime time, const SizedTime& a, const SizedTime& b) {
  const double slope = (b.time - a.time) / (b.size - a.size);
  if (b.size < smallest_step_of_sizes * a.size || slope <= 0) {
    time.refused = "two sizes that are close or take the same time tell no line";
    return time;
  }
  // Negative if the larger message took more than its share of time: all time depends on the bytes
  // then.
  const double start = std::max(0.0, a.time - slope * a.size);
  AlphaBetaPiece piece;
  piece.from = a.size;
  piece.to = b.size;
  piece.start = start;
  piece.slope = start > 0 ? slope : b.time / b.size;
  piece.sizes = 2;
  time.fit = AlphaBetaFit{.pieces = {piece}, .sizes = 2};
  return time;
}

MessageTime fit_sizes(CollectiveKind kind, std::uint32_t group, std::span<const SizedTime> calls) {
  MessageTime time{.kind = kind, .group = group};
  const auto typical = typical_times(calls);
  if (typical.size() == 2) return line_through(std::move(time), typical[0], typical[1]);
  AlphaBetaAnswer answer = fit_alpha_beta(calls, {.replicates = 0});
  time.fit = std::move(answer.fit);
  if (!time.fit)
    time.refused = answer.refusal == FitRefusal::no_growth
                       ? "its time does not grow with its size"
                       : "all its messages have one size, which does not tell latency from bytes";
  return time;
}

// The collective that sends as many bytes in as many steps over the same links. No other pair is so
// similar: the least time of an all-reduce is 0.4 to 3 times theirs, depending on the group's size.
CollectiveKind twin_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::reduce_scatter:
      return CollectiveKind::all_gather;
    case CollectiveKind::all_gather:
      return CollectiveKind::reduce_scatter;
    default:
      return CollectiveKind::none;
  }
}

// A collective in a group, by row of CollectiveMatches::groups.
using Carrier = std::pair<CollectiveKind, std::uint32_t>;
using CarriedSizes = std::map<Carrier, std::vector<SizedTime>>;

// The medians of sizes and times.
SizedTime typical_call(std::span<const SizedTime> calls) {
  std::vector<double> sizes;
  std::vector<double> times;
  for (const SizedTime& call : calls) {
    sizes.push_back(call.size);
    times.push_back(call.time);
  }
  return {.size = *median(std::span<const double>(sizes)),
          .time = *median(std::span<const double>(times))};
}

// The shortest or the longest times of other sizes that latency + bytes / bandwidth through this
// one can have.
MessageTime bound_through(MessageTime time, bool longest) {
  constexpr double around = 1 << 20;
  const SizedTime& one = *time.one_size;
  AlphaBetaPiece latency;
  latency.from = one.size / around;
  latency.to = one.size;
  latency.start = one.time;
  AlphaBetaPiece bytes;
  bytes.from = one.size;
  bytes.to = one.size * around;
  bytes.slope = one.time / one.size;
  if (!longest) {
    std::swap(latency.start, bytes.start);
    std::swap(latency.slope, bytes.slope);
  }
  time.fit = AlphaBetaFit{.pieces = {latency, bytes}, .sizes = 1};
  time.note = std::string(kind_name(time.kind)) + ": messages of about one size (" +
              about(one.size) +
              ") do not tell latency from bytes, so the step is given as bounds; --machine FILE " +
              "with its links gives one figure";
  return time;
}

// Fits lines between powers of two around the measured sizes.
MessageTime fit_model(const WhatIfInputs& in, MessageTime time, std::span<const SizedTime> calls) {
  constexpr std::int64_t around = 1024;
  constexpr std::int64_t least = 64;  // bytes
  if (calls.empty()) return time;
  const auto [smallest, largest] = std::ranges::minmax(calls, {}, &SizedTime::size);
  // The sizes differ, but their measured times did not give a model.
  if (largest.size >= smallest_step_of_sizes * smallest.size) return time;
  time.one_size = typical_call(calls);
  time.refused += " (--machine FILE with its links would)";
  if (in.messages == nullptr) return time;
  std::vector<SizedTime> points;
  const auto last = static_cast<std::int64_t>(largest.size) * around;
  for (auto size = std::max(least, static_cast<std::int64_t>(smallest.size) / around); size <= last;
       size *= 2) {
    const auto took = (*in.messages)(in.collectives.matches, time.kind, time.group, Bytes{size});
    if (!took || *took <= 0) return time;
    points.push_back({static_cast<double>(size), *took});
  }
  AlphaBetaFit fit;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const SizedTime& a = points[i - 1];
    const SizedTime& b = points[i];
    AlphaBetaPiece piece;
    piece.from = a.size;
    piece.to = b.size;
    piece.slope = std::max(0.0, (b.time - a.time) / (b.size - a.size));
    piece.start = std::max(0.0, a.time - piece.slope * a.size);
    fit.pieces.push_back(piece);
  }
  fit.sizes = points.size();
  time.note = std::string(kind_name(time.kind)) +
              ": what other sizes take beside those measured (" + about(smallest.size) + " to " +
              about(largest.size) + ") is told by the links of the machine that was named";
  time.fit = std::move(fit);
  time.refused.clear();
  time.one_size.reset();
  return time;
}

MessageTime fit_messages(const WhatIfInputs& in, const Carrier& carrier,
                         const CarriedSizes& sizes) {
  const CollectiveKind kind = carrier.first;
  const std::uint32_t group = carrier.second;
  const auto of = [&](CollectiveKind k) {
    const auto at = sizes.find({k, group});
    return at == sizes.end() ? std::vector<SizedTime>{} : at->second;
  };
  const std::vector<SizedTime> own = of(kind);
  MessageTime time = fit_sizes(kind, group, own);
  const CollectiveKind twin = twin_of(kind);
  std::vector<SizedTime> both = of(twin);
  if (time.fit) return time;
  if (!both.empty()) {
    both.insert(both.end(), own.begin(), own.end());
    const std::string twins = std::string(kind_name(twin)) + " of the same ranks";
    MessageTime of_both = fit_sizes(kind, group, both);
    of_both.note = std::string(kind_name(kind)) + ": what other sizes take is told by " + twins +
                   ", which sends as many bytes in as many steps";
    if (of_both.fit) return of_both;
    time.refused += ", and with " + twins + " neither";
  }
  return fit_model(in, std::move(time), own);
}

// The time of each of these joined collectives: the median over its ranks.
CarriedSizes carried_sizes(const WhatIfInputs& in, const std::set<Carrier>& wanted) {
  const StepGraph& graph = *in.replay.graph;
  // Key: kind, group and the collective's number in it. Value: its time on each member.
  std::map<std::pair<Carrier, std::uint32_t>, std::pair<std::int64_t, std::vector<double>>>
      instances;
  std::vector<std::vector<std::uint32_t>> instance_of(in.views.size());
  for (std::size_t v = 0; v < in.views.size(); ++v)
    instance_of[v].assign(in.collectives.matches.ranks[v].calls.size(), no_row);
  const auto& matched = in.collectives.matches.matched;
  for (std::uint32_t i = 0; i < matched.size(); ++i)
    if (!matched[i].message)
      for (const CollectiveMember m : in.collectives.matches.members_of(matched[i]))
        instance_of[m.view][m.call] = i;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    if (graph.kind[n] != NodeKind::transfer) continue;
    const std::uint32_t v = graph.view[n];
    const std::uint32_t row = graph.detail[n];
    const CollectiveCall& call = in.collectives.matches.ranks[v].calls[row];
    const Carrier carrier{call.kind, call.group};
    if (!call.bytes || instance_of[v][row] == no_row || !wanted.contains(carrier)) continue;
    auto& [bytes, times] = instances[{carrier, instance_of[v][row]}];
    bytes = std::max(bytes, call.bytes->value);
    times.push_back(static_cast<double>(graph.graph.duration[n].count()));
  }
  CarriedSizes sizes;
  for (const auto& [instance, measured] : instances)
    sizes[instance.first].push_back(
        {static_cast<double>(measured.first), *median(std::span<const double>(measured.second))});
  return sizes;
}

}  // namespace

std::optional<double> MessageTime::at(double bytes) const {
  return fit ? predicted_time(*fit, bytes) : std::nullopt;
}

// Uses all joined collectives of the kind and group, not only those with gradients.
GradientBuckets find_gradient_buckets(const WhatIfInputs& in) {
  GradientBuckets buckets{.traffic = find_gradient_traffic(in), .times = {}};
  std::set<Carrier> carriers;
  for (const GradientPass& pass : buckets.traffic.passes) carriers.emplace(pass.kind, pass.group);
  if (carriers.empty()) return buckets;
  std::set<Carrier> wanted = carriers;
  for (const auto& [kind, group] : carriers) wanted.emplace(twin_of(kind), group);
  const CarriedSizes sizes = carried_sizes(in, wanted);
  for (const Carrier& carrier : carriers) buckets.times.push_back(fit_messages(in, carrier, sizes));
  return buckets;
}

namespace {

const MessageTime& time_of(std::span<const MessageTime> times, const GradientPass& pass) {
  return *std::ranges::find_if(
      times, [&](const MessageTime& t) { return t.kind == pass.kind && t.group == pass.group; });
}

// The instant a part of a message is ready on one member: `back` before the end of `node`.
struct PartReady {
  std::uint32_t node = no_node;
  Ns back{};
};

struct NewBucket {
  std::size_t message = 0;       // index in the pass of the message with its last byte
  std::vector<PartReady> ready;  // by member; empty: with the message
  std::vector<Ns> time;          // by member
};

struct NewPass {
  std::vector<NewBucket> buckets;
};

// Ends of the new buckets, in bytes from the first byte of the pass.
std::vector<double> lay_out(const GradientPass& pass, double size) {
  constexpr double nearly = 1e-6;  // of the size: a smaller remainder counts as 0
  std::vector<double> ends;
  double begin = 0;  // of the bucket being filled
  double at = 0;     // bytes so far
  const auto close = [&](double end) {
    if (end - begin <= nearly * size) return;
    ends.push_back(end);
    begin = end;
  };
  for (std::size_t m = 0; m < pass.messages.size();) {
    if (pass.messages[m].gradual) {
      at += static_cast<double>(pass.messages[m++].bytes.value);
      while (at - begin >= size * (1 - nearly)) close(std::min(at, begin + size));
      continue;
    }
    const double from = at;
    const std::uint32_t number = pass.messages[m].handed_over;
    for (; m < pass.messages.size() && pass.messages[m].handed_over == number &&
           !pass.messages[m].gradual;
         ++m)
      at += static_cast<double>(pass.messages[m].bytes.value);
    if (at - from > size) {
      close(from);
      while (at - begin > size * (1 + nearly)) close(begin + size);
      close(at);
    } else if (at - begin >= size * (1 - nearly)) {
      close(at);
    }
  }
  close(at);
  return ends;
}

class BucketReplay {
 public:
  BucketReplay(const WhatIfInputs& inputs, const GradientTraffic& traffic,
               std::span<const MessageTime> times, Bytes size)
      : in_(inputs),
        graph_(*inputs.replay.graph),
        traffic_(traffic),
        times_(times),
        size_(static_cast<double>(size.value)) {}

  BucketAnswer run();

 private:
  // Empty if a message of such a pass may have this size; else the reason.
  [[nodiscard]] std::string refusal(const GradientPass& pass) const;
  void plan(std::size_t pass);
  void add_bucket(const GradientPass& pass, const MessageTime& time, double begin, double end,
                  NewPass& made);
  void find_ready(const GradientPass& pass, std::size_t message, double share, NewBucket& bucket);
  void replay();
  void advance(std::size_t pass, std::size_t message);

  struct Transfer {
    std::uint32_t pass = no_row;
    std::uint32_t message = 0;
    std::uint32_t member = 0;
  };

  const WhatIfInputs& in_;
  const StepGraph& graph_;
  const GradientTraffic& traffic_;
  std::span<const MessageTime> times_;
  double size_;
  BucketAnswer answer_;
  bool divided_ = false;       // a bucket ends inside a recorded message
  std::vector<NewPass> made_;  // parallel to the passes; without buckets: unchanged
  std::map<std::uint32_t, Transfer> transfer_;  // by node, of passes that change
  std::vector<Ns> end_;
  std::vector<std::size_t> done_;          // by pass: number of finished new buckets
  std::vector<std::vector<Ns>> last_end_;  // by pass and member
};

std::string BucketReplay::refusal(const GradientPass& pass) const {
  const MessageTime& time = time_of(times_, pass);
  const std::string which(kind_name(pass.kind));
  if (!time.fit) return which + ": " + time.refused;
  std::uint32_t arrived = 0;
  for (const GradientMessage& m : pass.messages) {
    for (const GradientMember& member : m.members) arrived = std::max(arrived, member.arrival);
    for (const GradientMember& member : m.members)
      if (member.transfer < arrived)
        return which + ": its ranks disagree about the order of its messages";
  }
  const double largest = std::min(size_, static_cast<double>(pass.bytes().value));
  if (time.at(largest)) return {};
  return which + " of " + about(largest) + " is more than " +
         std::to_string(static_cast<int>(most_extrapolation)) +
         " times beyond what was measured (" + about(time.fit->smallest()) + " to " +
         about(time.fit->largest()) + ")";
}

// The compute behind `share` of the message's bytes, on every member.
void BucketReplay::find_ready(const GradientPass& pass, std::size_t message, double share,
                              NewBucket& bucket) {
  const GradientMessage& m = pass.messages[message];
  std::uint32_t first_transfer = no_node;
  for (const GradientMember& member : m.members)
    first_transfer = std::min(first_transfer, member.transfer);
  for (std::size_t i = 0; i < m.members.size(); ++i) {
    const GradientMember& member = m.members[i];
    const auto& pieces = traffic_.compute[member.view];
    const auto until =
        std::ranges::lower_bound(pieces, member.launched, {}, &ComputePiece::launched);
    auto from = until;
    const Ns before = message == 0 ? Ns::min() : pass.messages[message - 1].members[i].launched;
    double work = 0;
    const auto backward = [](const ComputePiece& p) {
      return p.phase == Phase::backward || p.phase == Phase::recompute;
    };
    while (from != pieces.begin() && (from - 1)->launched >= before && backward(*(from - 1))) {
      --from;
      work += static_cast<double>(in_.replay.measured.duration[from->node].count());
    }
    double left = share * work;
    PartReady ready;
    for (; from != until; ++from) {
      const auto time = static_cast<double>(in_.replay.measured.duration[from->node].count());
      ready = {from->node, Ns{std::llround(std::max(0.0, time - left))}};
      if (time >= left) break;
      left -= time;
    }
    // Its order in the graph comes too late: it is ready with the whole message.
    if (ready.node == no_node || ready.node >= first_transfer) {
      bucket.ready.clear();
      return;
    }
    bucket.ready.push_back(ready);
  }
}

void BucketReplay::add_bucket(const GradientPass& pass, const MessageTime& time, double begin,
                              double end, NewPass& made) {
  NewBucket bucket;
  const double least = time.fit->smallest() / most_extrapolation;
  const double bytes = end - begin;
  const double expected = *time.at(std::max(bytes, least));
  std::vector<double> scale(pass.messages.front().members.size(), 0);
  double at = 0;
  for (std::size_t m = 0; m < pass.messages.size() && at < end - 0.5; ++m) {
    const GradientMessage& old = pass.messages[m];
    const auto whole = static_cast<double>(old.bytes.value);
    const double overlap = std::min(end, at + whole) - std::max(begin, at);
    if (overlap > 0) {
      for (std::size_t i = 0; i < scale.size(); ++i) {
        const auto measured =
            static_cast<double>(in_.replay.measured.duration[old.members[i].transfer].count());
        scale[i] += overlap / bytes * measured / *time.at(whole);
      }
      bucket.message = m;
      if (end < at + whole - 0.5) {
        divided_ = divided_ || old.gradual;
        if (old.gradual) find_ready(pass, m, (end - at) / whole, bucket);
      }
    }
    at += whole;
  }
  for (const double s : scale) bucket.time.push_back(Ns{std::llround(std::max(0.0, s * expected))});
  made.buckets.push_back(std::move(bucket));
}

void BucketReplay::plan(std::size_t p) {
  const GradientPass& pass = traffic_.passes[p];
  const std::vector<double> ends = lay_out(pass, size_);
  answer_.before += pass.messages.size();
  answer_.after += ends.size();
  bool same = ends.size() == pass.messages.size();
  double at = 0;
  for (std::size_t m = 0; same && m < ends.size(); ++m) {
    at += static_cast<double>(pass.messages[m].bytes.value);
    same = std::abs(at - ends[m]) < 0.5;
  }
  if (same) return;
  double begin = 0;
  for (const double end : ends) {
    add_bucket(pass, time_of(times_, pass), begin, end, made_[p]);
    begin = end;
  }
  for (std::uint32_t m = 0; m < pass.messages.size(); ++m)
    for (std::uint32_t i = 0; i < pass.messages[m].members.size(); ++i)
      transfer_[pass.messages[m].members[i].transfer] = {static_cast<std::uint32_t>(p), m, i};
}

// All buckets that end in the messages up to this one. All their arrivals are known by now.
void BucketReplay::advance(std::size_t p, std::size_t message) {
  const GradientPass& pass = traffic_.passes[p];
  std::vector<Ns>& last = last_end_[p];
  for (; done_[p] < made_[p].buckets.size(); ++done_[p]) {
    const NewBucket& bucket = made_[p].buckets[done_[p]];
    if (bucket.message > message) return;
    const auto& members = pass.messages[bucket.message].members;
    Ns begin = Ns::min();
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Ns ready = bucket.ready.empty()
                           ? end_[members[i].arrival]
                           : end_[bucket.ready[i].node] - bucket.ready[i].back +
                                 std::max(Ns{0}, in_.replay.measured.delay(members[i].arrival));
      begin = std::max({begin, ready, last[i]});
    }
    for (std::size_t i = 0; i < members.size(); ++i) last[i] = begin + bucket.time[i];
  }
}

void BucketReplay::replay() {
  const std::span<const Ns> work = in_.replay.measured.work;
  end_.assign(graph_.size(), Ns{0});
  for (std::uint32_t n = 0; n < graph_.size(); ++n) {
    Ns start{0};
    const auto preds = graph_.graph.preds_of(n);
    if (!preds.empty()) start = end_[preds.front()];
    for (const std::uint32_t p : preds) start = std::max(start, end_[p]);
    end_[n] = start + work[n];
    if (graph_.kind[n] != NodeKind::transfer) continue;
    const auto at = transfer_.find(n);
    if (at == transfer_.end()) continue;
    const auto& [pass, message, member] = at->second;
    advance(pass, message);
    const std::uint32_t arrival = traffic_.passes[pass].messages[message].members[member].arrival;
    end_[n] = std::max(end_[arrival], last_end_[pass][member]);
  }
}

BucketAnswer BucketReplay::run() {
  const auto& passes = traffic_.passes;
  made_.resize(passes.size());
  done_.assign(passes.size(), 0);
  std::set<std::string> refused;
  std::set<std::string> noted;
  std::size_t answered = 0;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    last_end_.emplace_back(passes[p].messages.front().members.size(), Ns::min());
    if (std::string why = refusal(passes[p]); !why.empty()) {
      refused.insert(std::move(why));
      continue;
    }
    ++answered;
    if (const std::string& note = time_of(times_, passes[p]).note; !note.empty())
      noted.insert(note);
    plan(p);
  }
  if (answered == 0) {
    answer_.refused =
        !refused.empty() ? *refused.begin()
        : traffic_.unjoined > 0
            ? "the traces cannot tell waiting from transferring in the collectives of "
              "gradients; give those of all ranks"
            : "no collective of gradients was recognised in a backward pass";
    answer_.step = in_.replay.step;
    return std::move(answer_);
  }
  answer_.notes.assign(noted.begin(), noted.end());
  for (const std::string& why : refused) answer_.notes.push_back("unchanged: " + why);
  if (traffic_.unjoined > 0)
    answer_.notes.push_back(std::to_string(traffic_.unjoined) +
                            " messages that were not joined with their peers' stay as they are");
  if (divided_)
    answer_.notes.emplace_back(
        "gradients inside a recorded bucket are taken to come evenly over the compute before it");
  replay();
  answer_.nodes = transfer_.size();
  answer_.step = step_time(graph_, in_.replay.measured.duration, end_);
  return std::move(answer_);
}

// 1, 2.5, 5, 10, 25, ... of any power of ten.
std::vector<Bytes> round_sizes(double from, double to) {
  std::vector<Bytes> sizes;
  const auto last = static_cast<std::int64_t>(std::min(to, 1e17));
  for (std::int64_t power = 100; power <= last; power *= 10)
    for (const std::int64_t tenths : {10, 25, 50}) {
      const std::int64_t size = power / 10 * tenths;
      if (static_cast<double>(size) >= from && static_cast<double>(size) <= to)
        sizes.push_back({size});
    }
  return sizes;
}

// At least half of the bytes of all passes are in messages of this size or more.
std::int64_t usual_size(const GradientTraffic& traffic, CollectiveKind& kind) {
  std::vector<std::pair<std::int64_t, CollectiveKind>> sizes;
  double all = 0;
  for (const GradientPass& pass : traffic.passes)
    for (const GradientMessage& m : pass.messages) {
      sizes.emplace_back(m.bytes.value, pass.kind);
      all += static_cast<double>(m.bytes.value);
    }
  std::ranges::sort(sizes, std::greater<>{});
  double seen = 0;
  for (const auto& [bytes, of] : sizes) {
    kind = of;
    seen += static_cast<double>(bytes);
    if (2 * seen >= all) return bytes;
  }
  return 0;
}

}  // namespace

BucketAnswer change_buckets(const WhatIfInputs& inputs, const GradientBuckets& buckets,
                            Bytes size) {
  std::vector<MessageTime> longest = buckets.times;
  std::vector<MessageTime> shortest = buckets.times;
  bool bounds = false;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    if (!longest[i].one_size) continue;
    bounds = true;
    longest[i] = bound_through(longest[i], true);
    shortest[i] = bound_through(shortest[i], false);
  }
  BucketAnswer answer = BucketReplay(inputs, buckets.traffic, longest, size).run();
  if (bounds && answer.refused.empty())
    answer.shortest = BucketReplay(inputs, buckets.traffic, shortest, size).run().step;
  return answer;
}

std::optional<BucketSearch> search_buckets(const WhatIfInputs& inputs,
                                           const GradientBuckets& buckets, unsigned threads,
                                           const StopFlag* stop) {
  BucketSearch search;
  search.usual = {usual_size(buckets.traffic, search.kind)};
  const auto usual = static_cast<double>(search.usual.value);
  double largest = 0;
  for (const GradientPass& pass : buckets.traffic.passes)
    largest = std::max(largest, static_cast<double>(pass.bytes().value));
  if (usual <= 0) return std::nullopt;
  std::vector<Bytes> sizes = round_sizes(0, usual / 1.5);
  if (sizes.size() > most_each_way)
    sizes.erase(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(most_each_way));
  std::size_t above = 0;
  for (const Bytes size : round_sizes(usual * 1.5, 10 * largest)) {
    if (above++ == most_each_way) break;
    sizes.push_back(size);
    if (static_cast<double>(size.value) >= largest) break;  // one message for all
  }
  std::vector<BucketAnswer> answers(sizes.size());
  parallel_for(sizes.size(), threads, [&](std::size_t i) {
    if (stop != nullptr && stop->requested()) return;
    answers[i] = BucketReplay(inputs, buckets.traffic, buckets.times, sizes[i]).run();
  });
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const BucketAnswer& a = answers[i];
    if (!a.refused.empty() || a.nodes == 0) continue;
    const Ns saved = inputs.replay.step - a.step;
    if (saved <= Ns{0} || saved <= search.best.saved) continue;
    search.best = {.scenario = {.change = Change::bucket, .size = sizes[i]},
                   .step = a.step,
                   .saved = saved,
                   .removed = {},
                   .added = {},
                   .nodes = a.nodes,
                   .refused = {},
                   .notes = a.notes};
    search.before = a.before;
    search.after = a.after;
  }
  return search.best.nodes > 0 ? std::optional(std::move(search)) : std::nullopt;
}

}  // namespace stepscope
