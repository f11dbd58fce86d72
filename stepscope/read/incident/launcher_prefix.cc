// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/incident/launcher_prefix.h"

#include <algorithm>
#include <array>
#include <map>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/read/incident/error_text.h"

namespace stepscope {
namespace {

constexpr int most_ranks_of_job = 10'000'000;
constexpr std::size_t longest_name = 200;

// "3: " at the front.
std::optional<int> label_of(std::string_view text) {
  std::string_view rest = text.substr(std::min(text.find_first_not_of(' '), text.size()));
  const auto rank = take_number<int>(rest);
  if (rank && *rank >= 0 && *rank < most_ranks_of_job && rest.starts_with(":")) return rank;
  return std::nullopt;
}

// "[1,2]<stdout>:" of mpirun --tag-output, "[prterun-n1-77@1,2]<stderr>: " since version 5.
struct MpirunTag {
  int rank = 0;
  std::string_view text{};
};
std::optional<MpirunTag> mpirun_tag(std::string_view line) {
  if (!line.starts_with('[')) return std::nullopt;
  const std::size_t close = line.substr(0, longest_name).find("]<std");
  if (close == std::string_view::npos) return std::nullopt;
  const std::size_t comma = line.substr(0, close).rfind(',');
  const std::size_t end = line.substr(0, close + 16).find(">:", close);
  if (comma == std::string_view::npos || end == std::string_view::npos) return std::nullopt;
  const auto rank = number_of<int>(line.substr(comma + 1, close - comma - 1));
  if (!rank || *rank < 0 || *rank >= most_ranks_of_job) return std::nullopt;
  return MpirunTag{.rank = *rank, .text = line.substr(end + 2)};
}

// A rank in the name of a worker: "Worker[rank=1]: " of NeMo RL, "(Worker[rank=1] pid=7) " of Ray,
// "(VllmWorker rank=1 pid=7) " and "(Worker_TP1 pid=7) " of vLLM. vLLM adds other dimensions to the
// name if their size is above 1.
std::optional<int> rank_of_worker(std::string_view front) {
  const bool in_brackets = front.starts_with('(');
  const std::size_t end = front.find(in_brackets ? " pid=" : ": ");
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view name = front.substr(0, end);
  for (const std::string_view key : {"[rank=", " rank=", "(Worker_TP"}) {
    const std::size_t at = name.find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = name.substr(at + key.size());
    const auto rank = take_number<int>(rest);
    if (!rank || *rank < 0 || *rank >= most_ranks_of_job) continue;
    if (in_brackets ? rest.empty() || rest == "]" : rest == "]" && !contains(name, " "))
      return rank;
  }
  return std::nullopt;
}

// The name at the front, of letters as hosts and containers have them.
std::string_view name_at(std::string_view line) {
  std::size_t end = 0;
  while (end < line.size() && end < longest_name &&
         (is_alphanumeric(line[end]) || contains("-_.", line.substr(end, 1))))
    ++end;
  return line.substr(0, end);
}

// Prefixes that a single line shows: "[pod/trainer-0/main] ", "n1 [stderr] ".
std::optional<NamedLine> marked_name(std::string_view line) {
  constexpr std::string_view pod = "[pod/";
  if (line.starts_with(pod)) {
    const std::size_t end = line.substr(0, longest_name).find("] ");
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view path = line.substr(pod.size(), end - pod.size());
    return NamedLine{.name = path.substr(0, std::min(path.find('/'), path.size())),
                     .text = line.substr(end + 2)};
  }
  const std::string_view name = name_at(line);
  if (name.empty()) return std::nullopt;
  for (const std::string_view stream : {" [stderr] ", " [stdout] "})
    if (line.substr(name.size()).starts_with(stream))
      return NamedLine{.name = name, .text = line.substr(name.size() + stream.size())};
  return std::nullopt;
}

// "n1: text", "trainer-1  | text", where the name is like that of a host: words of a sentence,
// levels of a logger and exceptions are not.
std::optional<NamedLine> likely_name(std::string_view line) {
  const std::string_view name = name_at(line);
  if (name.size() < 2 || !is_letter(name.front()) || is_exception_line(line)) return std::nullopt;
  const bool like_host = name == "localhost" ||
                         std::ranges::any_of(name, [](char c) { return is_digit(c) || c == '-'; });
  if (!like_host || is_cann_code(line)) return std::nullopt;
  std::string_view rest = line.substr(name.size());
  if (rest == ":" || rest.starts_with(": "))
    return NamedLine{.name = name, .text = rest.substr(std::min<std::size_t>(2, rest.size()))};
  rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
  const bool apart = rest.size() + name.size() < line.size();
  if (!apart || (rest != "|" && !rest.starts_with("| "))) return std::nullopt;
  return NamedLine{.name = name, .text = rest.substr(std::min<std::size_t>(2, rest.size()))};
}

// The text behind "ERROR 11-30 12:00:00 [core.py:718] " and "ERROR 11-30 12:00:00 engine.py:366] "
// of vLLM, which writes it in front of each line of a traceback.
std::string_view without_record_of_vllm(std::string_view line) {
  constexpr std::size_t stamp = 15;  // "11-30 12:00:00 "
  const std::size_t level = line.substr(0, 9).find(' ');
  if (level == std::string_view::npos || !is_level_word(line.substr(0, level))) return line;
  const std::string_view rest = line.substr(level + 1);
  if (rest.size() < stamp || rest[2] != '-' || rest[5] != ' ' || rest[8] != ':') return line;
  const std::size_t close = rest.substr(0, longest_name).find("] ", stamp);
  const std::string_view place =
      rest.substr(stamp, close == std::string_view::npos ? 0 : close - stamp);
  return contains(place, ".py:") && !contains(place, " ") ? rest.substr(close + 2) : line;
}

}  // namespace

std::optional<int> launcher_rank(std::string_view line, bool labelled) {
  const std::string_view front = line.substr(0, 160);
  if (const std::size_t at = front.find("[rank"); at != std::string_view::npos) {
    std::string_view rest = front.substr(at + 5);
    const auto rank = take_number<int>(rest);
    if (rank && *rank >= 0 && *rank < most_ranks_of_job && rest.starts_with("]")) return rank;
  }
  if (const auto tag = mpirun_tag(line)) return tag->rank;
  if (const auto rank = rank_of_worker(front)) return rank;
  return labelled ? label_of(front) : std::nullopt;
}

bool is_labelled(std::string_view text) {
  int lines = 0;
  int labels = 0;
  for (; !text.empty() && lines < 40; ++lines) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (label_of(text.substr(0, std::min<std::size_t>(end, 32)))) ++labels;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines >= 4 && labels * 10 >= lines * 9;
}

std::optional<int> launcher_local_rank(std::string_view line) {
  const std::string_view front = line.substr(0, 160);
  const std::size_t at = front.find("[default");
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = front.substr(at + 8);
  const auto rank = take_number<int>(rest);
  if (rank && *rank >= 0 && *rank < 1'000'000 && rest.starts_with("]:")) return rank;
  return std::nullopt;
}

std::string_view without_launcher(std::string_view line) {
  if (line.starts_with('(')) {
    const std::size_t close = line.find(") ");
    if (close != std::string_view::npos && contains(line.substr(0, close), "pid="))
      line.remove_prefix(close + 2);
  } else if (rank_of_worker(line.substr(0, longest_name))) {
    line.remove_prefix(line.find(": ") + 2);
  }
  line = without_record_of_vllm(line);
  if (const auto named = marked_name(line)) line = named->text;
  if (const auto tag = mpirun_tag(line)) line = tag->text;
  for (const std::string_view key : {"[rank", "[default"}) {
    const std::size_t at = line.substr(0, 64).find(key);
    if (at == std::string_view::npos) continue;
    std::string_view rest = line.substr(at + key.size());
    const auto rank = take_number<int>(rest);
    if (!rank || !rest.starts_with("]:")) continue;
    rest.remove_prefix(2);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    return rest;
  }
  std::string_view rest = line.substr(std::min(line.find_first_not_of(' '), line.size()));
  const auto rank = take_number<int>(rest);
  return rank && *rank >= 0 && rest.starts_with(": ") ? rest.substr(2) : line;
}

LauncherNames launcher_names(std::string_view text) {
  constexpr std::size_t looked_at = 2000;
  struct Lines {
    std::size_t all = 0;
    bool program = false;  // frames of Python, which no line of another meaning has behind a colon
  };
  std::map<std::string_view, Lines> by_name;
  std::size_t lines = 0;
  std::size_t named = 0;
  for (std::size_t at = 0; at < text.size() && lines < looked_at;) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    at = end + 1;
    if (trimmed(line).empty()) continue;
    ++lines;
    const auto split = likely_name(line);
    if (!split) continue;
    ++named;
    Lines& of = by_name[split->name];
    ++of.all;
    of.program = of.program || split->text.starts_with("  File \"") ||
                 contains(split->text, "Traceback (most recent call last)");
  }
  // Keys of a report differ from line to line, names of hosts return.
  const bool most = lines >= 4 && named * 2 >= lines && by_name.size() * 2 <= named;
  LauncherNames out;
  for (const auto& [name, of] : by_name)
    if (most || of.program) out.emplace(name);
  return out;
}

NamedLine split_name(std::string_view line, const LauncherNames& known) {
  if (const auto marked = marked_name(line)) return *marked;
  if (!known.empty())
    if (const auto likely = likely_name(line); likely && known.contains(likely->name))
      return *likely;
  return {.text = line};
}

}  // namespace stepscope
