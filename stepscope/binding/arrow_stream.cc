// SPDX-License-Identifier: Apache-2.0
#include "stepscope/binding/arrow_stream.h"

#include <cerrno>
#include <utility>

// The structures of Arrow's C interface: their layout is a public ABI.
extern "C" {
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary;
  void (*release)(ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers;
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};
struct ArrowArrayStream {
  int (*get_schema)(ArrowArrayStream*, ArrowSchema*);
  int (*get_next)(ArrowArrayStream*, ArrowArray*);
  const char* (*get_last_error)(ArrowArrayStream*);
  void (*release)(ArrowArrayStream*);
  void* private_data;
};
}

namespace stepscope::binding {
namespace {

constexpr std::int64_t nullable = 2;  // ARROW_FLAG_NULLABLE

// What a schema points to.
struct SchemaParts {
  std::string format;
  std::string name;
  std::vector<std::unique_ptr<ArrowSchema>> children;
  std::vector<ArrowSchema*> pointers;
  std::unique_ptr<ArrowSchema> dictionary;
};

// What an array points to.
struct ArrayParts {
  std::vector<const void*> buffers;
  std::vector<std::unique_ptr<ArrowArray>> children;
  std::vector<ArrowArray*> pointers;
  std::unique_ptr<ArrowArray> dictionary;
  std::shared_ptr<const void> owner;
};

// A consumer may have moved a child away: then its release is null.
template <class Structure, class Parts>
void release_parts(Structure* s) {
  auto* parts = static_cast<Parts*>(s->private_data);
  for (auto& child : parts->children)
    if (child->release != nullptr) child->release(child.get());
  if (parts->dictionary != nullptr && parts->dictionary->release != nullptr)
    parts->dictionary->release(parts->dictionary.get());
  delete parts;
  s->release = nullptr;
}

template <class Structure, class Parts>
void publish(Structure* out, Parts* parts) {
  for (auto& child : parts->children) parts->pointers.push_back(child.get());
  out->n_children = static_cast<std::int64_t>(parts->children.size());
  out->children = parts->pointers.empty() ? nullptr : parts->pointers.data();
  out->dictionary = parts->dictionary.get();
  out->release = release_parts<Structure, Parts>;
  out->private_data = parts;
}

void schema_of(const ArrowColumn& column, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = column.format;
  parts->name = column.name;
  if (column.dictionary) {
    parts->dictionary = std::make_unique<ArrowSchema>();
    schema_of(*column.dictionary, parts->dictionary.get());
  }
  *out = {parts->format.c_str(),
          parts->name.c_str(),
          nullptr,
          nullable,
          0,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
  publish(out, parts.release());
}

void array_of(const ArrowColumn& column, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = column.buffers;
  parts->owner = column.owner;
  if (column.dictionary) {
    parts->dictionary = std::make_unique<ArrowArray>();
    array_of(*column.dictionary, parts->dictionary.get());
  }
  *out = {column.length,
          column.nulls,
          0,
          static_cast<std::int64_t>(parts->buffers.size()),
          0,
          parts->buffers.data(),
          nullptr,
          nullptr,
          nullptr,
          nullptr};
  publish(out, parts.release());
}

void batch_of(const ArrowTable& table, ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  parts->buffers = {nullptr};  // all rows are valid
  for (const ArrowColumn& column : table.columns)
    array_of(column, parts->children.emplace_back(std::make_unique<ArrowArray>()).get());
  *out = {table.rows, 0, 0, 1, 0, parts->buffers.data(), nullptr, nullptr, nullptr, nullptr};
  publish(out, parts.release());
}

struct StreamState {
  std::shared_ptr<const ArrowTable> table;
  bool given = false;
};

StreamState& state_of(ArrowArrayStream* stream) {
  return *static_cast<StreamState*>(stream->private_data);
}

int next_batch(ArrowArrayStream* stream, ArrowArray* out) {
  StreamState& state = state_of(stream);
  if (std::exchange(state.given, true))
    *out = {};  // the end: released
  else
    batch_of(*state.table, out);
  return 0;
}

}  // namespace

void export_schema(const ArrowTable& table, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = "+s";
  for (const ArrowColumn& column : table.columns)
    schema_of(column, parts->children.emplace_back(std::make_unique<ArrowSchema>()).get());
  *out = {parts->format.c_str(),
          parts->name.c_str(),
          nullptr,
          0,
          0,
          nullptr,
          nullptr,
          nullptr,
          nullptr};
  publish(out, parts.release());
}

void export_stream(std::shared_ptr<const ArrowTable> table, ArrowArrayStream* out) {
  out->get_schema = [](ArrowArrayStream* stream, ArrowSchema* schema) {
    export_schema(*state_of(stream).table, schema);
    return 0;
  };
  out->get_next = next_batch;
  out->get_last_error = [](ArrowArrayStream* /*stream*/) -> const char* { return nullptr; };
  out->release = [](ArrowArrayStream* stream) {
    delete &state_of(stream);
    stream->release = nullptr;
  };
  out->private_data = new StreamState{std::move(table)};
}

ArrowArrayStream* new_stream(std::shared_ptr<const ArrowTable> table) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_stream(std::move(table), stream.get());
  return stream.release();
}

void delete_stream(ArrowArrayStream* stream) {
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

ArrowSchema* new_schema(const ArrowTable& table) {
  auto schema = std::make_unique<ArrowSchema>();
  export_schema(table, schema.get());
  return schema.release();
}

void delete_schema(ArrowSchema* schema) {
  if (schema->release != nullptr) schema->release(schema);
  delete schema;
}

}  // namespace stepscope::binding
