#ifndef TUNEONCE_CPU_DEVICE_MODULE_H_
#define TUNEONCE_CPU_DEVICE_MODULE_H_

#include <cuda.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/cpu_kernel.h"
#include "base/file.h"
#include "base/mutex.h"

namespace tuneonce::cpu_device {

class Module;

/// Maximum number of devices, and of TUNEONCE_CPU_DEVICES.
constexpr int kMostDevices = 8;

/// One kernel of a module, which is both a CUfunction and a CUkernel.
struct Function {
  std::weak_ptr<Module> module;
  const tuneonce_kernel* kernel = nullptr;
  std::string name;
  /// By device, for a CUkernel (cuKernelSetAttribute). A CUfunction has the value of its context's device.
  std::array<std::atomic<int>, kMostDevices> max_dynamic_shared_bytes{};
  std::atomic<bool> loaded{false};  ///< False until its first use: that one waits for running kernels.
};

/// A loaded shared object. Unloaded (dlclose) when the last command that launches from it is gone.
class Module {
 public:
  /// Copies the ELF image at `image` to a file in memory, or where that is not to be had to one in
  /// `Driver::temporary_folder`, of a name that no loaded module has (dlopen would return that), and opens it.
  /// Errors: CUDA_ERROR_INVALID_IMAGE; CUDA_ERROR_FILE_NOT_FOUND and CUDA_ERROR_OUT_OF_MEMORY (no file, no room);
  /// CUDA_ERROR_OPERATING_SYSTEM (no code may run from either place).
  static CUresult Load(const void* image, std::shared_ptr<Module>* module);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  /// Returns the kernel `name`, which is the same object each time, or null.
  std::shared_ptr<Function> Find(const std::shared_ptr<Module>& self, const std::string& name);

  std::atomic<bool> unloaded{false};

 private:
  Module(void* handle, FileDescriptor file) : file_(std::move(file)), handle_(handle) {}

  const FileDescriptor file_;  // The file of a module in memory, whose name contains its number.
  void* const handle_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<Function>> functions_ TUNEONCE_GUARDED_BY(mutex_);
};

/// Maximum shared memory of a block, and what it may use without cuFuncSetAttribute.
constexpr int kMaxSharedBytes = 227 * 1024;
constexpr int kDefaultSharedBytes = 48 * 1024;
constexpr int kMaxThreadsPerBlock = 1024;

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_MODULE_H_
