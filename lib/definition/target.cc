#include "tuneonce/target.h"

#include <charconv>
#include <system_error>

#include "tuneonce/device.h"

namespace tuneonce {
inline namespace v0 {

Target Target::Of(const DeviceIdentity& device) {
  return Target{device.is_cpu_device, device.capability_major,        device.capability_minor,
                device.num_sms,       device.max_shared_memory_bytes, device.l2_bytes};
}

Result<Target> Target::Named(const std::string& name) {
  Target target;
  if (name == "cpu") {
    target.is_cpu_device = true;
    return target;
  }
  int capability = 0;
  const char* end = name.data() + name.size();
  const bool may_be_one = name.size() > 4 && name.rfind("sm_", 0) == 0 && name[3] != '0';
  if (may_be_one) {
    auto [stop, error] = std::from_chars(name.data() + 3, end, capability);
    if (stop != end || error != std::errc()) capability = 0;
  }
  if (capability < 10 || capability > 999) {
    return InvalidArgumentError("target '" + name + "' is unknown: use a name such as sm_90, or cpu");
  }
  target.capability_major = capability / 10;
  target.capability_minor = capability % 10;
  return target;
}

}  // namespace v0
}  // namespace tuneonce
