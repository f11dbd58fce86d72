// SPDX-License-Identifier: Apache-2.0
// SAMPLING_CALLCHAINS has one row per frame, innermost first; its id refers to a COMPOSITE_EVENTS
// row. OSRT_CALLCHAINS is the same for the callchainId of OSRT_API.
#include "stepscope/stack/nsys_samples.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "stepscope/stack/profile_builder.h"

namespace stepscope {
namespace {

// The thread and instant that a chain belongs to.
struct Owner {
  std::int64_t global_tid = 0;
  std::int64_t start = 0;
  double weight = 1;
};

class ChainReader {
 public:
  ChainReader(const SqliteFile& file, ProfileBuilder& into) : file_(file), into_(into) {}

  // Returns whether there were chains.
  bool read(std::string_view chains, std::string_view owners, bool by_time) {
    if (file_.table(chains) == nullptr || file_.table(owners) == nullptr) return false;
    load_texts();
    load_names();
    load_owners(owners, by_time);
    constexpr std::array<std::string_view, 4> columns = {"id", "symbol", "module", "stackDepth"};
    SqliteRows rows = file_.rows(chains, columns);
    std::int64_t id = 0;
    while (rows.next()) {
      if (!frames_.empty() && rows.integer(0) != id) flush(id);
      id = rows.integer(0);
      frames_.emplace_back(rows.integer(3), frame(rows.integer(1), rows.integer(2)));
    }
    if (!frames_.empty()) flush(id);
    note_damage(rows, chains);
    return into_.input.stacks > 0;
  }

 private:
  void note_damage(const SqliteRows& rows, std::string_view table) {
    if (rows.damage().empty()) return;
    into_.input.truncated = true;
    into_.note("damaged table " + std::string(table));
  }

  void load_texts() {
    constexpr std::array<std::string_view, 2> columns = {"id", "value"};
    if (file_.table("StringIds") == nullptr) return;
    SqliteRows rows = file_.rows("StringIds", columns);
    while (rows.next()) texts_[rows.integer(0)] = into_.strings.intern(rows.text(1));
    note_damage(rows, "StringIds");
  }

  void load_names() {
    constexpr std::array<std::string_view, 2> threads = {"globalTid", "nameId"};
    constexpr std::array<std::string_view, 2> processes = {"globalPid", "name"};
    constexpr std::array<std::string_view, 1> start = {"utcEpochNs"};
    if (file_.table("ThreadNames") != nullptr) {
      SqliteRows rows = file_.rows("ThreadNames", threads);
      while (rows.next()) thread_name_[rows.integer(0)] = text(rows.integer(1));
    }
    if (file_.table("PROCESSES") != nullptr) {
      SqliteRows rows = file_.rows("PROCESSES", processes);
      while (rows.next()) process_name_[rows.integer(0)] = rows.text(1);
    }
    if (file_.table("TARGET_INFO_SESSION_START_TIME") != nullptr) {
      SqliteRows rows = file_.rows("TARGET_INFO_SESSION_START_TIME", start);
      constexpr std::int64_t latest = 4'000'000'000'000'000'000;
      if (rows.next() && rows.integer(0) > 0 && rows.integer(0) < latest) base_ = rows.integer(0);
    }
    into_.input.unix_clock = base_ > 0;
  }

  void load_owners(std::string_view table, bool by_time) {
    const std::array<std::string_view, 4> columns = {by_time ? "callchainId" : "id", "globalTid",
                                                     "start", by_time ? "end" : "cpu"};
    SqliteRows rows = file_.rows(table, columns);
    while (rows.next()) {
      if (rows.is_null(0)) continue;
      Owner owner{rows.integer(1), rows.integer(2), 1};
      if (by_time) {
        const double took = static_cast<double>(rows.integer(3)) - static_cast<double>(owner.start);
        owner.weight = std::clamp(took, 0.0, 1e16);
      }
      owners_[rows.integer(0)].push_back(owner);
    }
    note_damage(rows, table);
  }

  [[nodiscard]] std::string_view text(std::int64_t id) const {
    const auto at = texts_.find(id);
    return at == texts_.end() ? std::string_view{} : into_.strings[at->second];
  }

  // "function (library)".
  StringId frame(std::int64_t symbol, std::int64_t module) {
    const auto [at, fresh] = frame_of_.try_emplace(std::pair(symbol, module), empty_string);
    if (!fresh) return at->second;
    std::string out(text(symbol));
    if (out.empty()) out = "[unknown]";
    const std::string_view library = text(module);
    if (!library.empty() && library != "[Unknown]") {
      out += " (";
      out += library;
      out += ')';
    }
    at->second = into_.strings.intern(out);
    return at->second;
  }

  std::uint32_t thread_of(std::int64_t global_tid) {
    const auto [at, fresh] = node_of_.try_emplace(global_tid, 0);
    if (!fresh) return at->second;
    const std::int64_t pid = global_tid >> 24 & 0xFFFFFF;
    std::string process;
    const std::int64_t global_pid = global_tid & ~std::int64_t{0xFFFFFF};
    if (const auto name = process_name_.find(global_pid); name != process_name_.end())
      process = name->second + " ";
    process += std::to_string(pid);
    const auto name = thread_name_.find(global_tid);
    const std::string tid = std::to_string(global_tid & 0xFFFFFF);
    at->second = into_.thread(process, name == thread_name_.end() || name->second.empty()
                                           ? "thread " + tid
                                           : name->second + " " + tid);
    return at->second;
  }

  void flush(std::int64_t id) {
    const auto owners = owners_.find(id);
    if (owners == owners_.end()) {
      into_.note("chains of no sample");
      frames_.clear();
      return;
    }
    std::ranges::sort(frames_, std::ranges::greater{}, &std::pair<std::int64_t, StringId>::first);
    for (const Owner& owner : owners->second) {
      std::uint32_t node = thread_of(owner.global_tid);
      for (const auto& [depth, text_of_frame] : frames_)
        node = into_.tree.child(node, text_of_frame);
      into_.tree.add(node, owner.weight);
      ++into_.input.stacks;
      const bool sane = owner.start > -base_ && owner.start < 100'000'000'000'000'000;
      const bool lasts = into_.unit == WeightUnit::nanoseconds;
      const Ns took{lasts ? static_cast<std::int64_t>(owner.weight) : 0};
      if (into_.keep_samples && sane)
        into_.samples.push_back({Ns{base_ + owner.start}, took, node});
    }
    frames_.clear();
  }

  struct PairHash {
    std::size_t operator()(const std::pair<std::int64_t, std::int64_t>& p) const {
      const auto a = static_cast<std::uint64_t>(p.first) * 0x9E3779B97F4A7C15ULL;
      return static_cast<std::size_t>(a ^ (static_cast<std::uint64_t>(p.second) + (a >> 29)));
    }
  };

  const SqliteFile& file_;
  ProfileBuilder& into_;
  std::unordered_map<std::int64_t, StringId> texts_;
  std::unordered_map<std::int64_t, std::string> thread_name_;   // by globalTid
  std::unordered_map<std::int64_t, std::string> process_name_;  // by globalPid
  std::unordered_map<std::int64_t, std::vector<Owner>> owners_;
  std::unordered_map<std::pair<std::int64_t, std::int64_t>, StringId, PairHash> frame_of_;
  std::unordered_map<std::int64_t, std::uint32_t> node_of_;  // by globalTid
  std::vector<std::pair<std::int64_t, StringId>> frames_;    // depth, text
  std::int64_t base_ = 0;
};

}  // namespace

bool has_nsys_samples(const SqliteFile& file) {
  const auto has_rows = [&](std::string_view table) {
    return file.table(table) != nullptr && file.last_row(table) > 0;
  };
  return has_rows("SAMPLING_CALLCHAINS") || has_rows("OSRT_CALLCHAINS");
}

Result<Profile> read_nsys_samples(const SqliteFile& file, const std::string& path,
                                  bool keep_samples) {
  ProfileBuilder builder;
  builder.input.path = path;
  builder.input.format = "nsys";
  builder.input.bytes = file.bytes();
  builder.keep_samples = keep_samples;
  ChainReader reader(file, builder);
  if (reader.read("SAMPLING_CALLCHAINS", "COMPOSITE_EVENTS", false)) return builder.seal();
  builder.unit = WeightUnit::nanoseconds;
  if (reader.read("OSRT_CALLCHAINS", "OSRT_API", true)) {
    builder.note("no samples of the CPU: waiting in calls of the operating system");
    return builder.seal();
  }
  return Error{.what = "no call chains in this SQLite database",
               .file = path,
               .byte = {},
               .hint = "record with nsys profile --sample=process-tree (Nsight Systems)"};
}

}  // namespace stepscope
