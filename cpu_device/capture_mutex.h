#ifndef TUNEONCE_CPU_DEVICE_CAPTURE_MUTEX_H_
#define TUNEONCE_CPU_DEVICE_CAPTURE_MUTEX_H_

#include "base/mutex.h"

namespace tuneonce::cpu_device {

/// Guards every Capture, and the `capture` members of streams and events. Usable during exit: it is made by the
/// compiler, and its end does nothing.
inline Mutex capture_mutex;

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_CAPTURE_MUTEX_H_
