// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/comm_lines/nccl_line.h"

#include <algorithm>
#include <array>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

std::string_view word_of(std::string_view text) {
  return text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
}

std::optional<std::uint64_t> pointer(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  return leading_number<std::uint64_t>(text, 16);
}

// "host:pid:tid", with an optional "[dev]" directly behind it.
bool take_process(std::string_view token, NcclSaying& into) {
  const std::size_t last = token.rfind(':');
  if (last == std::string_view::npos || last == 0) return false;
  const std::size_t middle = token.rfind(':', last - 1);
  if (middle == std::string_view::npos || middle == 0) return false;
  const std::string_view pid = token.substr(middle + 1, last - middle - 1);
  const std::string_view tid = token.substr(last + 1);
  const auto whole = [](std::string_view digits) {
    return !digits.empty() && digits.size() < 12 && std::ranges::all_of(digits, is_digit);
  };
  if (!whole(pid) || !whole(tid)) return false;
  // "12:00:01" is a time of day.
  if (std::ranges::all_of(token.substr(0, middle), is_digit)) return false;
  into.host = token.substr(0, middle);
  into.pid = *leading_number<std::int64_t>(pid);
  into.tid = *leading_number<std::int64_t>(tid);
  return true;
}

// "[3]".
std::optional<int> device_in(std::string_view token) {
  if (token.size() < 3 || token.size() > 6 || token.front() != '[' || token.back() != ']')
    return std::nullopt;
  const std::string_view digits = token.substr(1, token.size() - 2);
  return std::ranges::all_of(digits, is_digit) ? leading_number<int>(digits) : std::nullopt;
}

// Finds "host:pid:tid [dev]" among the last words before "NCCL"; in warnings and traces a file and
// a function follow it. Returns where it begins in `before`.
std::optional<std::size_t> find_process(std::string_view before, NcclSaying& into) {
  std::size_t end = before.size();
  for (int words = 0; words < 7; ++words) {
    while (end > 0 && before[end - 1] == ' ') --end;
    if (end == 0) return std::nullopt;
    const std::size_t blank = before.substr(0, end).rfind(' ');
    const std::size_t begin = blank == std::string_view::npos ? 0 : blank + 1;
    const std::string_view token = before.substr(begin, end - begin);
    if (const auto device = device_in(token)) {
      into.device = device;
    } else if (take_process(token, into)) {
      return begin;
    }
    end = begin;
  }
  return std::nullopt;
}

// The last word of `text`, which is cut off.
std::string_view take_last_word(std::string_view& text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  const std::size_t begin = text.rfind(' ') + 1;  // npos + 1 is 0
  const std::string_view word = text.substr(begin);
  text = text.substr(0, begin);
  return word;
}

// "[3] include/shm.h:28" and "node1 [3]" in front of "NCCL", where somebody took away the process.
// Returns where the device, or the host, begins in `before`.
std::optional<std::size_t> find_device(std::string_view before, NcclSaying& into) {
  for (int words = 0; words < 3; ++words) {
    const std::string_view word = take_last_word(before);
    if (const auto device = device_in(word)) {
      into.device = device;
      std::string_view rest = before;
      const std::string_view host = take_last_word(rest);
      const bool name = std::ranges::all_of(
          host, [](char c) { return is_word_letter(c) || c == '-' || c == '.'; });
      const bool digits = std::ranges::all_of(host, [](char c) { return is_digit(c) || c == '.'; });
      if (host.empty() || !name || digits) return before.size();
      into.host = host;
      return rest.size();
    }
    const bool place = contains(word, ":") && contains(word, ".");
    if (!place && !word.starts_with('(')) return std::nullopt;
  }
  return std::nullopt;
}

// Removes letters of other writers before the host. Looks for the shortest known host that ends
// this one.
std::size_t letters_before_host(NcclSaying& saying, const HostNames& known) {
  constexpr std::size_t longest_name = 255;  // of a host
  if (known.contains(saying.host)) return 0;
  for (std::size_t size = 1; size < std::min(saying.host.size(), longest_name + 1); ++size) {
    const std::size_t letters = saying.host.size() - size;
    if (!known.contains(saying.host.substr(letters))) continue;
    saying.host.remove_prefix(letters);
    return letters;
  }
  return 0;
}

struct LevelWord {
  std::string_view word;
  NcclLevel level;
};
constexpr std::array<LevelWord, 5> level_words = {{{"INFO ", NcclLevel::info},
                                                   {"WARN ", NcclLevel::warn},
                                                   {"TRACE ", NcclLevel::trace},
                                                   {"CALL ", NcclLevel::call},
                                                   {"version ", NcclLevel::version}}};

constexpr std::array<std::string_view, 7> algorithms = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr std::array<std::string_view, 3> protocols = {"LL", "LL128", "SIMPLE"};

// The number behind `key`, unless the text ends with it: the rest of its digits may be cut off.
std::optional<std::int64_t> whole_number_behind(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  if (!rest) return std::nullopt;
  std::string_view digits = trimmed(*rest);
  const auto number = take_number<std::int64_t>(digits);
  return digits.empty() ? std::nullopt : number;
}

// "ALLREDUCE" of "OpType=ALLREDUCE, …"; empty for a cut one.
std::string_view operation_of(std::string_view call) {
  const auto type = behind(call, "OpType=");
  const std::size_t end = type ? type->find_first_of(",)") : std::string_view::npos;
  if (end == std::string_view::npos) return {};
  const std::string_view word = type->substr(0, end);
  const bool whole = std::ranges::all_of(word, is_word_letter);
  return whole ? word : std::string_view();
}

template <std::size_t N>
std::string named(std::string_view word, const std::array<std::string_view, N>& names) {
  if (word.empty() || !std::ranges::all_of(word, is_digit)) return std::string(word);
  const auto number = leading_number<std::size_t>(word);
  return number && *number < N ? std::string(names[*number]) : std::string(word);
}

}  // namespace

std::optional<std::string_view> behind(std::string_view text, std::string_view key) {
  const std::size_t at = text.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  return text.substr(at + key.size());
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key) {
  const auto rest = behind(text, key);
  return rest ? leading_number<std::int64_t>(trimmed(*rest)) : std::nullopt;
}

std::string_view without_colours(std::string_view line, std::string& room) {
  std::size_t at = line.find('\x1b');
  if (at == std::string_view::npos) return line;
  room.clear();
  while (at != std::string_view::npos) {
    room += line.substr(0, at);
    std::size_t end = at + 1;
    if (end < line.size() && line[end] == '[') {
      ++end;
      while (end < line.size() && (line[end] < '@' || line[end] > '~')) ++end;
    }
    line.remove_prefix(std::min(end + 1, line.size()));
    at = line.find('\x1b');
  }
  room += line;
  return room;
}

void split_sayings(std::string_view line, const HostNames& known, std::vector<NcclSaying>& into) {
  constexpr std::string_view token = "NCCL ";
  into.clear();
  std::size_t from = 0;  // behind the level of the last message
  for (std::size_t at = line.find(token); at != std::string_view::npos;
       at = line.find(token, at + 1)) {
    const std::string_view rest = line.substr(at + token.size());
    const auto* const level = std::ranges::find_if(
        level_words, [&](const LevelWord& w) { return rest.starts_with(w.word); });
    if (level == level_words.end()) continue;
    NcclSaying saying{.level = level->level};
    auto process = find_process(line.substr(from, at - from), saying);
    if (process)
      *process += letters_before_host(saying, known);
    else if (into.empty())
      process = find_device(line.substr(from, at - from), saying);
    const bool first = trimmed(line.substr(0, at)).empty();
    const bool bare = !process && (level->level == NcclLevel::version || first);
    if (!process && !bare) continue;
    if (!into.empty()) {
      NcclSaying& before = into.back();
      const auto begin = static_cast<std::size_t>(before.text.data() - line.data());
      before.text = trimmed(line.substr(begin, from + process.value_or(at - from) - begin));
    }
    saying.text = trimmed(rest.substr(level->word.size()));
    // INFO lines contain their version too: "NCCL INFO NCCL version 2.19.3".
    into.push_back(saying);
    from = at + token.size() + level->word.size();
  }
}

std::optional<NcclCallLine> parse_call(std::string_view text) {
  const std::size_t colon = text.find(": opCount ");
  if (colon == std::string_view::npos || colon == 0 || colon > 40) return std::nullopt;
  NcclCallLine call;
  call.operation = text.substr(0, colon);
  std::string_view rest = text.substr(colon + 2);
  bool counted = false;
  // The words are pairs of a key and a value; only "[nranks=8]" is a single word.
  while (!rest.empty()) {
    const std::string_view key = word_of(rest);
    rest = trimmed(rest.substr(key.size()));
    if (key.starts_with("[nranks=")) {
      call.ranks = leading_number<int>(key.substr(8)).value_or(0);
      continue;
    }
    const std::string_view value = word_of(rest);
    rest = trimmed(rest.substr(value.size()));
    if (key == "opCount") {
      const auto number = leading_number<std::int64_t>(value, 16);
      if (!number) return std::nullopt;
      call.op_count = *number;
    } else if (key == "count") {
      const auto number = leading_number<std::int64_t>(value);
      if (!number) return std::nullopt;
      call.count = *number;
      counted = true;
    } else if (key == "datatype") {
      call.type = leading_number<int>(value).value_or(-1);
    } else if (key == "op") {
      call.reduction = leading_number<int>(value).value_or(-1);
    } else if (key == "root") {
      call.root = leading_number<int>(value).value_or(-1);
    } else if (key == "comm" && value.starts_with("0x")) {
      call.communicator = pointer(value);
    }
  }
  return counted ? std::optional(call) : std::nullopt;
}

std::optional<NcclCommLine> parse_comm(std::string_view text) {
  const auto rest = behind(text, "comm 0x");
  if (!rest) return std::nullopt;
  const auto address = pointer(*rest);
  const auto rank = number_behind(*rest, " rank ");
  if (!address || !rank) return std::nullopt;
  NcclCommLine line;
  line.communicator = *address;
  line.rank = static_cast<int>(*rank);
  line.ranks = static_cast<int>(
      number_behind(*rest, " nranks ").value_or(number_behind(*rest, " nRanks ").value_or(0)));
  line.nodes = static_cast<int>(number_behind(*rest, " nNodes ").value_or(0));
  if (const auto bus = behind(*rest, " busId ")) line.bus = word_of(*bus);
  if (const auto id = behind(*rest, " commId ")) line.id = word_of(*id);
  if (const auto parent = behind(*rest, " parent ")) line.parent = word_of(*parent);
  line.start = text.find("Init START") != std::string_view::npos;
  line.complete = text.find("Init COMPLETE") != std::string_view::npos;
  line.ended = text.find("Destroy COMPLETE") != std::string_view::npos ||
               text.find("Abort COMPLETE") != std::string_view::npos;
  const bool says = line.start || line.complete || line.ended || line.nodes > 0;
  return says && line.ranks > 0 ? std::optional(line) : std::nullopt;
}

std::optional<NcclChoiceLine> parse_choice(std::string_view text) {
  constexpr std::string_view arrow = " Bytes -> Algo ";
  const std::size_t at = text.find(arrow);
  if (at == std::string_view::npos) return std::nullopt;
  NcclChoiceLine line;
  std::string_view head = text.substr(0, at);
  if (const std::size_t colon = head.find(": "); colon != std::string_view::npos) {
    line.operation = head.substr(0, colon);
    head.remove_prefix(colon + 2);
  }
  const auto bytes = leading_number<std::int64_t>(trimmed(head));
  if (!bytes) return std::nullopt;
  line.bytes = *bytes;
  const std::string_view rest = text.substr(at + arrow.size());
  line.algorithm = named(word_of(rest), algorithms);
  if (const auto protocol = behind(rest, " proto "))
    line.protocol = named(word_of(*protocol), protocols);
  return line;
}

namespace {

// "[PG ID 2 PG GUID 9 Rank 6] Exception (either an": the bracket names rank and group of a timeout,
// though the line is cut before the last numbers of the group.
bool names_group_of_timeout(std::string_view line) {
  const auto group = behind(line, "[PG ");
  const std::size_t close = group ? group->find("] ") : std::string_view::npos;
  if (close == std::string_view::npos || !contains(group->substr(0, close), "Rank ")) return false;
  const std::string_view words = group->substr(close + 2);
  return words.starts_with("Exception (either an") || words.starts_with("Timeout at NCCL work");
}

}  // namespace

std::optional<WatchdogLine> parse_watchdog(std::string_view line) {
  const auto work = behind(line, "WorkNCCL(");
  const bool gives_up = work && line.find("imeout") != std::string_view::npos;
  const bool status = line.find("ast enqueued") != std::string_view::npos;
  const bool cut = !gives_up && !status && names_group_of_timeout(line);
  if (!gives_up && !status && !cut) return std::nullopt;
  WatchdogLine out;
  const auto rank_at = [&](std::string_view key) {
    const auto rank = whole_number_behind(line, key);
    return rank && *rank >= 0 && *rank < 10'000'000 ? static_cast<int>(*rank) : -1;
  };
  out.place = rank_at("Rank ");
  out.rank = rank_at("[rank");
  if (out.rank < 0) out.rank = out.place;
  if (out.place < 0) out.place = out.rank;
  if (out.rank < 0) return std::nullopt;
  auto group = behind(line, "PG GUID ");
  if (!group) group = behind(line, "[PG ");
  if (group && contains(*group, "]") && !group->starts_with("ID ")) {
    const std::string_view words = group->substr(0, group->find(']'));
    out.group = words.substr(0, std::min(words.find_first_of(" ("), words.size()));
    if (const std::size_t open = words.find('('); open != std::string_view::npos)
      out.group_name = words.substr(open + 1, std::min(words.find(')'), words.size()) - open - 1);
  }
  if (gives_up) {
    const std::size_t ran = work->find(") ran");
    const std::string_view call = ran == std::string_view::npos ? *work : work->substr(0, ran + 1);
    out.sequence = whole_number_behind(call, "SeqNum=").value_or(-1);
    out.operation = operation_of(call);
    out.timeout = !out.operation.empty() || out.sequence >= 0;
    out.in_elements = whole_number_behind(call, "NumelIn=");
    out.out_elements = whole_number_behind(call, "NumelOut=");
    // Until PyTorch 1.13 the shape of the first tensor.
    if (const auto shape = behind(call, "TensorShape="); shape && !out.in_elements)
      out.in_elements = elements_of_shape(*shape);
    out.limit_ms = whole_number_behind(call, "Timeout(ms)=");
    out.ran_ms = whole_number_behind(line, " ran for ");
  }
  const auto either = [&](std::string_view a, std::string_view b) {
    const auto first = whole_number_behind(line, a);
    return first ? first : whole_number_behind(line, b);
  };
  out.enqueued = either("last enqueued work: ", "ast enqueued NCCL work: ");
  out.started = either("last started work: ", "ast started NCCL work: ");
  out.completed = number_behind(line, "last completed work: ");  // the line ends with it
  if (!out.completed) out.completed = whole_number_behind(line, "ast completed NCCL work: ");
  // Some versions print memory that nobody has set.
  for (auto* count : {&out.started, &out.completed})
    if (out.enqueued && *count && **count > *out.enqueued) count->reset();
  if (!out.timeout)
    out.sequence = either("work sequence id: ", "Timeout at NCCL work: ").value_or(-1);
  out.gave_up = !out.timeout && out.sequence >= 0 && contains(line, "Timeout at NCCL work: ");
  if (!out.timeout && !out.enqueued && !out.completed && !cut) return std::nullopt;
  return out;
}

bool is_cut_watchdog(std::string_view line) {
  const auto rest = behind(line, "aught collective operation timeout:");
  if (!rest) return false;
  if (trimmed(*rest).empty()) return true;
  const auto work = behind(*rest, "WorkNCCL(");
  return work && work->find(" before timing out") == std::string_view::npos &&
         work->find("timing out.") == std::string_view::npos;
}

bool is_cut_status(std::string_view line) {
  const bool begins =
      contains_any(line, {"ast enqueued", "Timeout at NCCL work: ", "Exception (either an"});
  if (!begins || !contains_any(line, {"Rank ", "[rank"})) return false;
  return !number_behind(line, "last completed work: ") &&
         !whole_number_behind(line, "ast completed NCCL work: ");
}

void join_cut_line(std::string& line, std::string_view next) {
  if (!line.empty() && !next.empty()) {
    const auto work = behind(line, "WorkNCCL(");
    const bool inside = work && work->find(')') == std::string_view::npos;
    const bool digits = is_digit(line.back()) && is_digit(next.front());
    const bool glued =
        is_word_letter(line.back()) && is_word_letter(next.front()) && (inside || digits);
    if (!glued && line.back() != ' ') line += ' ';
  }
  line += next;
}

std::optional<std::int64_t> elements_of_shape(std::string_view shape) {
  if (!shape.starts_with('[')) return std::nullopt;
  shape.remove_prefix(1);
  std::int64_t product = 1;
  for (bool first = true;; first = false) {
    while (shape.starts_with(' ')) shape.remove_prefix(1);
    if (shape.starts_with(']')) return product;
    if (!first) {
      if (!shape.starts_with(',')) return std::nullopt;
      shape.remove_prefix(1);
      while (shape.starts_with(' ')) shape.remove_prefix(1);
    }
    const auto size = take_number<std::int64_t>(shape);
    if (!size || *size < 0 || __builtin_mul_overflow(product, *size, &product)) return std::nullopt;
  }
}

namespace {

// "Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=3104, OpType=ALLREDUCE,
// TensorShape=[1, 2], TensorDtypes=BFloat16, …)"; of the other rank early versions have only
// "collective: REDUCE.".
std::optional<FingerprintLine> fingerprint_in(std::string_view text, std::string_view running) {
  const auto rank = number_behind(text, "Rank ");
  const auto call = behind(text, running);
  if (!rank || *rank < 0 || *rank >= 10'000'000 || !call) return std::nullopt;
  FingerprintLine out{.rank = static_cast<int>(*rank)};
  const auto print = behind(*call, "CollectiveFingerPrint(");
  if (!print) {
    std::size_t end = 0;
    while (end < call->size() &&
           ((*call)[end] == '_' || ((*call)[end] >= 'A' && (*call)[end] <= 'Z')))
      ++end;
    out.operation = call->substr(0, end);
    const bool whole = end == call->size() || (*call)[end] == '.';
    return end > 3 && whole ? std::optional(out) : std::nullopt;
  }
  out.sequence = number_behind(*print, "SequenceNumber=").value_or(-1);
  const auto word = [&](std::string_view key) -> std::string_view {
    const auto rest = behind(*print, key);
    return rest ? rest->substr(0, std::min(rest->find_first_of(",)"), rest->size()))
                : std::string_view();
  };
  out.operation = word("OpType=");
  if (const auto shape = behind(*print, "TensorShape="))
    out.shape = shape->substr(0, std::min(shape->find(']') + 1, shape->size()));
  out.type = word("TensorDtypes=");
  return out.operation.empty() ? std::nullopt : std::optional(out);
}

}  // namespace

std::optional<MismatchLine> parse_mismatch(std::string_view line) {
  const auto rest = behind(line, "Detected mismatch between collectives on ranks. ");
  if (!rest) return std::nullopt;
  if (const auto alone = fingerprint_in(*rest, "is running inconsistent collective: "))
    return MismatchLine{*alone, std::nullopt};
  const std::size_t middle = rest->find(", but Rank ");
  if (middle == std::string_view::npos) return std::nullopt;
  constexpr std::string_view running = "is running collective: ";
  const auto first = fingerprint_in(rest->substr(0, middle), running);
  const auto second = fingerprint_in(rest->substr(middle), running);
  if (!first || !second || first->rank == second->rank) return std::nullopt;
  return MismatchLine{*first, second};
}

namespace {

std::optional<BarrierLine> barrier_of_jax(std::string_view line) {
  const auto rest = behind(line, "Barrier timed out. ");
  if (!rest) return std::nullopt;
  BarrierLine out;
  for (const std::string_view key : {"Barrier_id: ", "Id: "})
    if (const auto name = behind(*rest, key)) {
      out.name = name->substr(0, std::min(name->find(". "), name->size()));
      break;
    }
  for (auto tasks = behind(*rest, "imed out task names:"); tasks;) {
    tasks = behind(*tasks, "/task:");
    const auto task = tasks ? leading_number<int>(*tasks) : std::nullopt;
    if (task && *task >= 0 && *task < 10'000'000 && out.missing.size() < 65536)
      out.missing.push_back(*task);
  }
  std::ranges::sort(out.missing);
  out.missing.erase(std::ranges::unique(out.missing).begin(), out.missing.end());
  return out.missing.empty() || out.name.empty() ? std::nullopt : std::optional(std::move(out));
}

}  // namespace

std::optional<BarrierLine> parse_barrier(std::string_view line) {
  if (auto of_jax = barrier_of_jax(line)) return of_jax;
  const std::size_t failed = line.find(" failed to pass monitoredBarrier in ");
  if (failed == std::string_view::npos) return std::nullopt;
  BarrierLine out;
  out.limit_ms = number_behind(line, "monitoredBarrier in ").value_or(-1);
  std::string_view head = line.substr(0, failed);
  const std::size_t many = head.rfind("Ranks ");
  const std::size_t one = head.rfind("Rank ");
  const std::size_t at = many != std::string_view::npos  ? many + 6
                         : one != std::string_view::npos ? one + 5
                                                         : std::string_view::npos;
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view list = head.substr(at);
  while (!list.empty() && out.missing.size() < 65536) {
    const auto rank = take_number<int>(list);
    if (!rank || *rank < 0 || *rank >= 10'000'000) return std::nullopt;
    out.missing.push_back(*rank);
    while (!list.empty() && (list.front() == ',' || list.front() == ' ')) list.remove_prefix(1);
  }
  if (const auto waits = number_behind(head.substr(0, at), "[Rank "); waits && *waits >= 0)
    out.waits = static_cast<int>(std::min<std::int64_t>(*waits, 10'000'000));
  return out.missing.empty() ? std::nullopt : std::optional(std::move(out));
}

std::string_view nccl_type_name(int type) {
  constexpr std::array<std::string_view, 12> names = {
      "int8",    "uint8",   "int32",   "uint32",   "int64",      "uint64",
      "float16", "float32", "float64", "bfloat16", "float8e4m3", "float8e5m2"};
  return type >= 0 && static_cast<std::size_t>(type) < names.size()
             ? names[static_cast<std::size_t>(type)]
             : std::string_view();
}

std::string_view nccl_reduction_name(int reduction) {
  constexpr std::array<std::string_view, 5> names = {"sum", "prod", "max", "min", "avg"};
  if (reduction < 0) return {};
  return static_cast<std::size_t>(reduction) < names.size()
             ? names[static_cast<std::size_t>(reduction)]
             : "user's";
}

NcclWriter writer_in_name(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  constexpr std::string_view prefix = "nccl_log_";
  if (!name.starts_with(prefix)) return {};
  name = name.substr(prefix.size(), name.find('.', prefix.size()) - prefix.size());
  const std::size_t mark = name.rfind('_');
  if (mark == std::string_view::npos || mark == 0) return {};
  const auto pid = number_of<std::int64_t>(name.substr(mark + 1));
  if (!pid || *pid <= 0) return {};
  return {.host = std::string(name.substr(0, mark)), .pid = *pid};
}

}  // namespace stepscope
