#include "tuneonce/runtime.h"

#include <cstdlib>
#include <utility>

#include "base/environment.h"
#include "base/mutex.h"
#include "base/trace.h"
#include "compile/command_toolchain.h"
#include "compile/compile_slots.h"
#include "cuda/driver_api.h"
#include "cuda/dynamic_library.h"
#include "measure/cupti_session.h"
#include "measure/cupti_timer.h"
#include "shared/kernel_list.h"
#include "shared/log.h"
#include "shared/shape_log.h"
#include "store/default_store.h"
#include "store/memory_store.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/timer.h"
#include "tuneonce/plugin/toolchain.h"
#include "worker/idle_workers.h"

namespace tuneonce {
inline namespace v0 {

namespace {

/// Returns the level for a word that Environment::Read accepts.
LogLevel LevelNamed(const std::string& word) {
  if (word == "debug") return LogLevel::kDebug;
  return word == "info" ? LogLevel::kInfo : LogLevel::kWarn;
}

}  // namespace

struct Runtime::Impl {
  Impl(Environment variables, RuntimeOptions options)
      : environment(std::move(variables)),
        toolchains(options.toolchains != nullptr
                       ? std::move(options.toolchains)
                       : std::make_shared<const ToolchainSet>(BuiltInToolchains(environment))),
        compile_slots(options.compile_workers > 0 ? options.compile_workers : environment.compile_workers),
        cupti(environment),
        log(LevelNamed(environment.log), std::move(options.log)),
        shape_log(environment.record_shapes.empty() ? nullptr
                                                    : std::make_unique<ShapeLog>(environment.record_shapes,
                                                                                 [this](const std::string& line) {
                                                                                   log.Say(LogLevel::kWarn, line);
                                                                                 })),
        store(std::move(options.store)) {}

  const Environment environment;
  const std::shared_ptr<const ToolchainSet> toolchains;
  CompileSlots compile_slots;
  const Cupti cupti;
  tuneonce::Log log;
  Trace trace;
  IdleWorkers idle_workers;
  KernelList kernel_list;
  const std::unique_ptr<ShapeLog> shape_log;
  const std::shared_ptr<RecordStore> memory_store = std::make_shared<MemoryStore>();
  Mutex store_mutex;
  std::shared_ptr<RecordStore> store TUNEONCE_GUARDED_BY(store_mutex);  // Null before it is needed.
};

const std::shared_ptr<Runtime>& Runtime::Default() {
  // Usable during exit. Without options nothing can be wrong with them.
  static const auto* const runtime = [] {
    auto* made = new std::shared_ptr<Runtime>(*Create());
    for (const std::string& warning : (*made)->environment().warnings) (*made)->Warn(warning);
    return made;
  }();
  // Since it is never destroyed. Kernels that live longer write what they launch after this themselves.
  static const bool writes_at_exit [[maybe_unused]] =
      (*runtime)->shape_log() != nullptr && std::atexit([] { (*runtime)->shape_log()->Flush(); }) == 0;
  return *runtime;
}

Result<std::shared_ptr<Runtime>> Runtime::Create(RuntimeOptions options) {
  if (options.compile_workers < 0) {
    return InvalidArgumentError("RuntimeOptions::compile_workers is " + std::to_string(options.compile_workers) +
                                ": it must be at least 0 (0 means one per CPU core)");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Environment environment, Environment::Read(options.environment));
  KeepThisCodeLoaded();
  return std::shared_ptr<Runtime>(new Runtime(std::make_unique<Impl>(std::move(environment), std::move(options))));
}

Runtime::Runtime(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Runtime::~Runtime() = default;

Result<Device> Runtime::OpenDevice(const std::string& name) const {
  return tuneonce::OpenDevice(name, impl_->environment);
}

const ToolchainSet& Runtime::toolchains() const { return *impl_->toolchains; }
std::int64_t Runtime::num_compiles() const { return impl_->compile_slots.num_compiles(); }

std::shared_ptr<RecordStore> Runtime::store() const {
  std::string warning;
  std::shared_ptr<RecordStore> store;
  {
    MutexLock lock(impl_->store_mutex);
    if (impl_->store == nullptr) {
      DefaultStore opened = OpenDefaultStore(impl_->environment, impl_->memory_store);
      impl_->store = std::move(opened.store);
      warning = std::move(opened.warning);
    }
    store = impl_->store;
  }
  if (!warning.empty()) Warn(warning);
  return store;
}

std::shared_ptr<RecordStore> Runtime::memory_store() const { return impl_->memory_store; }

bool Runtime::Logs(LogLevel level) const { return impl_->log.Says(level); }

void Runtime::Log(LogLevel level, const std::string& line) const { impl_->log.Say(level, line); }

void Runtime::BeginTrace(std::size_t max_events) const { impl_->trace.Begin(max_events); }

std::string Runtime::EndTrace() const { return impl_->trace.End(); }

Trace& Runtime::trace() const { return impl_->trace; }

IdleWorkers& Runtime::idle_workers() const { return impl_->idle_workers; }

const Environment& Runtime::environment() const { return impl_->environment; }

CompileSlots& Runtime::compile_slots() const { return impl_->compile_slots; }

const Cupti& Runtime::cupti() const { return impl_->cupti; }

std::vector<KernelCounters> Runtime::Kernels() const { return impl_->kernel_list.Read(); }
KernelList& Runtime::kernel_list() const { return impl_->kernel_list; }
ShapeLog* Runtime::shape_log() const { return impl_->shape_log.get(); }

Result<Device> OpenDevice(const std::string& name) { return Runtime::Default()->OpenDevice(name); }

Result<Device> Device::OfCurrentContext() {
  TUNEONCE_ASSIGN_OR_RETURN(const DriverApi* api, DriverOfCurrentContext(Runtime::Default()->environment()));
  return OfCurrentContext(*api);
}

std::unique_ptr<Timer> MakeCuptiTimer(const std::shared_ptr<Runtime>& runtime) {
  return std::make_unique<CuptiTimer>(Runtime::OrDefault(runtime)->cupti());
}

}  // namespace v0
}  // namespace tuneonce
