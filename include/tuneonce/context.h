#ifndef TUNEONCE_CONTEXT_H_
#define TUNEONCE_CONTEXT_H_

#include <cuda.h>

#include <utility>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A reference to a context, which it does not own. It has value semantics.
class TUNEONCE_API ContextView {
 public:
  ContextView(const DriverApi& api, CUcontext context) : api_(&api), context_(context) {}
  /// Returns the calling thread's current context. Errors: FailedPrecondition without a current context.
  static Result<ContextView> Current(const DriverApi& api);

  const DriverApi& api() const { return *api_; }
  CUcontext get() const { return context_; }

 private:
  const DriverApi* api_;
  CUcontext context_;
};

/// Owns a retained primary context of a device, which its destructor releases, or a new context, which its destructor
/// destroys. Move-only. It does not make the context current; see ScopedContext. Thread rule: one thread at a time may
/// use this object; any thread may use the CUcontext.
class TUNEONCE_API Context {
 public:
  /// Retains the device's primary context, which the CUDA runtime and frameworks share. Errors: the driver's.
  static Result<Context> RetainPrimary(const Device& device);
  /// Creates a new context (cuCtxCreate) and does not leave it current. Errors: the driver's.
  static Result<Context> Create(const Device& device);

  ~Context() { Reset(); }
  Context(Context&& other) noexcept
      : device_(other.device_), context_(std::exchange(other.context_, nullptr)), is_primary_(other.is_primary_) {}
  Context& operator=(Context&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(context_, other.context_);
    std::swap(is_primary_, other.is_primary_);
    return *this;
  }

  CUcontext get() const { return context_; }
  const Device& device() const { return device_; }
  ContextView view() const { return ContextView(device_.api(), context_); }

 private:
  Context(const Device& device, CUcontext context, bool is_primary)
      : device_(device), context_(context), is_primary_(is_primary) {}
  void Reset();

  Device device_;
  CUcontext context_;
  bool is_primary_;
};

/// Makes a context current on this thread for the object's lifetime, and restores the previous one after it. Thread
/// rule: the object stays on the thread that made it.
class TUNEONCE_API ScopedContext {
 public:
  explicit ScopedContext(ContextView context);
  ~ScopedContext();
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;

  /// Returns OK, or the reason why the context could not be made current (for example, that it was destroyed).
  const Status& status() const { return status_; }

 private:
  const DriverApi& api_;
  Status status_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_CONTEXT_H_
