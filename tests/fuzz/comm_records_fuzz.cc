// SPDX-License-Identifier: Apache-2.0
// Any bytes as a log of NCCL, and as flight recorder dumps of two ranks (pickle or JSON). The hang
// analysis runs on the result, and its findings name existing ranks and groups.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/analysis/hang/incident_account.h"
#include "stepscope/analysis/memory/oom_account.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/bytes/plain_json.h"
#include "stepscope/read/nccl/flight_recorder.h"
#include "stepscope/read/nccl/nccl_log.h"
#include "stepscope/read/nccl/ras_text.h"

namespace stepscope {
namespace {

void expect(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void check_result(CommRecords& records) {
  settle_groups(records);
  const HangAccount result = find_hang(records);
  for (const HangFinding& f : result.findings) {
    expect(f.group < records.groups.size(), "a finding has a group");
    for (const auto* ranks : {&f.ranks, &f.others})
      for (const std::uint32_t rank : *ranks)
        expect(rank < records.ranks.size(), "a finding names ranks");
    if (f.follows) expect(*f.follows < result.findings.size(), "a consequence has a cause");
    expect(!name_of(f.kind).empty(), "a kind has a name");
  }
  std::uint64_t calls = 0;
  for (const HangGroup& g : result.groups) calls += g.calls + g.pairs;
  expect(calls == result.calls, "calls are those of the groups");
  const IncidentAccount incident = account_incident(records);
  for (const IncidentRow& row : incident.rows)
    expect(row.event < records.incident.events.size(), "a row has an event");
  if (incident.cause) expect(*incident.cause < incident.rows.size(), "a cause is a row");
  for (const OomMessage& message : records.incident.ooms) {
    const OomAccount account = account_oom(message);
    expect(account.missing.value >= 0, "nothing is missing less than not at all");
  }
}

void try_dump(const PlainTree& tree) {
  CommRecords records;
  CommInput input;
  (void)world_size_of(tree);
  for (const int rank : {0, 3})
    if (!add_flight_dump(tree, rank, input, records)) return;
  check_result(records);
}

}  // namespace
}  // namespace stepscope

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stepscope;
  const std::string text(reinterpret_cast<const char*>(data), size);
  CommRecords records;
  CommInput input;
  CommLogs logs(records);
  TextSource source(text);
  const bool log = logs.add(source, input).has_value();
  (void)add_ras_text(text, records);
  records.inputs.push_back(input);
  logs.settle();
  if (log) check_result(records);
  if (const auto tree = parse_pickle(text, "input")) try_dump(*tree);
  if (const auto tree = parse_plain_json(text, "input")) try_dump(*tree);
  return 0;
}
