// SPDX-License-Identifier: Apache-2.0
#include "stepscope/verbs/hang/incident_meanings.h"

#include <array>
#include <map>
#include <utility>

namespace stepscope {

Value meaning_of_status(std::int64_t status) {
  switch (status) {
    case 1:
      return msg::ib_length();
    case 4:
      return msg::ib_protection();
    case 5:
      return msg::ib_flushed();
    case 9:
    case 11:
      return msg::ib_request();
    case 10:
      return msg::ib_access();
    case 12:
      return msg::ib_retries();
    case 13:
      return msg::ib_not_ready();
    default:
      return {};
  }
}

Value meaning_of_xid(std::int64_t xid) {
  switch (xid) {
    case 13:
    case 31:
      return msg::xid_program();
    case 43:
    case 45:
      return msg::xid_stopped();
    case 48:
    case 92:
    case 94:
    case 95:
    case 140:
      return msg::xid_memory();
    case 61:
    case 62:
      return msg::xid_microcontroller();
    case 63:
      return msg::xid_remapped();
    case 64:
      return msg::xid_remap_failed();
    case 109:
      return msg::xid_context_switch();
    case 74:
    case 145:
    case 149:
      return msg::xid_nvlink();
    case 79:
      return msg::xid_lost();
    case 119:
    case 120:
      return msg::xid_firmware();
    default:
      return {};
  }
}

Value signal_name(std::int64_t signal) {
  const std::map<std::int64_t, const char*> names = {
      {4, "SIGILL"},  {6, "SIGABRT"},  {7, "SIGBUS"},  {8, "SIGFPE"},
      {9, "SIGKILL"}, {11, "SIGSEGV"}, {15, "SIGTERM"}};
  const auto at = names.find(signal);
  return at == names.end() ? Value() : Value(at->second);
}

Value file_system_of(std::string_view module) {
  constexpr std::array<std::pair<std::string_view, const char*>, 9> modules = {
      {{"mmfs", "GPFS"},
       {"lustre", "Lustre"},
       {"ptlrpc", "Lustre"},
       {"nfs", "NFS"},
       {"sunrpc", "NFS"},
       {"beegfs", "BeeGFS"},
       {"ceph", "Ceph"},
       {"wekafs", "WekaFS"},
       {"fuse", "FUSE"}}};
  for (const auto& [begin, name] : modules)
    if (module.starts_with(begin)) return name;
  return {};
}

}  // namespace stepscope
