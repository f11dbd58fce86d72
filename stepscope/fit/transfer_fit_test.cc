// SPDX-License-Identifier: Apache-2.0
#include "stepscope/fit/transfer_fit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stepscope/cost/machine/machine.h"
#include "stepscope/cost/machine/machine_text.h"

namespace stepscope {
namespace {

Transfer call(CollectiveKind kind, int n, HostPlacement placement, std::int64_t bytes,
              double start_us, double gb) {
  const double ns = start_us * 1e3 + static_cast<double>(bytes) / gb;
  return {kind, n, placement, Bytes{bytes}, Ns{std::llround(ns)}};
}

std::vector<Transfer> two_curves() {
  std::vector<Transfer> calls;
  for (std::int64_t bytes = 1 << 14; bytes <= 1 << 26; bytes *= 2)
    for (int c = 0; c < 3; ++c) {
      calls.push_back(call(CollectiveKind::all_reduce, 8, HostPlacement::one_host, bytes, 20, 100));
      calls.push_back(
          call(CollectiveKind::all_reduce, 8, HostPlacement::several_hosts, bytes, 50, 10));
    }
  calls.push_back(call(CollectiveKind::all_gather, 8, HostPlacement::one_host, 1 << 20, 20, 100));
  return calls;
}

TEST(TransferFit, OneForEachKindGroupSizeAndPlacement) {
  const auto fits = fit_transfers(two_curves());
  ASSERT_EQ(fits.size(), 3U);
  EXPECT_EQ(fits[0].placement, HostPlacement::one_host);
  EXPECT_NEAR(fits[0].answer.fit.value().pieces.front().start, 20e-6, 2e-8);
  EXPECT_EQ(fits[1].placement, HostPlacement::several_hosts);
  EXPECT_NEAR(fits[1].answer.fit.value().pieces.front().start, 50e-6, 5e-8);
  EXPECT_NEAR(1 / fits[1].answer.fit->pieces.front().slope, 10e9, 1e7);
  EXPECT_EQ(fits[2].kind, CollectiveKind::all_gather);
  EXPECT_EQ(refusal_text(fits[2].answer), "one call tells no line");
  EXPECT_FALSE(predicted_time(fits[2], Bytes{1 << 20}));
}

TEST(TransferFit, PredictsWithinFourTimesTheRangeOnly) {
  const TransferFit fit = fit_transfers(two_curves()).front();
  EXPECT_NEAR(predicted_time(fit, Bytes{100'000'000}).value().count(), 1020e-6, 2e-6);
  EXPECT_FALSE(predicted_time(fit, Bytes{std::int64_t{1} << 29}));
  EXPECT_FALSE(predicted_time(fit, Bytes{1000}));
}

// The timing model's values of one machine serve as measurements; the base machine has other
// values.
TEST(TransferFit, WritesAMachineThatExplainsTheTransfers) {
  const Machine base = *find_machine("NVIDIA H100 80GB HBM3");
  Machine slow = base;
  slow.scale_up->timing.emplace();
  const Network truth = *make_network(slow);
  Network scaled = truth;
  scaled.up_timing[static_cast<std::size_t>(LinkParameter::start_us)] *= 3;
  Collectives job;
  job.matches.groups.push_back({.name = "0", .ranks = {0, 1, 2, 3, 4, 5, 6, 7}, .size = 8});
  const GroupPlacement group = place(8, 1, truth).value();
  for (std::int64_t bytes = 1 << 12; bytes <= 1 << 28; bytes *= 4)
    for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather}) {
      CollectiveRow row;
      row.kind = kind;
      row.group = "0";
      row.group_size = 8;
      row.groups = {0};
      row.count = row.matched = row.split = 5;
      row.bytes = Bytes{bytes};
      row.algbw = Bytes{bytes} / collective_time(scaled, kind, Bytes{bytes}, group);
      row.transfer = Ns{1};
      job.rows.push_back(row);
    }
  const auto fitted = fitted_machine(base, job, 8, "a test");
  ASSERT_TRUE(fitted) << fitted.error().message();
  EXPECT_EQ(fitted->timings, 18U);
  EXPECT_LT(fitted->mean_error, 0.03);
  const auto read = parse_machine(machine_text(fitted->machine), "machine.json");
  ASSERT_TRUE(read) << read.error().message();
  const Network network = *make_network(*read);
  const auto time = collective_time(network, CollectiveKind::all_reduce, Bytes{1 << 12}, group);
  const auto wanted = collective_time(scaled, CollectiveKind::all_reduce, Bytes{1 << 12}, group);
  EXPECT_NEAR(time / wanted, 1, 0.1);
  EXPECT_EQ(read->sources.back(), "a test");
}

// Eight devices whose peer-to-peer transfers are off: 20 µs + bytes / 10 GB/s, far below NVLink.
TEST(TransferFit, LinksMuchSlowerThanRatedGiveTheirRateToWhatWasNotMeasured) {
  const Machine base = *find_machine("NVIDIA A100-SXM4-80GB");
  const GroupPlacement eight = place(8, 1, *make_network(base)).value();
  std::vector<CollectiveTiming> timings;
  for (std::int64_t bytes = 1 << 10; bytes <= 1 << 30; bytes *= 2)
    timings.push_back({.kind = CollectiveKind::all_reduce,
                       .group = eight,
                       .bytes = Bytes{bytes},
                       .time = Seconds{20e-6 + static_cast<double>(bytes) / 10e9}});
  const auto fitted = fitted_machine(base, timings, "a test");
  ASSERT_TRUE(fitted) << fitted.error().message();
  EXPECT_LT(fitted->mean_error, 0.05);
  const Network network = *make_network(fitted->machine);
  const Bytes large{1 << 30};
  const GroupPlacement now = place(8, 1, network).value();
  const double reduced = collective_time(network, CollectiveKind::all_reduce, large, now).count();
  const double gathered = collective_time(network, CollectiveKind::all_gather, large, now).count();
  EXPECT_NEAR(gathered / reduced, 0.5, 0.1) << "an all-gather moves half the bytes";
  const GroupPlacement four = place(4, 1, network).value();
  EXPECT_NEAR(collective_time(network, CollectiveKind::all_reduce, large, four).count() / reduced,
              (2 * 3 / 4.0) / (2 * 7 / 8.0), 0.15);
}

TEST(TransferFit, SaysWhyThereIsNoMachine) {
  const Machine base = *find_machine("NVIDIA H100 80GB HBM3");
  const auto none = fitted_machine(base, {}, 8, "a test");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().what.find("no collective"), std::string::npos);
  EXPECT_FALSE(fitted_machine(Machine{}, {}, 8, "a test"));
}

}  // namespace
}  // namespace stepscope
