// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/checkpoint/checkpoint.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "engine/zero/checkpoint/checkpoint_test_state.h"
#include "engine/zero/drive/disk_test_files.h"
#include "stepscope/base/files/open_source.h"

namespace stepscope::zero {
namespace {

namespace fs = std::filesystem;
using test::fill;
using test::info_of;
using test::model_of;
using test::RankState;
using test::save;
using test::shard_of;
using test::wrong;

class CheckpointTest : public DiskTest {
 protected:
  [[nodiscard]] static std::string complaint(const std::string& checkpoint) {
    const auto opened = Checkpoint::open(checkpoint);
    if (!opened) return opened.error().message();
    const auto verified = opened->verify();
    return verified ? "" : verified.error().message();
  }
  static std::string with(const std::string& file, const std::string& text) {
    return file + ": " + text + "; use an older checkpoint, or copy this one again";
  }
  // The files of all ranks, in order.
  static std::vector<std::string> parts(const std::string& checkpoint, int world) {
    std::vector<std::string> all;
    for (int r = 0; r < world; ++r)
      all.push_back(bytes_of(checkpoint + "/rank-0000" + std::to_string(r) + ".state"));
    return all;
  }
};

// save(W) -> load(W') -> save(W') -> load(W) -> save(W): the same bytes as the first.
TEST_F(CheckpointTest, AnyNumberOfRanksLoadsWhatAnyNumberWrote) {
  const std::vector<std::vector<std::int64_t>> sizes = {
      {1}, {2, 3}, {7, 1, 100}, {1000, 5, 0, 12345}, {65536, 16384, 16385}};
  const std::vector<int> worlds = {1, 2, 3, 4, 5, 7};
  int cases = 0;
  for (const auto& size : sizes) {
    const auto model = model_of(size);
    std::vector<std::vector<std::string>> first;
    for (const int w : worlds) {
      const auto path_w = save(path("w" + std::to_string(w)), info_of(model, 5, w, w % 4));
      ASSERT_TRUE(path_w) << path_w.error().message();
      first.push_back(parts(*path_w, w));
    }
    for (const int from : worlds) {
      const auto opened = Checkpoint::open(path("w" + std::to_string(from)) + "/step-00000005");
      ASSERT_TRUE(opened) << opened.error().message();
      ASSERT_TRUE(opened->check_model(model));
      for (std::size_t to = 0; to < worlds.size(); ++to) {
        const CheckpointInfo info = info_of(model, 5, worlds[to], (worlds[to] + 1) % 4);
        for (int rank = 0; rank < worlds[to]; ++rank) {
          RankState state = shard_of(model, rank, worlds[to]);
          const auto loaded = opened->load(state.extents);
          ASSERT_TRUE(loaded) << loaded.error().message();
          ASSERT_EQ(wrong(state), 0U) << from << " -> " << worlds[to];
          ASSERT_TRUE(write_checkpoint_part(path("again"), info, rank, state.extents));
        }
        const auto again = commit_checkpoint(path("again"), info);
        ASSERT_TRUE(again) << again.error().message();
        EXPECT_EQ(parts(*again, worlds[to]), first[to]) << from << " -> " << worlds[to];
        ++cases;
      }
    }
    fs::remove_all(dir_);
  }
  EXPECT_EQ(cases, 5 * 6 * 6);
}

TEST_F(CheckpointTest, ExtentsNeedNotBeShards) {
  const auto model = model_of({50000, 999});
  std::mt19937_64 random(3);
  for (int round = 0; round < 10; ++round) {
    const int world = 1 + round % 4;
    std::vector<RankState> ranks(static_cast<std::size_t>(world));
    for (std::size_t u = 0; u < 2; ++u) {
      for (std::int64_t at = 0; at < model.units[u].elements;) {
        const std::int64_t left = model.units[u].elements - at;
        const std::int64_t n = std::min(left, static_cast<std::int64_t>(1 + random() % 20000));
        ranks[random() % ranks.size()].add(u, at, n);
        at += n;
      }
    }
    const CheckpointInfo info = info_of(model, round + 1, world);
    for (int r = 0; r < world; ++r) {
      fill(ranks[static_cast<std::size_t>(r)]);
      ASSERT_TRUE(write_checkpoint_part(dir_, info, r, ranks[static_cast<std::size_t>(r)].extents));
    }
    const auto saved = commit_checkpoint(dir_, info);
    ASSERT_TRUE(saved) << saved.error().message();
    RankState whole = shard_of(model, 0, 1);
    ASSERT_TRUE(Checkpoint::open(*saved)->load(whole.extents));
    EXPECT_EQ(wrong(whole), 0U);
  }
}

TEST_F(CheckpointTest, RemembersWhereTrainingStood) {
  CheckpointInfo info = info_of(model_of({10, 20}), 77, 2, 1);
  info.model.config = "text with \"quotes\", \n and ü";
  const auto saved = save(dir_, info);
  ASSERT_TRUE(saved);
  EXPECT_EQ(*saved, dir_ + "/step-00000077");
  const auto opened = Checkpoint::open(*saved);
  ASSERT_TRUE(opened) << opened.error().message();
  EXPECT_EQ(opened->info(), info);
}

TEST_F(CheckpointTest, ALoadReadsOnlyTheBlocksItNeeds) {
  const auto model = model_of({200000});
  const auto saved = save(dir_, info_of(model, 1, 2));
  ASSERT_TRUE(saved);
  flip(*saved + "/rank-00001.state", 4096 + 5);  // the master weights of element 100000
  const auto opened = Checkpoint::open(*saved);
  ASSERT_TRUE(opened);
  RankState half = shard_of(model, 0, 2);
  EXPECT_TRUE(opened->load(half.extents));
  EXPECT_EQ(wrong(half), 0U);
  std::vector<float> some(1000);
  EXPECT_TRUE(opened->read(0, StatePart::m, 120000, some));
  EXPECT_TRUE(opened->read(0, StatePart::master, 116384, some));
  EXPECT_FALSE(opened->read(0, StatePart::master, 116383, some));
}

TEST_F(CheckpointTest, EveryFlippedBitIsFound) {
  const auto saved = save(dir_, info_of(model_of({500, 3}), 1, 1));
  ASSERT_TRUE(saved);
  for (const char* name : {"/rank-00000.state", "/manifest.json", "/COMMIT"}) {
    const std::string file = *saved + name;
    const std::uint64_t size = fs::file_size(file);
    // Padding between header and data holds no information.
    for (std::uint64_t byte = 0; byte < size; byte += byte > 124 && byte < 4000 ? 97 : 1) {
      if (std::string_view(name) == "/rank-00000.state" && byte >= 124 && byte < 4096) continue;
      flip(file, byte, static_cast<char>(1 << (byte % 8)));
      const std::string text = complaint(*saved);
      EXPECT_NE(text.find(dir_), std::string::npos) << name << ' ' << byte << ' ' << text;
      flip(file, byte, static_cast<char>(1 << (byte % 8)));
    }
    EXPECT_EQ(complaint(*saved), "");
  }
}

TEST_F(CheckpointTest, NamesFileAndByteOfDamage) {
  const auto saved = save(dir_, info_of(model_of({100000}), 1, 2));
  ASSERT_TRUE(saved);
  const std::string file = *saved + "/rank-00001.state";
  flip(file, 4096 + 3 * 65536 + 100);
  EXPECT_EQ(complaint(*saved),
            with(file, "byte 200704: the 65536 bytes from here on do not fit their checksum"));
  flip(file, 4096 + 3 * 65536 + 100);
  flip(file, 30);
  EXPECT_EQ(complaint(*saved), with(file, "byte 0: the header does not fit its checksum"));
}

// A file that is truncated anywhere, or has extra bytes at its end, is refused when the checkpoint
// is opened.
TEST_F(CheckpointTest, TornFilesAreRefused) {
  const auto saved = save(dir_, info_of(model_of({700, 40}), 1, 2));
  ASSERT_TRUE(saved);
  for (const char* name : {"/rank-00001.state", "/manifest.json", "/COMMIT"}) {
    const std::string file = *saved + name;
    const std::string all = bytes_of(file);
    for (std::size_t n = 0; n < all.size(); n += 1 + all.size() / 50) {
      std::ofstream(file, std::ios::binary).write(all.data(), static_cast<std::streamsize>(n));
      EXPECT_NE(complaint(*saved).find(name), std::string::npos) << name << ' ' << n;
    }
    std::ofstream(file, std::ios::binary) << all << 'x';
    EXPECT_FALSE(Checkpoint::open(*saved)) << name;
    fs::remove(file);
    EXPECT_NE(complaint(*saved).find(name), std::string::npos);
    std::ofstream(file, std::ios::binary) << all;
    EXPECT_EQ(complaint(*saved), "");
  }
}

TEST_F(CheckpointTest, SaysWhetherManifestOrCommitIsDamaged) {
  const auto saved = save(dir_, info_of(model_of({70}), 1, 1));
  ASSERT_TRUE(saved);
  const std::string manifest = bytes_of(*saved + "/manifest.json");
  const std::string commit = bytes_of(*saved + "/COMMIT");
  fs::resize_file(*saved + "/manifest.json", 50);
  EXPECT_EQ(complaint(*saved),
            with(*saved + "/manifest.json", "byte 50: does not fit the COMMIT file, which names " +
                                                std::to_string(manifest.size()) + " bytes"));
  std::ofstream(*saved + "/manifest.json") << manifest;
  fs::resize_file(*saved + "/COMMIT", commit.size() - 3);
  EXPECT_EQ(complaint(*saved), with(*saved + "/COMMIT", "byte 0: is damaged"));
}

TEST_F(CheckpointTest, AMissingOrForeignFileIsNamed) {
  const auto model = model_of({100});
  const auto one = save(path("a"), info_of(model, 1, 2));
  const auto two = save(path("b"), info_of(model, 1, 2));
  ASSERT_TRUE(one && two);
  fs::remove(*one + "/rank-00001.state");
  EXPECT_EQ(complaint(*one),
            *one +
                "/rank-00001.state: the file of rank 1 of 2 is missing; do all ranks write to "
                "one file system? use an older checkpoint, or copy this one again");
  // Rank 0's file in place of rank 1's, and another run's file with different bytes.
  fs::copy(*one + "/rank-00000.state", *one + "/rank-00001.state");
  EXPECT_NE(complaint(*one).find("rank-00001.state: byte 0: is not the file that belongs"),
            std::string::npos);
  RankState other = shard_of(model, 1, 2);
  ASSERT_TRUE(write_checkpoint_part(path("c"), info_of(model, 1, 2), 1, other.extents));
  fs::copy(path("c") + "/step-00000001.partial/rank-00001.state", *two + "/rank-00001.state",
           fs::copy_options::overwrite_existing);
  EXPECT_NE(complaint(*two).find("rank-00001.state: byte 0: is not the file that belongs"),
            std::string::npos);
}

TEST_F(CheckpointTest, AnotherModelIsRefusedByItsFirstDifference) {
  const auto model = model_of({100, 200});
  const auto saved = save(dir_, info_of(model, 1, 1));
  ASSERT_TRUE(saved);
  const auto opened = Checkpoint::open(*saved);
  const auto difference = [&](const CheckpointModel& other) {
    const auto checked = opened->check_model(other);
    return checked ? "" : checked.error().what;
  };
  EXPECT_EQ(difference(model), "");
  auto other = model;
  other.units[1].tensors[0].shape = {20, 10};
  EXPECT_EQ(difference(other),
            "the checkpoint is of another model: block 1.weight [200] there, block 1.weight "
            "[20, 10] here");
  other = model;
  other.units[0].elements = 128;
  EXPECT_EQ(
      difference(other),
      "the checkpoint is of another model: unit \"block 0\" has 100 elements there, 128 here");
  EXPECT_EQ(difference(model_of({100})),
            "the checkpoint is of another model: 2 units there, 1 here");
  other = model;
  other.config = "gpt2";
  EXPECT_EQ(difference(other),
            "the checkpoint is of another model: {\"test\": 1} there, gpt2 here");
}

TEST_F(CheckpointTest, OnlyCommittedOnesCount) {
  const auto model = model_of({100});
  EXPECT_EQ(latest_checkpoint(path("nothing")), std::nullopt);
  EXPECT_EQ(latest_checkpoint(dir_), std::nullopt);
  ASSERT_TRUE(save(dir_, info_of(model, 9, 1)));
  ASSERT_TRUE(save(dir_, info_of(model, 10, 1)));
  RankState state = shard_of(model, 0, 2);
  ASSERT_TRUE(write_checkpoint_part(dir_, info_of(model, 11, 2), 0, state.extents));
  fs::create_directories(dir_ + "/step-00000012");  // not made by stepscope
  fs::create_directories(dir_ + "/step-99x");
  write("step-00000013", "a file");
  EXPECT_EQ(latest_checkpoint(dir_), dir_ + "/step-00000010");
  fs::remove(dir_ + "/step-00000010/COMMIT");
  EXPECT_EQ(latest_checkpoint(dir_), dir_ + "/step-00000009");
  EXPECT_NE(complaint(dir_ + "/step-00000010").find("COMMIT: is missing"), std::string::npos);
  EXPECT_NE(complaint(dir_).find("is this the directory of one checkpoint"), std::string::npos);
}

TEST_F(CheckpointTest, ACommitNeedsEveryRankAndEveryElement) {
  const auto model = model_of({100, 50});
  const CheckpointInfo info = info_of(model, 3, 2);
  RankState a = shard_of(model, 0, 2);
  ASSERT_TRUE(write_checkpoint_part(dir_, info, 0, a.extents));
  auto committed = commit_checkpoint(dir_, info);
  ASSERT_FALSE(committed);
  EXPECT_NE(committed.error().message().find("the file of rank 1 of 2 is missing"),
            std::string::npos);
  RankState b;
  b.add(0, 50, 50);
  b.add(1, 26, 24);  // no rank has element 25
  ASSERT_TRUE(write_checkpoint_part(dir_, info, 1, b.extents));
  committed = commit_checkpoint(dir_, info);
  ASSERT_FALSE(committed);
  EXPECT_NE(committed.error().message().find(
                "element 25 of 50 of unit \"block 1\" is in no file, or in two"),
            std::string::npos);
  EXPECT_EQ(latest_checkpoint(dir_), std::nullopt);
  abandon_checkpoint(dir_, 3);
  EXPECT_TRUE(fs::is_empty(dir_));
}

// Files of a crashed attempt with more ranks do not get into the next checkpoint.
TEST_F(CheckpointTest, AnEarlierAttemptLeavesNothing) {
  const auto model = model_of({100});
  RankState stale = shard_of(model, 2, 3);
  ASSERT_TRUE(write_checkpoint_part(dir_, info_of(model, 4, 3), 2, stale.extents));
  write("step-00000004.partial/rank-00000.state.tmp", "torn");
  const auto saved = save(dir_, info_of(model, 4, 2));
  ASSERT_TRUE(saved) << saved.error().message();
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(*saved)) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"COMMIT", "manifest.json", "rank-00000.state",
                                          "rank-00001.state"}));
}

TEST_F(CheckpointTest, TheSameStepAgainReplacesIt) {
  const auto model = model_of({100});
  ASSERT_TRUE(save(dir_, info_of(model, 4, 3)));
  const auto saved = save(dir_, info_of(model, 4, 2));
  ASSERT_TRUE(saved) << saved.error().message();
  EXPECT_EQ(Checkpoint::open(*saved)->info().world_size, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 1);
}

TEST_F(CheckpointTest, KeepsTheLastGoodOnes) {
  const auto model = model_of({100});
  for (const int step : {1, 2, 3, 4, 5}) ASSERT_TRUE(save(dir_, info_of(model, step, 1)));
  fs::remove(dir_ + "/step-00000005/COMMIT");
  RankState state = shard_of(model, 0, 1);
  ASSERT_TRUE(write_checkpoint_part(dir_, info_of(model, 2, 1), 0, state.extents));
  ASSERT_TRUE(write_checkpoint_part(dir_, info_of(model, 6, 1), 0, state.extents));
  fs::create_directories(dir_ + "/step-00000001.removed");
  ASSERT_TRUE(keep_last_checkpoints(dir_, 2));
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(dir_)) names.insert(entry.path().filename());
  EXPECT_EQ(names, (std::set<std::string>{"step-00000003", "step-00000004", "step-00000005",
                                          "step-00000006.partial"}));
  ASSERT_TRUE(keep_last_checkpoints(dir_, 1));
  EXPECT_EQ(committed_checkpoints(dir_), std::vector<std::string>{dir_ + "/step-00000004"});
}

TEST_F(CheckpointTest, AFullDiskLosesNothing) {
  const TinyDisk disk(path("disk"), 1 << 20);
  if (!disk.mounted()) GTEST_SKIP() << "no right to mount a file system";
  const std::string dir = path("disk");
  const auto model = model_of({60000});  // 720000 bytes: one fits, two do not
  ASSERT_TRUE(save(dir, info_of(model, 1, 2)));
  const auto second = save(dir, info_of(model, 2, 2));
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message().find("No space left on device; free space"),
            std::string::npos);
  EXPECT_TRUE(second.error().byte);
  EXPECT_EQ(latest_checkpoint(dir), dir + "/step-00000001");
  EXPECT_EQ(complaint(dir + "/step-00000001"), "");
  for (const auto& entry : fs::directory_iterator(dir + "/step-00000002.partial"))
    EXPECT_EQ(entry.path().filename(), "rank-00000.state");
  abandon_checkpoint(dir, 2);
  EXPECT_EQ(std::distance(fs::directory_iterator(dir), {}), 1);
}

// The same without the right to mount: a limit on the size of files.
TEST_F(CheckpointTest, AFileTooLargeLosesNothing) {
  const auto model = model_of({60000});
  ASSERT_TRUE(save(dir_, info_of(model, 1, 1)));
  const auto fails = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 300000, .rlim_max = 300000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto second = save(dir_, info_of(model, 2, 1));
    const bool named = !second && second.error().byte == 300000U &&
                       second.error().hint == "free space or choose another place";
    std::_Exit(named && latest_checkpoint(dir_) == dir_ + "/step-00000001" &&
                       fs::is_empty(dir_ + "/step-00000002.partial")
                   ? 0
                   : 1);
  };
  EXPECT_EXIT(fails(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(complaint(dir_ + "/step-00000001"), "");
}

// SIGKILL at any moment of a save: every committed checkpoint stays complete, and no checkpoint is
// lost.
TEST_F(CheckpointTest, AKilledWriterLosesNothing) {
  const auto model = model_of({20000, 33});
  std::size_t committed = 0;
  std::mt19937 random(1);
  for (int round = 0; round < 15; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (auto step = static_cast<std::int64_t>(committed) + 1;; ++step)
        if (!save(dir_, info_of(model, step, 3))) std::_Exit(1);
    }
    ::usleep(static_cast<useconds_t>(random() % 8000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status));
    const auto all = committed_checkpoints(dir_);
    ASSERT_GE(all.size(), committed);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_EQ(all[i], dir_ + "/" + checkpoint_name(static_cast<std::int64_t>(i) + 1));
    }
    for (std::size_t i = committed == 0 ? 0 : committed - 1; i < all.size(); ++i)
      EXPECT_EQ(complaint(all[i]), "");
    committed = all.size();
  }
}

TEST_F(CheckpointTest, APlaceThatCannotBeWrittenIsNamed) {
  const auto model = model_of({10});
  const std::string file = write("file", "x");
  const auto saved = save(file, info_of(model, 1, 1));
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().message().find("cannot create"), std::string::npos);
}

}  // namespace
}  // namespace stepscope::zero
