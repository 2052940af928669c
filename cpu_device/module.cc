#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "context.h"

namespace tuneonce::cpu_device {
namespace {

/// Size of the ELF file at `image`: linkers put the section headers at its end. 0 if it is not one of this machine.
std::size_t ElfSize(const void* image) {
  // An image that is not an ELF file may be a text that is shorter than a header.
  if (std::strncmp(static_cast<const char*>(image), ELFMAG, SELFMAG) != 0) return 0;
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_shoff == 0) {
    return 0;
  }
  return header.e_shoff + static_cast<std::size_t>(header.e_shnum) * header.e_shentsize;
}

bool WriteAll(int file, const char* data, std::size_t size) {
  while (size > 0) {
    ssize_t written = write(file, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool IsNoexec(const std::string& folder) {
  struct statvfs info {};
  return statvfs(folder.c_str(), &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
}

/// Opens the image as a file in memory: nothing of it is left when the process is killed, and no folder is needed. It
/// stays open as long as the module, so that no other gets its number, by which dlopen knows it. Null where the system
/// has no such files, or runs none.
void* OpenInMemory(std::string_view image, FileDescriptor* file) {
  FileDescriptor memory(memfd_create("tuneonce-module", MFD_CLOEXEC));
  if (!memory.is_open() || !WriteAll(memory.get(), image.data(), image.size())) return nullptr;
  auto open = [&](int flags) {
    return dlopen(("/proc/self/fd/" + std::to_string(memory.get())).c_str(), flags | RTLD_NOW | RTLD_LOCAL);
  };
  // A module that was closed may still be loaded (a thread-local of it lives on), and would be given again.
  while (void* earlier = open(RTLD_NOLOAD)) {
    dlclose(earlier);
    memory = FileDescriptor(fcntl(memory.get(), F_DUPFD_CLOEXEC, memory.get() + 1));
    if (!memory.is_open()) return nullptr;
  }
  void* handle = open(0);
  if (handle != nullptr) *file = std::move(memory);
  return handle;
}

/// Opens a module by a file in `folder` with a name that was never used before.
CUresult OpenInFolder(std::string_view image, const std::string& folder, void** handle) {
  static std::atomic<unsigned> counter{0};
  std::string path =
      folder + "/tuneonce-module-" + std::to_string(getpid()) + "-" + std::to_string(++counter) + "-XXXXXX";
  FileDescriptor file(mkostemp(path.data(), O_CLOEXEC));
  if (!file.is_open()) return CUDA_ERROR_FILE_NOT_FOUND;
  bool written = WriteAll(file.get(), image.data(), image.size());
  file.Close();
  *handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  if (!written) return CUDA_ERROR_OUT_OF_MEMORY;
  if (*handle != nullptr) return CUDA_SUCCESS;
  return IsNoexec(folder) ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_IMAGE;
}

}  // namespace

CUresult Module::Load(const void* image, std::shared_ptr<Module>* module) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::string_view content(static_cast<const char*>(image), ElfSize(image));
  if (content.empty()) return CUDA_ERROR_INVALID_IMAGE;
  FileDescriptor file;
  void* handle = OpenInMemory(content, &file);
  if (handle == nullptr) {
    CUresult result = OpenInFolder(content, Driver::Get().temporary_folder, &handle);
    if (result != CUDA_SUCCESS) return result;
  }
  module->reset(new Module(handle, std::move(file)));
  return CUDA_SUCCESS;
}

Module::~Module() { dlclose(handle_); }

std::shared_ptr<Function> Module::Find(const std::shared_ptr<Module>& self, const std::string& name) {
  MutexLock lock(mutex_);
  if (auto it = functions_.find(name); it != functions_.end()) return it->second;
  auto* kernel = static_cast<const tuneonce_kernel*>(dlsym(handle_, ("tuneonce_kernel_" + name).c_str()));
  if (kernel == nullptr || kernel->abi_version != tuneonce_cpu::kKernelAbiVersion) return nullptr;
  auto function = std::make_shared<Function>();
  function->module = self;
  function->kernel = kernel;
  function->name = name;
  for (std::atomic<int>& bytes : function->max_dynamic_shared_bytes) {
    bytes = kDefaultSharedBytes - static_cast<int>(kernel->static_shared_bytes);
  }
  return functions_[name] = function;
}

}  // namespace tuneonce::cpu_device
