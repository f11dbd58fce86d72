// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nccl/comm_files.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string_view>

#include "stepscope/base/ascii.h"
#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/text_source.h"
#include "stepscope/read/bytes/file_head.h"
#include "stepscope/read/bytes/pickle.h"
#include "stepscope/read/bytes/plain_json.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/nccl/flight_recorder.h"
#include "stepscope/read/nccl/nccl_log.h"
#include "stepscope/read/nccl/ras_status.h"
#include "stepscope/read/nccl/ras_text.h"
#include "stepscope/read/rows/rank_names.h"

namespace stepscope {
namespace {

constexpr std::string_view how_to_name =
    "name dumps of the flight recorder, the output of ranks and launchers, or NCCL's logs";

constexpr std::size_t most_named = 6;

enum class FileKind : std::uint8_t { pickle, json, ras, log };

struct CommFile {
  std::string path;
  FileKind kind = FileKind::log;
  bool found = false;  // found in a directory, not named
  // Why a pickle or JSON is no dump, where its first bytes show it. It may still be a log.
  std::optional<Error> refused{};
  bool maybe_ras = false;  // JSON that may be a status of RAS
};

// Judges a pickle or JSON by its first bytes. Nothing is refused that is read whole anyway.
void judge(const FileHead& head, CommFile& file) {
  file.maybe_ras = file.kind == FileKind::json;
  if (head.whole) return;
  const auto tree = plain_head(head, file.path);
  file.maybe_ras = file.maybe_ras && tree && begins_ras_status(tree->value());
  if (!tree)
    file.refused = tree.error();
  else if (!begins_flight_dump(tree->value()))
    file.refused = no_flight_dump(tree->value(), file.path);
}

// A pickle of protocol 0 and a line of Ray, "(train pid=7) …", may begin alike.
void judge_text(const FileHead& head, CommFile& file) {
  const auto tree = plain_head(head, file.path);
  if (tree && begins_flight_dump(tree->value())) return;
  file.kind = FileKind::log;
  file.refused = tree ? no_flight_dump(tree->value(), file.path) : tree.error();
}

Result<CommFile> comm_file(const std::string& path, const FileHead& head) {
  CommFile file{.path = path};
  if (head.text.empty())
    return Error{.what = head.damage.empty() ? "the file is empty" : head.damage,
                 .file = path,
                 .hint = "dump or log again"};
  const Beginning beginning = beginning_of(head.text);
  const std::size_t first = head.text.find_first_not_of(" \t\r\n");
  const bool object = first != std::string::npos && head.text[first] == '{';
  if (beginning == Beginning::pickle)
    file.kind = FileKind::pickle;
  else if (is_ras_text(std::string_view(head.text).substr(0, 4096)))
    file.kind = FileKind::ras;
  else if (object)
    file.kind = FileKind::json;
  if (file.kind == FileKind::pickle && head.text.front() != '\x80')
    judge_text(head, file);
  else if (file.kind == FileKind::pickle || file.kind == FileKind::json)
    judge(head, file);
  return file;
}

std::vector<CommFile> find_files(std::span<const std::string> inputs,
                                 std::span<const std::string> apart, CommFiles& out) {
  std::vector<CommFile> files;
  const std::set<std::string_view> others(apart.begin(), apart.end());
  each_file(inputs, how_to_name, out.errors, [&](const std::string& path, bool inside) {
    if (others.contains(path)) return;
    const auto head = head_of_file(path);
    auto file = head ? comm_file(path, *head) : Result<CommFile>(head.error());
    if (file) {
      file->found = inside;
      files.push_back(std::move(*file));
    } else if (!inside) {
      out.errors.push_back(file.error());
    }
  });
  return files;
}

Result<PlainTree> read_dump(const CommFile& file, CommInput& input, const StopFlag* stop) {
  if (file.refused) return *file.refused;
  auto text = read_text_file(file.path, stop);
  if (!text) return text.error();
  input.bytes = text->size();
  if (file.kind == FileKind::pickle) {
    input.format = "flight recorder (pickle)";
    return parse_pickle(std::move(*text), file.path);
  }
  input.format = "flight recorder (JSON)";
  return parse_plain_json(std::move(*text), file.path);
}

class FilesReader {
 public:
  FilesReader(CommFiles& out, const StopFlag* stop) : out_(out), logs_(out.records), stop_(stop) {}

  void read(const std::vector<CommFile>& files) {
    for (const FileKind kind : {FileKind::pickle, FileKind::json}) dumps(files, kind);
    for (const CommFile& file : files)
      if (file.kind == FileKind::ras && !stopped()) ras_text(file);
    for (const CommFile& file : files)
      if (file.kind == FileKind::log && !stopped()) log(file);
    logs_.settle();
    settle_groups(out_.records);
    drop_quiet_alone();
    name_unread();
  }

 private:
  // Logs without any event do not speak of the end of a job where no other file does.
  void drop_quiet_alone() {
    if (quiet_.empty() || out_.records.inputs.size() > quiet_.size()) return;
    out_.records.inputs.clear();
    out_.records.incident = {};
    for (Error& error : quiet_) out_.errors.push_back(std::move(error));
  }

  // Files of a directory with nothing that is read.
  void name_unread() {
    if (unread_.empty()) return;
    std::string names;
    for (std::size_t i = 0; i < std::min(unread_.size(), most_named); ++i)
      names += (i > 0 ? ", " : "") + unread_[i];
    if (unread_.size() > most_named)
      names += " and " + std::to_string(unread_.size() - most_named) + " more";
    out_.remarks.push_back("nothing is read of " + names +
                           ": no line tells of communication or of the end of a process");
  }

  [[nodiscard]] bool stopped() const { return stop_ != nullptr && stop_->requested(); }

  void dumps(const std::vector<CommFile>& files, FileKind kind) {
    std::vector<const CommFile*> chosen;
    std::vector<std::string> paths;
    for (const CommFile& file : files)
      if (file.kind == kind) {
        chosen.push_back(&file);
        paths.push_back(file.path);
      }
    if (chosen.empty()) return;
    std::vector<std::optional<int>> ranks = ranks_from_names(paths, std::nullopt);
    if (!ranks.front()) ranks = ranks_from_names(paths, world_of(*chosen.front()));
    if (!ranks.front()) {
      for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<int>(i);
      if (paths.size() > 1)
        out_.remarks.emplace_back(
            "the names of the dumps tell no ranks: they are taken in the order given; name them as "
            "they were written (…_rank_3)");
    }
    for (std::size_t i = 0; i < chosen.size() && !stopped(); ++i)
      dump(*chosen[i], ranks[i].value_or(static_cast<int>(i)));
  }

  // Whether damaged JSON may be a dump.
  static bool names_calls(const CommFile& file) {
    const auto head = head_of_file(file.path);
    return head && contains_any(head->text, {"\"entries\"", "\"pg_config\"", "\"pg_status\""});
  }

  std::optional<int> world_of(const CommFile& file) const {
    CommInput ignored;
    const auto tree = read_dump(file, ignored, stop_);
    const int size = tree ? world_size_of(*tree) : 0;
    return size > 0 ? std::optional(size) : std::nullopt;
  }

  void dump(const CommFile& file, int rank) {
    CommInput input;
    input.path = file.path;
    auto tree = read_dump(file, input, stop_);
    if (!tree || !is_flight_dump(tree->value())) {
      if (file.maybe_ras && ras_json(file)) return;
      // Text that begins with a brace may still be a log.
      if (file.kind == FileKind::json && log_text(file)) return;
      if (!tree && file.found && file.kind == FileKind::json && !file.refused && !names_calls(file))
        unread_.push_back(file.path.substr(file.path.rfind('/') + 1));  // settings of a program
      else if (!tree && (!file.found || !file.refused))
        out_.errors.push_back(tree.error());
      else if (tree && !file.found)
        out_.errors.push_back(no_flight_dump(tree->value(), file.path));
      return;
    }
    const auto known = out_.records.rank_index.find(rank);
    if (known != out_.records.rank_index.end() && out_.records.ranks[known->second].has_dump) {
      out_.errors.push_back({.what = "is another dump of rank " + std::to_string(rank),
                             .file = file.path,
                             .hint = "give one dump a rank"});
      return;
    }
    const auto added = add_flight_dump(*tree, rank, input, out_.records);
    if (!added)
      out_.errors.push_back(added.error());
    else
      out_.records.inputs.push_back(std::move(input));
  }

  void ras_text(const CommFile& file) {
    const auto text = read_text_file(file.path, stop_);
    if (!text) {
      out_.errors.push_back(text.error());
      return;
    }
    add_ras_text(*text, out_.records);
    out_.records.inputs.push_back(
        {.path = file.path, .format = "RAS status (text)", .bytes = text->size()});
  }

  // Returns whether the file is a status of NCCL's RAS.
  bool ras_json(const CommFile& file) {
    const auto text = read_text_file(file.path, stop_);
    const auto status = text ? parse_ras_status(*text) : Result<RasStatus>(text.error());
    if (!status) return false;
    add_ras_status(*status, out_.records);
    out_.records.inputs.push_back(
        {.path = file.path, .format = "RAS status (JSON)", .bytes = text->size()});
    return true;
  }

  // Returns whether the file is a log.
  bool log_text(const CommFile& file) {
    CommInput input;
    auto source = open_source(file.path);
    if (!source) return false;
    input.path = file.path;
    input.format = "log";
    if (!logs_.add(**source, input, stop_)) return false;
    out_.records.inputs.push_back(std::move(input));
    return true;
  }

  void log(const CommFile& file) {
    auto source = open_source(file.path);
    if (!source) {
      out_.errors.push_back(source.error());
      return;
    }
    CommInput input;
    input.path = file.path;
    input.format = "log";
    bool quiet = false;
    const auto added = logs_.add(**source, input, stop_, file.refused ? nullptr : &quiet);
    if (!added) {
      Error error = file.refused ? *file.refused : added.error();
      if (error.file.empty()) error.file = file.path;
      if (quiet) {
        quiet_.push_back(std::move(error));
        out_.records.inputs.push_back(std::move(input));
      } else if (!file.found) {
        out_.errors.push_back(std::move(error));
      } else {
        unread_.push_back(file.path.substr(file.path.rfind('/') + 1));
      }
      return;
    }
    if (const std::string damage = (*source)->damage(); !damage.empty()) {
      input.truncated = true;
      input.notes["damaged: " + damage] = 1;
    }
    out_.records.inputs.push_back(std::move(input));
  }

  CommFiles& out_;
  CommLogs logs_;
  std::vector<std::string> unread_;  // names of files
  std::vector<Error> quiet_;         // of the logs that are kept for their last line
  const StopFlag* stop_;
};

}  // namespace

CommFiles read_comm_files(std::span<const std::string> inputs, const StopFlag* stop,
                          std::span<const std::string> apart) {
  CommFiles out;
  const std::vector<CommFile> files = find_files(inputs, apart, out);
  FilesReader(out, stop).read(files);
  if (out.records.inputs.empty() && out.errors.empty())
    out.errors.push_back({.what = "nothing here tells of communication or of the end of a process",
                          .file = inputs.empty() ? std::string() : inputs.front(),
                          .hint = std::string(how_to_name)});
  return out;
}

bool begins_comm_file(const FileHead& head, const std::string& path) {
  if (head.whole) return read_comm_files(std::span(&path, 1)).errors.empty();
  const auto file = comm_file(path, head);
  if (!file) return false;
  if (file->kind == FileKind::pickle) return !file->refused;
  if (file->kind == FileKind::ras || file->maybe_ras) return true;
  if (file->kind == FileKind::json && !file->refused) return true;
  CommRecords records;
  CommInput input{.path = path};
  TextSource source(head.text);
  return CommLogs(records).add(source, input).has_value();
}

}  // namespace stepscope
