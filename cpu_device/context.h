#ifndef TUNEONCE_CPU_DEVICE_CONTEXT_H_
#define TUNEONCE_CPU_DEVICE_CONTEXT_H_

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arena.h"
#include "base/mutex.h"
#include "capture.h"
#include "handle_table.h"
#include "module.h"
#include "stream.h"

namespace tuneonce {
inline namespace v0 {
struct Environment;
}  // namespace v0
}  // namespace tuneonce

namespace tuneonce::cpu_device {

/// Another process's block, mapped into a device's arena.
struct Import {
  void* memory;
  std::uint64_t context;  ///< The id of the one that opened it: no other may, until it is closed.
  int references = 0;
};

/// One device: this machine's CPU and an arena of its memory. All devices share the cores.
struct CpuDevice {
  explicit CpuDevice(std::size_t memory_bytes) : arena(memory_bytes) {}

  Arena arena;
  Mutex mutex;
  std::shared_ptr<Context> primary TUNEONCE_GUARDED_BY(mutex);  ///< Null unless it is retained.
  int primary_references TUNEONCE_GUARDED_BY(mutex) = 0;
  std::map<std::uint64_t, Import> imports TUNEONCE_GUARDED_BY(mutex);  ///< By the inodes of their files.
};

/// A context. Its streams are known to it, so that it can wait for all of them.
struct Context : std::enable_shared_from_this<Context> {
  Context(int device_index, CpuDevice& cpu);

  const int index;
  const std::uint64_t id;  ///< Never used twice, as an address may be.
  CpuDevice& device;
  std::atomic<int> sticky{CUDA_SUCCESS};  ///< The first fault; every later call returns it.

  void AddStream(const std::shared_ptr<Stream>& stream);
  /// The streams that were not destroyed.
  std::vector<std::shared_ptr<Stream>> Streams() const;
  /// The legacy stream (handle 0), made at first use.
  std::shared_ptr<Stream> LegacyStream();
  std::shared_ptr<Stream> LegacyStreamIfUsed() const;
  /// Waits for all work of all streams, as loading, unloading and freeing do.
  void WaitIdle() const;
  /// Lets the streams end. The context is dead afterwards.
  void Close();

 private:
  mutable Mutex mutex_;
  mutable std::vector<std::weak_ptr<Stream>> streams_ TUNEONCE_GUARDED_BY(mutex_);
  std::shared_ptr<Stream> legacy_ TUNEONCE_GUARDED_BY(mutex_);
};

/// The driver's state: devices and live handles. Made at first use, never destroyed.
struct Driver {
  static Driver& Get();
  /// Sets the options of the devices in place of the process's environment, before the first Get. Later it returns
  /// CUDA_ERROR_INVALID_VALUE unless the existing devices suffice.
  static CUresult Configure(const Environment& environment);

  std::string temporary_folder;  ///< For modules that cannot be opened from memory.
  std::vector<std::unique_ptr<CpuDevice>> devices;
  HandleTable<Context> contexts;
  HandleTable<Stream> streams;
  HandleTable<Event> events;
  HandleTable<Module> modules;  ///< CUmodule and CUlibrary alike.
  HandleTable<Function> functions;
  HandleTable<Graph> graphs;
  HandleTable<GraphExec> graph_execs;

 private:
  Driver();
};

/// The calling thread's stack of current contexts; the last one is current. Trivial, so that it needs no destructor:
/// destructors of static objects still use it, after those of thread-local ones.
struct ContextStack {
  static constexpr int kMaxDepth = 64;
  struct Entry {
    Context* context;
    std::uint64_t id;
  };

  bool IsFull() const { return depth == kMaxDepth; }
  /// False if the stack is full.
  bool Push(Context* context);
  void Pop() { --depth; }
  Context* Top() const { return depth == 0 ? nullptr : entries[depth - 1].context; }

  Entry entries[kMaxDepth];
  int depth;
};
ContextStack& ThreadContexts();

/// The current context, whether or not it had a fault. Errors: 201 (none), 709 (destroyed).
CUresult FindCurrentContext(std::shared_ptr<Context>* context);

/// While it lives the calling thread runs a function of cuLaunchHostFunc. Such a function may not call the driver: it
/// could wait for the stream that waits for it.
class HostFunctionScope {
 public:
  HostFunctionScope();
  ~HostFunctionScope();
  HostFunctionScope(const HostFunctionScope&) = delete;
  HostFunctionScope& operator=(const HostFunctionScope&) = delete;
};

/// CUDA_SUCCESS, or why nothing works: not initialized (also in a forked child), shutting down; 800 in a function of
/// cuLaunchHostFunc.
CUresult CheckProcess();
/// Sets *context to the current context. Errors: those of CheckProcess, 201 (none), 709 (destroyed), or its fault.
CUresult CurrentContext(std::shared_ptr<Context>* context);
/// The stream behind a handle (0, 1: the legacy one of the current context). Errors as for CurrentContext; 400.
CUresult FindStream(CUstream handle, std::shared_ptr<Stream>* stream);
CUresult FindEvent(CUevent handle, std::shared_ptr<Event>* event);

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_CONTEXT_H_
