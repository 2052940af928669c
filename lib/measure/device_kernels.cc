#include "cuda/library.h"
#include "measure/verify.h"
#include "verify_kernels_ptx.h"

namespace tuneonce {
inline namespace v0 {

Result<DeviceKernels> DeviceKernels::Load(const DriverApi& api) {
  TUNEONCE_ASSIGN_OR_RETURN(Library library, Library::Load(api, kVerifyKernelsPtx));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle empty, library.GetKernel("tuneonce_empty"));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle compare, library.GetKernel("tuneonce_compare"));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle checksum, library.GetKernel("tuneonce_checksum"));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle describe, library.GetKernel("tuneonce_describe"));
  TUNEONCE_ASSIGN_OR_RETURN(KernelHandle find_changes, library.GetKernel("tuneonce_find_changes"));
  return DeviceKernels{std::move(library), empty, compare, checksum, find_changes, describe};
}

}  // namespace v0
}  // namespace tuneonce
