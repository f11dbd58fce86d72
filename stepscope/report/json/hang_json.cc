// SPDX-License-Identifier: Apache-2.0
#include "stepscope/report/json/hang_json.h"

#include <algorithm>
#include <map>

#include "stepscope/analysis/hang/hang_account.h"
#include "stepscope/analysis/hang/nccl_shape.h"
#include "stepscope/pipeline/version.h"
#include "stepscope/report/sentences/hang_sentence.h"
#include "stepscope/say/say.h"

namespace stepscope {
namespace {

Json ranks_json(const HangResult& r, const std::vector<std::uint32_t>& ranks) {
  Json out = Json::array();
  for (const std::uint32_t rank : ranks)
    out.push_back(
        {{"rank", value(r.records.ranks[rank].number)}, {"label", r.records.ranks[rank].label}});
  return out;
}

Json call_json(const std::optional<HangCall>& call) {
  if (!call) return nullptr;
  return {{"name", call->name},
          {"sequence", call->sequence},
          {"sizes", text_or_null(call->sizes)},
          {"types", text_or_null(call->types)},
          {"state", name_of(call->state)},
          {"stack", call->stack}};
}

Json finding_json(const HangResult& r, const HangFinding& f) {
  return {{"kind", name_of(f.kind)},
          {"sentence", say(finding_in_words(r, f))},
          {"group", f.group},
          {"group_name", say(group_in_words(r, f.group))},
          {"sequence", f.sequence},
          {"ranks", ranks_json(r, f.ranks)},
          {"unrecorded_ranks", f.unrecorded},
          {"others", ranks_json(r, f.others)},
          {"call", call_json(f.call)},
          {"instead", call_json(f.instead)},
          {"even", f.even},
          {"next_of_others", f.next_of_others},
          {"follows", f.follows ? Json(*f.follows) : Json(nullptr)},
          {"circular", f.circular}};
}

Json groups_json(const HangResult& r) {
  Json out = Json::array();
  for (const HangGroup& g : r.account.groups) {
    const RecordedGroup& group = r.records.groups[g.group];
    out.push_back({{"group", g.group},
                   {"id", text_or_null(group.id)},
                   {"name", say(group_in_words(r, g.group))},
                   {"source", group.from_log ? "nccl_log" : "torch"},
                   {"size", g.size > 0 ? Json(g.size) : Json(nullptr)},
                   {"members", group.members},
                   {"members_recorded", group.members_recorded},
                   {"recorded", g.recorded},
                   {"calls", g.calls},
                   {"pairs", g.pairs},
                   {"all_reached", value(g.all_reached)},
                   {"furthest", value(g.furthest)},
                   {"finding", g.finding ? Json(*g.finding) : Json(nullptr)}});
  }
  return out;
}

Json inputs_json(const CommRecords& records) {
  Json out = Json::array();
  for (const CommInput& i : records.inputs)
    out.push_back({{"path", i.path},
                   {"format", i.format},
                   {"rank", value(i.rank)},
                   {"text_bytes", i.bytes},
                   {"calls", i.calls},
                   {"truncated", i.truncated},
                   {"notes", i.notes}});
  return out;
}

Json timeouts_json(const HangResult& r) {
  Json out = Json::array();
  for (const WatchdogTimeout& t : r.records.timeouts)
    out.push_back({{"rank", value(r.records.ranks[t.rank].number)},
                   {"group", t.group},
                   {"sequence", t.sequence},
                   {"operation", t.operation},
                   {"in_elements", value(t.in_elements)},
                   {"out_elements", value(t.out_elements)},
                   {"limit_ns", value(t.limit)},
                   {"ran_ns", value(t.ran)}});
  return out;
}

Json messages_json(const HangResult& r) {
  Json out = Json::array();
  for (const LogMessage& m : r.records.messages)
    out.push_back({{"rank", m.rank ? value(r.records.ranks[*m.rank].number) : Json(nullptr)},
                   {"text", m.text},
                   {"times", m.times}});
  return out;
}

// A variable's values over all processes; several where they differ.
Json environment_json(const NcclSetup& n) {
  std::map<std::string, std::vector<std::string>> all;
  for (const NcclProcess& p : n.processes)
    for (const auto& [name, text] : p.environment) {
      std::vector<std::string>& values = all[name];
      if (std::ranges::find(values, text) == values.end()) values.push_back(text);
    }
  return all;
}

Json last_calls_json(const HangResult& r) {
  Json out = Json::array();
  for (const LastCall& last : last_calls(r.records)) {
    const CommRank& rank = r.records.ranks[last.rank];
    out.push_back({{"rank", value(rank.number)},
                   {"label", rank.label},
                   {"calls", last.calls},
                   {"group", last.group},
                   {"group_name", say(group_in_words(r, last.group))},
                   {"name", r.records.strings[last.call.name]},
                   {"sequence", last.call.sequence},
                   {"sizes", text_or_null(std::string(r.records.strings[last.call.in_sizes]))},
                   {"state", name_of(last.call.state)}});
  }
  return out;
}

Json ring_orders_json(const NcclShape& shape) {
  Json out = Json::array();
  for (const NcclRing& ring : shape.rings)
    out.push_back({{"channels", ring.channels}, {"ranks", ring.order}, {"whole", ring.whole}});
  return out;
}

Json tree_shapes_json(const NcclShape& shape) {
  Json out = Json::array();
  for (const NcclTree& tree : shape.trees) {
    Json ranks = Json::array();
    for (const NcclTreeRank& r : tree.ranks)
      ranks.push_back(
          {{"rank", r.rank}, {"up", r.up >= 0 ? Json(r.up) : Json(nullptr)}, {"down", r.down}});
    out.push_back(
        {{"channels", tree.channels}, {"ranks", std::move(ranks)}, {"whole", tree.whole}});
  }
  return out;
}

Json ring_lines_json(const LoggedCommunicator& c) {
  Json out = Json::array();
  for (const auto& [channel, line] : c.rings) out.push_back(line);
  return out;
}

Json nccl_json(const NcclSetup& n) {
  if (n.processes.empty() && n.versions.empty()) return nullptr;
  Json communicators = Json::array();
  for (const LoggedCommunicator& c : n.communicators) {
    Json members = Json::array();
    for (const NcclMember& m : c.members) {
      const NcclProcess& p = n.processes[m.process];
      members.push_back({{"rank", m.rank >= 0 ? Json(m.rank) : Json(nullptr)},
                         {"host", p.host},
                         {"pid", p.pid},
                         {"device", value(p.device)},
                         {"bus", text_or_null(m.bus)},
                         {"complete", m.complete},
                         {"ended", m.ended}});
    }
    const NcclShape shape = nccl_shape(c);
    communicators.push_back(
        {{"id", text_or_null(c.id)},
         {"ranks", c.ranks},
         {"nodes", c.nodes > 0 ? Json(c.nodes) : Json(nullptr)},
         {"parent", value(c.parent)},
         {"channels", c.channels > 0 ? Json(c.channels) : Json(nullptr)},
         {"pair_channels", c.pair_channels > 0 ? Json(c.pair_channels) : Json(nullptr)},
         {"rings", ring_lines_json(c)},
         {"trees", c.trees},
         {"ring_orders", ring_orders_json(shape)},
         {"tree_shapes", tree_shapes_json(shape)},
         {"unclear_rings", shape.unclear_rings},
         {"unclear_trees", shape.unclear_trees},
         {"transports", c.transports},
         {"init_ns", c.init_seconds ? Json(*c.init_seconds * 1e9) : Json(nullptr)},
         {"members", std::move(members)}});
  }
  Json choices = Json::array();
  for (const NcclChoice& c : n.choices)
    choices.push_back({{"operation", text_or_null(c.operation)},
                       {"algorithm", c.algorithm},
                       {"protocol", text_or_null(c.protocol)},
                       {"calls", c.calls},
                       {"least_bytes", c.least_bytes},
                       {"most_bytes", c.most_bytes}});
  return {{"versions", n.versions},
          {"networks", n.networks},
          {"environment", environment_json(n)},
          {"communicators", std::move(communicators)},
          {"choices", std::move(choices)}};
}

}  // namespace

Json hang_tree(const HangResult& r) {
  Json findings = Json::array();
  for (const HangFinding& f : r.account.findings) findings.push_back(finding_json(r, f));
  return {{"schema", "stepscope.hang/1"},
          {"version", version()},
          {"answer", {{"sentence", say_stopped(hang_sentence(r))}}},
          {"inputs", inputs_json(r.records)},
          {"calls", r.account.calls},
          {"findings", std::move(findings)},
          {"groups", groups_json(r)},
          {"last_calls", last_calls_json(r)},
          {"timeouts", timeouts_json(r)},
          {"messages", messages_json(r)},
          {"nccl", nccl_json(r.records.nccl)},
          {"warnings", say_all(r.warnings)}};
}

}  // namespace stepscope
