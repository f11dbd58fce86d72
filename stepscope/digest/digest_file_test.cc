// SPDX-License-Identifier: Apache-2.0
// Round trips of traces with every table, and any damage: every byte changed, every end cut, heads
// that lie.
#include "stepscope/digest/digest_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stepscope/event/trace_test_text.h"

namespace stepscope {
namespace {

// A trace with rows in all tables, as `seed` says.
Trace made_trace(std::uint64_t seed, std::size_t rows) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t n) { return random() % n; };
  Trace t;
  Metadata& m = t.metadata;
  m.path = "rank" + std::to_string(seed) + ".json";
  m.format = "kineto";
  m.rank = static_cast<int>(seed);
  m.world_size = 8;
  m.backend = "nccl";
  m.clock = Clock::unix_epoch;
  m.base = Ns{1'700'000'000'000'000'000};
  m.devices = {{.id = 0, .name = "A GPU", .total_memory = Bytes{80}, .uuid = "u"}};
  m.groups = {{.name = "0",
               .description = "default_pg",
               .backend = "cuda:nccl",
               .size = 8,
               .ranks = {0, 1, 7}}};
  m.with_shapes = true;
  m.with_stack = false;
  t.metadata.texts["host_name"] = "h\"1\"";
  t.metadata.texts["empty"] = "";
  t.notes.events = rows;
  t.notes.truncated = true;
  t.notes.add("negative_duration", 17, 3);
  t.notes.cuts = {{.end = Ns{5}, .complete_to = Ns::min()}};
  const auto text = [&](const char* what) {
    return t.strings.intern(what + std::to_string(pick(9)));
  };
  for (std::int64_t i = 0; i < 3; ++i)
    t.tracks.push_back({.pid = i,
                        .tid = -i,
                        .process_name = text("p"),
                        .device = i == 2,
                        .device_index = i == 2 ? 0 : -1});
  for (std::size_t i = 0; i < rows; ++i) {
    const auto category = static_cast<Category>(pick(category_count));
    std::uint32_t detail = no_row;
    if (pick(2) == 0) {
      if (category == Category::memcpy || category == Category::memset) {
        detail = static_cast<std::uint32_t>(t.copies.size());
        t.copies.bytes.push_back(Bytes{static_cast<std::int64_t>(pick(1 << 20)) - 1});
      } else if (category == Category::sync) {
        detail = static_cast<std::uint32_t>(t.syncs.size());
        t.syncs.stream.push_back(static_cast<std::int32_t>(pick(9)));
        t.syncs.wait_on_stream.push_back(-1);
        t.syncs.wait_on_record_correlation.push_back(static_cast<std::int32_t>(pick(99)));
      } else {
        detail = static_cast<std::uint32_t>(t.ops.size());
        t.ops.input_dims.push_back(text("[[8, "));
        t.ops.input_types.push_back(text("float"));
        t.ops.concrete_inputs.push_back(text(""));
        t.ops.sequence.push_back(static_cast<std::int32_t>(pick(99)) - 1);
        t.ops.forward_thread.push_back(0);
      }
    }
    const SliceId slice =
        append(t, {.start = t.metadata.base + Ns{static_cast<std::int64_t>(pick(1 << 30))},
                   .dur = Ns{static_cast<std::int64_t>(pick(1 << 20))},
                   .name = text("name"),
                   .track = TrackId{static_cast<std::uint32_t>(pick(3))},
                   .category = category,
                   .correlation = static_cast<std::uint32_t>(pick(3) * i),
                   .external_id = static_cast<std::uint32_t>(random()),
                   .detail = detail});
    if (pick(4) == 0)
      t.collectives.push_back({.slice = slice,
                               .name = text("allreduce"),
                               .group_ranks = text("[0, "),
                               .in_elements = 1 << 20,
                               .seq = static_cast<std::int64_t>(i),
                               .rank = 3,
                               .is_async = true});
    if (pick(4) == 0) {
      t.memory.time.emplace_back(static_cast<std::int64_t>(i * 1000));
      t.memory.track.push_back(TrackId{static_cast<std::uint32_t>(pick(3))});
      t.memory.address.push_back(random());
      t.memory.bytes.push_back(Bytes{-512});
      t.memory.total_allocated.push_back(Bytes{-1});
      t.memory.total_reserved.push_back(Bytes{1 << 30});
      t.memory.device.push_back(-1);
    }
    if (pick(4) == 0) {
      t.counters.time.emplace_back(static_cast<std::int64_t>(i));
      t.counters.metric.push_back(text("metric"));
      t.counters.value.push_back(pick(2) == 0 ? -0.0 : std::sqrt(static_cast<double>(i)));
      t.counters.slice.push_back(pick(2) == 0 ? no_slice : slice);
    }
  }
  t.strings.intern("\xff no UTF-8 \n");
  seal(t);
  return t;
}

DigestSource made_source() {
  return {
      .path = "a/rank0.json.gz", .bytes = 9, .text_bytes = 99, .modified_ns = -5, .program = "1"};
}

std::string encoded(const std::vector<Trace>& traces) {
  auto bytes = encode_digest(made_source(), traces);
  EXPECT_TRUE(bytes) << bytes.error().message();
  return bytes ? *bytes : std::string();
}

std::vector<Trace> traces_of(std::uint64_t seed, std::size_t rows, std::size_t count = 1) {
  std::vector<Trace> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(made_trace(seed + i, rows));
  return out;
}

// Their text without the number of bytes that was read.
std::string text_of_all(std::vector<Trace>& traces) {
  std::string out;
  for (Trace& trace : traces) {
    trace.metadata.text_bytes = 0;
    out += test::text_of(trace);
    for (const Collective& c : trace.collectives) out += std::to_string(c.rank) + '\n';
    for (const CaptureCut& c : trace.notes.cuts)
      out += std::to_string(c.end.count()) + ' ' + std::to_string(c.complete_to.count()) + '\n';
    for (const ProcessGroup& g : trace.metadata.groups)
      for (const int rank : g.ranks)
        out += g.name + g.description + g.backend + std::to_string(rank);
  }
  return out;
}

TEST(DigestFile, HoldsWholeTraces) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::vector<Trace> traces = traces_of(seed, seed * seed, 1 + seed % 3);
    const std::string bytes = encoded(traces);
    for (const unsigned threads : {1U, 3U}) {
      auto back = decode_digest(bytes, "d", threads);
      ASSERT_TRUE(back) << back.error().message();
      for (Trace& trace : *back) {
        seal(trace);
        EXPECT_EQ(test::broken_rule(trace), "");
        EXPECT_EQ(trace.metadata.text_bytes, bytes.size());
      }
      ASSERT_EQ(text_of_all(*back), text_of_all(traces)) << seed;
      EXPECT_EQ((*back)[0].slices.kind, traces[0].slices.kind);
    }
    EXPECT_EQ(*encode_digest(made_source(), traces, 3), bytes) << "the same with several threads";
  }
}

// Rows that repeat compress so well that a reader could take the file for a bomb.
TEST(DigestFile, HoldsTracesThatRepeat) {
  for (const std::int64_t rows : {1, 1'000, 150'000, 500'000}) {
    std::vector<Trace> traces(2);
    for (Trace& t : traces) {
      t.metadata.path = "a.json";
      t.tracks.push_back({.pid = 1, .tid = 7});
      const StringId name = t.strings.intern("gemm");
      for (std::int64_t i = 0; i < rows; ++i)
        append(t, {.start = Ns{i * 1000}, .dur = Ns{10}, .name = name});
      seal(t);
    }
    const std::string bytes = encoded(traces);
    auto back = decode_digest(bytes, "d");
    ASSERT_TRUE(back) << rows << " rows, " << bytes.size() << " bytes: " << back.error().message();
    ASSERT_EQ(back->size(), 2U);
    for (std::size_t t = 0; t < 2; ++t) {
      seal((*back)[t]);
      EXPECT_EQ((*back)[t].slices.start, traces[t].slices.start);
      EXPECT_EQ((*back)[t].slices.dur, traces[t].slices.dur);
    }
    EXPECT_LT(bytes.size(), 3'000 + static_cast<std::size_t>(rows)) << "and stays small";
  }
}

TEST(DigestFile, TellsWhatItWasMadeFrom) {
  const auto head = digest_header(encoded(traces_of(1, 50, 2)), "d");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->source.path, "a/rank0.json.gz");
  EXPECT_EQ(head->source.bytes, 9U);
  EXPECT_EQ(head->source.text_bytes, 99U);
  EXPECT_EQ(head->source.modified_ns, -5);
  EXPECT_EQ(head->source.program, "1");
  ASSERT_EQ(head->traces.size(), 2U);
  EXPECT_EQ(head->traces[1].metadata.rank, 2);
}

// What a rank has less is absent there too.
TEST(DigestFile, KeepsWhatIsAbsent) {
  std::vector<Trace> traces(1);
  traces[0].metadata.path = "a";
  seal(traces[0]);
  const auto back = decode_digest(encoded(traces), "d");
  ASSERT_TRUE(back) << back.error().message();
  const Metadata& m = (*back)[0].metadata;
  EXPECT_FALSE(m.rank || m.world_size || m.with_shapes || m.with_stack || m.with_memory);
  EXPECT_EQ(m.clock, Clock::relative);
  EXPECT_EQ((*back)[0].slices.size(), 0U);
  EXPECT_TRUE((*back)[0].notes.cuts.empty());
}

TEST(DigestFile, RefusesEveryCutAndIsNeverDeceivedByAChangedByte) {
  std::vector<Trace> traces = traces_of(3, 12);
  const std::string bytes = encoded(traces);
  const std::string whole = text_of_all(traces);
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const auto back = decode_digest(std::string_view(bytes).substr(0, cut), "d.digest");
    ASSERT_FALSE(back) << cut;
    EXPECT_EQ(back.error().file, "d.digest");
    EXPECT_FALSE(back.error().hint.empty()) << back.error().message();
  }
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (const char change : {'\x01', '\x80', '\xff'}) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ change);
      auto back = decode_digest(other, "d.digest");
      if (back) {  // a bit that zstd does not read
        for (Trace& trace : *back) seal(trace);
        ASSERT_EQ(text_of_all(*back), whole) << at;
        continue;
      }
      EXPECT_FALSE(back.error().hint.empty()) << back.error().message();
    }
  EXPECT_FALSE(decode_digest(bytes + "x", "d"));
}

TEST(DigestFile, SaysThatItIsOfAnotherVersion) {
  std::string bytes = encoded(traces_of(3, 3));
  bytes[10] = 9;
  const auto back = decode_digest(bytes, "d");
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().message(),
            "d: byte 10: a digest of version 9, and this program reads version 2; use the program "
            "that made it, or make the digest again");
  EXPECT_TRUE(is_digest(bytes));
  EXPECT_FALSE(is_digest("SSDIGEST\n"));
}

TEST(DigestFile, StopsWhenAsked) {
  const std::vector<Trace> traces = traces_of(1, 100);
  StopFlag stop;
  stop.request();
  const auto bytes = encode_digest(made_source(), traces, 1, &stop);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().code, ErrorCode::interrupted);
  const auto back = decode_digest(encoded(traces), "d", 1, &stop);
  ASSERT_FALSE(back);
  EXPECT_EQ(back.error().code, ErrorCode::interrupted);
}

TEST(DigestFile, RefusesTracesBeyondItsRange) {
  std::vector<Trace> traces = traces_of(1, 10);
  traces[0].slices.dur[3] = Ns{-1};
  const auto bytes = encode_digest(made_source(), traces);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.error().what, "column slices.dur has a value that no digest holds");
  traces = traces_of(1, 10);
  traces[0].slices.name[3] = StringId{1000};
  EXPECT_FALSE(encode_digest(made_source(), traces));
}

}  // namespace
}  // namespace stepscope
