#include "cuda/driver_api.h"

#include <map>
#include <utility>

namespace tuneonce {
inline namespace v0 {

struct DriverApi::MeasuringLocks {
  std::mutex mutex;
  std::map<CUdevice, std::mutex> by_device;  // Entries stay, and keep their addresses.
};

DriverApi::DriverApi(const DriverTable& table, std::string library_path, bool is_cpu_device)
    : table_(table),
      launch_path_{table.LaunchKernelEx, table.CtxGetDevice, table.StreamIsCapturing},
      library_path_(std::move(library_path)),
      is_cpu_device_(is_cpu_device),
      measuring_locks_(std::make_unique<MeasuringLocks>()) {}

DriverApi::~DriverApi() = default;

std::mutex& DriverApi::measuring_lock(CUdevice device) const {
  std::lock_guard<std::mutex> lock(measuring_locks_->mutex);
  return measuring_locks_->by_device[device];
}

const DriverTable& UnguardedTable(const DriverApi& api) { return api.table_; }

}  // namespace v0
}  // namespace tuneonce
