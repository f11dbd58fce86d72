// SPDX-License-Identifier: Apache-2.0
// Makespans as longest paths through the schedule's graph. In 1F1B each path from the first forward
// to the last backward goes down some stages, loops, and comes up again. A loop over L stages
// (forward down, backward up) advances by L micro-batches. Maxima over stages find the loops that
// can be longest, so nothing is simulated.
#include "stepscope/cost/step/pipeline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "stepscope/base/result.h"

namespace stepscope {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

// p devices, v chunks per device, m micro-batches, c the send in seconds.
struct Shape {
  std::span<const StageTime> stages;
  std::size_t p = 1;
  std::size_t v = 1;
  double m = 1;
  double c = 0;

  [[nodiscard]] double f(std::size_t s) const { return stages[s].forward.count(); }
  [[nodiscard]] double b(std::size_t s) const { return stages[s].backward.count(); }
  [[nodiscard]] double w(std::size_t s) const { return stages[s].weight.count(); }
  [[nodiscard]] double both(std::size_t s) const { return f(s) + b(s); }
};

bool even(const Shape& x) {
  const StageTime& first = x.stages.front();
  return std::ranges::all_of(x.stages, [&first](const StageTime& t) {
    return t.forward == first.forward && t.backward == first.backward && t.weight == first.weight;
  });
}

double gpipe(const Shape& x) {
  double sum = 0;
  double slowest_forward = 0;
  double slowest_backward = 0;
  for (std::size_t s = 0; s < x.p; ++s) {
    sum += x.both(s);
    slowest_forward = std::max(slowest_forward, x.f(s));
    slowest_backward = std::max(slowest_backward, x.b(s));
  }
  const double ends = 2 * static_cast<double>(x.p - 1) * x.c;
  return sum + ends + (x.m - 1) * (slowest_forward + slowest_backward);
}

// Time of `turns` micro-batches in loops over all p stages, each with all its sends but the last,
// and one shorter loop for the rest. `total`: forward and backward of all stages.
double long_loops(const Shape& x, double turns, double total, double slowest) {
  if (turns <= 0) return 0;
  const auto p = static_cast<double>(x.p);
  const double whole = std::floor(turns / p);
  const double rest = turns - whole * p;
  const double loops = whole * (total + 2 * (p - 1) * x.c);
  if (rest == 0) return loops;
  double window = 0;
  double best = 0;
  const auto length = static_cast<std::size_t>(rest);
  for (std::size_t s = 0; s < x.p; ++s) {
    window += x.both(s);
    if (s >= length) window -= x.both(s - length);
    if (s + 1 >= length) best = std::max(best, window);
  }
  best += 2 * (rest - 1) * x.c;
  return loops + (whole > 0 ? std::max(best, rest * slowest) : best);
}

// For stage j: sums and maxima of the stages up to it. `down` is the end of its warm-up forwards,
// seen from the front; `up` is the same for the backwards, seen from the end.
struct Reach {  // without initial values, so a buffer is free
  double forwards;
  double backwards;
  double slowest_forward;
  double slowest_backward;
  double down;
  double up;
};

// A few stages need no allocation.
template <class Makespan>
double with_reach(const Shape& x, Makespan makespan) {
  std::array<Reach, 64> few;
  if (x.p <= few.size()) return makespan(x, std::span(few).first(x.p));
  std::vector<Reach> many(x.p);
  return makespan(x, std::span(many));
}

double reach_all(const Shape& x, std::span<Reach> reach) {
  Reach sum{};
  double slowest = 0;
  for (std::size_t j = 0; j < x.p; ++j) {
    sum.forwards += x.f(j);
    sum.backwards += x.b(j);
    sum.slowest_forward = std::max(sum.slowest_forward, x.f(j));
    sum.slowest_backward = std::max(sum.slowest_backward, x.b(j));
    const double waits = std::min(static_cast<double>(x.p - 1 - j), x.m - 1);
    const double sends = static_cast<double>(j) * x.c;
    sum.down = sum.forwards + waits * sum.slowest_forward + sends;
    sum.up = sum.backwards + waits * sum.slowest_backward + sends;
    reach[j] = sum;
    slowest = std::max(slowest, x.both(j));
  }
  return slowest;
}

double one_f_one_b_over(const Shape& x, std::span<Reach> reach) {
  const double slowest = reach_all(x, reach);
  double longest = 0;
  double front = never;  // until the end of stage j's first backward, by way of later stages
  double back = never;   // mirror image: from the last forward of stage j to the end
  for (std::size_t j = x.p; j-- > 0;) {
    const Reach& r = reach[j];
    const double turns = x.m - static_cast<double>(x.p - j);  // of stage j between F and B
    front = std::max(turns >= 0 ? r.down + x.b(j) : never, front + x.c + x.b(j));
    back = std::max(turns >= 0 ? r.up + x.f(j) : never, back + x.c + x.f(j));
    if (turns >= 0) longest = std::max(longest, r.down + r.up + turns * x.both(j));
    if (turns >= 1) longest = std::max(longest, front + back + (turns - 1) * x.both(j));
    if (turns <= 0) {  // this stage runs all its forwards, then all its backwards
      const double sends = static_cast<double>(j) * x.c;
      const double ups = r.backwards - x.b(j) + (x.m - 1) * r.slowest_backward + sends;
      const double downs = r.forwards - x.f(j) + (x.m - 1) * r.slowest_forward + sends;
      longest = std::max({longest, front + ups, back + downs});
    }
  }
  const double turns = x.m - static_cast<double>(x.p);
  if (x.c > 0 && turns >= 1) {
    const double total = reach[x.p - 1].forwards + reach[x.p - 1].backwards;
    longest = std::max(longest, front + back + long_loops(x, turns - 1, total, slowest));
  }
  return longest;
}

double one_f_one_b(const Shape& x) {
  if (even(x)) {
    const auto p = static_cast<double>(x.p);
    const double sends = p - 1 + (x.m - 1) - std::ceil((x.m - 1) / p);
    return (x.m + p - 1) * x.both(0) + 2 * x.c * sends;
  }
  return with_reach(x, one_f_one_b_over);
}

// Interleaved: devices take turns of p micro-batches with each chunk. For one direction and one
// device: `own` is the sum over its chunks of its own time, `paced` that of the slowest device's
// time. The others wait for the slowest device in the first round. `last` is of the last chunk.
struct Rounds {
  double own = 0;
  double own_last = 0;
  double paced_others = 0;
  double paced_last = 0;
  double own_first = 0;
};

// Passes of a device before its first backward: all of the chunks before the last one, and `n`
// minus those of the last one (and of the first one again, past p).
double passes(double n, double p, double v, double others, double last, double first) {
  const double of_last = n - (v - 1) * p;
  return p * others + std::min(of_last, p) * last + std::max(of_last - p, 0.0) * first;
}

// Sum of the slowest device's time over all chunks but the last.
template <class TimeOf>
double paced_others(const Shape& x, TimeOf time) {
  double sum = 0;
  for (std::size_t q = 0; q + 1 < x.v; ++q) {
    double slowest = 0;
    for (std::size_t s = q * x.p; s < (q + 1) * x.p; ++s) slowest = std::max(slowest, time(s));
    sum += slowest;
  }
  return sum;
}

template <class TimeOf>
Rounds rounds(const Shape& x, std::size_t device, double others, double last, TimeOf time) {
  Rounds r{.paced_others = others, .paced_last = last};
  for (std::size_t s = device; s < x.stages.size(); s += x.p) r.own += time(s);
  r.own_first = time(device);
  r.own_last = time((x.v - 1) * x.p + device);
  return r;
}

// `forwards`, `backwards`: of the first chunk. The slowest: of the last chunk.
void reach_interleaved(const Shape& x, std::span<Reach> reach) {
  Reach sum{};
  const std::size_t last = (x.v - 1) * x.p;
  for (std::size_t r = 0; r < x.p; ++r) {
    sum.slowest_forward = std::max(sum.slowest_forward, x.f(last + r));
    sum.slowest_backward = std::max(sum.slowest_backward, x.b(last + r));
    reach[r] = sum;
    sum.forwards += x.f(r);
    sum.backwards += x.b(r);
  }
}

// The first backward of a device waits for the forwards before it and for the devices after it. The
// end is the mirror image. In between the device does the rest of its own passes.
double interleaved_over(const Shape& x, std::span<Reach> reach) {
  reach_interleaved(x, reach);
  const auto forward = [&x](std::size_t s) { return x.f(s); };
  const auto backward = [&x](std::size_t s) { return x.b(s); };
  const double others_f = paced_others(x, forward);
  const double others_b = paced_others(x, backward);
  const auto p = static_cast<double>(x.p);
  const auto v = static_cast<double>(x.v);
  double longest = 0;
  double front = never;
  double back = never;
  for (std::size_t r = x.p; r-- > 0;) {
    const Rounds f = rounds(x, r, others_f, reach[r].slowest_forward, forward);
    const Rounds b = rounds(x, r, others_b, reach[r].slowest_backward, backward);
    const double warm_up = (v - 1) * p + 2 * (p - 1 - static_cast<double>(r));
    const bool all = warm_up >= x.m * v;  // every forward comes before the first backward
    const double n = all ? x.m * v : warm_up + 1;
    const auto paced = [&](const Rounds& k) {
      return passes(n, p, v, k.paced_others, k.paced_last, k.own_first);
    };
    const auto own = [&](const Rounds& k) {
      return passes(n, p, v, k.own - k.own_last, k.own_last, k.own_first);
    };
    const double down = reach[r].forwards + paced(f);
    const double up = reach[r].backwards + paced(b);
    front = std::max(down, front) + b.own_last;
    back = std::max(up, back) + f.own_last;
    const double between = all ? 0 : x.m * (f.own + b.own) - own(f) - own(b);
    longest = std::max(longest, down + up + between);
    const double turned = all ? std::max(front - b.own_last + up, back - f.own_last + down)
                              : front + back + between - f.own_last - b.own_last;
    longest = std::max(longest, turned);
  }
  return longest + 2 * (p * v - 1) * x.c;
}

double interleaved(const Shape& x) {
  if (x.v == 1) return one_f_one_b(x);
  if (even(x)) {
    const auto p = static_cast<double>(x.p);
    const auto v = static_cast<double>(x.v);
    return (x.m * v + p - 1) * x.both(0) + 2 * (p * v - 1) * x.c;
  }
  return with_reach(x, interleaved_over);
}

// Forwards and input gradients in 1F1B's order. A stage may postpone the weight gradients of `held`
// - 1 micro-batches past its last input gradient, into time in which it would idle.
double zero_bubble(const Shape& x, bool across_steps) {
  const auto p = static_cast<double>(x.p);
  const double held = across_steps ? 2 * p - 1 : p;
  const double in_time = std::max(x.m - held + 1, 1.0);
  double sum = 0;
  double before = 0;
  double longest = 0;
  for (std::size_t s = 0; s < x.p; ++s) sum += x.both(s) - x.w(s);
  for (std::size_t s = 0; s < x.p; ++s) {
    const double turn = x.both(s) - x.w(s);
    longest = std::max(longest, sum + (x.m - 1) * turn + in_time * x.w(s) + 2 * (p - 1) * x.c);
    const double begins = across_steps ? 0 : before + static_cast<double>(s) * x.c;
    longest = std::max(longest, begins + x.m * x.both(s));
    before += x.f(s);
  }
  return longest;
}

// Half of the micro-batches enter at each end. Forwards and backwards of both directions run in
// pairs, and weight gradients fill what the ramps leave. Without weights' parts it would be 1F1B of
// half the stages from both ends.
double dualpipe(const Shape& x) {
  const auto p = static_cast<double>(x.p);
  double ramp = 0;
  double slowest = 0;
  for (std::size_t s = 0; s < x.p; ++s) {
    const double alone = x.stages[s].alone_forward.count() + 2 * x.stages[s].alone_backward.count();
    ramp += x.f(s) + 2 * x.b(s) - 3 * x.w(s) + alone;
    slowest = std::max(slowest, (x.both(s) + x.both(x.p - 1 - s)) / 2);
  }
  return x.m * slowest + std::max(0.0, ramp) * (0.5 - 1 / p) + (p - 2) * x.c;
}

double makespan(Schedule schedule, const Shape& x) {
  switch (schedule) {
    case Schedule::gpipe:
      return gpipe(x);
    case Schedule::one_f_one_b:
      return one_f_one_b(x);
    case Schedule::interleaved:
      return interleaved(x);
    case Schedule::zero_bubble_h1:
      return zero_bubble(x, false);
    case Schedule::zero_bubble_h2:
      return zero_bubble(x, true);
    case Schedule::dualpipe:
      return dualpipe(x);
  }
  return 0;
}

}  // namespace

PipelineTime pipeline_time(const Pipeline& pipeline) {
  const auto v = static_cast<std::size_t>(pipeline.virtual_stages);
  check(!pipeline.stages.empty() && v > 0 && pipeline.stages.size() % v == 0 &&
            pipeline.micro_batches > 0,
        "a pipeline has stages, micro-batches, and the same number of chunks on each device");
  Shape x{.stages = pipeline.stages,
          .p = pipeline.stages.size() / v,
          .v = v,
          .m = static_cast<double>(pipeline.micro_batches)};
  PipelineTime time;
  double busy = -1;
  for (std::size_t device = 0; device < x.p; ++device) {
    double own = 0;
    each_stage_of(pipeline.schedule, x.p, device, x.stages.size(),
                  [&](std::size_t s, double share) { own += share * x.both(s); });
    if (own > busy) {
      busy = own;
      time.busiest = static_cast<std::int64_t>(device);
    }
  }
  busy *= x.m;
  const double without_sends = std::max(busy, makespan(pipeline.schedule, x));
  double step = without_sends;
  if (x.p > 1 && pipeline.send.count() > 0) {
    x.c = pipeline.send.count();
    step = std::max(step, makespan(pipeline.schedule, x));
  }
  time.step = Seconds{step};
  time.busy = Seconds{busy};
  time.bubble = Seconds{without_sends - busy};
  time.exposed_send = Seconds{step - without_sends};
  time.without_sends = Seconds{without_sends};
  return time;
}

}  // namespace stepscope
