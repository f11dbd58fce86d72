// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/analyze/range_views.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "stepscope/face/text/text_table.h"
#include "stepscope/face/tree/json_values.h"
#include "stepscope/say/format.h"

namespace stepscope {
namespace {

constexpr std::size_t most_ranges = 24;

bool is_range(const RangeNode& node) {
  return node.kind == RangeKind::annotation || node.kind == RangeKind::module;
}

struct RangeRows {
  std::vector<std::vector<std::string>> rows;
  std::size_t more = 0;
};

// A phase is no range of the program: its ranges stand in its place.
void add_ranges(const RangeNode& node, const std::string& above, RangeRows& out) {
  std::string below = above;
  if (is_range(node)) {
    if (out.rows.size() < most_ranges) {
      const double count = static_cast<double>(std::max<std::uint64_t>(node.count, 1));
      out.rows.push_back({above + printable(node.name), std::to_string(node.count),
                          format_time(node.host), format_time(nanoseconds_of(node.host) / count),
                          node.device > Ns{0} ? format_time(node.device) : "-"});
    } else {
      ++out.more;
    }
    below += "› ";
  }
  for (const RangeNode& child : node.children) add_ranges(child, below, out);
}

void flatten(const Json& node, const Json& rank, const std::string& above, Json& rows) {
  const std::string kind = node["kind"];
  if (kind == "operator" || kind == "kernel") return;
  const std::string path = above + (above.empty() ? "" : " / ") + node["name"].get<std::string>();
  rows.push_back({{"rank", rank},
                  {"path", path},
                  {"name", node["name"]},
                  {"kind", kind},
                  {"count", node["count"]},
                  {"host_ns", node["host_ns"]},
                  {"device_ns", node["device_ns"]}});
  for (const Json& child : node["children"]) flatten(child, rank, path, rows);
}

struct BucketSum {
  std::size_t calls = 0;
  std::optional<Bytes> bytes{};  // of the largest
  Ns total{};                    // from launch to end
  Ns exposed{};
};

std::map<std::uint32_t, BucketSum> ddp_bucket_sums(const JobResult& job) {
  std::map<std::uint32_t, BucketSum> sums;
  for (const std::vector<DdpBucket>& of_rank : job.traffic.buckets)
    for (const DdpBucket& b : of_rank) {
      BucketSum& sum = sums[b.bucket];
      ++sum.calls;
      if (b.bytes) sum.bytes = std::max(sum.bytes.value_or(Bytes{}), *b.bytes);
      sum.total += b.done - b.launched;
      sum.exposed += b.exposed;
    }
  return sums;
}

}  // namespace

std::string ranges_text(const RankResult& rank, std::size_t width) {
  RangeRows ranges;
  for (const RangeNode& node : rank.work.ranges) add_ranges(node, "", ranges);
  if (ranges.rows.empty()) return {};
  std::string text =
      fmt::format("Ranges of the program, rank {} (sums over its steps)\n", rank.rank) +
      text_table({{"range", false, 60}, {"count"}, {"host"}, {"mean"}, {"device"}},
                 std::move(ranges.rows), width);
  if (ranges.more > 0) text += fmt::format("  … and {} more\n", ranges.more);
  return text;
}

TreeTable ranges_table(const Json& tree) {
  TreeTable table{"ranges", Json::array(),
                  "rank:int path:text name:text kind:text count:int host_ns:int device_ns:int"};
  for (const Json& rank : tree["ranks"])
    for (const Json& node : rank["ranges"]) flatten(node, rank["rank"], "", table.rows);
  return table;
}

Json ddp_bucket_sums_tree(const JobResult& job) {
  Json out = Json::array();
  for (const auto& [bucket, sum] : ddp_bucket_sums(job)) {
    const auto calls = static_cast<std::int64_t>(sum.calls);
    out.push_back({{"bucket", bucket},
                   {"count", sum.calls},
                   {"bytes", value(sum.bytes)},
                   {"mean_ns", value(sum.total / calls)},
                   {"total_ns", value(sum.total)},
                   {"mean_exposed_ns", value(sum.exposed / calls)}});
  }
  return out;
}

std::string ddp_buckets_text(const JobResult& job, std::size_t width) {
  const std::map<std::uint32_t, BucketSum> sums = ddp_bucket_sums(job);
  if (sums.empty()) return {};
  std::vector<std::vector<std::string>> rows;
  for (const auto& [bucket, sum] : sums) {
    if (rows.size() == most_ranges) break;
    const auto calls = static_cast<double>(sum.calls);
    rows.push_back({std::to_string(bucket), std::to_string(sum.calls),
                    sum.bytes ? format_bytes(static_cast<double>(sum.bytes->value)) : "-",
                    format_time(nanoseconds_of(sum.total) / calls), format_time(sum.total),
                    format_time(nanoseconds_of(sum.exposed) / calls)});
  }
  std::string text =
      "Buckets of DDP, by launch order in a step (over all ranks and steps)\n" +
      text_table({{"bucket"}, {"count"}, {"bytes"}, {"mean"}, {"total"}, {"exposed"}},
                 std::move(rows), width);
  if (sums.size() > most_ranges)
    text += fmt::format("  … and {} more\n", sums.size() - most_ranges);
  return text;
}

}  // namespace stepscope
