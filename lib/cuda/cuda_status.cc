#include "absl/strings/str_cat.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {
namespace {

StatusCode CodeOf(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS:
      return StatusCode::kOk;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
      return StatusCode::kInvalidArgument;
    case CUDA_ERROR_OUT_OF_MEMORY:
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return StatusCode::kResourceExhausted;
    case CUDA_ERROR_NOT_FOUND:
      return StatusCode::kNotFound;
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_FILE_NOT_FOUND:    // From the CPU device, if it found no place for a module's code.
    case CUDA_ERROR_OPERATING_SYSTEM:  // or none that code may run from.
      return StatusCode::kUnavailable;
    case CUDA_ERROR_NOT_SUPPORTED:
      return StatusCode::kUnimplemented;
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_NOT_READY:
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_MERGE:
    case CUDA_ERROR_STREAM_CAPTURE_UNMATCHED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
    case CUDA_ERROR_CAPTURED_EVENT:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
      return StatusCode::kFailedPrecondition;
    default:
      return StatusCode::kInternal;
  }
}

}  // namespace

bool IsSticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
      return true;
    default:
      return false;
  }
}

Status CudaStatus(const DriverApi& api, CUresult result, std::string_view call) {
  if (result == CUDA_SUCCESS) return Status();
  RelaxedDriver driver(api);
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver->GetErrorName(result, &name) != CUDA_SUCCESS || name == nullptr) name = "unknown error";
  if (driver->GetErrorString(result, &text) != CUDA_SUCCESS || text == nullptr) text = "no description";
  bool sticky = IsSticky(result);
  std::string function(call.substr(0, call.find('(')));
  return Status::FromDriver(
      CodeOf(result),
      absl::StrCat(function, ": ", name, " (", static_cast<int>(result), "): ", text,
                   sticky ? "; this CUDA context is lost: destroy it, or restart the process" : ""),
      static_cast<int>(result), sticky);
}

}  // namespace v0
}  // namespace tuneonce
