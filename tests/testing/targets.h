#ifndef TUNEONCE_TESTS_TESTING_TARGETS_H_
#define TUNEONCE_TESTS_TESTING_TARGETS_H_

#include "tuneonce/device.h"

namespace tuneonce::testing {

/// A GPU by its capability: Sm(90).
inline Target Sm(int capability) {
  Target target;
  target.capability_major = capability / 10;
  target.capability_minor = capability % 10;
  return target;
}

inline Target CpuTarget() {
  Target target;
  target.is_cpu_device = true;
  return target;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_TARGETS_H_
