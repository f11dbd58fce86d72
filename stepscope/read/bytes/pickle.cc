// SPDX-License-Identifier: Apache-2.0
// A stack machine over node indices. A list or dict that is filled in several steps keeps its
// stretches of items. At the end they are copied side by side.
#include "stepscope/read/bytes/pickle.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <cstring>
#include <limits>
#include <optional>

#include "stepscope/base/number_text.h"
#include "stepscope/read/bytes/pickle_opcodes.h"
#include "stepscope/read/bytes/pickle_text.h"

namespace stepscope {
namespace {

constexpr std::uint64_t most_pickle_bytes = 4'000'000'000;
constexpr std::uint32_t small_integers = 256;
// Nodes at the start of every tree.
constexpr std::uint32_t node_none = 0;
constexpr std::uint32_t node_false = 1;
constexpr std::uint32_t node_true = 2;
constexpr std::uint32_t node_builder = 3;  // torch.jit._pickle.build_*list; never part of a value
constexpr std::uint32_t node_zero = 4;     // and 255 more
constexpr std::uint32_t no_node = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t longest_integer = 1024;
// Writers number memo entries from 0 or 1 without gaps. A larger gap is damage.
constexpr std::uint64_t memo_gap = 4096;

// Items of a container that are adjacent in PlainTree::children.
struct Stretch {
  std::uint64_t begin = 0;
  std::uint32_t count = 0;
  std::uint32_t next = 0;
};

std::uint64_t packed(std::uint32_t first, std::uint32_t last) {
  return std::uint64_t{first} << 32U | last;
}

// A short form for messages, without control characters that a terminal would obey.
std::string harmless(std::string_view text) {
  std::string out(text.substr(0, 80));
  for (char& c : out)
    if (std::isprint(static_cast<unsigned char>(c)) == 0) c = '?';
  return out;
}

class PickleMachine {
 public:
  PickleMachine(std::string bytes, std::string_view path, bool head = false)
      : path_(path), head_(head) {
    tree_.text = std::move(bytes);
    size_ = tree_.text.size();
    // Reserves space for typical snapshots and dumps, so that nodes are not copied as they grow.
    tree_.nodes.reserve(node_zero + small_integers + size_ / 6);
    tree_.children.reserve(size_ / 3);
    tree_.nodes.resize(node_zero + small_integers);
    tree_.nodes[node_false].kind = tree_.nodes[node_true].kind = PlainKind::boolean;
    tree_.nodes[node_true].word = 1;
    for (std::uint32_t i = 0; i < small_integers; ++i)
      tree_.nodes[node_zero + i] = {.word = i, .count = 0, .kind = PlainKind::integer};
    stretches_.emplace_back();  // stretch 0 means none
  }

  // What begins in these bytes; the open containers are closed.
  Result<PlainTree> run_head() {
    while (!stopped_ && step()) {
    }
    if (!stopped_ && !ended_) return *error_;
    if (!stopped_) close_open();
    lay_side_by_side();
    return std::move(tree_);
  }

  Result<PlainTree> run() {
    if (size_ > most_pickle_bytes) return fail_at(most_pickle_bytes, "has more than 4 GB");
    while (!stopped_)
      if (!step()) return *error_;
    lay_side_by_side();
    if (std::string problem = nesting_problem(tree_, deepest_pickle); !problem.empty())
      return fail_at(size_, std::move(problem));
    tree_.trailing_bytes = size_ - at_;
    return std::move(tree_);
  }

 private:
  Error fail_at(std::uint64_t byte, std::string what) {
    return {.what = std::move(what),
            .file = std::string(path_),
            .byte = byte,
            .hint = "give the file as it was written, or record it again"};
  }
  bool fail(std::string what) {
    error_ = fail_at(op_at_, std::move(what));
    return false;
  }
  bool fail_at_end(std::string what) {
    ended_ = true;
    return fail(std::move(what));
  }
  bool refuse(std::string_view name, const std::string& what = {}) {
    error_ = Error{.what = "holds more than plain data: opcode " + std::string(name) + " (" +
                           hex(static_cast<unsigned char>(tree_.text[op_at_])) + ")" +
                           (what.empty() ? "" : " of " + what),
                   .file = std::string(path_),
                   .byte = op_at_,
                   .hint =
                       "nothing of it was run; do not load it with pickle either unless you "
                       "trust who wrote it"};
    return false;
  }
  static std::string hex(unsigned byte) {
    constexpr std::string_view digits = "0123456789abcdef";
    return {'0', 'x', digits[byte >> 4U], digits[byte & 15U]};
  }

  // The next n bytes.
  bool take(std::uint64_t n, std::string_view& bytes) {
    if (n > size_ - at_) return fail_at_end("ends in the middle of a value");
    bytes = std::string_view(tree_.text).substr(at_, n);
    at_ += n;
    return true;
  }
  bool take_line(std::string_view& line) {
    const std::string_view rest = std::string_view(tree_.text).substr(at_, size_ - at_);
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos) return fail_at_end("ends in the middle of a line");
    line = rest.substr(0, end);
    at_ += end + 1;
    return true;
  }
  // A little-endian unsigned number of 1 to 8 bytes.
  bool take_number(std::size_t bytes, std::uint64_t& value) {
    if (size_ - at_ >= sizeof value) {
      std::memcpy(&value, tree_.text.data() + at_, sizeof value);
      value &= ~std::uint64_t{0} >> (64 - 8 * bytes);
      at_ += bytes;
      return true;
    }
    std::string_view raw;
    if (!take(bytes, raw)) return false;
    value = 0;
    for (std::size_t i = bytes; i-- > 0;) value = value << 8U | static_cast<unsigned char>(raw[i]);
    return true;
  }

  std::uint32_t add(PlainKind kind, std::uint64_t word, std::uint32_t count = 0) {
    tree_.nodes.push_back({.word = word, .count = count, .kind = kind});
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }
  bool push(std::uint32_t node) {
    stack_.push_back(node);
    return true;
  }
  bool push_integer(std::int64_t value) {
    if (value >= 0 && value < small_integers)
      return push(node_zero + static_cast<std::uint32_t>(value));
    return push(add(PlainKind::integer, std::bit_cast<std::uint64_t>(value)));
  }
  bool push_wide(const WideInteger& value) {
    if (!value.wide) return push_integer(value.whole);
    ++tree_.wide_integers;
    return push_real(*value.wide);
  }
  bool push_real(double value) {
    return push(add(PlainKind::real, std::bit_cast<std::uint64_t>(value)));
  }
  bool push_text(PlainKind kind, std::size_t length_bytes) {
    std::uint64_t length = 0;
    std::string_view text;
    if (!take_number(length_bytes, length)) return false;
    const std::uint64_t begin = at_;
    if (!take(length, text)) return false;
    return push(add(kind, begin, static_cast<std::uint32_t>(length)));
  }
  // Appends decoded escapes behind the input.
  template <class Append>
  bool push_escaped(PlainKind kind, Append append) {
    const std::uint64_t line_at = at_;
    std::string_view line;
    if (!take_line(line)) return false;
    const std::string raw(line);  // the text grows below
    const std::uint64_t begin = tree_.text.size();
    if (!append(raw, tree_.text)) {
      op_at_ = line_at;
      return fail("a text with a broken escape");
    }
    return push(add(kind, begin, static_cast<std::uint32_t>(tree_.text.size() - begin)));
  }

  // The number of values above the last mark.
  [[nodiscard]] std::size_t above_mark() const {
    return stack_.size() - (marks_.empty() ? 0 : marks_.back());
  }
  bool need(std::size_t values) {
    return above_mark() >= values || fail("takes a value from an empty stack");
  }
  // The items above the last mark. Removes the mark.
  bool pop_mark(std::size_t& first) {
    if (marks_.empty()) return fail("closes a list that was not begun");
    first = marks_.back();
    marks_.pop_back();
    return true;
  }
  bool plain_items(std::size_t first) {
    for (std::size_t i = first; i < stack_.size(); ++i)
      if (stack_[i] == node_builder) return fail("keeps a function as a value");
    return true;
  }
  // Checks the keys, which are every second value.
  bool plain_keys(std::size_t first) {
    if ((stack_.size() - first) % 2 != 0) return fail("a dict with a key and no value");
    for (std::size_t i = first; i < stack_.size(); i += 2) {
      const PlainKind kind = tree_.nodes[stack_[i]].kind;
      if (kind == PlainKind::list || kind == PlainKind::dict)
        return fail("a dict whose key is a list or a dict");
    }
    return true;
  }

  // Moves the values from `first` on to the end of a container.
  bool move_into(std::uint32_t container, std::size_t first) {
    if (!plain_items(first)) return false;
    const auto count = static_cast<std::uint32_t>(stack_.size() - first);
    if (count == 0) return true;
    PlainNode& node = tree_.nodes[container];
    const bool dict = node.kind == PlainKind::dict;
    node.count += dict ? count / 2 : count;
    const auto last = static_cast<std::uint32_t>(node.word);
    const std::uint64_t begin = tree_.children.size();
    tree_.children.insert(tree_.children.end(), stack_.begin() + static_cast<std::ptrdiff_t>(first),
                          stack_.end());
    stack_.resize(first);
    if (last != 0 && stretches_[last].begin + stretches_[last].count == begin) {
      stretches_[last].count += count;
      return true;
    }
    const auto fresh = static_cast<std::uint32_t>(stretches_.size());
    stretches_.push_back({.begin = begin, .count = count, .next = 0});
    if (last != 0) stretches_[last].next = fresh;
    node.word = packed(last != 0 ? static_cast<std::uint32_t>(node.word >> 32U) : fresh, fresh);
    return true;
  }
  bool make(PlainKind kind, std::size_t first) {
    const std::uint32_t container = add(kind, 0);
    return move_into(container, first) && push(container);
  }
  bool make_marked(PlainKind kind) {
    std::size_t first = 0;
    if (!pop_mark(first)) return false;
    if (kind == PlainKind::dict && !plain_keys(first)) return false;
    return make(kind, first);
  }
  bool make_tuple(std::size_t items) {
    return need(items) && make(PlainKind::tuple, stack_.size() - items);
  }
  // Appends the values from `first` on to the container below them.
  bool extend(PlainKind kind, std::size_t first) {
    if (first <= (marks_.empty() ? 0 : marks_.back()))
      return fail("takes a value from an empty stack");
    const std::uint32_t container = stack_[first - 1];
    if (tree_.nodes[container].kind != kind || container == node_builder)
      return fail("adds items to what is no " + std::string(name_of(kind)));
    if (kind == PlainKind::dict && !plain_keys(first)) return false;
    return move_into(container, first);
  }
  bool extend_marked(PlainKind kind) {
    std::size_t first = 0;
    return pop_mark(first) && extend(kind, first);
  }

  bool put(std::uint64_t slot) {
    if (!need(1)) return false;
    if (slot > memorised_ + memo_gap) return fail("a memo with a gap");
    if (slot >= memo_.size()) memo_.resize(slot + 1, no_node);
    if (memo_[slot] == no_node) ++memorised_;
    memo_[slot] = stack_.back();
    return true;
  }
  bool get(std::uint64_t slot) {
    if (slot >= memo_.size() || memo_[slot] == no_node)
      return fail("recalls what was not memorised");
    return push(memo_[slot]);
  }
  bool memo_number(PickleOp op, std::uint64_t& slot) {
    if (op == PickleOp::binput || op == PickleOp::binget) return take_number(1, slot);
    if (op == PickleOp::long_binput || op == PickleOp::long_binget) return take_number(4, slot);
    std::string_view line;
    if (!take_line(line)) return false;
    const auto number = decimal_integer(line);
    if (!number || number->wide || number->whole < 0) return fail("a memo without a number");
    slot = static_cast<std::uint64_t>(number->whole);
    return true;
  }

  bool step();
  bool step_number(PickleOp op);
  bool step_text(PickleOp op);
  bool step_container(PickleOp op);
  bool step_other(PickleOp op);
  bool global();
  bool reduce();
  bool start_frame();
  void close_open();
  void lay_side_by_side();

  std::string_view path_;
  PlainTree tree_;
  std::uint64_t size_ = 0;  // of the input; decoded text may follow it in the tree
  std::uint64_t at_ = 0;
  std::uint64_t op_at_ = 0;
  bool head_ = false;  // the input is the beginning of a pickle
  bool stopped_ = false;
  bool ended_ = false;  // a step needs bytes behind the input
  std::vector<std::uint32_t> stack_;
  std::vector<std::size_t> marks_;
  std::vector<std::uint32_t> memo_;
  std::uint64_t memorised_ = 0;
  std::vector<Stretch> stretches_;
  std::optional<Error> error_;
};

bool PickleMachine::step() {
  op_at_ = at_;
  if (at_ == size_) return fail_at_end(at_ == 0 ? "the file is empty" : "ends before its STOP");
  const auto op = static_cast<PickleOp>(static_cast<unsigned char>(tree_.text[at_++]));
  std::uint64_t number = 0;
  switch (op) {
    case PickleOp::mark:
      marks_.push_back(stack_.size());
      return true;
    case PickleOp::binget:
    case PickleOp::long_binget:
    case PickleOp::get:
      return memo_number(op, number) && get(number);
    case PickleOp::binput:
    case PickleOp::long_binput:
    case PickleOp::put:
      return memo_number(op, number) && put(number);
    case PickleOp::memoize:
      return put(memorised_);
    case PickleOp::none:
      return push(node_none);
    case PickleOp::newtrue:
      return push(node_true);
    case PickleOp::newfalse:
      return push(node_false);
    case PickleOp::binint1:
    case PickleOp::binint2:
    case PickleOp::binint:
    case PickleOp::long1:
    case PickleOp::long4:
    case PickleOp::int_text:
    case PickleOp::long_text:
    case PickleOp::float_text:
    case PickleOp::binfloat:
      return step_number(op);
    default:
      return step_text(op);
  }
}

bool PickleMachine::step_number(PickleOp op) {
  std::uint64_t number = 0;
  std::string_view text;
  switch (op) {
    case PickleOp::binint1:
      return take_number(1, number) && push_integer(static_cast<std::int64_t>(number));
    case PickleOp::binint2:
      return take_number(2, number) && push_integer(static_cast<std::int64_t>(number));
    case PickleOp::binint:
      return take_number(4, number) &&
             push_integer(static_cast<std::int32_t>(static_cast<std::uint32_t>(number)));
    case PickleOp::long1:
    case PickleOp::long4:
      if (!take_number(op == PickleOp::long1 ? 1 : 4, number)) return false;
      if (number > longest_integer) return fail("an integer of more than 1024 bytes");
      return take(number, text) && push_wide(binary_integer(text));
    case PickleOp::binfloat:
      if (!take_number(8, number)) return false;
      return push_real(std::bit_cast<double>(__builtin_bswap64(number)));
    default:
      break;
  }
  if (!take_line(text)) return false;
  if (op == PickleOp::float_text) {
    const auto front = number_at_front<double>(text);
    if (front.error == std::errc::invalid_argument || !front.rest.empty())
      return fail("a float that is no number");
    return push_real(front.value);
  }
  if (op == PickleOp::int_text && (text == "00" || text == "01"))
    return push(text == "01" ? node_true : node_false);
  const auto integer = text.size() > 2 * longest_integer ? std::nullopt : decimal_integer(text);
  if (!integer) return fail("an integer that is no number");
  return push_wide(*integer);
}

bool PickleMachine::step_text(PickleOp op) {
  switch (op) {
    case PickleOp::short_binunicode:
      return push_text(PlainKind::text, 1);
    case PickleOp::binunicode:
      return push_text(PlainKind::text, 4);
    case PickleOp::binunicode8:
      return push_text(PlainKind::text, 8);
    case PickleOp::short_binbytes:
      return push_text(PlainKind::bytes, 1);
    case PickleOp::binbytes:
      return push_text(PlainKind::bytes, 4);
    case PickleOp::binbytes8:
    case PickleOp::bytearray8:
      return push_text(PlainKind::bytes, 8);
    case PickleOp::short_binstring:  // Python 2 strings are read as text
      return push_text(PlainKind::text, 1);
    case PickleOp::binstring:
      return push_text(PlainKind::text, 4);
    case PickleOp::string_text:
      return push_escaped(PlainKind::text, append_string);
    case PickleOp::unicode_text:
      return push_escaped(PlainKind::text, append_unicode);
    default:
      return step_container(op);
  }
}

bool PickleMachine::step_container(PickleOp op) {
  switch (op) {
    case PickleOp::empty_list:
      return push(add(PlainKind::list, 0));
    case PickleOp::empty_dict:
      return push(add(PlainKind::dict, 0));
    case PickleOp::empty_tuple:
      return push(add(PlainKind::tuple, 0));
    case PickleOp::tuple1:
      return make_tuple(1);
    case PickleOp::tuple2:
      return make_tuple(2);
    case PickleOp::tuple3:
      return make_tuple(3);
    case PickleOp::tuple:
      return make_marked(PlainKind::tuple);
    case PickleOp::list:
      return make_marked(PlainKind::list);
    case PickleOp::dict:
      return make_marked(PlainKind::dict);
    case PickleOp::append:
      return need(2) && extend(PlainKind::list, stack_.size() - 1);
    case PickleOp::appends:
      return extend_marked(PlainKind::list);
    case PickleOp::setitem:
      return need(3) && extend(PlainKind::dict, stack_.size() - 2);
    case PickleOp::setitems:
      return extend_marked(PlainKind::dict);
    default:
      return step_other(op);
  }
}

bool PickleMachine::step_other(PickleOp op) {
  std::uint64_t number = 0;
  switch (op) {
    case PickleOp::proto:
      if (!take_number(1, number)) return false;
      if (number > 5)
        return fail("pickle protocol " + std::to_string(number) + ", which is unknown");
      return true;
    case PickleOp::frame:
      return start_frame();
    case PickleOp::global:
      return global();
    case PickleOp::reduce:
      return reduce();
    case PickleOp::stop:
      if (!need(1)) return false;
      if (stack_.size() != 1 || !marks_.empty()) return fail("ends with more than one value");
      if (!plain_items(0)) return false;
      tree_.root = stack_.back();
      stopped_ = true;
      return true;
    default:
      break;
  }
  const auto byte = static_cast<std::uint8_t>(op);
  if (const std::string_view name = refused_opcode(byte); !name.empty()) return refuse(name);
  return fail(op_at_ == 0 ? "is no pickle" : "has no opcode " + hex(byte));
}

// A frame only states how many bytes belong together.
bool PickleMachine::start_frame() {
  std::uint64_t length = 0;
  if (!take_number(8, length)) return false;
  if (length <= size_ - at_ || head_) return true;
  return fail("ends in the middle of a frame");
}

bool PickleMachine::global() {
  std::string_view module;
  std::string_view name;
  if (!take_line(module) || !take_line(name)) return false;
  constexpr std::array<std::string_view, 3> builders = {"build_intlist", "build_doublelist",
                                                        "build_boollist"};
  if (module != "torch.jit._pickle" || std::ranges::find(builders, name) == builders.end())
    return refuse("GLOBAL", harmless(module) + "." + harmless(name));
  return push(node_builder);
}

bool PickleMachine::reduce() {
  if (!need(2)) return false;
  const PlainNode arguments = tree_.nodes[stack_.back()];
  if (stack_[stack_.size() - 2] != node_builder || arguments.kind != PlainKind::tuple ||
      arguments.count != 1)
    return refuse("REDUCE");
  const std::uint32_t list =
      tree_.children[stretches_[static_cast<std::uint32_t>(arguments.word)].begin];
  if (tree_.nodes[list].kind != PlainKind::list) return refuse("REDUCE");
  stack_.resize(stack_.size() - 2);
  return push(list);
}

// Gives each open container the items that wait for it. A key without a value is dropped.
void PickleMachine::close_open() {
  const auto is = [&](std::size_t i, PlainKind kind) {
    return tree_.nodes[stack_[i]].kind == kind && stack_[i] != node_builder;
  };
  while (stack_.size() > 1 || !marks_.empty()) {
    std::size_t first = stack_.size() - 1;
    if (!marks_.empty()) {
      first = marks_.back();
      marks_.pop_back();
    } else if (first > 1 && is(first - 2, PlainKind::dict)) {
      --first;
    }
    const bool dict = first > 0 && is(first - 1, PlainKind::dict);
    if (dict && (stack_.size() - first) % 2 != 0) stack_.pop_back();
    if (first == 0) (void)make(PlainKind::list, 0);
    const bool taken = dict || (first > 0 && is(first - 1, PlainKind::list));
    if (!taken || !move_into(stack_[first - 1], first))
      stack_.resize(std::max<std::size_t>(first, 1));
  }
  tree_.root = stack_.empty() ? node_none : stack_.back();
}

void PickleMachine::lay_side_by_side() {
  for (PlainNode& node : tree_.nodes) {
    if (node.kind != PlainKind::list && node.kind != PlainKind::tuple &&
        node.kind != PlainKind::dict)
      continue;
    const auto first = static_cast<std::uint32_t>(node.word >> 32U);
    if (first == 0) continue;  // without items; `word` is 0
    node.word = stretches_[first].begin;
    if (stretches_[first].next == 0) continue;
    node.word = tree_.children.size();
    for (std::uint32_t s = first; s != 0; s = stretches_[s].next) {
      const Stretch stretch = stretches_[s];
      for (std::uint32_t i = 0; i < stretch.count; ++i)
        tree_.children.push_back(tree_.children[stretch.begin + i]);
    }
  }
}

}  // namespace

bool is_pickle(std::string_view head) {
  if (head.size() < 2) return false;
  const char second = head[1];
  if (head.front() == '\x80') return static_cast<unsigned char>(second) <= 5;
  if (head.front() == '(')
    return second == 'd' || second == 'l' || second == 't' || second == 'S' || second == 'V' ||
           second == 'X';
  return (head.front() == '}' || head.front() == ']') && (second == 'q' || second == '(');
}

Result<PlainTree> parse_pickle(std::string bytes, std::string_view path) {
  return PickleMachine(std::move(bytes), path).run();
}

Result<PlainTree> parse_pickle_head(std::string bytes, std::string_view path) {
  return PickleMachine(std::move(bytes), path, true).run_head();
}

}  // namespace stepscope
