#include "testing/fault_injection.h"

#include <array>
#include <chrono>
#include <thread>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "cuda/driver_api.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Index of each function in the table.
enum FunctionIndex : int {
#define TUNEONCE_INDEX(name, version, need) k##name,
  TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_INDEX)
#undef TUNEONCE_INDEX
      kNumFunctions
};

constexpr const char* kNames[] = {
#define TUNEONCE_NAME(name, version, need) #name,
    TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_NAME)
#undef TUNEONCE_NAME
};

int IndexOf(const std::string& function) {
  for (int i = 0; i < kNumFunctions; ++i) {
    if (function == kNames[i]) return i;
  }
  return -1;
}

struct Injector {
  Mutex mutex;
  bool in_use TUNEONCE_GUARDED_BY(mutex) = false;
  DriverTable wrapped;  // Made before the wrappers are, and then left alone.
  std::vector<Fault> faults TUNEONCE_GUARDED_BY(mutex);
  std::array<std::int64_t, kNumFunctions> counts TUNEONCE_GUARDED_BY(mutex){};
};

Injector& GetInjector() {
  static Injector* const injector = new Injector;
  return *injector;
}

/// Counts one call of function `index` and carries out its planned delay. Returns the planned error, if any.
CUresult Meet(int index) {
  Injector& injector = GetInjector();
  int delay_us = 0;
  CUresult error = CUDA_SUCCESS;
  {
    MutexLock lock(injector.mutex);
    std::int64_t ordinal = ++injector.counts[static_cast<std::size_t>(index)];
    for (const Fault& fault : injector.faults) {
      if (fault.function != kNames[index] || (fault.ordinal != 0 && fault.ordinal != ordinal)) continue;
      delay_us += fault.delay_us;
      if (error == CUDA_SUCCESS) error = fault.error;
    }
  }
  if (delay_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
  return error;
}

/// The wrapper of one function: same signature, made from the type of its table entry.
template <int kIndex, auto kMember, typename Function>
struct Wrapper;

template <int kIndex, auto kMember, typename... Arguments>
struct Wrapper<kIndex, kMember, CUresult (*)(Arguments...)> {
  static CUresult Call(Arguments... arguments) {
    if (CUresult error = Meet(kIndex); error != CUDA_SUCCESS) return error;
    return (GetInjector().wrapped.*kMember)(arguments...);
  }
};

}  // namespace

FaultInjection::FaultInjection(const DriverApi& wrapped) {
  Injector& injector = GetInjector();
  injector.wrapped = UnguardedTable(wrapped);
  DriverTable table;
#define TUNEONCE_WRAP(name, version, need)                                               \
  if (injector.wrapped.name != nullptr) {                                                \
    table.name = &Wrapper<k##name, &DriverTable::name, PFN_cu##name##_v##version>::Call; \
  }
  TUNEONCE_DRIVER_FUNCTIONS(TUNEONCE_WRAP)
#undef TUNEONCE_WRAP
  api_ = std::make_unique<DriverApi>(table, wrapped.library_path(), wrapped.is_cpu_device());
}

Result<std::unique_ptr<FaultInjection>> FaultInjection::Create(const DriverApi& wrapped) {
  Injector& injector = GetInjector();
  MutexLock lock(injector.mutex);
  if (injector.in_use) return FailedPreconditionError("another FaultInjection exists: destroy it first");
  injector.in_use = true;
  injector.faults.clear();
  injector.counts.fill(0);
  return std::unique_ptr<FaultInjection>(new FaultInjection(wrapped));
}

FaultInjection::~FaultInjection() {
  Injector& injector = GetInjector();
  MutexLock lock(injector.mutex);
  injector.in_use = false;
}

Status FaultInjection::Plan(const Fault& fault) {
  if (IndexOf(fault.function) < 0) {
    return InvalidArgumentError(
        absl::StrCat("no driver function '", fault.function, "' to inject a fault into: see driver_functions.h"));
  }
  Injector& injector = GetInjector();
  MutexLock lock(injector.mutex);
  injector.faults.push_back(fault);
  return Status();
}

void FaultInjection::Clear() {
  Injector& injector = GetInjector();
  MutexLock lock(injector.mutex);
  injector.faults.clear();
  injector.counts.fill(0);
}

std::int64_t FaultInjection::CallCount(const std::string& function) const {
  int index = IndexOf(function);
  if (index < 0) return 0;
  Injector& injector = GetInjector();
  MutexLock lock(injector.mutex);
  return injector.counts[static_cast<std::size_t>(index)];
}

}  // namespace v0
}  // namespace tuneonce
