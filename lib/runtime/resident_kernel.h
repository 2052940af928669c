#ifndef TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_
#define TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/callback.h"
#include "cuda/driver_api.h"
#include "launch/assumption.h"
#include "launch/launch.h"
#include "launch/parameter_block.h"
#include "launch/tensor_map_cache.h"
#include "runtime/verified_extents.h"
#include "search/candidate.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// One config, loaded and ready to launch in each context of a device; shared by all keys that chose it. Immutable once
/// a HitTable refers to it.
struct ResidentKernel {
  CUfunction function = nullptr;  // Of `loaded`, here to save a hit one cache miss.
  const ParameterLayout* layout = nullptr;
  /// A copy of the variant's, and of what the code assumes beyond them: a hit comes to it by one load less.
  AssumptionChecks assumptions;
  const DriverApi* api = nullptr;
  /// How it is launched but for the grid, if that is the same for all calls, or some key's launches are prepared.
  std::optional<LaunchSetup> setup;
  std::optional<Geometry> setup_geometry;    // What `setup` was made of.
  GeometryFn shape;                          // The variant's, for this config.
  std::vector<SearchSpace::GuardFn> guards;  // The space's, for this config, and that of verified_extents.
  /// Where it may run; null: at all extents of its keys.
  std::shared_ptr<const VerifiedExtents> verified_extents;
  Config config;
  Target target;
  const Variant* variant = nullptr;
  const SearchSpace* space = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  const KernelDefinition* definition = nullptr;
  TensorMaps tensor_maps;
  std::unique_ptr<TensorMapCache> remembered_maps;  // Of `tensor_maps`; null if the kernel takes none.
  /// Guards and grid are terms that read no scalar: the same for all calls with the same dims.
  bool is_of_dims = false;
  /// How it is launched where that is not prepared: compiled code, of which the grid alone is to be computed or more,
  /// or by the variant's launcher. A pointer, so that a hit asks for nothing.
  Status (*launch)(const ResidentKernel& self, CUstream stream, BoundCall& call) = &ResidentKernel::LaunchCode;

  /// False if the config was not verified at extents of the call's class.
  bool IsVerifiedAt(const Dims& dims) const { return verified_extents == nullptr || verified_extents->Cover(dims); }
  /// True if the config may run for the call. Sets the call's target, if a guard may ask for it.
  bool GuardsHold(BoundCall& call) const {
    if (guards.empty()) return true;
    if (space->guards_read_problem()) call.problem.target = target;
    CallbackScope scope;
    return Naming("a guard of the search space", [&] {
      for (const SearchSpace::GuardFn& holds : guards) {
        if (!holds(config, call.problem)) return false;
      }
      return true;
    });
  }
  /// Launches. Sets the call's target. What the definition's functions throw passes through as a StatusException.
  Status Launch(CUstream stream, BoundCall& call) const { return launch(*this, stream, call); }
  static Status LaunchCode(const ResidentKernel& self, CUstream stream, BoundCall& call);
  static Status LaunchWithGrid(const ResidentKernel& self, CUstream stream, BoundCall& call);
  static Status LaunchCallable(const ResidentKernel& self, CUstream stream, BoundCall& call);

  /// The call's grid, of a kernel that is launched by LaunchWithGrid. False if none can be launched. Sets the call's
  /// target.
  bool GridOf(BoundCall& call, std::uint32_t (&grid)[3]) const;

  /// Sees to `shape`, `guards`, `setup`, `is_of_dims` and `launch`, the variant and the space being known. `of_key`:
  /// what a key's launches have, if all have the same.
  void SetUp(const std::optional<Geometry>& of_key);
  /// True if all launches of keys with this geometry can be LaunchPrepared: only the grid differs from `setup`, and no
  /// parameter is computed per launch.
  bool CanPrepare(const Geometry& geometry) const;
  /// Launches with `setup` and this grid; calls no function of the user's. REQUIRES: CanPrepare, GuardsHold, and the
  /// assumptions.
  [[gnu::always_inline]] Status LaunchPrepared(const std::uint32_t (&grid)[3], CUstream stream,
                                               const BoundCall& call) const {
    void* parameters[kMaxKernelParameters];
    layout->FillPointers(call, parameters);
    CUresult result = setup->Launch(api->launch_path(), function, grid, stream, parameters);
    return result == CUDA_SUCCESS ? Status() : Refused(result, stream);
  }

 private:
  /// The workspaces of one launch: their memory, and its addresses.
  struct Workspaces {
    std::vector<DeviceBuffer> buffers;
    std::vector<std::uint64_t> addresses;
  };

  Status FillAndLaunch(CUstream stream, const BoundCall& call, const Geometry& geometry,
                       const std::uint64_t* workspaces) const;
  Result<Workspaces> AllocateWorkspaces(CUstream stream, const BoundCall& call) const;
  Status Refused(CUresult result, CUstream stream) const;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_RESIDENT_KERNEL_H_
