#include "module.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tuneonce/base/environment.h"

namespace tuneonce::cpu_device {
namespace {

/// Size of the ELF file at `image`: linkers put the section headers at its end. 0 if it is not one of this machine.
std::size_t ElfSize(const void* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_type != ET_DYN || header.e_shoff == 0) {
    return 0;
  }
  return header.e_shoff + static_cast<std::size_t>(header.e_shnum) * header.e_shentsize;
}

bool WriteAll(int file, const char* data, std::size_t size) {
  while (size > 0) {
    ssize_t written = write(file, data, size);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

CUresult Module::Load(const void* image, std::shared_ptr<Module>* module) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::size_t size = ElfSize(image);
  if (size == 0) return CUDA_ERROR_INVALID_IMAGE;
  static std::atomic<unsigned> counter{0};
  std::string path = Environment::Get().temporary_folder + "/tuneonce-module-" + std::to_string(getpid()) + "-" +
                     std::to_string(++counter) + "-XXXXXX";
  int file = mkostemp(path.data(), O_CLOEXEC);
  if (file < 0) return CUDA_ERROR_FILE_NOT_FOUND;
  bool written = WriteAll(file, static_cast<const char*>(image), size);
  close(file);
  void* handle = written ? dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  unlink(path.c_str());
  if (handle == nullptr) return written ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
  module->reset(new Module(handle));
  return CUDA_SUCCESS;
}

Module::~Module() { dlclose(handle_); }

std::shared_ptr<Function> Module::Find(const std::shared_ptr<Module>& self, const std::string& name) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto it = functions_.find(name); it != functions_.end()) return it->second;
  auto* kernel = static_cast<const tuneonce_kernel*>(dlsym(handle_, ("tuneonce_kernel_" + name).c_str()));
  if (kernel == nullptr || kernel->abi_version != tuneonce_cpu::kKernelAbiVersion) return nullptr;
  auto function = std::make_shared<Function>();
  function->module = self;
  function->kernel = kernel;
  function->name = name;
  function->max_dynamic_shared_bytes = kDefaultSharedBytes - static_cast<int>(kernel->static_shared_bytes);
  return functions_[name] = function;
}

}  // namespace tuneonce::cpu_device
