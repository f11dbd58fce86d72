// SPDX-License-Identifier: Apache-2.0
#include "engine/comm/window/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "engine/comm/communicator/futex.h"

namespace stepscope::comm {
namespace {

std::optional<std::uint64_t> system_room() {
  std::ifstream in("/proc/meminfo");
  for (std::string name; in >> name;) {
    std::uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && in >> kibibytes) return kibibytes * 1024;
    in.ignore(256, '\n');
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t number = 0;
  if (!(in >> number)) return std::nullopt;  // "max" is not a number
  return number;
}

std::optional<std::uint64_t> group_room(const std::filesystem::path& group) {
  const auto limit = number_in(group / "memory.max");
  const auto used = number_in(group / "memory.current");
  if (!limit || !used) return std::nullopt;
  return *limit > *used ? *limit - *used : 0;
}

void lower(std::optional<std::uint64_t>& room, std::optional<std::uint64_t> other) {
  if (other) room = std::min(room.value_or(*other), *other);
}

// The memory that this process can still get: the minimum of the system's available memory and the
// memory that its control groups (version 2) leave. Absent if neither is known.
std::optional<std::uint64_t> memory_room() {
  std::optional<std::uint64_t> room = system_room();
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("0::/")) continue;
    const std::filesystem::path root = "/sys/fs/cgroup";
    for (std::filesystem::path path = line.substr(4); !path.empty(); path = path.parent_path()) {
      lower(room, group_room(root / path));
    }
    lower(room, group_room(root));
  }
  return room;
}

constexpr std::uint64_t magic = 0x31306d6d6f637373;  // "sscomm01"
constexpr std::size_t page_bytes = 4096;

struct Prefix {
  std::uint64_t magic = 0;
  WindowShape shape{};
};

std::size_t round_up(std::size_t bytes, std::size_t step) {
  return (bytes + step - 1) / step * step;
}

WindowLayout layout_of(const WindowShape& shape) {
  const std::size_t n = shape.ranks;
  WindowLayout at;
  at.controls = page_bytes;
  at.pairs = at.controls + n * sizeof(RankControl);
  at.headers = at.pairs + n * n * sizeof(PairControl);
  at.pair_headers = at.headers + n * shape.slots * sizeof(BucketHeader);
  at.slots =
      round_up(at.pair_headers + n * n * shape.pair_slots * sizeof(BucketHeader), page_bytes);
  at.pair_slots = at.slots + n * shape.slots * shape.slot_bytes;
  at.end = round_up(at.pair_slots + n * n * shape.pair_slots * shape.pair_slot_bytes, page_bytes);
  return at;
}

Error no_room(const WindowShape& shape, int reason) {
  return Error{.what = "no room for " + std::to_string(layout_of(shape).end) +
                       " bytes of shared memory (" + std::to_string(shape.ranks) +
                       " ranks): " + std::generic_category().message(reason),
               .hint =
                   "free memory, raise the container's shared memory limit, or ask for smaller "
                   "communication buckets"};
}

// Check before reserving: the kernel would kill other programs to make room.
bool fits(const WindowLayout& at) {
  const auto room = memory_room();
  return !room || at.end < *room;
}

}  // namespace

CallSite call_site(const std::source_location& where) {
  std::string_view path = where.file_name();
  const std::size_t last = path.rfind('/');
  if (last != std::string_view::npos && last > 0) {
    const std::size_t before = path.rfind('/', last - 1);
    if (before != std::string_view::npos) path.remove_prefix(before + 1);
  }
  if (path.size() > place_characters) path.remove_prefix(path.size() - place_characters);
  CallSite site;
  std::ranges::copy(path, site.file.begin());
  site.line = where.line();
  return site;
}

std::string_view text_of(std::string_view padded) { return padded.substr(0, padded.find('\0')); }

std::string place_text(const CallSite& site) {
  return std::string(text_of({site.file.data(), site.file.size()})) + ":" +
         std::to_string(site.line);
}

std::array<char, what_characters> what_text(std::string_view what) {
  std::array<char, what_characters> text{};
  std::ranges::copy(what.substr(0, what_characters), text.begin());
  return text;
}

bool same_collective(const BucketHeader& a, const BucketHeader& b) {
  return a.sequence == b.sequence && a.bytes == b.bytes && a.chunk == b.chunk && a.root == b.root &&
         a.kind == b.kind && a.type == b.type && a.reduction == b.reduction;
}

std::string header_text(const BucketHeader& header) {
  std::string text(collective_kind_names[static_cast<std::size_t>(header.kind)]);
  text += " #" + std::to_string(header.sequence);
  if (header.kind != CollectiveKind::barrier) {
    text += " of " + std::to_string(header.bytes) + " bytes of ";
    text += element_name(header.type);
  }
  if (header.kind == CollectiveKind::all_reduce || header.kind == CollectiveKind::reduce_scatter) {
    text += ' ';
    text += reduction_names[static_cast<std::size_t>(header.reduction)];
  }
  if (header.kind == CollectiveKind::broadcast) text += " from rank " + std::to_string(header.root);
  const std::string_view what = text_of({header.what.data(), header.what.size()});
  if (!what.empty()) text += " \"" + std::string(what) + "\"";
  return text + " (" + place_text(header.site) + ")";
}

void Position::store(const BucketHeader& header) {
  const auto image = std::bit_cast<std::array<std::uint64_t, words>>(header);
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  version_.store(version + 1);
  for (std::size_t i = 0; i < words; ++i) words_[i].store(image[i], std::memory_order_release);
  version_.store(version + 2);
}

std::optional<BucketHeader> Position::load() const {
  std::array<std::uint64_t, words> image{};
  for (int attempt = 0; attempt < 100; ++attempt) {
    const std::uint64_t version = version_.load();
    if (version == 0) return std::nullopt;
    for (std::size_t i = 0; i < words; ++i) image[i] = words_[i].load(std::memory_order_acquire);
    if (version % 2 == 0 && version_.load() == version) break;
  }  // else the writer died during the write: return the words as they are
  return std::bit_cast<BucketHeader>(image);
}

void ring(RankControl& control) {
  if (control.sleeping.load() == 0 || control.sleeping.exchange(0) == 0) return;
  control.doorbell.fetch_add(1);
  futex_wake_all(control.doorbell);
}

WindowShape window_shape(int ranks, Bytes bucket) {
  const auto n = static_cast<std::uint64_t>(ranks);
  constexpr std::int64_t most = std::int64_t{1} << 50;
  const auto bytes = static_cast<std::uint64_t>(std::clamp<std::int64_t>(bucket.value, 0, most));
  WindowShape shape;
  shape.ranks = n;
  shape.slots = std::clamp<std::uint64_t>(bytes / (64 * 1024), 16, 128);
  // At least one cache line for each peer.
  const std::uint64_t least = round_up(n * 64, page_bytes);
  shape.slot_bytes = std::max(least, round_up(bytes / shape.slots, page_bytes));
  shape.pair_slots = 4;
  shape.pair_slot_bytes = std::max<std::uint64_t>(
      page_bytes, bytes / 4 / n / shape.pair_slots / page_bytes * page_bytes);
  return shape;
}

Window::Window(std::byte* memory, const WindowShape& shape, const WindowLayout& at)
    : memory_(memory), shape_(shape), at_(at) {}

Window::~Window() { ::munmap(memory_, at_.end); }

Result<std::shared_ptr<Window>> Window::create(const WindowShape& shape) {
  const WindowLayout at = layout_of(shape);
  if (!fits(at)) return no_room(shape, ENOMEM);
  void* memory = ::mmap(nullptr, at.end, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return no_room(shape, errno);
  return std::shared_ptr<Window>(new Window(static_cast<std::byte*>(memory), shape, at));
}

Result<std::shared_ptr<Window>> Window::map(int descriptor) {
  const auto not_ours = [](const std::string& why) {
    return Error{.what = "the descriptor is no communication segment: " + why,
                 .hint = "start the ranks with the same version of the program"};
  };
  Prefix prefix;
  if (::pread(descriptor, &prefix, sizeof prefix, 0) != sizeof prefix) {
    return not_ours("it cannot be read");
  }
  if (prefix.magic != magic) return not_ours("it does not begin with our mark");
  const WindowLayout at = layout_of(prefix.shape);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0 || static_cast<std::size_t>(status.st_size) < at.end) {
    return not_ours("it is too short");
  }
  void* memory = ::mmap(nullptr, at.end, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return no_room(prefix.shape, errno);
  return std::shared_ptr<Window>(new Window(static_cast<std::byte*>(memory), prefix.shape, at));
}

Result<int> make_segment(const WindowShape& shape) {
  const WindowLayout at = layout_of(shape);
  if (!fits(at)) return no_room(shape, ENOMEM);
  const int descriptor = ::memfd_create("stepscope-comm", MFD_CLOEXEC);
  if (descriptor < 0) return no_room(shape, errno);
  Prefix prefix;
  prefix.magic = magic;
  prefix.shape = shape;
  // Reserve all pages now: a page missing later would kill the rank that touches it.
  if (::fallocate(descriptor, 0, 0, static_cast<off_t>(at.end)) != 0 ||
      ::pwrite(descriptor, &prefix, sizeof prefix, 0) != sizeof prefix) {
    const int reason = errno;
    ::close(descriptor);
    return no_room(shape, reason);
  }
  return descriptor;
}

Result<std::shared_ptr<Window>> open_window(std::int64_t process, std::int64_t descriptor) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  const int own = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (own < 0) {
    return Error{
        .what = "cannot open the group's shared memory: " + std::generic_category().message(errno),
        .file = path,
        .hint = "ranks of one host must see each other's /proc"};
  }
  auto window = Window::map(own);
  ::close(own);
  return window;
}

RankControl& Window::control(int rank) const {
  const std::size_t at = at_.controls + static_cast<std::size_t>(rank) * sizeof(RankControl);
  return *reinterpret_cast<RankControl*>(memory_ + at);
}

BucketHeader& Window::header(int rank, std::uint64_t chunk) const {
  const std::size_t index = static_cast<std::size_t>(rank) * shape_.slots + chunk % shape_.slots;
  return *reinterpret_cast<BucketHeader*>(memory_ + at_.headers + index * sizeof(BucketHeader));
}

std::byte* Window::slot(int rank, std::uint64_t chunk) const {
  const std::size_t index = static_cast<std::size_t>(rank) * shape_.slots + chunk % shape_.slots;
  return memory_ + at_.slots + index * shape_.slot_bytes;
}

PairControl& Window::pair(int from, int to) const {
  const std::size_t index =
      static_cast<std::size_t>(from) * shape_.ranks + static_cast<std::size_t>(to);
  return *reinterpret_cast<PairControl*>(memory_ + at_.pairs + index * sizeof(PairControl));
}

BucketHeader& Window::pair_header(int from, int to, std::uint64_t chunk) const {
  const std::size_t pair =
      static_cast<std::size_t>(from) * shape_.ranks + static_cast<std::size_t>(to);
  const std::size_t index = pair * shape_.pair_slots + chunk % shape_.pair_slots;
  return *reinterpret_cast<BucketHeader*>(memory_ + at_.pair_headers +
                                          index * sizeof(BucketHeader));
}

std::byte* Window::pair_slot(int from, int to, std::uint64_t chunk) const {
  const std::size_t pair =
      static_cast<std::size_t>(from) * shape_.ranks + static_cast<std::size_t>(to);
  const std::size_t index = pair * shape_.pair_slots + chunk % shape_.pair_slots;
  return memory_ + at_.pair_slots + index * shape_.pair_slot_bytes;
}

}  // namespace stepscope::comm
