#ifndef TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_
#define TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/callback.h"
#include "tuneonce/kernel/parameter_block.h"
#include "tuneonce/search/candidate.h"

namespace tuneonce {

/// One config, loaded into one context and ready; shared by all keys that chose it. Immutable once a HitTable refers to
/// it.
struct ResidentKernel {
  CUfunction function = nullptr;  // Of `loaded`, here to save a hit one cache miss.
  Config config;
  Target target;
  const Variant* variant = nullptr;
  const ParameterLayout* layout = nullptr;
  const SearchSpace* space = nullptr;
  const DriverApi* api = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;

  /// True if the config may run for the call's dims.
  bool Suits(const BoundCall& call) const {
    if (!space->has_guards()) return true;
    CallbackScope scope;
    return space->GuardsHold(config, call.problem.dims);
  }
  /// Launches. Sets the call's target. User functions' exceptions pass through: the caller catches them.
  Status Launch(CUstream stream, BoundCall& call) const;

 private:
  Status FillAndLaunch(CUstream stream, const BoundCall& call, const Geometry& geometry,
                       const std::uint64_t* workspaces) const;
  Status LaunchWithWorkspace(CUstream stream, const BoundCall& call, const Geometry& geometry) const;
  Status Refused(CUresult result, CUstream stream) const;
};

}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_
