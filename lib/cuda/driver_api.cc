#include "cuda/driver_api.h"

#include <map>
#include <utility>

#include "base/mutex.h"

namespace tuneonce {
inline namespace v0 {

struct DriverApi::MeasuringLocks {
  Mutex mutex;
  std::map<CUdevice, Mutex> by_device TUNEONCE_GUARDED_BY(mutex);  // Entries stay, and keep their addresses.
};

DriverApi::DriverApi(const DriverTable& table, std::string library_path, bool is_cpu_device)
    : table_(table),
      launch_path_{table.LaunchKernelEx, table.CtxGetDevice, table.StreamIsCapturing},
      library_path_(std::move(library_path)),
      is_cpu_device_(is_cpu_device),
      measuring_locks_(std::make_unique<MeasuringLocks>()) {}

DriverApi::~DriverApi() = default;

Mutex& DriverApi::measuring_lock(CUdevice device) const {
  MutexLock lock(measuring_locks_->mutex);
  return measuring_locks_->by_device[device];
}

const DriverTable& UnguardedTable(const DriverApi& api) { return api.table_; }

}  // namespace v0
}  // namespace tuneonce
