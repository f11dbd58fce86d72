// SPDX-License-Identifier: Apache-2.0
// Collapsed ("folded") stacks: `root;...;leaf count`, one stack a line, as FlameGraph, py-spy raw,
// async-profiler, bpftrace and Austin write them. Lines that begin with # are comments. Counts may
// have a fraction.
//
// Neighbouring lines mostly share a prefix, so a line is walked from its first difference to the
// line before. The rest is looked up whole, then frame by frame.
#include <cmath>

#include "stepscope/base/ascii.h"
#include "stepscope/base/number_text.h"
#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/stack_hash.h"

namespace stepscope {
namespace {

std::size_t common_length(std::string_view a, std::string_view b) {
  const std::size_t n = std::min(a.size(), b.size());
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const std::uint64_t x = detail::load_word(a.data() + i) ^ detail::load_word(b.data() + i);
    if (x != 0) return i + static_cast<std::size_t>(__builtin_ctzll(x)) / 8;
  }
  while (i < n && a[i] == b[i]) ++i;
  return i;
}

class Walker {
 public:
  explicit Walker(ProfileBuilder& into) : into_(into) {}

  std::uint32_t node_of(std::string_view stack) {
    const std::size_t common = common_length(stack, before_);
    // Keep the frames of the stack before whose text and separator match.
    while (!path_.empty() && !(path_.back().end <= common && ends_at(stack, path_.back().end)))
      path_.pop_back();
    const Step from = path_.empty() ? Step{0, TreeBuilder::root} : path_.back();
    before_ = stack;
    if (!path_.empty() && from.end == stack.size()) return from.node;
    const std::size_t begin = path_.empty() ? 0 : from.end + 1;
    const std::string_view rest = stack.substr(begin);
    if (rest.find(';') == std::string_view::npos) return step(from.node, rest, stack.size());
    WideHash hash = wide_hash(rest);
    hash.low ^= detail::folded(from.node + 1, 0x9E3779B97F4A7C15ULL);
    if (const std::uint32_t* known = known_.find(hash)) return *known;
    const std::uint32_t node = walk(from.node, stack, begin);
    known_.put(hash, node);
    return node;
  }
  [[nodiscard]] std::uint64_t empty_frames() const { return empty_; }
  void forget_before() {
    before_ = {};
    path_.clear();
  }

 private:
  struct Step {
    std::size_t end;  // end of the frame's text in the stack
    std::uint32_t node;
  };
  static bool ends_at(std::string_view stack, std::size_t at) {
    return at == stack.size() || stack[at] == ';';
  }
  std::uint32_t step(std::uint32_t parent, std::string_view frame, std::size_t end) {
    if (frame.empty()) {
      ++empty_;
      return parent;
    }
    const std::uint32_t node = into_.tree.child(parent, into_.strings.intern(frame));
    path_.push_back({end, node});
    return node;
  }
  std::uint32_t walk(std::uint32_t node, std::string_view stack, std::size_t begin) {
    for (;;) {
      const std::size_t at = std::min(stack.find(';', begin), stack.size());
      node = step(node, stack.substr(begin, at - begin), at);
      if (at == stack.size()) return node;
      begin = at + 1;
    }
  }

  ProfileBuilder& into_;
  HashCache known_;
  std::string_view before_;
  std::vector<Step> path_;
  std::uint64_t empty_ = 0;
};

}  // namespace

bool split_collapsed(std::string_view line, std::string_view& stack, double& count) {
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  std::size_t at = line.size();
  bool fraction = false;
  while (at > 0 && (is_digit(line[at - 1]) || line[at - 1] == '.')) {
    fraction = fraction || line[at - 1] == '.';
    --at;
  }
  if (at < 2 || at == line.size() || !is_blank(line[at - 1])) return false;
  const std::string_view number = line.substr(at);
  if (!fraction && number.size() < 16) {
    std::uint64_t whole = 0;
    for (const char c : number) whole = 10 * whole + static_cast<std::uint64_t>(c - '0');
    count = static_cast<double>(whole);
  } else {
    const auto real = number_of<double>(number);
    if (!real || !std::isfinite(*real)) return false;
    count = *real;
  }
  stack = line.substr(0, at - 1);
  while (!stack.empty() && is_blank(stack.back())) stack.remove_suffix(1);
  return !stack.empty();
}

bool is_collapsed(std::string_view head) {
  if (is_json(head) || head.find('\0') != std::string_view::npos) return false;
  std::size_t counted = 0;
  std::size_t others = 0;
  while (!head.empty()) {
    const std::string_view line = take_line(head);
    if (line.empty() || line.front() == '#') continue;
    std::string_view stack;
    double count = 0;
    (split_collapsed(line, stack, count) ? counted : others) += 1;
  }
  return counted > 0 && 2 * counted >= others;
}

Result<Done> read_collapsed(ByteSource& source, ProfileBuilder& into) {
  LineReader lines(source);
  Walker walker(into);
  std::uint64_t generation = 0;
  std::uint64_t comments = 0;
  std::uint64_t bad = 0;
  for (std::string_view line; lines.next(line);) {
    if (lines.generation() != generation) {
      generation = lines.generation();
      walker.forget_before();
    }
    if (line.empty()) continue;
    std::string_view stack;
    double count = 0;
    if (line.front() == '#') {
      ++comments;
    } else if (!split_collapsed(line, stack, count)) {
      ++bad;
    } else {
      into.tree.add(walker.node_of(stack), count);
      ++into.input.stacks;
    }
  }
  into.note("comments", comments);
  into.note("lines_without_a_count", bad);
  into.note("empty_frames", walker.empty_frames());
  return into.close(lines);
}

}  // namespace stepscope
