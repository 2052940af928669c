#include "cuda/library.h"

#include <elf.h>

#include "base/elf_image.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

Result<int> KernelHandle::Attribute(CUfunction_attribute attribute) const {
  int value = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, FuncGetAttribute(&value, attribute, function_));
  return value;
}

Status KernelHandle::SetAttribute(CUfunction_attribute attribute, int value) const {
  CUdevice device = 0;
  TUNEONCE_CUDA_RETURN_IF_ERROR(*api_, CtxGetDevice(&device));
  return TUNEONCE_CUDA_STATUS(*api_, KernelSetAttribute(attribute, value, kernel_, device));
}

Result<std::vector<std::size_t>> KernelHandle::ParameterSizes() const {
  RelaxedDriver driver(*api_);
  if (driver->FuncGetParamInfo == nullptr) {
    return UnimplementedError("this driver cannot list a kernel's parameters (needs CUDA 12.4)");
  }
  std::vector<std::size_t> sizes;
  for (;;) {
    std::size_t offset = 0;
    std::size_t size = 0;
    CUresult result = driver->FuncGetParamInfo(function_, sizes.size(), &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return sizes;  // Past the last one.
    if (result != CUDA_SUCCESS) return CudaStatus(*api_, result, "cuFuncGetParamInfo");
    sizes.push_back(size);
  }
}

Result<Library> Library::Load(const DriverApi& api, const std::string& image) {
  if (image.empty()) return InvalidArgumentError("cannot load an empty image");
  // The driver receives no size and would read past the end of a truncated image. Any other image is text that ends
  // with a zero byte.
  if (image.rfind(ELFMAG, 0) == 0) {
    Status whole = ElfImage::Parse(image).status();
    if (!whole.ok()) return whole.WithPrefix("cannot load an image of " + std::to_string(image.size()) + " bytes");
  }
  if (IsFatBinary(image)) TUNEONCE_RETURN_IF_ERROR(CheckFatBinary(image));
  CUlibrary library = nullptr;
  TUNEONCE_CUDA_RETURN_IF_ERROR(api, LibraryLoadData(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  return Library(api, library);
}

Result<KernelHandle> Library::GetKernel(const std::string& symbol) const {
  RelaxedDriver driver(library_.api());
  CUkernel kernel = nullptr;
  CUfunction function = nullptr;
  CUresult result = driver->LibraryGetKernel(&kernel, library_.get(), symbol.c_str());
  if (result == CUDA_SUCCESS) result = driver->KernelGetFunction(&function, kernel);
  if (result == CUDA_ERROR_NOT_FOUND) return NotFoundError("the code has no kernel '" + symbol + "'");
  if (result != CUDA_SUCCESS) {
    return CudaStatus(library_.api(), result, "cuLibraryGetKernel").WithPrefix("kernel '" + symbol + "'");
  }
  return KernelHandle(library_.api(), kernel, function);
}

}  // namespace v0
}  // namespace tuneonce
