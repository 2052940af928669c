#include "tuneonce/target.h"

#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Target Target::Of(const DeviceIdentity& device) {
  return Target{device.is_cpu_device, device.capability_major,        device.capability_minor,
                device.num_sms,       device.max_shared_memory_bytes, device.l2_bytes};
}

}  // namespace v0
}  // namespace tuneonce
