// Modules, libraries, functions, launches.
#include <algorithm>
#include <cstring>

#include "block_pool.h"
#include "context.h"
#include "driver_functions.h"

namespace tuneonce::cpu_device::driver {
namespace {

CUresult Unload(const void* handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckUnsafeCall());
  std::shared_ptr<Module> module = Driver::Get().modules.Remove(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  module->unloaded = true;
  Driver::Get().functions.RemoveIf([&](const Function& f) { return f.module.lock() == module; });
  return CUDA_SUCCESS;
}

CUresult FindFunction(const void* handle, const char* name, std::shared_ptr<Function>* function) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Module> module = Driver::Get().modules.Find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *function = module->Find(module, name);
  if (*function == nullptr) return CUDA_ERROR_NOT_FOUND;
  Driver::Get().functions.Add<CUfunction>(*function);
  return CUDA_SUCCESS;
}

/// The first use of a kernel loads it for real, which waits for everything that runs in the context.
void LoadLazily(Function& function, const Context& context) {
  if (!function.loaded.exchange(true)) context.WaitIdle();
}

/// Copies of a launch's parameters, alive as long as the command that holds them.
struct LaunchCommand {
  std::shared_ptr<Module> module;
  const tuneonce_kernel* kernel = nullptr;
  tuneonce_block shape{};
  std::vector<std::uint64_t> storage;  // 8-byte words: aligned for every parameter type up to that.
  std::vector<std::size_t> offsets;    // In words, one per parameter.

  CUresult Run() const {
    std::vector<void*> parameters;
    for (std::size_t offset : offsets) parameters.push_back(const_cast<std::uint64_t*>(storage.data() + offset));
    BlockRun run;
    run.kernel = kernel;
    run.shape = shape;
    run.parameters = parameters.data();
    return BlockPool::Get().Run(run);
  }
};

CUresult CheckShape(const CUlaunchConfig& config, const Function& function, std::size_t device) {
  auto limit = [](unsigned value, unsigned most) { return value >= 1 && value <= most; };
  bool grid_ok = limit(config.gridDimX, 0x7fffffff) && limit(config.gridDimY, 65535) && limit(config.gridDimZ, 65535);
  bool block_ok = limit(config.blockDimX, kMaxThreadsPerBlock) && limit(config.blockDimY, kMaxThreadsPerBlock) &&
                  limit(config.blockDimZ, 64);
  if (!grid_ok || !block_ok) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t threads = static_cast<std::uint64_t>(config.blockDimX) * config.blockDimY * config.blockDimZ;
  if (threads > function.kernel->max_threads_per_block) return CUDA_ERROR_INVALID_VALUE;
  if (config.sharedMemBytes > static_cast<unsigned>(function.max_dynamic_shared_bytes[device].load())) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION &&
        attribute.value.clusterDim.x * attribute.value.clusterDim.y * attribute.value.clusterDim.z > 1) {
      return CUDA_ERROR_NOT_SUPPORTED;  // Clusters need compute capability 9.0.
    }
  }
  return CUDA_SUCCESS;
}

CUresult MaxDynamicSharedBytesHere(const Function& function, int* value) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  *value = function.max_dynamic_shared_bytes[static_cast<std::size_t>(context->index)].load();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult ModuleLoadData(CUmodule* handle, const void* image) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  std::shared_ptr<Module> module;
  TUNEONCE_CPU_RETURN_IF_ERROR(Module::Load(image, &module));
  context->WaitIdle();
  *handle = Driver::Get().modules.Add<CUmodule>(module);
  return CUDA_SUCCESS;
}

CUresult ModuleUnload(CUmodule handle) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  TUNEONCE_CPU_RETURN_IF_ERROR(Unload(handle));
  context->WaitIdle();
  return CUDA_SUCCESS;
}

CUresult ModuleGetFunction(CUfunction* handle, CUmodule module, const char* name) {
  std::shared_ptr<Function> function;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindFunction(module, name, &function));
  function->loaded = true;
  *handle = reinterpret_cast<CUfunction>(function.get());
  return CUDA_SUCCESS;
}

CUresult LibraryLoadData(CUlibrary* handle, const void* image, CUjit_option*, void**, unsigned int, CUlibraryOption*,
                         void**, unsigned int) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Module> module;
  TUNEONCE_CPU_RETURN_IF_ERROR(Module::Load(image, &module));
  *handle = Driver::Get().modules.Add<CUlibrary>(module);
  return CUDA_SUCCESS;
}

CUresult LibraryUnload(CUlibrary handle) { return Unload(handle); }

CUresult LibraryGetKernel(CUkernel* handle, CUlibrary library, const char* name) {
  std::shared_ptr<Function> function;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindFunction(library, name, &function));
  *handle = reinterpret_cast<CUkernel>(function.get());
  return CUDA_SUCCESS;
}

CUresult KernelGetFunction(CUfunction* handle, CUkernel kernel) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  std::shared_ptr<Function> function = Driver::Get().functions.Find(kernel);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  LoadLazily(*function, *context);
  *handle = reinterpret_cast<CUfunction>(function.get());
  return CUDA_SUCCESS;
}

CUresult FuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Function> function = Driver::Get().functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(function->kernel->max_threads_per_block);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(function->kernel->static_shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return MaxDynamicSharedBytesHere(*function, value);
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
      *value = 0;  // Registers, local memory: a CPU kernel has none to count.
      return CUDA_SUCCESS;
  }
}

CUresult FuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  return KernelSetAttribute(attribute, value, reinterpret_cast<CUkernel>(handle), context->index);
}

CUresult KernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  if (device < 0 || device >= static_cast<int>(Driver::Get().devices.size())) return CUDA_ERROR_INVALID_DEVICE;
  std::shared_ptr<Function> function = Driver::Get().functions.Find(kernel);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_INVALID_VALUE;
  int most = kMaxSharedBytes - static_cast<int>(function->kernel->static_shared_bytes);
  if (value < 0 || value > most) return CUDA_ERROR_INVALID_VALUE;
  function->max_dynamic_shared_bytes[static_cast<std::size_t>(device)] = value;
  return CUDA_SUCCESS;
}

CUresult FuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Function> function = Driver::Get().functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (index >= function->kernel->num_parameters) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->kernel->parameters[index].offset;
  if (size != nullptr) *size = function->kernel->parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult OccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int block_size, size_t) {
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckProcess());
  std::shared_ptr<Function> function = Driver::Get().functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (block_size < 1) return CUDA_ERROR_INVALID_VALUE;
  *blocks = block_size <= static_cast<int>(function->kernel->max_threads_per_block) ? 1 : 0;  // One block per core.
  return CUDA_SUCCESS;
}

CUresult LaunchKernelEx(const CUlaunchConfig* config, CUfunction handle, void** parameters, void** extra) {
  if (config == nullptr || extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  TUNEONCE_CPU_RETURN_IF_ERROR(FindStream(config->hStream, &stream));
  std::shared_ptr<Context> context;
  TUNEONCE_CPU_RETURN_IF_ERROR(CurrentContext(&context));
  std::shared_ptr<Function> function = Driver::Get().functions.Find(handle);
  if (function == nullptr || stream->context() != context) return CUDA_ERROR_INVALID_HANDLE;
  TUNEONCE_CPU_RETURN_IF_ERROR(CheckShape(*config, *function, static_cast<std::size_t>(context->index)));
  LoadLazily(*function, *context);

  const tuneonce_kernel& kernel = *function->kernel;
  if (kernel.num_parameters > 0 && parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto launch = std::make_shared<LaunchCommand>();
  launch->module = function->module.lock();
  launch->kernel = &kernel;
  launch->shape.grid_x = config->gridDimX;
  launch->shape.grid_y = config->gridDimY;
  launch->shape.grid_z = config->gridDimZ;
  launch->shape.threads_x = config->blockDimX;
  launch->shape.threads_y = config->blockDimY;
  launch->shape.threads_z = config->blockDimZ;
  launch->shape.shared_bytes = config->sharedMemBytes + kernel.static_shared_bytes;
  for (unsigned i = 0; i < kernel.num_parameters; ++i) {
    launch->offsets.push_back(launch->storage.size());
    launch->storage.resize(launch->storage.size() + (kernel.parameters[i].size + 7) / 8);
    std::memcpy(launch->storage.data() + launch->offsets.back(), parameters[i], kernel.parameters[i].size);
  }
  auto command = std::make_shared<Command>();
  command->kind = CU_GRAPH_NODE_TYPE_KERNEL;
  command->is_loadable = [module = launch->module] { return !module->unloaded.load(); };
  command->run = [launch] { return launch->Run(); };
  return Submit(stream, {command});
}

}  // namespace tuneonce::cpu_device::driver
