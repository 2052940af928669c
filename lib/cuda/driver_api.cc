#include "cuda/driver_api.h"

#include <utility>

namespace tuneonce {

DriverApi::DriverApi(const DriverTable& table, std::string library_path, bool is_cpu_device)
    : table_(table),
      launch_path_{table.LaunchKernelEx, table.CtxGetDevice, table.StreamIsCapturing},
      library_path_(std::move(library_path)),
      is_cpu_device_(is_cpu_device) {}

const DriverTable& UnguardedTable(const DriverApi& api) { return api.table_; }

}  // namespace tuneonce
