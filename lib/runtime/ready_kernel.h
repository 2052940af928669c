#ifndef TUNEONCE_LIB_RUNTIME_READY_KERNEL_H_
#define TUNEONCE_LIB_RUNTIME_READY_KERNEL_H_

#include <cuda.h>

#include <algorithm>
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
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/search_space.h"

namespace tuneonce {
inline namespace v0 {

/// Returns whether `config` is the first of `baselines` that applies to the problem, or `baselines` is empty.
inline bool IsBaselineAmong(const std::vector<Config>& baselines, const SearchSpace& space, const Config& config,
                            const Problem& problem) {
  if (baselines.empty()) return true;
  const Config* first = space.FittingBaseline(problem, [&](const Config& each) {
    return std::find(baselines.begin(), baselines.end(), each) != baselines.end();
  });
  return first != nullptr && *first == config;
}

/// One config that is loaded and ready to launch in each context of a device. All keys that selected it share it.
/// Immutable once a HitTable refers to it.
struct ReadyKernel {
  CUfunction function = nullptr;  // The function of `loaded`. The copy saves a hit one cache miss.
  const ParameterLayout* layout = nullptr;
  /// A copy of the variant's, and of what the code assumes beyond them: a hit comes to it by one load less.
  AssumptionChecks assumptions;
  const DriverApi* api = nullptr;
  /// The launch setup without the grid, if it is the same for all calls or the launches of some key are prepared.
  std::optional<LaunchSetup> setup;
  std::optional<Geometry> setup_geometry;  // The geometry that `setup` was made from.
  GeometryFn shape;                        // The variant's geometry for this config.
  /// The guards of the space and of the variant's requirement for this config, and the checks of verified_extents and
  /// baselines.
  std::vector<Condition::Function> guards;
  /// The extents where it may run. Null: all extents of its keys.
  std::shared_ptr<const VerifiedExtents> verified_extents;
  /// The baselines that launches of its keys may have: it was selected as one, and runs where it is the first of them
  /// that applies. Empty: it runs for all of them.
  std::vector<Config> baselines;
  Config config;
  Target target;
  const Variant* variant = nullptr;
  const SearchSpace* space = nullptr;
  std::shared_ptr<const LoadedKernel> loaded;
  const KernelDefinition* definition = nullptr;
  TensorMaps tensor_maps;
  std::unique_ptr<TensorMapCache> remembered_maps;  // Cache for `tensor_maps`. Null if the kernel takes none.
  /// Whether guards and grid have no function and read no scalar, so that they are the same for all calls with the
  /// same dims.
  bool is_of_dims = false;
  /// Launches a call that is not prepared: compiled code whose grid or more must be computed, or the variant's
  /// launcher. A function pointer, so that a hit does not branch.
  Status (*launch)(const ReadyKernel& self, CUstream stream, BoundCall& call) = &ReadyKernel::LaunchCode;

  /// Returns false if the config was not verified at extents of the call's class.
  bool IsVerifiedAt(const Dims& dims) const { return verified_extents == nullptr || verified_extents->Cover(dims); }
  /// Returns whether the guards hold for the call. Sets the call's target if there are guards.
  bool GuardsHold(BoundCall& call) const {
    if (guards.empty()) return true;
    call.problem.target = &target;
    CallbackScope scope;
    return Naming("a guard", [&] {
      for (const Condition::Function& holds : guards) {
        if (!holds(config, call.problem)) return false;
      }
      return true;
    });
  }
  /// Launches the call, and sets its target. An exception from the definition's functions becomes a StatusException.
  Status Launch(CUstream stream, BoundCall& call) const { return launch(*this, stream, call); }
  static Status LaunchCode(const ReadyKernel& self, CUstream stream, BoundCall& call);
  static Status LaunchWithGrid(const ReadyKernel& self, CUstream stream, BoundCall& call);
  static Status LaunchCallable(const ReadyKernel& self, CUstream stream, BoundCall& call);

  /// Computes the call's grid, for a kernel that is launched by LaunchWithGrid. Returns false if the grid cannot be
  /// launched. Sets the call's target.
  bool GridOf(BoundCall& call, std::uint32_t (&grid)[3]) const;

  /// Sets `shape`, `guards`, `setup`, `is_of_dims` and `launch`. REQUIRES: the variant and the space are set. `of_key`
  /// is the geometry that all launches of a key share, if they do.
  void SetUp(const std::optional<Geometry>& of_key);
  /// Returns whether all launches of keys with this geometry can use LaunchPrepared: only the grid differs from
  /// `setup`, and no parameter is computed for each launch.
  bool CanPrepare(const Geometry& geometry) const;
  /// Launches with `setup` and this grid without calling functions of the user. REQUIRES: CanPrepare and GuardsHold
  /// return true, and the assumptions hold.
  [[gnu::always_inline]] Status LaunchPrepared(const std::uint32_t (&grid)[3], CUstream stream,
                                               const BoundCall& call) const {
    void* parameters[kMaxKernelParameters];
    layout->FillPointers(call, parameters);
    CUresult result = setup->Launch(api->launch_path(), function, grid, stream, parameters);
    return result == CUDA_SUCCESS ? Status() : Refused(result, stream);
  }

 private:
  /// The workspaces of one launch: their memory and addresses.
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

#endif  // TUNEONCE_LIB_RUNTIME_READY_KERNEL_H_
