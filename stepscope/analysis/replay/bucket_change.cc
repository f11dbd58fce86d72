// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/replay/bucket_change.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stepscope/base/byte_size.h"
#include "stepscope/base/crew.h"
#include "stepscope/say/say.h"
#include "stepscope/stats/summary.h"

namespace stepscope {
namespace {

constexpr std::size_t most_each_way = 3;  // sizes that the search tries below and above

}  // namespace

GradientBuckets find_gradient_buckets(const WhatIfInputs& in) {
  GradientBuckets buckets{.traffic = find_gradient_traffic(in), .times = {}};
  std::set<MessageCarrier> carriers;
  for (const GradientPass& pass : buckets.traffic.passes) carriers.emplace(pass.kind, pass.group);
  buckets.times = message_times(in, carriers);
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
  [[nodiscard]] Message refusal(const GradientPass& pass) const;
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

Message BucketReplay::refusal(const GradientPass& pass) const {
  const MessageTime& time = time_of(times_, pass);
  const std::string_view which = collective_name(pass.kind);
  if (!time.fit) return msg::note_on(which, time.refused);
  std::uint32_t arrived = 0;
  for (const GradientMessage& m : pass.messages) {
    for (const GradientMember& member : m.members) arrived = std::max(arrived, member.arrival);
    for (const GradientMember& member : m.members)
      if (member.transfer < arrived) return msg::note_on(which, msg::order_disputed());
  }
  const double largest = std::min(size_, static_cast<double>(pass.bytes().value));
  if (time.at(largest)) return {};
  return msg::size_beyond_measured(
      which, about_bytes(largest), static_cast<int>(most_extrapolation),
      about_bytes(time.fit->smallest()), about_bytes(time.fit->largest()));
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
  std::map<std::string, Message> refused;  // by their texts
  std::map<std::string, Message> noted;
  std::size_t answered = 0;
  for (std::size_t p = 0; p < passes.size(); ++p) {
    last_end_.emplace_back(passes[p].messages.front().members.size(), Ns::min());
    if (Message why = refusal(passes[p]); !why.empty()) {
      refused.emplace(say(why), why);
      continue;
    }
    ++answered;
    if (const Message& note = time_of(times_, passes[p]).note; !note.empty())
      noted.emplace(say(note), note);
    plan(p);
  }
  if (answered == 0) {
    answer_.refused = !refused.empty()        ? refused.begin()->second
                      : traffic_.unjoined > 0 ? msg::gradients_not_split()
                                              : msg::gradients_not_seen();
    answer_.step = in_.replay.step;
    return std::move(answer_);
  }
  for (const auto& [text, note] : noted) answer_.notes.push_back(note);
  for (const auto& [text, why] : refused) answer_.notes.push_back(msg::pass_unchanged(why));
  if (traffic_.unjoined > 0) answer_.notes.push_back(msg::messages_stay(traffic_.unjoined));
  if (divided_) answer_.notes.push_back(msg::gradients_even());
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
