#ifndef TUNEONCE_LIB_CUDA_DRIVER_HANDLE_H_
#define TUNEONCE_LIB_CUDA_DRIVER_HANDLE_H_

#include <utility>

#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {

/// Owns a handle or address of the driver's, which the function `kFree` of its table frees. That fails only if the
/// driver or the context is gone, and what the handle stands for with it. Move-only. Thread rule: one owner.
template <typename Handle, auto kFree>
class DriverHandle {
 public:
  DriverHandle(const DriverApi& api, Handle handle) : api_(&api), handle_(handle) {}
  ~DriverHandle() {
    if (handle_ == Handle{}) return;
    RelaxedDriver driver(*api_);
    (driver.operator->()->*kFree)(handle_);
  }
  DriverHandle(DriverHandle&& other) noexcept : api_(other.api_), handle_(std::exchange(other.handle_, Handle{})) {}
  DriverHandle& operator=(DriverHandle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(handle_, other.handle_);
    return *this;
  }

  const DriverApi& api() const { return *api_; }
  Handle get() const { return handle_; }

 private:
  const DriverApi* api_;
  Handle handle_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_DRIVER_HANDLE_H_
