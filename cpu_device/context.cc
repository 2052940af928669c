#include "context.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "base/environment.h"
#include "base/mutex.h"

namespace tuneonce::cpu_device {
namespace {

std::atomic<bool> forked_child{false};
std::atomic<bool> shutting_down{false};
std::atomic<std::uint64_t> last_context_id{0};
thread_local bool is_in_host_function = false;

std::size_t MemoryPerDevice(const Environment& environment) {
  if (environment.cpu_memory_mib > 0) return static_cast<std::size_t>(environment.cpu_memory_mib) << 20;
  auto physical = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return physical / 2;
}

/// The options that the devices are created with. The first caller decides.
class Configuration {
 public:
  /// A null `wanted` means the process's environment.
  Environment Decide(const Environment* wanted) {
    MutexLock lock(mutex_);
    if (!decided_) decided_ = wanted != nullptr ? *wanted : Environment::Read();
    return *decided_;
  }

 private:
  Mutex mutex_;
  std::optional<Environment> decided_ TUNEONCE_GUARDED_BY(mutex_);
};

Configuration& TheConfiguration() {
  static auto* const configuration = new Configuration;
  return *configuration;
}

}  // namespace

Context::Context(int device_index, CpuDevice& cpu) : index(device_index), id(++last_context_id), device(cpu) {}

void Context::AddStream(const std::shared_ptr<Stream>& stream) {
  MutexLock lock(mutex_);
  streams_.erase(std::remove_if(streams_.begin(), streams_.end(), [](const auto& s) { return s.expired(); }),
                 streams_.end());
  streams_.push_back(stream);
}

std::vector<std::shared_ptr<Stream>> Context::Streams() const {
  std::vector<std::shared_ptr<Stream>> alive;
  MutexLock lock(mutex_);
  for (const auto& weak : streams_) {
    if (auto stream = weak.lock()) alive.push_back(std::move(stream));
  }
  return alive;
}

std::shared_ptr<Stream> Context::LegacyStream() {
  MutexLock lock(mutex_);
  if (legacy_ == nullptr) {
    legacy_ = Stream::Create(shared_from_this(), /*is_blocking=*/true);
    streams_.push_back(legacy_);
  }
  return legacy_;
}

std::shared_ptr<Stream> Context::LegacyStreamIfUsed() const {
  MutexLock lock(mutex_);
  return legacy_;
}

void Context::WaitIdle() const {
  for (const auto& stream : Streams()) stream->WaitIdle();
}

void Context::Close() {
  WaitIdle();
  for (const auto& stream : Streams()) stream->Close();
  MutexLock lock(mutex_);
  legacy_ = nullptr;
}

Driver::Driver() {
  Environment environment = TheConfiguration().Decide(nullptr);
  temporary_folder = environment.temporary_folder;
  for (int i = 0; i < environment.cpu_devices; ++i) {
    devices.push_back(std::make_unique<CpuDevice>(MemoryPerDevice(environment)));
  }
  pthread_atfork(nullptr, nullptr, [] { forked_child = true; });
  std::atexit([] { shutting_down = true; });
}

CUresult Driver::Configure(const Environment& environment) {
  Environment decided = TheConfiguration().Decide(&environment);
  bool suffices = environment.cpu_devices <= decided.cpu_devices &&
                  (environment.cpu_memory_mib == 0 || MemoryPerDevice(environment) == MemoryPerDevice(decided));
  return suffices ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

Driver& Driver::Get() {
  static Driver* const driver = new Driver;
  return *driver;
}

bool ContextStack::Push(Context* context) {
  if (IsFull()) return false;
  entries[depth++] = Entry{context, context->id};
  return true;
}

ContextStack& ThreadContexts() {
  thread_local ContextStack contexts;  // Zero at first, as all thread-local storage.
  return contexts;
}

CUresult FindCurrentContext(std::shared_ptr<Context>* context) {
  const ContextStack& stack = ThreadContexts();
  if (stack.depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  *context = Driver::Get().contexts.Find(stack.Top());
  bool alive = *context != nullptr && (*context)->id == stack.entries[stack.depth - 1].id;
  return alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

HostFunctionScope::HostFunctionScope() { is_in_host_function = true; }
HostFunctionScope::~HostFunctionScope() { is_in_host_function = false; }

CUresult CheckProcess() {
  if (is_in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  if (forked_child.load()) return CUDA_ERROR_NOT_INITIALIZED;  // Streams' threads did not survive the fork.
  if (shutting_down.load()) return CUDA_ERROR_DEINITIALIZED;
  return CUDA_SUCCESS;
}

CUresult CurrentContext(std::shared_ptr<Context>* context) {
  if (CUresult result = CheckProcess(); result != CUDA_SUCCESS) return result;
  if (CUresult result = FindCurrentContext(context); result != CUDA_SUCCESS) return result;
  return static_cast<CUresult>((*context)->sticky.load());
}

CUresult FindStream(CUstream handle, std::shared_ptr<Stream>* stream) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    std::shared_ptr<Context> context;
    if (CUresult result = CurrentContext(&context); result != CUDA_SUCCESS) return result;
    *stream = context->LegacyStream();
    return CUDA_SUCCESS;
  }
  if (CUresult result = CheckProcess(); result != CUDA_SUCCESS) return result;
  *stream = Driver::Get().streams.Find(handle);
  if (*stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return static_cast<CUresult>((*stream)->context()->sticky.load());
}

CUresult FindEvent(CUevent handle, std::shared_ptr<Event>* event) {
  if (CUresult result = CheckProcess(); result != CUDA_SUCCESS) return result;
  *event = Driver::Get().events.Find(handle);
  if (*event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return static_cast<CUresult>((*event)->context()->sticky.load());
}

}  // namespace tuneonce::cpu_device
