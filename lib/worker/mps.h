#ifndef TUNEONCE_LIB_WORKER_MPS_H_
#define TUNEONCE_LIB_WORKER_MPS_H_

#include <sys/stat.h>

#include "base/environment.h"

namespace tuneonce {
inline namespace v0 {

/// Returns whether an MPS daemon serves this process. Its clients then share one context on the device, and a fault of
/// one may end the others (NVIDIA's "Multi-Process Service", error containment, which also defines the pipe's name).
inline bool IsServedByMps(const Environment& environment) {
  struct stat pipe {};
  return stat((environment.mps_folder + "/control").c_str(), &pipe) == 0;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_WORKER_MPS_H_
