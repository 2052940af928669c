#ifndef TUNEONCE_DEVICE_H_
#define TUNEONCE_DEVICE_H_

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct DeviceIdentity;

/// The properties of a device that compiled code and configs depend on.
struct Target {
  /// Whether this is the CPU device, which has compute capability 0.0.
  bool is_cpu_device = false;
  int capability_major = 0;
  int capability_minor = 0;
  int num_sms = 1;                  ///< Number of multiprocessors. On the CPU device, number of cores.
  int max_shared_memory_bytes = 0;  ///< Maximum shared memory per block after opt-in, in bytes.
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache, in bytes. 0: unknown.
  int shared_memory_per_sm = 0;     ///< Shared memory of a multiprocessor, in bytes.
  int max_threads_per_block = 0;    ///< Maximum number of threads of a block.
  int max_threads_per_sm = 0;       ///< Maximum number of threads that a multiprocessor holds at a time.
  int registers_per_sm = 0;         ///< Number of 32-bit registers of a multiprocessor. 0 on the CPU device.
  int warp_size = 0;                ///< Number of threads of a warp. 1 on the CPU device.
  int max_cluster_size = 0;         ///< Maximum number of blocks of a cluster. 1 on devices without clusters.

  /// Returns the target with the properties of a device.
  TUNEONCE_API static Target Of(const DeviceIdentity& device);
  /// Returns the target for a name that name() returns: "sm_90" or "cpu". Its limits
  /// are those that NVIDIA publishes for the capability, and of an unknown capability those of the closest lower one.
  /// num_sms and l2_bytes differ between devices of a capability and keep their defaults. Errors: InvalidArgument for
  /// another name.
  TUNEONCE_API static Result<Target> Named(const std::string& name);
  /// Returns the compute capability as one number: 90 for 9.0.
  int capability() const { return 10 * capability_major + capability_minor; }
  /// Returns the target's name: "sm_90", or "cpu".
  std::string name() const { return is_cpu_device ? "cpu" : "sm_" + std::to_string(capability()); }
};

/// A target of which nothing is known, with one multiprocessor.
TUNEONCE_API extern const Target kUnknownTarget;

/// Values by target name ("sm_90", or "default" for all targets), as in cuTile's `ByTarget`. A target's own value
/// overrides the one under "default".
template <typename T>
class ByTarget {
 public:
  ByTarget() = default;
  ByTarget(T value) { values_.emplace("default", std::move(value)); }  // NOLINT(google-explicit-constructor)
  explicit ByTarget(std::map<std::string, T> values) : values_(std::move(values)) {}

  /// Returns the value for `target`, or null if neither the target nor "default" has one.
  const T* Find(const Target& target) const {
    auto it = values_.find(target.name());
    if (it == values_.end()) it = values_.find("default");
    return it == values_.end() ? nullptr : &it->second;
  }
  /// Returns all values by target name.
  const std::map<std::string, T>& values() const { return values_; }

 private:
  std::map<std::string, T> values_;
};

class DriverApi;  // A loaded driver; opaque to hosts.

/// Describes a device: the properties that decide whether results that were tuned on one device apply to another, and
/// the device's UUID.
struct DeviceIdentity {
  std::string name;          ///< "NVIDIA H200"; the CPU device: "tuneonce CPU device (<CPU model>)".
  int capability_major = 0;  ///< Compute capability, major part. The CPU device has 0.0.
  int capability_minor = 0;
  int num_sms = 0;                  ///< Number of multiprocessors. On the CPU device, number of cores.
  std::uint64_t memory_bytes = 0;   ///< Total device memory, in bytes.
  std::uint64_t l2_bytes = 0;       ///< Size of the last-level cache, in bytes.
  int max_shared_memory_bytes = 0;  ///< Maximum shared memory per block after opt-in, in bytes.
  int shared_memory_per_sm = 0;     ///< Shared memory of a multiprocessor, in bytes.
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;  ///< Maximum number of threads that a multiprocessor holds at a time.
  int registers_per_sm = 0;    ///< Number of 32-bit registers of a multiprocessor.
  int warp_size = 0;           ///< Number of threads of a warp.
  bool has_clusters = false;   ///< Whether kernels can be launched with clusters of blocks.
  int driver_version = 0;  ///< CUDA version of the driver as cuDriverGetVersion returns it: 1000 * major + 10 * minor.
  std::array<unsigned char, 16> uuid{};  ///< The UUID of this one device.
  bool is_cpu_device = false;

  /// Returns the UUID as nvidia-smi prints it: "GPU-" and groups of 8, 4, 4, 4 and 12 hexadecimal digits. The CPU
  /// device's begins with "CPU-".
  TUNEONCE_API std::string UuidString() const;
};

/// A reference to one device of one driver (the CUDA driver or the CPU device's). It owns nothing and has value
/// semantics.
class TUNEONCE_API Device {
 public:
  /// Returns device `index` (0-based) of the driver `api`. Errors: InvalidArgument, with the number of devices.
  static Result<Device> Get(const DriverApi& api, int index);
  /// Returns the device of the calling thread's current context. Errors: FailedPrecondition without a current context.
  static Result<Device> OfCurrentContext(const DriverApi& api);
  /// Returns the device of the calling thread's current context. That is the CPU device if the thread's current context
  /// belongs to it, which happens only after the program opened the CPU device by name. Otherwise it is a device of the
  /// CUDA driver. Errors: FailedPrecondition without a current context, Unavailable without a driver.
  static Result<Device> OfCurrentContext();
  /// Returns the number of devices of the driver `api`. Errors: the driver's.
  static Result<int> Count(const DriverApi& api);

  const DriverApi& api() const { return *api_; }
  CUdevice handle() const { return device_; }
  int index() const { return device_; }  ///< The driver's ordinal of the device, which is also its handle.

  /// Reads the device's properties. Errors: the driver's.
  Result<DeviceIdentity> Identity() const;
  /// Returns one device attribute. Errors: the driver's.
  Result<int> Attribute(CUdevice_attribute attribute) const;

  /// Returns the address of a driver function, for the program's own driver calls: DriverFunction(
  /// "cuStreamBeginCapture", 10010) is a PFN_cuStreamBeginCapture_v10010 of cudaTypedefs.h. A program does not link the
  /// CPU device's driver, so this is how it finds that driver's functions. `version` is the CUDA version of the
  /// function's signature, 1000 * major + 10 * minor, as in cuGetProcAddress. The address stays valid until the process
  /// ends. Errors: NotFound if the driver has no such function of that version.
  Result<void*> DriverFunction(const std::string& name, int version) const;

 private:
  Device(const DriverApi& api, CUdevice device) : api_(&api), device_(device) {}

  const DriverApi* api_;
  CUdevice device_;
};

/// Opens a device with Runtime::Default()->OpenDevice(name). `name` is "cuda", "cuda:1", "cpu" or "cpu:0", for example.
/// Errors: those of Runtime::OpenDevice.
TUNEONCE_API Result<Device> OpenDevice(const std::string& name);

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

class Event;

/// A reference to a stream, which it does not own. A null stream is the legacy default stream. It has value semantics.
class TUNEONCE_API StreamView {
 public:
  StreamView(const DriverApi& api, CUstream stream) : api_(&api), stream_(stream) {}

  const DriverApi& api() const { return *api_; }
  CUstream get() const { return stream_; }

  /// Waits until the stream has executed all its work. Errors: the driver's, including those of work that was enqueued
  /// earlier.
  Status Synchronize() const;
  /// Makes work that is enqueued on this stream from now on wait for `event`. Errors: the driver's.
  Status Wait(const Event& event) const;
  /// Returns the context that the stream belongs to. Errors: the driver's.
  Result<CUcontext> Context() const;
  /// Returns whether this stream captures into a graph. Also true if the capture was invalidated, and for the legacy
  /// default stream while the capture of another stream forbids its use. Errors: the driver's.
  Result<bool> IsCapturing() const;

 private:
  const DriverApi* api_;
  CUstream stream_;
};

/// Owns a stream of the current context that never synchronizes with the legacy default stream. Move-only. Destroying
/// it does not wait for its work. Thread rule: one thread at a time may use this object; any thread may enqueue work on
/// the CUstream.
class TUNEONCE_API Stream {
 public:
  /// Creates a stream in the current context. Errors: the driver's.
  static Result<Stream> Create(const DriverApi& api);
  ~Stream();
  Stream(Stream&& other) noexcept : api_(other.api_), stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(stream_, other.stream_);
    return *this;
  }

  CUstream get() const { return stream_; }
  StreamView view() const { return StreamView(*api_, stream_); }

 private:
  Stream(const DriverApi& api, CUstream stream) : api_(&api), stream_(stream) {}

  const DriverApi* api_;
  CUstream stream_;
};

/// Owns device memory that is allocated and freed in stream order, so that neither waits for the kernels of other
/// streams (cuMemFree would wait). Move-only. REQUIRES: the stream outlives the buffer, and uses of the buffer in other
/// streams are ordered before its destruction. Thread rule: use it on one thread at a time.
class TUNEONCE_API DeviceBuffer {
 public:
  /// Allocates `bytes` bytes. If `bytes` is 0, the buffer has no memory and a null pointer. Errors: ResourceExhausted
  /// if memory is short, or that of another driver error.
  static Result<DeviceBuffer> Allocate(StreamView stream, std::size_t bytes);
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : stream_(other.stream_), pointer_(std::exchange(other.pointer_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(pointer_, other.pointer_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  CUdeviceptr get() const { return pointer_; }
  void* data() const { return reinterpret_cast<void*>(pointer_); }
  std::size_t bytes() const { return bytes_; }
  StreamView stream() const { return stream_; }

  /// Copies `bytes` bytes from host memory into this buffer, starting at `offset`, in stream order. The host memory
  /// must not change until the stream has executed the copy. Errors: InvalidArgument if the copy exceeds the buffer, or
  /// a driver error.
  Status CopyFromHost(const void* source, std::size_t bytes, std::size_t offset = 0) const;
  /// Copies the first `bytes` bytes of this buffer to host memory, in stream order. The host memory must not be read
  /// until the stream has executed the copy. Errors: InvalidArgument if `bytes` exceeds the buffer, or a driver error.
  Status CopyToHost(void* target, std::size_t bytes) const;
  /// Copies `bytes` bytes from the device address `source` into this buffer, starting at `offset`, in stream order.
  /// Errors: InvalidArgument if the copy exceeds the buffer, or a driver error.
  Status CopyFromDevice(CUdeviceptr source, std::size_t bytes, std::size_t offset = 0) const;
  /// Fills the whole buffer with copies of its first `bytes` bytes, in stream order. Errors: a driver error. REQUIRES:
  /// `bytes` > 0, or the buffer is empty.
  Status Repeat(std::size_t bytes) const;
  /// Sets every byte of the buffer to `value`, in stream order. Errors: a driver error.
  Status Fill(unsigned char value) const { return Fill(value, 0, bytes_); }
  /// Sets `bytes` bytes from `offset` on to `value`, in stream order. Errors: InvalidArgument if they exceed the
  /// buffer, or a driver error.
  Status Fill(unsigned char value, std::size_t offset, std::size_t bytes) const;

 private:
  DeviceBuffer(StreamView stream, CUdeviceptr pointer, std::size_t bytes)
      : stream_(stream), pointer_(pointer), bytes_(bytes) {}

  StreamView stream_;
  CUdeviceptr pointer_;
  std::size_t bytes_;
};

/// Copies `bytes` bytes of device memory to the host in stream order, waits, and returns them. Errors: a driver error.
/// If the wait fails, the host memory is never freed, because the copy may still be running.
TUNEONCE_API Result<std::vector<char>> ReadDeviceMemory(StreamView stream, CUdeviceptr address, std::size_t bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_DEVICE_H_
