#ifndef TUNEONCE_LIB_RUNTIME_KERNEL_PARTS_H_
#define TUNEONCE_LIB_RUNTIME_KERNEL_PARTS_H_

#include <memory>

#include "cuda/driver_api.h"
#include "launch/call_binder.h"
#include "runtime/announcer.h"
#include "runtime/miss_counters.h"
#include "runtime/ready_keys.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// What everything that finds, loads or launches configs of one tuned kernel uses. The tuned kernel owns it.
struct KernelParts {
  const std::shared_ptr<const KernelDefinition>& definition;
  const CallBinder& binder;
  const DriverApi& api;
  const AutotunePolicy& policy;
  const Announcer& announcer;
  ReadyKeys& ready_keys;
  MissCounters& counters;

  /// Returns whether the mode allows compiling.
  bool may_compile() const { return policy.mode != AutotunePolicy::Mode::kStoredOnly; }
  /// Returns whether the kernel's configs are agreed on with other ranks.
  bool is_in_ranks() const { return policy.ranks.group != nullptr; }
  /// Returns whether the kernel's configs are also those of other ranks or of other kernels of a selection group.
  bool shares_configs() const { return is_in_ranks() || !policy.selection_group.empty(); }
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_KERNEL_PARTS_H_
