// SPDX-License-Identifier: Apache-2.0
#include "engine/zero/drive/offload_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "engine/zero/drive/disk_file.h"
#include "engine/zero/drive/io_ring.h"

namespace stepscope::zero {
namespace {

struct Operation {
  bool used = false;
  bool done = false;
  bool write = false;
  std::uint64_t sequence = 0;
  std::uint64_t offset = 0;  // of the remaining bytes
  std::span<std::byte> left{};
  OffloadInstants times{};
  std::optional<Error> failed{};
};

Ns now() {
  return std::chrono::duration_cast<Ns>(std::chrono::steady_clock::now().time_since_epoch());
}

bool is_aligned(std::uint64_t value) { return value % offload_alignment == 0; }

}  // namespace

OffloadBuffer::OffloadBuffer(std::size_t bytes) : size_(offload_aligned(bytes)) {
  // NOLINTNEXTLINE(cppcoreguidelines-owning-memory): make_unique cannot align
  memory_.reset(new (std::align_val_t{offload_alignment}) std::byte[size_]());
}

struct OffloadFile::State {
  std::string path;  // of the former name, for messages
  int fd = -1;
  std::uint64_t bytes = 0;
  std::string description;
  std::unique_ptr<IoRing> ring;
  std::vector<Operation> operations;
  std::uint64_t next = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    // The kernel still writes into the memory of unfinished operations.
    while (ring &&
           std::ranges::any_of(operations, [](const Operation& o) { return o.used && !o.done; })) {
      if (!progress(true)) break;
    }
    ring.reset();
    if (fd >= 0) ::close(fd);
  }

  void fail(Operation& operation, int code) const {
    Error error = file_error(path, operation.write ? "cannot write" : "cannot read", code);
    error.byte = operation.offset;
    operation.failed = std::move(error);
    operation.done = true;
    operation.times.end = now();
  }
  void start(Operation& operation, std::uint64_t tag) const {
    if (!ring) return move_now(operation);
    const int failed = ring->submit(fd, operation.write, operation.offset, operation.left.data(),
                                    operation.left.size(), tag);
    if (failed != 0) fail(operation, failed);
  }
  // `result` is that of the system calls, with errno as -result.
  void advance(Operation& operation, std::int64_t result) const {
    if (result < 0) return fail(operation, static_cast<int>(-result));
    if (result == 0) return fail(operation, operation.write ? ENOSPC : EIO);  // no progress
    const auto n = static_cast<std::size_t>(result);
    operation.offset += n;
    operation.left = operation.left.subspan(n);
    operation.done = operation.left.empty();
    if (operation.done) operation.times.end = now();
  }
  void move_now(Operation& operation) const {
    while (!operation.done) {
      const auto at = static_cast<off_t>(operation.offset);
      std::span<std::byte> left = operation.left;
      const ssize_t n = operation.write ? ::pwrite(fd, left.data(), left.size(), at)
                                        : ::pread(fd, left.data(), left.size(), at);
      if (n < 0 && errno == EINTR) continue;
      advance(operation, n < 0 ? -errno : n);
    }
  }
  // Takes the available completions, or waits for the next one. False without a completion.
  bool progress(bool block) {
    int failed = 0;
    bool any = false;
    while (const auto completion = ring->reap(block && !any, failed)) {
      any = true;
      Operation& operation = operations[completion->tag];
      if (completion->result == -EINTR || completion->result == -EAGAIN) {
        start(operation, completion->tag);
        continue;
      }
      advance(operation, completion->result);
      if (!operation.done) start(operation, completion->tag);
    }
    if (failed != 0) {
      for (Operation& operation : operations)
        if (operation.used && !operation.done) fail(operation, failed);
    }
    return any;
  }
  OffloadTicket submit(bool write, std::uint64_t offset, std::span<std::byte> memory) {
    check(is_aligned(offset) && is_aligned(memory.size()) &&
              is_aligned(reinterpret_cast<std::uintptr_t>(memory.data())),
          "operations on the offload file are aligned");
    check(offset + memory.size() <= bytes, "within the offload file");
    const auto free = std::ranges::find(operations, false, &Operation::used);
    check(free != operations.end(), "no more operations than were said are outstanding");
    *free = {.used = true,
             .done = memory.empty(),
             .write = write,
             .sequence = next,
             .offset = offset,
             .left = memory,
             .times = {.begin = now(), .end = {}}};
    free->times.end = free->times.begin;
    if (!free->done) start(*free, static_cast<std::uint64_t>(free - operations.begin()));
    return {next++};
  }
  Operation& find(OffloadTicket ticket) {
    const auto it = std::ranges::find_if(
        operations, [&](const Operation& o) { return o.used && o.sequence == ticket.sequence; });
    check(it != operations.end(), "a ticket is waited for once");
    return *it;
  }
};

OffloadFile::OffloadFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
OffloadFile::OffloadFile(OffloadFile&&) noexcept = default;
OffloadFile& OffloadFile::operator=(OffloadFile&&) noexcept = default;
OffloadFile::~OffloadFile() = default;

namespace {

// Returns -1 and errno on failure. O_EXCL: the file can never get a name.
int open_unnamed(const std::string& dir) {
  const int fd = ::open(dir.c_str(), O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return fd;
  const std::string path = dir + "/stepscope-offload-XXXXXX";
  std::vector<char> name(path.begin(), path.end());
  name.push_back('\0');
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.data());
  return named;
}

std::string use_cache(int fd, bool direct) {
  struct statfs system{};
  if (::fstatfs(fd, &system) == 0 &&
      (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC)) {
    return "in memory: the file system is a tmpfs";
  }
  if (!direct) return "page cache";
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_DIRECT) == 0) return "O_DIRECT";
  return "page cache (O_DIRECT: " + std::generic_category().message(errno) + ")";
}

}  // namespace

Result<OffloadFile> OffloadFile::create(const OffloadOptions& options) {
  check(options.bytes.value >= 0 && options.outstanding > 0, "a file for some operations");
  auto state = std::make_unique<State>();
  state->path = options.dir + "/stepscope-offload";
  state->fd = open_unnamed(options.dir);
  if (state->fd < 0) return file_error(options.dir, "cannot create the offload file", errno);
  const std::string cache = use_cache(state->fd, options.direct);
  state->bytes = offload_aligned(static_cast<std::uint64_t>(options.bytes.value));
  int failed = 0;
  if (state->bytes > 0 && ::fallocate(state->fd, 0, 0, static_cast<off_t>(state->bytes)) != 0)
    failed = errno;
  // A file system that cannot reserve space reports a full disk at each write.
  if (failed == EOPNOTSUPP && ::ftruncate(state->fd, static_cast<off_t>(state->bytes)) == 0) {
    failed = 0;
  }
  if (failed != 0) {
    return file_error(state->path,
                      "cannot take " + std::to_string(state->bytes) + " bytes for the offload file",
                      failed);
  }
  state->operations.resize(static_cast<std::size_t>(options.outstanding));
  std::string how = "pread and pwrite";
  if (options.io_uring) {
    std::string why_not;
    state->ring = IoRing::open(static_cast<unsigned>(options.outstanding), why_not);
    how = state->ring ? "io_uring" : how + " (" + why_not + ")";
  }
  state->description = how + ", " + cache;
  return OffloadFile(std::move(state));
}

Result<OffloadTicket> OffloadFile::read(std::uint64_t offset, std::span<std::byte> into) {
  return state_->submit(false, offset, into);
}

Result<OffloadTicket> OffloadFile::write(std::uint64_t offset, std::span<const std::byte> bytes) {
  // The kernel only reads it.
  return state_->submit(true, offset, {const_cast<std::byte*>(bytes.data()), bytes.size()});
}

bool OffloadFile::test(OffloadTicket ticket) {
  const Operation& operation = state_->find(ticket);
  if (!operation.done) state_->progress(false);
  return operation.done;
}

Result<OffloadInstants> OffloadFile::wait(OffloadTicket ticket) {
  Operation& operation = state_->find(ticket);
  while (!operation.done) state_->progress(true);
  operation.used = false;
  if (operation.failed) return *std::move(operation.failed);
  return operation.times;
}

void OffloadFile::poll() noexcept {
  if (state_->ring) state_->progress(false);
}

Bytes OffloadFile::size() const { return {static_cast<std::int64_t>(state_->bytes)}; }
const std::string& OffloadFile::description() const { return state_->description; }

namespace {

// Moves the whole file with one operation a buffer in flight.
Result<Done> move_whole(OffloadFile& file, std::span<OffloadBuffer> buffers, bool write) {
  const auto bytes = static_cast<std::uint64_t>(file.size().value);
  std::vector<std::optional<OffloadTicket>> under_way(buffers.size());
  std::size_t slot = 0;
  for (std::uint64_t at = 0; at < bytes; slot = (slot + 1) % buffers.size()) {
    if (under_way[slot]) {
      if (auto done = file.wait(*std::exchange(under_way[slot], std::nullopt)); !done)
        return done.error();
    }
    const auto all = buffers[slot].bytes();
    const auto part = all.first(std::min<std::size_t>(all.size(), bytes - at));
    const auto ticket = write ? file.write(at, part) : file.read(at, part);
    if (!ticket) return ticket.error();
    under_way[slot] = *ticket;
    at += part.size();
  }
  for (auto& ticket : under_way) {
    if (!ticket) continue;
    if (auto done = file.wait(*ticket); !done) return done.error();
  }
  return Done{};
}

}  // namespace

Result<OffloadBandwidth> measure_offload(const std::string& dir, Bytes file_bytes, Bytes block) {
  auto file = OffloadFile::create({.dir = dir, .bytes = file_bytes, .outstanding = 2});
  if (!file) return file.error();
  std::vector<OffloadBuffer> buffers;
  for (int i = 0; i < 2; ++i) buffers.emplace_back(static_cast<std::size_t>(block.value));
  for (OffloadBuffer& buffer : buffers) {
    // No zeros: some devices do not store zeros.
    std::uint64_t x = 88172645463325252ULL;
    for (std::byte& b : buffer.bytes()) {
      x ^= x << 13U;
      x ^= x >> 7U;
      x ^= x << 17U;
      b = static_cast<std::byte>(x);
    }
  }
  OffloadBandwidth result{.description = file->description()};
  for (const bool write : {true, false}) {
    const auto begin = std::chrono::steady_clock::now();
    if (auto moved = move_whole(*file, buffers, write); !moved) return moved.error();
    const Seconds time = std::chrono::steady_clock::now() - begin;
    (write ? result.write : result.read) = file->size() / time;
  }
  return result;
}

}  // namespace stepscope::zero
