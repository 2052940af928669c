#ifndef TUNEONCE_LIB_CUDA_OPEN_DEVICE_H_
#define TUNEONCE_LIB_CUDA_OPEN_DEVICE_H_

#include <string>

#include "tuneonce/device.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

struct Environment;

/// Implements the public OpenDevice with the drivers that this environment names.
TUNEONCE_API Result<Device> OpenDevice(const std::string& name, const Environment& environment);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_CUDA_OPEN_DEVICE_H_
