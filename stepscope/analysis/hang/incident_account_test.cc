// SPDX-License-Identifier: Apache-2.0
#include "stepscope/analysis/hang/incident_account.h"

#include <gtest/gtest.h>

#include <utility>

namespace stepscope {
namespace {

IncidentEvent event(IncidentKind kind, int rank, std::optional<int> second) {
  IncidentEvent e{.kind = kind, .rank = rank};
  if (second) e.time = WrittenTime{.time = std::chrono::seconds(*second)};
  return e;
}

TEST(Incident, FindsTheFirstEventThatNothingElseExplains) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {event(IncidentKind::timeout, 0, 30), event(IncidentKind::exception, 1, 20),
            event(IncidentKind::device_memory, 2, 25), event(IncidentKind::timeout, 3, 31)};
  events[1].follows = true;
  const IncidentAccount account = account_incident(records);
  ASSERT_EQ(account.rows.size(), 3U);
  EXPECT_EQ(account.rows[0].event, 1U);
  EXPECT_EQ(account.rows[2].ranks, (std::vector<int>{0, 3}));
  ASSERT_TRUE(account.cause);
  EXPECT_EQ(*account.cause, 1U);
  EXPECT_TRUE(account.cause_is_first);
  EXPECT_EQ(first_error_of(records.incident, 2)->kind, IncidentKind::device_memory);
  EXPECT_EQ(first_error_of(records.incident, 0), nullptr);
}

TEST(Incident, KeepsEndsApartThatDoNotComeTogether) {
  CommRecords records;
  records.incident.events = {event(IncidentKind::exit, 3, 61), event(IncidentKind::exit, 4, 10),
                             event(IncidentKind::exit, 5, 12), event(IncidentKind::timeout, 6, 5),
                             event(IncidentKind::timeout, 7, 90)};
  const IncidentAccount account = account_incident(records);
  ASSERT_EQ(account.rows.size(), 3U);
  EXPECT_EQ(account.rows[0].ranks, (std::vector<int>{6, 7}));
  EXPECT_EQ(account.rows[1].ranks, (std::vector<int>{4, 5}));
  EXPECT_EQ(account.rows[2].ranks, (std::vector<int>{3}));
}

TEST(Incident, DoesNotBlameWhatComesAfterTheTimeout) {
  CommRecords records;
  records.incident.events = {event(IncidentKind::timeout, 0, 30),
                             event(IncidentKind::cancelled, 1, 40)};
  EXPECT_FALSE(account_incident(records).cause);
  records.incident.events[1].time->time = std::chrono::seconds(20);
  EXPECT_TRUE(account_incident(records).cause);
}

TEST(Incident, DoesNotOrderWhatHasNoTime) {
  CommRecords records;
  records.incident.events = {event(IncidentKind::exception, 1, std::nullopt),
                             event(IncidentKind::device_memory, 2, 25)};
  records.incident.events[0].input = 1;
  EXPECT_FALSE(account_incident(records).cause_is_first);
  records.incident.events.pop_back();
  EXPECT_TRUE(account_incident(records).cause_is_first);
}

TEST(Incident, OrdersWhatHasNoTimeByTheLinesOfItsFile) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {event(IncidentKind::exception, 1, std::nullopt), event(IncidentKind::exit, 1, 25)};
  events[1].code = 1;
  const IncidentAccount account = account_incident(records);
  EXPECT_EQ(account.rows[0].event, 0U);
  EXPECT_EQ(account.cause, 0U);
  EXPECT_TRUE(account.cause_is_first);
  EXPECT_EQ(first_error_of(records.incident, 1)->kind, IncidentKind::exception);
  std::swap(events[0], events[1]);
  EXPECT_EQ(account_incident(records).cause, 0U) << "an exit before the error has its own reason";
}

TEST(Incident, GivesAnEndThatHasAReasonToAnErrorThatMayHaveComeBefore) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {event(IncidentKind::signal, 1, std::nullopt),
            event(IncidentKind::device_error, 0, std::nullopt)};
  events[0].code = 6;
  IncidentAccount account = account_incident(records);
  EXPECT_EQ(account.rows[*account.cause].event, 1U) << "SIGABRT follows from an error of its file";
  EXPECT_TRUE(account.cause_is_first);
  events[0].code = 11;
  account = account_incident(records);
  EXPECT_EQ(account.rows[*account.cause].event, 0U);
  events[0] = event(IncidentKind::exit, 1, 25);
  events[0].code = 1;
  events[1].input = 1;
  account = account_incident(records);
  EXPECT_EQ(account.rows[*account.cause].event, 1U);
  EXPECT_FALSE(account.cause_is_first);
}

TEST(Incident, ARankThatOthersWaitForHasNoLine) {
  CommRecords records;
  records.incident.last_lines[2] = {};
  records.incident.events = {event(IncidentKind::absent, 1, std::nullopt)};
  const IncidentAccount account = account_incident(records);
  EXPECT_FALSE(account.cause);
  EXPECT_EQ(account.silent, (std::vector<int>{0, 1}));
}

TEST(Incident, NamesRanksWithoutAnyLine) {
  CommRecords records;
  records.incident.last_lines[0] = {};
  records.incident.last_lines[3] = {};
  EXPECT_EQ(account_incident(records).silent, (std::vector<int>{1, 2}));
  EXPECT_EQ(account_incident(records).world, std::nullopt);
  records.incident.world_sizes[6] = "a";
  EXPECT_EQ(account_incident(records).silent, (std::vector<int>{1, 2, 4, 5}));
  EXPECT_EQ(account_incident(records, {4}).silent, (std::vector<int>{1, 2, 5}))
      << "a dump of its threads is of rank 4";
  EXPECT_EQ(account_incident(records).world, 6);
  records.incident.world_sizes[8] = "b";  // files disagree
  EXPECT_EQ(account_incident(records).world, std::nullopt);
}

TEST(Incident, AKillForWantOfMemoryIsOneEvent) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {event(IncidentKind::signal, 2, 10), {.kind = IncidentKind::host_memory, .pid = 77}};
  events[0].code = 9;
  events[0].pid = 77;
  events[1].input = 1;
  events[1].time = WrittenTime{.time = std::chrono::seconds(11)};
  IncidentAccount account = account_incident(records);
  ASSERT_TRUE(account.cause);
  EXPECT_EQ(account.rows[*account.cause].event, 1U);
  events[1].pid = 78;
  account = account_incident(records);
  EXPECT_EQ(account.rows[*account.cause].event, 0U);
}

TEST(Incident, AWarningOfNcclLeadsOverAnExceptionThatNamesNoReason) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {
      {.kind = IncidentKind::exception, .text = "NCCL error in: a.cpp, unhandled system error"},
      {.kind = IncidentKind::network, .text = "Connect to 10.0.0.9<5> failed", .line = 9}};
  EXPECT_EQ(account_incident(records).cause, 1U);
  events[0].text += "; Last error: x";
  EXPECT_EQ(account_incident(records).cause, 0U);
}

TEST(Incident, ATaskThatALauncherStoppedMakesNoRanksOfTheJob) {
  CommRecords records;
  auto& events = records.incident.events;
  events = {event(IncidentKind::signal, 4, 10)};
  events[0].code = 15;
  events[0].follows = true;
  EXPECT_TRUE(account_incident(records).silent.empty());
  events.push_back(event(IncidentKind::exit, 2, 9));
  EXPECT_EQ(account_incident(records).silent, (std::vector<int>{0, 1}));
}

}  // namespace
}  // namespace stepscope
