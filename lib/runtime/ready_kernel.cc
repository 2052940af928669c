#include "runtime/ready_kernel.h"

#include <algorithm>

#include "cuda/driver_api.h"
#include "definition/term_program.h"
#include "launch/launch_words.h"
#include "launch/requirement_check.h"
#include "runtime/context_status.h"
#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Status ReadyKernel::LaunchCode(const ReadyKernel& self, CUstream stream, BoundCall& call) {
  CallbackScope scope;  // The definition's functions must not launch.
  call.problem.target = &self.target;
  const Variant& variant = *self.variant;
  Geometry geometry = Naming("the geometry function", [&] { return self.shape(self.config, call.problem); });
  if (!geometry.IsLaunchable()) {
    return variant.geometry.Check(self.config, call.problem).WithPrefix("kernel '" + self.definition->name() + "'");
  }
  if (!self.layout->has_workspace()) return self.FillAndLaunch(stream, call, geometry, nullptr);
  TUNEONCE_ASSIGN_OR_RETURN(Workspaces workspaces, self.AllocateWorkspaces(stream, call));
  return self.FillAndLaunch(stream, call, geometry, workspaces.addresses.data());
}

bool ReadyKernel::GridOf(BoundCall& call, std::uint32_t (&grid)[3]) const {
  call.problem.target = &target;
  const Dim3 of_call = shape.GridOf(config, call.problem);
  grid[0] = static_cast<std::uint32_t>(of_call.x);
  grid[1] = static_cast<std::uint32_t>(of_call.y);
  grid[2] = static_cast<std::uint32_t>(of_call.z);
  return of_call.IsLaunchableGrid();
}

Status ReadyKernel::LaunchWithGrid(const ReadyKernel& self, CUstream stream, BoundCall& call) {
  std::uint32_t grid[3];
  // LaunchCode returns the error of a grid that cannot be launched.
  if (!self.GridOf(call, grid)) return LaunchCode(self, stream, call);
  return self.LaunchPrepared(grid, stream, call);
}

Status ReadyKernel::LaunchCallable(const ReadyKernel& self, CUstream stream, BoundCall& call) {
  call.problem.target = &self.target;
  Workspaces workspaces;
  if (self.layout->has_workspace()) {
    TUNEONCE_ASSIGN_OR_RETURN(workspaces, self.AllocateWorkspaces(stream, call));
  }
  return CallLauncher(*self.definition, *self.variant, self.config, stream, call, workspaces.addresses.data());
}

void ReadyKernel::SetUp(const std::optional<Geometry>& of_key) {
  shape = variant->geometry.For(config);
  std::vector<Condition> conditions = space->GuardsFor(config);
  for (Condition& each : RequirementGuards(*variant, config)) conditions.push_back(std::move(each));
  guards.clear();
  for (const Condition& each : conditions) guards.push_back(TermProgram::FunctionOf(each));
  if (!baselines.empty()) {
    guards.emplace_back([this](const Config& self, const Problem& problem) {
      return IsBaselineAmong(baselines, *space, self, problem);
    });
    for (Condition& each : space->ConditionsOfBaselines()) conditions.push_back(std::move(each));
  }
  std::optional<Geometry> all_but_grid = shape.AllButGrid();
  if (variant->launcher) {
    launch = &ReadyKernel::LaunchCallable;
  } else if (all_but_grid && !layout->is_computed()) {
    launch = &ReadyKernel::LaunchWithGrid;
    is_of_dims = shape.GridIsOfDims() && std::all_of(conditions.begin(), conditions.end(), [](const Condition& each) {
                   const ConditionReads reads = each.reads();
                   return !reads.function && !reads.scalars;  // A function is called at each launch.
                 });
  }
  if (verified_extents != nullptr) {  // Checked like a guard, so that hits of other kernels do not check for it.
    guards.emplace_back(
        [extents = verified_extents](const Config&, const Problem& problem) { return extents->Cover(problem.dims); });
  }
  setup_geometry = all_but_grid ? all_but_grid : of_key;
  if (setup_geometry) setup.emplace(*setup_geometry);
}

bool ReadyKernel::CanPrepare(const Geometry& geometry) const {
  if (layout->is_computed() || !geometry.IsLaunchable() || !setup_geometry) return false;
  Geometry with_its_grid = *setup_geometry;
  with_its_grid.grid = geometry.grid;
  return with_its_grid == geometry;
}

Status ReadyKernel::FillAndLaunch(CUstream stream, const BoundCall& call, const Geometry& geometry,
                                  const std::uint64_t* workspaces) const {
  ParameterBlock block;
  TUNEONCE_RETURN_IF_ERROR(Naming("a derived parameter's or descriptor's function",
                                  [&] { return layout->Fill(call, config, workspaces, &block, &tensor_maps); }));
  CUresult result = LaunchKernel(api->launch_path(), function, geometry, stream, block.pointers());
  return result == CUDA_SUCCESS ? Status() : Refused(result, stream);
}

Result<ReadyKernel::Workspaces> ReadyKernel::AllocateWorkspaces(CUstream stream, const BoundCall& call) const {
  CallbackScope scope;
  Workspaces workspaces;
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::size_t> sizes, Naming("a workspace function", [&] {
                              return layout->WorkspaceBytes(config, call.problem);
                            }));
  for (std::size_t bytes : sizes) {
    TUNEONCE_ASSIGN_OR_RETURN(DeviceBuffer buffer, DeviceBuffer::Allocate(StreamView(*api, stream), bytes));
    workspaces.addresses.push_back(buffer.get());
    workspaces.buffers.push_back(std::move(buffer));
  }
  return workspaces;
}

Status ReadyKernel::Refused(CUresult result, CUstream stream) const {
  Status status = ContextStatus(*api, result, "cuLaunchKernelEx");
  // Only after a failure, because it is slow: the stream may belong to another context.
  Result<CUcontext> owner = StreamView(*api, stream).Context();
  Result<ContextView> current = ContextView::Current(*api);
  if (owner.ok() && current.ok() && *owner != current->get()) {
    return Status::FromDriver(
        StatusCode::kInvalidArgument,
        "the stream belongs to another CUDA context than the thread's current one (" + status.message() + ")",
        status.driver_code(), status.sticky());
  }
  return status;
}

}  // namespace v0
}  // namespace tuneonce
