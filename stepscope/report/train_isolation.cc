// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/train_isolation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include "stepscope/report/terminal/text_table.h"
#include "stepscope/words/format.h"
#include "stepscope/words/phrases.h"

namespace stepscope {
namespace {

using Rank = TrainIsolation::Rank;

std::string share_text_of(Ns part, Ns whole) {
  return whole.count() > 0
             ? fmt::format("{:.1f} %", 100 * nanoseconds_of(part) / nanoseconds_of(whole))
             : std::string("-");
}

// Negative ones too.
std::string time_text(Ns t) {
  return t.count() < 0 ? fmt::format("-{}", format_time(Ns{-t.count()})) : format_time(t);
}

std::string sentence(const TrainIsolation& isolation, const Rank& mean) {
  const Ns slowest = std::ranges::max(isolation.ranks, {}, &Rank::compute).compute;
  const bool hides = mean.hidden().count() >= 0;
  std::string out = hides ? fmt::format("Overlap hides {} of the communication",
                                        share_text_of(mean.hidden(), mean.communication))
                          : fmt::format(
                                "Overlap hides nothing: ranks stand still {} longer than the "
                                "communication takes alone",
                                format_time(Ns{-mean.hidden().count()}));
  const Ns contention = mean.contention();
  out += fmt::format("; beside it, computation takes {} {} than alone",
                     share_text_of(std::chrono::abs(contention), mean.compute),
                     contention.count() < 0 ? "less" : "longer");
  return out + fmt::format(". The slowest rank computes {} alone.", format_time(slowest));
}

Json range_json(Ns mean, const TrainIsolation::Range& range) {
  return {
      {"mean_ns", mean.count()}, {"min_ns", range.least.count()}, {"max_ns", range.most.count()}};
}

}  // namespace

Rank TrainIsolation::mean() const {
  Rank sum;
  for (const Rank& r : ranks) {
    sum.both += r.both;
    sum.exposed += r.exposed;
    sum.compute += r.compute;
    sum.communication += r.communication;
  }
  const auto n = std::max<Ns::rep>(1, std::ssize(ranks));
  return {sum.both / n, sum.exposed / n, sum.compute / n, sum.communication / n};
}

std::string isolation_text(const TrainIsolation& isolation, std::size_t width) {
  const Rank mean = isolation.mean();
  std::vector<std::vector<std::string>> rows;
  const auto measured = [&](std::string_view name, Ns t, const TrainIsolation::Range& range) {
    rows.push_back({std::string(name), time_text(t),
                    fmt::format("{} … {}", time_text(range.least), time_text(range.most)),
                    share_text_of(t, mean.both)});
  };
  measured("compute alone", mean.compute, isolation.compute);
  measured("communication alone", mean.communication, isolation.communication);
  measured("both together", mean.both, isolation.both);
  measured("exposed communication", mean.exposed, isolation.exposed);
  rows.push_back(
      {"hidden by overlap", time_text(mean.hidden()), "", share_text_of(mean.hidden(), mean.both)});
  rows.push_back({"cost of contention", time_text(mean.contention()), "",
                  share_text_of(mean.contention(), mean.both)});
  std::string out = fmt::format("Isolated, {} each way (mean over ranks, shortest and longest):\n",
                                counted(static_cast<std::uint64_t>(isolation.steps), "step"));
  out += text_table({{"", false}, {"mean"}, {"range"}, {"of a step"}}, std::move(rows), width);
  return out + wrapped(sentence(isolation, mean), width);
}

Json isolation_tree(const TrainIsolation& isolation) {
  const Rank mean = isolation.mean();
  Json ranks = Json::array();
  for (std::size_t r = 0; r < isolation.ranks.size(); ++r) {
    const Rank& rank = isolation.ranks[r];
    ranks.push_back({{"rank", r},
                     {"both_ns", rank.both.count()},
                     {"exposed_ns", rank.exposed.count()},
                     {"compute_ns", rank.compute.count()},
                     {"communication_ns", rank.communication.count()},
                     {"hidden_ns", rank.hidden().count()},
                     {"contention_ns", rank.contention().count()}});
  }
  return {{"steps", isolation.steps},
          {"both", range_json(mean.both, isolation.both)},
          {"exposed", range_json(mean.exposed, isolation.exposed)},
          {"compute", range_json(mean.compute, isolation.compute)},
          {"communication", range_json(mean.communication, isolation.communication)},
          {"hidden_ns", mean.hidden().count()},
          {"contention_ns", mean.contention().count()},
          {"ranks", std::move(ranks)}};
}

}  // namespace stepscope
