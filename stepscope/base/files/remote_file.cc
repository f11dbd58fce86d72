// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/remote_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <list>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "stepscope/base/files/http_get.h"
#include "stepscope/base/files/remote_name.h"
#include "stepscope/base/number_text.h"

namespace stepscope {
namespace {

constexpr std::uint64_t head_part = 1 << 20;
constexpr std::uint64_t part_bytes = 4 << 20;
constexpr std::size_t read_ahead = 4;  // connections of a source
constexpr std::size_t most_kept_heads = 32 << 20;
constexpr auto head_serves = std::chrono::seconds(30);

// The size of the file in "bytes 0-99/1234" or "bytes */0".
std::optional<std::uint64_t> size_in(std::string_view content_range) {
  const std::size_t slash = content_range.rfind('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return number_of<std::uint64_t>(content_range.substr(slash + 1));
}

Error no_parts(const std::string& url, const std::string& what) {
  return {.what = what, .file = shown_name(url), .hint = "download the file, and give the copy"};
}

Result<std::shared_ptr<const RemoteFile>> ask(const std::string& url) {
  auto connection = HttpConnection::open();
  if (!connection) {
    Error error = connection.error();
    error.file = shown_name(url);
    return error;
  }
  const auto request = remote_request(url);
  if (!request) return request.error();
  auto answer = connection->get(url, *request, BytePart{0, head_part}, {}, head_part);
  if (!answer) return answer.error();
  const std::optional<std::uint64_t> size = size_in(answer->content_range);
  const bool empty = answer->code == 416 && size == 0;
  if (answer->code == 200 && answer->too_long)
    return no_parts(url, "the server does not serve parts of a file (Range)");
  if (answer->code != 200 && answer->code != 206 && !empty) return http_error(url, *answer);
  if (answer->code == 206 && !size)
    return no_parts(url, "the server does not tell the size of the file (Content-Range)");
  RemoteFile file{.url = url,
                  .size = answer->code == 200 ? answer->body.size() : *size,
                  .etag = std::move(answer->etag),
                  .last_modified = std::move(answer->last_modified)};
  if (!empty) file.head = std::move(answer->body);
  if (file.head.size() != std::min(file.size, head_part))
    return no_parts(url, "the server sent " + std::to_string(file.head.size()) + " of the first " +
                             std::to_string(std::min(file.size, head_part)) + " bytes");
  return std::make_shared<const RemoteFile>(std::move(file));
}

// Heads that were asked for in the last seconds, the newest last.
class KnownHeads {
 public:
  std::shared_ptr<const RemoteFile> find(const std::string& url) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    while (!heads_.empty() && heads_.front().asked + head_serves < now) drop_oldest();
    for (const Known& known : heads_)
      if (known.file->url == url) return known.file;
    return nullptr;
  }
  void add(std::shared_ptr<const RemoteFile> file) {
    const std::lock_guard lock(mutex_);
    bytes_ += file->head.size();
    heads_.push_back({std::move(file), std::chrono::steady_clock::now()});
    while (bytes_ > most_kept_heads) drop_oldest();
  }
  void forget(const std::string& url) {
    const std::lock_guard lock(mutex_);
    for (const Known& known : heads_)
      if (known.file->url == url) bytes_ -= known.file->head.size();
    std::erase_if(heads_, [&](const Known& known) { return known.file->url == url; });
  }

 private:
  struct Known {
    std::shared_ptr<const RemoteFile> file;
    std::chrono::steady_clock::time_point asked;
  };
  void drop_oldest() {
    bytes_ -= heads_.front().file->head.size();
    heads_.pop_front();
  }

  std::mutex mutex_;
  std::list<Known> heads_;
  std::size_t bytes_ = 0;
};

KnownHeads& known_heads() {
  static KnownHeads heads;
  return heads;
}

Error changed(const RemoteFile& file, std::uint64_t at) {
  known_heads().forget(file.url);
  return {.what = "the file changed while it was read",
          .file = shown_name(file.url),
          .byte = at,
          .hint = "read it when its writer has finished"};
}

Result<std::string> fetch(HttpConnection& connection, const RemoteFile& file, BytePart part,
                          const std::atomic<bool>& stop) {
  const auto request = remote_request(file.url);
  if (!request) return request.error();
  // A weak ETag never matches.
  const std::string match = file.etag.starts_with('"') ? file.etag : "";
  auto answer = connection.get(file.url, *request, part, match, part.size, &stop);
  if (!answer) return answer.error();
  if (answer->code == 412 || answer->code == 416) return changed(file, part.begin);
  if (answer->code == 200)
    return no_parts(file.url, "the server no longer serves parts of the file (Range)");
  if (answer->code != 206) return http_error(file.url, *answer);
  if (size_in(answer->content_range) != file.size || answer->etag != file.etag ||
      answer->last_modified != file.last_modified)
    return changed(file, part.begin);
  if (answer->body.size() != part.size)
    return Error{.what = "the server sent " + std::to_string(answer->body.size()) + " of " +
                         std::to_string(part.size) + " bytes",
                 .file = shown_name(file.url),
                 .byte = part.begin,
                 .hint = "try again, or download the file"};
  return std::move(answer->body);
}

// Connection c reads the parts c, c + read_ahead, c + 2·read_ahead … behind the head, each when its
// last one has been used.
class RemoteSource final : public ByteSource {
 public:
  explicit RemoteSource(std::shared_ptr<const RemoteFile> file)
      : file_(std::move(file)), behind_(file_->size - file_->head.size()) {}
  RemoteSource(const RemoteSource&) = delete;
  RemoteSource& operator=(const RemoteSource&) = delete;
  ~RemoteSource() override {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
  }

  Result<std::size_t> read(std::span<char> into) override {
    std::size_t got = 0;
    while (got < into.size() && position_ < file_->size) {
      const auto bytes = next_bytes();
      if (!bytes) return bytes.error();
      const std::size_t n = std::min(bytes->size(), into.size() - got);
      std::memcpy(into.data() + got, bytes->data(), n);
      got += n;
      position_ += n;
      if (n == bytes->size()) release();
    }
    return got;
  }
  [[nodiscard]] std::uint64_t position() const override { return position_; }

 private:
  struct Slot {
    std::optional<Result<std::string>> part;  // absent: not there yet
  };

  [[nodiscard]] std::uint64_t parts() const { return (behind_ + part_bytes - 1) / part_bytes; }

  // The bytes at position_ that are there; waits for them.
  Result<std::string_view> next_bytes() {
    const std::string_view head = file_->head;
    if (position_ < head.size()) return head.substr(position_);
    const std::uint64_t at = position_ - head.size();
    if (connections_.empty()) start();
    Slot& slot = slots_[at / part_bytes % read_ahead];
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return slot.part.has_value(); });
    if (!*slot.part) return slot.part->error();
    return std::string_view(**slot.part).substr(at % part_bytes);
  }
  // The part in front of position_ has been used.
  void release() {
    if (position_ <= file_->head.size()) return;
    const std::uint64_t used = (position_ - file_->head.size() - 1) / part_bytes;
    {
      const std::lock_guard lock(mutex_);
      slots_[used % read_ahead].part.reset();
    }
    wake_.notify_all();
  }
  void start() {
    const auto lanes = static_cast<std::size_t>(std::min<std::uint64_t>(read_ahead, parts()));
    for (std::size_t lane = 0; lane < lanes; ++lane)
      connections_.emplace_back([this, lane] { serve(lane); });
  }
  void serve(std::size_t lane) {
    auto connection = HttpConnection::open();
    for (std::uint64_t p = lane; p < parts(); p += read_ahead) {
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ended_ || !slots_[lane].part; });
      }
      if (ended_) return;
      const BytePart part{file_->head.size() + p * part_bytes,
                          std::min(part_bytes, behind_ - p * part_bytes)};
      auto bytes = connection ? fetch(*connection, *file_, part, ended_)
                              : Result<std::string>(connection.error());
      const bool failed = !bytes;
      {
        const std::lock_guard lock(mutex_);
        slots_[lane].part = std::move(bytes);
      }
      wake_.notify_all();
      if (failed) return;
    }
  }

  std::shared_ptr<const RemoteFile> file_;
  std::uint64_t behind_;  // bytes behind the head
  std::uint64_t position_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::array<Slot, read_ahead> slots_;
  std::atomic<bool> ended_{false};
  std::vector<std::jthread> connections_;  // joined before what they use
};

// XML text without its character references.
std::string plain_text(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, char>, 5> names = {
      {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}}};
  std::string out;
  while (!text.empty()) {
    const auto name = std::ranges::find_if(
        names, [&](const auto& entity) { return text.starts_with(entity.first); });
    const std::size_t end = text.find(';');
    const auto code = text.starts_with("&#x") && end != std::string_view::npos
                          ? number_of<int>(text.substr(3, end - 3), 16)
                          : std::nullopt;
    if (name != names.end()) {
      out += name->second;
      text.remove_prefix(name->first.size());
    } else if (code && *code < 128) {
      out += static_cast<char>(*code);
      text.remove_prefix(end + 1);
    } else {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
}

// Cuts the text of the next <name>…</name> out of the front of `xml`.
std::optional<std::string> next_element(std::string_view& xml, std::string_view name) {
  const std::string open = '<' + std::string(name) + '>';
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = xml.find('<', begin + open.size());
  if (end == std::string_view::npos) return std::nullopt;
  std::string text = plain_text(xml.substr(begin + open.size(), end - begin - open.size()));
  xml.remove_prefix(end);
  return text;
}

}  // namespace

Result<std::shared_ptr<const RemoteFile>> remote_file(const std::string& url) {
  if (auto known = known_heads().find(url)) return known;
  auto file = ask(url);
  if (file) known_heads().add(*file);
  return file;
}

std::unique_ptr<ByteSource> remote_source(std::shared_ptr<const RemoteFile> file) {
  return std::make_unique<RemoteSource>(std::move(file));
}

std::int64_t modified_ns(const RemoteFile& file) {
  std::tm utc{};
  if (::strptime(file.last_modified.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &utc) == nullptr)
    return 0;
  constexpr std::int64_t ns_in_s = 1'000'000'000;
  return static_cast<std::int64_t>(::timegm(&utc)) * ns_in_s;
}

Result<std::vector<std::string>> objects_below(const std::string& url) {
  constexpr std::size_t most_objects = 1'000'000;
  constexpr std::uint64_t most_listing = 16 << 20;  // a page has a thousand names
  const auto name = s3_name(url);
  if (!name) return name.error();
  auto connection = HttpConnection::open();
  if (!connection) return connection.error();
  std::vector<std::string> objects;
  for (std::string token;;) {
    Query query = {{"list-type", "2"}, {"prefix", name->key}};
    if (!token.empty()) query.emplace_back("continuation-token", token);
    const RemoteRequest request = s3_request(s3_account(), {.bucket = name->bucket, .key = {}},
                                             query, std::chrono::system_clock::now());
    const auto answer = connection->get(url, request, std::nullopt, {}, most_listing);
    if (!answer) return answer.error();
    if (answer->code != 200) return http_error(url, *answer);
    if (answer->body.find("<ListBucketResult") == std::string::npos)
      return Error{.what = "the server's list of the bucket is not that of S3",
                   .file = url,
                   .hint = "check AWS_ENDPOINT_URL"};
    std::string_view xml = answer->body;
    while (const auto key = next_element(xml, "Key"))
      if (!key->ends_with('/')) objects.push_back("s3://" + name->bucket + '/' + *key);
    if (objects.size() > most_objects)
      return Error{
          .what = "has more than a million objects", .file = url, .hint = "give a longer prefix"};
    xml = answer->body;
    const auto next = next_element(xml, "NextContinuationToken");
    if (!next || *next == token) return objects;
    token = *next;
  }
}

}  // namespace stepscope
