#include <utility>

#include "cuda/driver_api.h"
#include "cuda/library.h"
#include "launch/launch.h"
#include "search/candidate.h"
#include "shared/compile_pool.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
inline namespace v0 {

struct CompiledKernel::Impl {
  const DriverApi& api;
  Library library;
  KernelHandle kernel;
  Geometry geometry;
  LaunchSetup setup;

  Impl(const DriverApi& driver, Library loaded, KernelHandle handle, const Geometry& launch_geometry)
      : api(driver), library(std::move(loaded)), kernel(handle), geometry(launch_geometry), setup(geometry) {}
};

CompiledKernel::CompiledKernel(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<CompiledKernel> CompiledKernel::Create(const Device& device, const KernelSource& source, const Hints& hints,
                                              const Geometry& geometry, const std::shared_ptr<Runtime>& runtime) {
  TUNEONCE_RETURN_IF_ERROR(geometry.Check());
  const DriverApi& api = device.api();
  TUNEONCE_ASSIGN_OR_RETURN(Device current, Device::OfCurrentContext(api));
  TUNEONCE_ASSIGN_OR_RETURN(DeviceIdentity identity, current.Identity());
  const Runtime& used = *Runtime::OrDefault(runtime);
  CompileOptions options;
  options.cache = used.memory_store();
  CompileJob job;
  job.alternatives.push_back(CompileJob::Alternative{source, hints});
  CompilePool pool(used.compile_slots(), used.toolchains(), Target::Of(identity), {std::move(job)}, options);
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, std::move(pool.Next()->artifact));
  TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api, artifact.image));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle kernel, library.GetKernel(artifact.symbol));
  TUNEONCE_RETURN_IF_ERROR(AllowSharedMemory(kernel, geometry.shared_memory_bytes));
  return CompiledKernel(std::make_shared<const Impl>(api, std::move(library), kernel, geometry));
}

CUfunction CompiledKernel::function() const { return impl_->kernel.get(); }

const Geometry& CompiledKernel::geometry() const { return impl_->geometry; }

Result<int> CompiledKernel::Attribute(CUfunction_attribute attribute) const {
  return impl_->kernel.Attribute(attribute);
}

Status CompiledKernel::Launch(CUstream stream, void** parameters) const {
  CUresult launched = impl_->setup.Launch(impl_->api.launch_path(), function(), stream, parameters);
  return CudaStatus(impl_->api, launched, "cuLaunchKernelEx");
}

}  // namespace v0
}  // namespace tuneonce
