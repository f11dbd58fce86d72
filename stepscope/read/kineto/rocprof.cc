// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/kineto/rocprof.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "stepscope/read/bytes/microseconds.h"
#include "stepscope/read/bytes/plain_json.h"
#include "stepscope/read/bytes/whole_file.h"
#include "stepscope/read/rows/event_sink.h"
#include "stepscope/read/rows/overruns.h"

namespace stepscope {
namespace {

constexpr std::string_view root_key = "rocprofiler-sdk-tool";
constexpr std::size_t records_between_looks = 4096;  // records between two checks of the stop flag
constexpr std::int64_t gpu_agent = 2;                // rocprofiler_agent_type_t

// Lists of buffer_records that become rows. The list's name is the rows' category.
constexpr std::array<std::string_view, 6> lists = {"hip_api",  "hsa_api",         "marker_api",
                                                   "rccl_api", "kernel_dispatch", "memory_copy"};

std::optional<std::int64_t> integer(const PlainValue& value, std::string_view key) {
  const auto found = value.find(key);
  return found ? found->integer() : std::nullopt;
}

// {"handle": N}, or N itself.
std::optional<std::int64_t> handle(const PlainValue& value, std::string_view key) {
  const auto found = value.find(key);
  if (!found) return std::nullopt;
  return found->kind() == PlainKind::dict ? integer(*found, "handle") : found->integer();
}

std::optional<std::string_view> text(const PlainValue& value, std::string_view key) {
  const auto found = value.find(key);
  return found ? found->text() : std::nullopt;
}

template <class Each>
void each_of(const std::optional<PlainValue>& list, Each&& each) {
  if (!list || list->kind() == PlainKind::dict) return;
  for (std::size_t i = 0; i < list->size(); ++i) each((*list)[i]);
}

// Names that the records of one process refer to by number.
class Names {
 public:
  explicit Names(const PlainValue& process) {
    if (const auto strings = process.find("strings")) {
      each_of(strings->find("buffer_records"), [&](const PlainValue& kind) {
        auto& operations = operations_.emplace_back();
        each_of(kind.find("operations"), [&](const PlainValue& name) {
          operations.push_back(name.text().value_or(std::string_view()));
        });
      });
      each_of(strings->find("marker_api"), [&](const PlainValue& message) {
        const auto key = integer(message, "key");
        if (const auto value = text(message, "value"); key && value) markers_[*key] = *value;
      });
    }
    each_of(process.find("kernel_symbols"), [&](const PlainValue& symbol) {
      const auto id = integer(symbol, "kernel_id");
      for (const char* key : {"formatted_kernel_name", "demangled_kernel_name", "kernel_name"})
        if (const auto name = text(symbol, key); id && name && !name->empty())
          if (kernels_.try_emplace(*id, *name).second) break;
    });
    each_of(process.find("agents"), [&](const PlainValue& agent) {
      const auto id = handle(agent, "id");
      if (!id || integer(agent, "type") != gpu_agent) return;
      const auto fallback = static_cast<std::int64_t>(devices_.size());
      devices_[*id] = integer(agent, "logical_node_type_id").value_or(fallback);
    });
  }

  [[nodiscard]] std::string_view operation(const PlainValue& record) const {
    const auto kind = integer(record, "kind");
    const auto op = integer(record, "operation");
    if (!kind || !op || *kind < 0 || *op < 0) return {};
    const auto k = static_cast<std::uint64_t>(*kind);
    const auto o = static_cast<std::uint64_t>(*op);
    if (k >= operations_.size() || o >= operations_[k].size()) return {};
    return operations_[k][o];
  }
  [[nodiscard]] std::string_view marker(std::int64_t correlation) const {
    const auto at = markers_.find(correlation);
    return at == markers_.end() ? std::string_view() : at->second;
  }
  [[nodiscard]] std::string_view kernel(std::int64_t id) const {
    const auto at = kernels_.find(id);
    return at == kernels_.end() ? std::string_view() : at->second;
  }
  // Absent for a CPU.
  [[nodiscard]] std::optional<std::int64_t> device(std::optional<std::int64_t> agent) const {
    const auto at = agent ? devices_.find(*agent) : devices_.end();
    return at == devices_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  std::vector<std::vector<std::string_view>> operations_;  // by kind, then operation
  std::unordered_map<std::int64_t, std::string_view> markers_;
  std::unordered_map<std::int64_t, std::string_view> kernels_;
  std::unordered_map<std::int64_t, std::int64_t> devices_;  // by agent
};

// Rows of one process.
class ProcessRows {
 public:
  ProcessRows(const PlainValue& process, std::int64_t pid)
      : names_(process), pid_(std::to_string(pid)) {
    sink_.begin_chunk(0);
  }

  void add(std::string_view list, const PlainValue& record) {
    event_ = {};
    const auto start = integer(record, "start_timestamp");
    const auto end = integer(record, "end_timestamp");
    if (!start || !end || !EventSink::in_range(Ns{*start}) || !EventSink::in_range(Ns{*end}))
      return leave_out("missing_timestamp");
    const Microseconds ts(Ns{*start});
    const Microseconds dur(Ns{*end - *start});
    event_.set(Field::ph, "X");
    event_.set(Field::cat, list);
    scalar(Field::ts, ts.view());
    scalar(Field::dur, dur.view());
    std::optional<std::int64_t> correlation;
    if (const auto ids = record.find("correlation_id"))
      correlation = ids->kind() == PlainKind::dict ? integer(*ids, "internal") : ids->integer();
    if (correlation) number(Field::correlation, *correlation);
    const bool on_device = list == "kernel_dispatch" || list == "memory_copy";
    if (on_device)
      add_device_row(list, record);
    else
      add_host_row(list, record, correlation);
  }

  Trace finish() { return sink_.finish(); }

 private:
  void add_host_row(std::string_view list, const PlainValue& record,
                    std::optional<std::int64_t> correlation) {
    std::string_view name;
    if (list == "marker_api" && correlation) name = names_.marker(*correlation);
    if (name.empty()) name = names_.operation(record);
    if (name.empty()) return leave_out("operation_without_a_name");
    event_.set(Field::name, name);
    scalar(Field::pid, pid_);
    number(Field::tid, integer(record, "thread_id").value_or(0));
    sink_.add(event_, 0);
  }

  // The row's track is its HIP stream if it has one, else its HSA queue.
  void add_device_row(std::string_view list, const PlainValue& record) {
    const bool kernel = list == "kernel_dispatch";
    const auto dispatch = kernel ? record.find("dispatch_info") : std::nullopt;
    if (kernel && !dispatch) return leave_out("kernel_without_its_dispatch");
    std::optional<std::int64_t> device;
    std::string_view name;
    if (kernel) {
      device = names_.device(handle(*dispatch, "agent_id"));
      name = names_.kernel(integer(*dispatch, "kernel_id").value_or(-1));
    } else {
      device = names_.device(handle(record, "dst_agent_id"));
      if (!device) device = names_.device(handle(record, "src_agent_id"));
      name = names_.operation(record);
      if (const auto bytes = integer(record, "bytes")) number(Field::bytes, *bytes);
    }
    if (name.empty()) return leave_out("operation_without_a_name");
    if (!device) sink_.note("unknown_device", 0);
    auto stream = handle(record, "stream_id");
    if (!stream && kernel) stream = handle(*dispatch, "queue_id");
    event_.set(Field::name, name);
    number(Field::pid, device.value_or(0));
    number(Field::device, device.value_or(0));
    number(Field::tid, stream.value_or(0));
    number(Field::stream, stream.value_or(0));
    sink_.add(event_, 0);
  }

  void leave_out(const char* reason) {
    ++sink_.notes().events;
    sink_.note(reason, 0);
  }
  void scalar(Field field, std::string_view value) { event_.set(field, value, ValueKind::scalar); }
  void number(Field field, std::int64_t value) {
    std::string& owned = owned_[static_cast<std::size_t>(field)];
    owned = std::to_string(value);
    scalar(field, owned);
  }

  Names names_;
  std::string pid_;
  EventSink sink_;
  RawEvent event_;
  std::array<std::string, field_count> owned_;
};

void set_metadata(const PlainValue& process, Metadata& metadata) {
  const auto about = process.find("metadata");
  if (!about) return;
  if (const auto node = about->find("node"))
    if (const auto host = text(*node, "hostname")) metadata.texts["host_name"] = *host;
  each_of(process.find("agents"), [&](const PlainValue& agent) {
    if (integer(agent, "type") != gpu_agent) return;
    const auto name = text(agent, "product_name");
    DeviceProperties device;
    device.id = static_cast<int>(std::clamp<std::int64_t>(
        integer(agent, "logical_node_type_id").value_or(std::ssize(metadata.devices)), 0, 1 << 16));
    device.name = name && !name->empty() ? *name : text(agent, "name").value_or("");
    metadata.devices.push_back(std::move(device));
  });
}

Result<Trace> trace_of(const PlainValue& process, const std::string& path,
                       const ReadControl& control) {
  const auto about = process.find("metadata");
  ProcessRows rows(process, about ? integer(*about, "pid").value_or(0) : 0);
  const auto records = process.find("buffer_records");
  for (const std::string_view list : lists) {
    if (!records) break;
    const auto all = records->find(list);
    for (std::size_t i = 0; all && all->kind() != PlainKind::dict && i < all->size(); ++i) {
      if (i % records_between_looks == 0 && stopped(control)) return interrupted(path);
      rows.add(list, (*all)[i]);
    }
  }
  Trace trace = rows.finish();
  trace.metadata.format = "rocprof";
  trace.metadata.path = path;
  trace.metadata.clock = Clock::relative;
  set_metadata(process, trace.metadata);
  cut_overruns(trace);
  return trace;
}

constexpr WholeFileLimit rocprof_limit = {
    .bytes = std::uint64_t{4} << 30,
    .what = "more than 4 GB of rocprofv3's JSON",
    .hint = "give what rocprofv3 --output-format pftrace writes"};

}  // namespace

bool is_rocprof(std::string_view head) {
  const auto skip = [&](std::string_view expected) {
    head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n\xEF\xBB\xBF"), head.size()));
    if (!head.starts_with(expected)) return false;
    head.remove_prefix(expected.size());
    return true;
  };
  if (!skip("{") || !skip("\"") || !head.starts_with(root_key)) return false;
  head.remove_prefix(root_key.size());
  // One process, or a list of them.
  return skip("\"") && skip(":") &&
         (skip("{") || (skip("[") && (skip("{") || skip("]") || head.empty())));
}

Result<std::vector<Trace>> read_rocprof_from(ByteSource& source, const std::string& path,
                                             const ReadControl& control) {
  auto json = read_whole_file(source, path, control, rocprof_limit);
  if (!json) return json.error();
  if (const std::string damage = source.damage(); !damage.empty())
    return Error{.what = damage,
                 .file = path,
                 .byte = json->size(),
                 .hint = "record the trace again, or copy the file again"};
  const std::uint64_t bytes = json->size();
  const auto tree = parse_plain_json(std::move(*json), path);
  if (!tree) return tree.error();
  const auto root = tree->value().find(root_key);
  std::vector<PlainValue> processes;
  if (root && root->kind() == PlainKind::dict) processes.push_back(*root);
  each_of(root, [&](const PlainValue& process) { processes.push_back(process); });
  std::vector<Trace> traces;
  std::uint64_t events = 0;
  for (const PlainValue& process : processes) {
    auto trace = trace_of(process, path, control);
    if (!trace) return trace.error();
    events += trace->notes.events;
    if (trace->slices.size() == 0) continue;
    trace->metadata.text_bytes = bytes;
    trace->metadata.file_bytes = source.position();
    traces.push_back(std::move(*trace));
  }
  if (traces.empty())
    return Error{.what = "rocprofv3's JSON without kernels, copies, calls or ranges (" +
                         std::to_string(events) + " records)",
                 .file = path,
                 .byte = bytes,
                 .hint = "record with rocprofv3 --sys-trace --output-format json"};
  return traces;
}

}  // namespace stepscope
