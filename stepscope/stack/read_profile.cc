// SPDX-License-Identifier: Apache-2.0
#include "stepscope/stack/read_profile.h"

#include <algorithm>
#include <array>

#include "stepscope/base/files/open_source.h"
#include "stepscope/base/files/sqlite_file.h"
#include "stepscope/stack/nsys_samples.h"
#include "stepscope/stack/profile_format.h"
#include "stepscope/stack/text_input.h"

namespace stepscope {
namespace {

const ProfileFormat* format_of(std::string_view head, std::string_view asked) {
  for (const ProfileFormat& f : profile_formats())
    if (asked.empty() ? f.recognises(head) : f.name == asked) return &f;
  return nullptr;
}

Error no_profile(const std::string& name, std::string_view head) {
  Error error{.what = "is no profile that is known",
              .file = name,
              .hint =
                  "give collapsed stacks, perf script, py-spy (raw, dump, speedscope), "
                  "speedscope or pprof; --format names one"};
  if (const std::string known = what_it_is(head); !known.empty()) {
    error.what = known.substr(0, known.find(';'));
    error.hint = known.substr(known.find(';') + 2);
  }
  return error;
}

}  // namespace

std::span<const std::string_view> profile_format_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const ProfileFormat& f : profile_formats()) all.push_back(f.name);
    return all;
  }();
  return names;
}

std::string_view profile_format_of(std::string_view head) {
  const ProfileFormat* format = format_of(head, {});
  return format == nullptr ? std::string_view() : format->name;
}

Result<Profile> read_profile_from(std::unique_ptr<ByteSource> raw, const std::string& name,
                                  const ProfileOptions& options) {
  const auto with_file = [&](Error error) {
    if (error.file.empty()) error.file = name;
    return error;
  };
  auto source = open_text(std::move(raw));
  if (!source) return with_file(source.error());
  const std::string head((*source)->head());
  if (head.empty()) {
    const std::string damage = (*source)->damage();
    return Error{.what = damage.empty() ? "the file is empty" : damage,
                 .file = name,
                 .hint = "record the profile again"};
  }
  const ProfileFormat* format = format_of(head, options.format);
  if (format == nullptr) return no_profile(name, head);
  ProfileBuilder builder;
  builder.input.path = name;
  builder.input.format = format->name;
  builder.keep_samples = options.keep_samples;
  if (const auto read = format->read(**source, builder); !read) return with_file(read.error());
  if (const std::string damage = (*source)->damage(); !damage.empty()) {
    builder.input.truncated = true;
    builder.note("damaged: " + damage);
  }
  if (builder.input.stacks == 0)
    return Error{.what = std::string("no stacks in this ").append(format->name).append(" profile"),
                 .file = name,
                 .hint =
                     "record with stacks (perf record -g, py-spy record), or name the format "
                     "with --format"};
  return builder.seal();
}

Result<Profile> read_profile(const std::string& path, const ProfileOptions& options) {
  auto source = open_source(path);
  if (!source) return source.error();
  if (auto head = PeekedSource::open(std::move(*source), 16); !head) {
    return head.error();
  } else if (is_sqlite((*head)->head())) {
    const auto file = SqliteFile::open(path);
    if (!file) return file.error();
    return read_nsys_samples(*file, path, options.keep_samples);
  }
  source = open_source(path);
  if (!source) return source.error();
  return read_profile_from(std::move(*source), path, options);
}

bool may_be_text(const Profile& profile) {
  const std::vector<std::uint32_t>& parent = profile.tree.parent;
  // The root is 0, its children are threads.
  const auto by_frame = [&](std::uint32_t caller) { return caller != 0 && parent[caller] != 0; };
  return profile.inputs.front().format == "collapsed" && std::ranges::none_of(parent, by_frame);
}

}  // namespace stepscope
