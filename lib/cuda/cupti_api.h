#ifndef TUNEONCE_LIB_CUDA_CUPTI_API_H_
#define TUNEONCE_LIB_CUDA_CUPTI_API_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The functions of CUPTI that the library uses, as plain pointers with types of this library, so that building and
/// running need no CUPTI headers. The constants are those of CUPTI 12.0 to 13.0 (cupti_callbacks.h, cupti_activity.h,
/// cupti_result.h), and tests/cuda compares them with the headers where they are installed. A test may fill a table
/// with its own functions. Every function returns a CUptiResult, where 0 is success. Thread rule: immutable.
struct CuptiApi {
  using Subscriber = void*;
  using Callback = void (*)(void* userdata, int domain, std::uint32_t callback_id, const void* data);
  using BufferRequested = void (*)(std::uint8_t** buffer, std::size_t* size, std::size_t* max_num_records);
  using BufferCompleted = void (*)(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                                   std::size_t valid_size);

  static constexpr int kMultipleSubscribers = 39;        ///< CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
  static constexpr int kConcurrentKernel = 10;           ///< CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
  static constexpr int kDriverApi = 1;                   ///< CUPTI_CB_DOMAIN_DRIVER_API
  static constexpr std::uint32_t kDriverGetVersion = 2;  ///< CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion
  static constexpr int kApiExit = 1;                     ///< CUPTI_API_EXIT, first field of CUpti_CallbackData
  // Offsets in CUpti_ActivityKernel4 to 10: they did not change since CUDA 9.0.
  static constexpr std::size_t kKernelStart = 16;
  static constexpr std::size_t kKernelEnd = 24;
  static constexpr std::size_t kKernelContextId = 44;
  static constexpr std::size_t kKernelStreamId = 48;

  int (*GetVersion)(std::uint32_t* version) = nullptr;
  int (*GetResultString)(int result, const char** text) = nullptr;
  int (*Subscribe)(Subscriber* subscriber, Callback callback, void* userdata) = nullptr;
  int (*Unsubscribe)(Subscriber subscriber) = nullptr;
  int (*EnableCallback)(std::uint32_t enable, Subscriber subscriber, int domain, std::uint32_t callback_id) = nullptr;
  int (*ActivityRegisterCallbacks)(BufferRequested requested, BufferCompleted completed) = nullptr;
  int (*ActivityEnable)(int kind) = nullptr;
  int (*ActivityFlushAll)(std::uint32_t flag) = nullptr;
  int (*ActivityGetNextRecord)(std::uint8_t* buffer, std::size_t valid_size, void** record) = nullptr;
  int (*GetContextId)(CUcontext context, std::uint32_t* id) = nullptr;
  int (*GetStreamIdEx)(CUcontext context, CUstream stream, std::uint8_t per_thread, std::uint32_t* id) = nullptr;
  int (*Finalize)() = nullptr;

  std::string library_path;
};

struct Environment;

/// Loads CUPTI from `Environment::cupti`, else by its names in CUDA 13 and 12 and in the CUDA toolkit's folder. It is
/// loaded once per list of places and never unloaded. Errors: Unavailable, naming the places that were searched, or the
/// missing function.
Result<const CuptiApi*> LoadCupti(const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_CUPTI_API_H_
