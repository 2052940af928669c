#ifndef TUNEONCE_CPU_DEVICE_FAULT_GUARD_H_
#define TUNEONCE_CPU_DEVICE_FAULT_GUARD_H_

#include <cuda.h>

#include "base/cpu_kernel.h"

namespace tuneonce::cpu_device {

/// Prepares the calling thread for RunGuarded: signal handlers (once per process; faults outside a kernel go on to
/// whatever handler was there before) and a stack of its own for them (so that a kernel's stack overflow is caught).
void PrepareThreadForFaults();

/// Runs one block of a kernel and turns a fault in it into a driver error: 700 for a bad address, 719 for anything
/// else (division by zero, trap, exception). The block is abandoned where it stood.
/// REQUIRES: PrepareThreadForFaults() on this thread.
CUresult RunGuarded(const tuneonce_kernel& kernel, const tuneonce_block& block, void* const* parameters);

}  // namespace tuneonce::cpu_device

#endif  // TUNEONCE_CPU_DEVICE_FAULT_GUARD_H_
