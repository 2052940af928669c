#ifndef TUNEONCE_LIB_LAUNCH_DEVICE_TABLE_H_
#define TUNEONCE_LIB_LAUNCH_DEVICE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tuneonce/arguments.h"
#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A table of pointers that we make ourselves: views of tensors, which lie in memory of others', and their addresses in
/// device memory. Neither copied nor moved, since tables point into it. Thread rule: one thread.
class DeviceTable {
 public:
  /// In the order of `stream`, which outlives it. Waits. Errors: ResourceExhausted.
  static Result<std::unique_ptr<DeviceTable>> Create(std::vector<TensorView> tensors, StreamView stream);
  /// Makes a table without memory at the address `address`, which is never read.
  static std::unique_ptr<DeviceTable> WithoutMemory(std::vector<TensorView> tensors, void* address);
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;

  const PointerTable& table() const { return table_; }

 private:
  DeviceTable(std::vector<TensorView> tensors, std::optional<DeviceBuffer> entries, void* address);

  const std::vector<TensorView> tensors_;
  const std::optional<DeviceBuffer> entries_;
  const PointerTable table_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_LAUNCH_DEVICE_TABLE_H_
