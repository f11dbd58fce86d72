// SPDX-License-Identifier: Apache-2.0
#include "stepscope/read/nsys/nsys_nccl.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <set>
#include <unordered_set>

namespace stepscope {
namespace {

constexpr std::uint64_t static_schemas = 1ULL << 24;  // NVTX: ids of statically defined schemas

NcclField field_named(std::string_view name) {
  if (name == "NCCL communicator ID") return NcclField::communicator;
  if (name == "Message size [bytes]") return NcclField::bytes;
  if (name == "No. of ranks") return NcclField::ranks;
  if (name == "Rank") return NcclField::rank;
  if (name == "Root" || name == "Peer rank") return NcclField::peer;
  return NcclField::none;
}

// nvtxPayloadEntryType: fixed-width integers, size_t.
std::uint32_t size_of_type(std::int64_t type) {
  if (type == 5 || type == 16) return 4;
  return type == 17 || type == 18 || type == 22 ? 8 : 0;
}

NcclSchemas known_schemas() {
  using enum NcclField;
  const std::vector<NcclEntry> init = {{communicator, 0, 8}, {ranks, 8, 4}, {rank, 12, 4}};
  const std::vector<NcclEntry> plain = {{communicator, 0, 8}, {bytes, 8, 8}};
  const std::vector<NcclEntry> with_peer = {{communicator, 0, 8}, {bytes, 8, 8}, {peer, 16, 4}};
  NcclSchemas all;
  for (const std::uint64_t id : {0U, 2U, 3U, 11U, 12U}) all[static_schemas + id] = init;
  for (const std::uint64_t id : {4U, 5U, 7U, 16U}) all[static_schemas + id] = plain;
  for (const std::uint64_t id : {6U, 8U, 9U, 10U, 17U, 18U}) all[static_schemas + id] = with_peer;
  return all;
}

std::uint64_t little_endian(std::string_view data, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(data[at + i])) << (8 * i);
  return value;
}

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Some versions export blobs as text. Empty if the text is not hexadecimal.
std::string from_hexadecimal(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return {};
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

// A kernel of NCCL and the instant of its launch call.
struct Launch {
  std::uint32_t track = 0;
  Ns called{};
  SliceId kernel = no_slice;
};

std::vector<Launch> nccl_launches(const Trace& trace) {
  const Slices& s = trace.slices;
  std::vector<bool> is_nccl(trace.strings.size());
  for (std::uint32_t i = 0; i < is_nccl.size(); ++i)
    is_nccl[i] = trace.strings[StringId{i}].starts_with("nccl");
  std::unordered_multimap<std::uint32_t, SliceId> kernels;
  for (std::uint32_t i = 0; i < s.size(); ++i)
    if (s.category[i] == Category::kernel && s.correlation[i] != 0 && is_nccl[index(s.name[i])])
      kernels.emplace(s.correlation[i], SliceId{i});
  std::vector<Launch> launches;
  for (std::uint32_t i = 0; i < s.size() && !kernels.empty(); ++i) {
    if (s.correlation[i] == 0) continue;
    if (s.category[i] != Category::runtime && s.category[i] != Category::driver) continue;
    const auto [first, last] = kernels.equal_range(s.correlation[i]);
    for (auto at = first; at != last; ++at)
      launches.push_back({index(s.track[i]), s.start[i], at->second});
  }
  std::ranges::sort(launches, {}, [&](const Launch& l) {
    return std::tuple(l.track, l.called, s.start[index(l.kernel)]);
  });
  return launches;
}

// The collectives of one process.
class Calls {
 public:
  Calls(NsysExport& nsys, NsysProcess& process) : nsys_(nsys), process_(process) {}

  void run() {
    std::ranges::sort(process_.nccl, {},
                      [](const NcclCall& c) { return std::tuple(c.tid, c.start); });
    learn_communicators();
    int depth = 0;
    std::vector<const NcclCall*> group;
    for (std::size_t i = 0; i < process_.nccl.size(); ++i) {
      const NcclCall& call = process_.nccl[i];
      if (i > 0 && call.tid != process_.nccl[i - 1].tid) {
        depth = 0;
        group.clear();
      }
      if (call.name == "ncclGroupStart") ++depth;
      if (call.name == "ncclGroupEnd" && depth > 0) {
        --depth;
        if (depth == 0) {
          resolve(group, call);
          group.clear();
        }
      }
      const CollectiveKind kind = kind_of(call);
      if (kind == CollectiveKind::none || kind == CollectiveKind::unknown) continue;
      if (call.communicator == 0) ++without_payload_;
      if (depth > 0) group.push_back(&call);
      if (call.communicator != 0) attach(call.slice, call, kind);
    }
    if (without_payload_ > 0) nsys_.note("nccl_call_without_payload", without_payload_);
  }

 private:
  static CollectiveKind kind_of(const NcclCall& call) {
    if (call.name.starts_with("ncclComm") || call.name.starts_with("ncclGroup"))
      return CollectiveKind::none;
    return collective_kind(call.name);
  }

  void learn_communicators() {
    for (const NcclCall& call : process_.nccl) {
      if (call.communicator == 0) continue;
      NcclCommunicator& known = process_.communicators[call.communicator];
      if (call.ranks <= 0 || call.ranks > most_nsys_ranks) continue;
      known.ranks = call.ranks;
      if (call.rank >= 0 && call.rank < call.ranks) known.rank = call.rank;
    }
  }

  // The data that a call moves, per rank. NCCL's sizes are the call's count times the element size.
  Collective collective_of(const NcclCall& call, CollectiveKind kind) {
    const int ranks = process_.communicators[call.communicator].ranks;
    StringPool& strings = process_.trace.strings;
    Collective c;
    c.name = strings.intern(call.name);
    c.dtype = strings.intern("bytes");
    c.group_name = strings.intern(nccl_group_name(call.communicator));
    c.group_size = ranks;
    c.is_async = true;
    if (call.peer >= 0 && call.peer < most_nsys_ranks) c.rank = call.peer;
    const std::int64_t all = ranks > 0 && call.bytes >= 0 && call.bytes <= most_nsys_bytes / ranks
                                 ? call.bytes * ranks
                                 : -1;
    switch (kind) {
      case CollectiveKind::all_gather:
      case CollectiveKind::gather:
        c.in_elements = call.bytes;
        c.out_elements = all;
        break;
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::scatter:
        c.in_elements = all;
        c.out_elements = call.bytes;
        break;
      case CollectiveKind::all_to_all:
        c.in_elements = c.out_elements = all;
        break;
      case CollectiveKind::recv:
        c.out_elements = call.bytes;
        break;
      default:
        c.in_elements = call.bytes;
        break;
    }
    return c;
  }

  void attach(SliceId slice, const NcclCall& call, CollectiveKind kind) {
    put(slice, collective_of(call, kind));
  }

  // A slice has at most one collective. If launches or groups share a kernel, the first one counts.
  void put(SliceId slice, Collective c) {
    if (!taken_.insert(index(slice)).second) return nsys_.note("nccl_calls_of_one_kernel");
    c.slice = slice;
    process_.trace.collectives.push_back(c);
  }

  std::vector<SliceId> launched_in(const NcclCall& from, const NcclCall& until) {
    if (!launches_) launches_ = nccl_launches(process_.trace);
    const std::uint32_t track = index(process_.trace.slices.track[index(until.slice)]);
    auto at =
        std::ranges::lower_bound(*launches_, std::pair(track, from.start), {},
                                 [](const Launch& l) { return std::pair(l.track, l.called); });
    std::vector<SliceId> kernels;
    for (; at != launches_->end() && at->track == track && at->called <= until.end; ++at)
      kernels.push_back(at->kernel);
    return kernels;
  }

  // The calls of a group run in the kernels that the end of the group launches.
  void resolve(const std::vector<const NcclCall*>& group, const NcclCall& end) {
    if (group.empty() || group.front()->communicator == 0) return;
    const std::vector<SliceId> kernels = launched_in(*group.front(), end);
    if (kernels.empty()) return;
    if (std::ranges::all_of(group, [](const NcclCall* c) { return is_message(kind_of(*c)); })) {
      if (kernels.size() == 1) add_all_to_all(group, kernels.front());
      return;  // the analyses join messages and kernels instead
    }
    if (kernels.size() == group.size()) {
      for (std::size_t i = 0; i < group.size(); ++i)
        attach(kernels[i], *group[i], kind_of(*group[i]));
      return;
    }
    if (kernels.size() == 1 && alike(group)) return add_sum(group, kernels.front());
    nsys_.note("nccl_group_not_told_apart");
  }

  static bool alike(const std::vector<const NcclCall*>& group) {
    return std::ranges::all_of(group, [&](const NcclCall* c) {
      return c->name == group.front()->name && c->communicator == group.front()->communicator &&
             c->peer == group.front()->peer && c->bytes >= 0;
    });
  }

  // Several calls of one kind in one kernel, as PyTorch coalesces them.
  void add_sum(const std::vector<const NcclCall*>& group, SliceId kernel) {
    NcclCall sum = *group.front();
    sum.bytes = 0;
    for (const NcclCall* call : group)
      sum.bytes = std::min(sum.bytes + call->bytes, most_nsys_bytes);
    attach(kernel, sum, kind_of(sum));
  }

  // A send to and a receive from each rank of a communicator form an all-to-all.
  void add_all_to_all(const std::vector<const NcclCall*>& group, SliceId kernel) {
    const int ranks = process_.communicators[group.front()->communicator].ranks;
    std::set<int> to;
    std::set<int> from;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (const NcclCall* call : group) {
      if (call->communicator != group.front()->communicator || call->bytes < 0) return;
      const bool sends = kind_of(*call) == CollectiveKind::send;
      if (!(sends ? to : from).insert(call->peer).second) return;
      std::int64_t& total = sends ? sent : received;
      total = std::min(total + call->bytes, most_nsys_bytes);
    }
    const auto all = static_cast<std::size_t>(std::max(ranks, 0));
    if (ranks < 2 || to.size() != all || from.size() != all) return;
    NcclCall whole = *group.front();
    whole.name = "all_to_all";
    whole.peer = -1;
    Collective c = collective_of(whole, CollectiveKind::all_to_all);
    c.in_elements = sent;
    c.out_elements = received;
    put(kernel, c);
  }

  NsysExport& nsys_;
  NsysProcess& process_;
  std::optional<std::vector<Launch>> launches_;
  std::unordered_set<std::uint32_t> taken_;  // slices with a collective
  std::uint64_t without_payload_ = 0;
};

}  // namespace

NcclSchemas read_nccl_schemas(NsysExport& nsys) {
  NcclSchemas schemas = known_schemas();
  NcclSchemas recorded;
  constexpr std::array<std::string_view, 5> columns = {"schemaId", "type", "name", "offset", "idx"};
  nsys.each_row("NVTX_PAYLOAD_SCHEMA_ENTRIES", columns, [&](const SqliteRows& row) {
    const NcclField field = field_named(row.text(2));
    const std::uint32_t size = size_of_type(row.integer(1));
    const std::int64_t offset = row.integer(3);
    if (field == NcclField::none || size == 0 || offset < 0 || offset > 4096) return;
    // Only the first entry may omit its offset.
    if (offset == 0 && row.integer(4) != 0) return;
    recorded[static_cast<std::uint64_t>(row.integer(0))].push_back(
        {field, static_cast<std::uint32_t>(offset), size});
  });
  for (auto& [id, entries] : recorded) schemas[id] = std::move(entries);
  return schemas;
}

std::string nccl_group_name(std::uint64_t communicator) {
  std::array<char, 20> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), communicator, 16).ptr;
  return "0x" + std::string(text.data(), end);
}

bool is_nccl_call(std::string_view range) {
  return range.size() > 4 && range.starts_with("nccl") &&
         std::isupper(static_cast<unsigned char>(range[4])) != 0 &&
         range.find(' ') == std::string_view::npos;
}

void read_nccl_payload(std::string_view data, const NcclSchemas& schemas, NcclCall& call) {
  constexpr std::size_t header = 32;  // domain, schema, size of the payload, size of all
  std::string bytes;
  if (!data.empty() && digit(data.front()) >= 0 && data.size() >= 2 * header) {
    bytes = from_hexadecimal(data);
    if (!bytes.empty()) data = bytes;
  }
  if (data.size() < header) return;
  const auto schema = schemas.find(little_endian(data, 8, 8));
  if (schema == schemas.end()) return;
  const std::string_view payload = data.substr(header);
  for (const NcclEntry& entry : schema->second) {
    if (entry.offset + entry.size > payload.size()) continue;
    const std::uint64_t value = little_endian(payload, entry.offset, entry.size);
    const auto whole = static_cast<std::int64_t>(value);
    const int number = value <= 0x7FFFFFFF ? static_cast<int>(value) : -1;
    switch (entry.field) {
      case NcclField::communicator:
        call.communicator = value;
        break;
      case NcclField::bytes:
        call.bytes = whole >= 0 && whole <= most_nsys_bytes ? whole : -1;
        break;
      case NcclField::ranks:
        call.ranks = number;
        break;
      case NcclField::rank:
        call.rank = number;
        break;
      case NcclField::peer:
        call.peer = number;
        break;
      case NcclField::none:
        break;
    }
  }
}

void add_nccl_collectives(NsysExport& nsys, NsysProcess& process) {
  if (!process.nccl.empty()) Calls(nsys, process).run();
}

}  // namespace stepscope
