#ifndef TUNEONCE_TESTS_TESTING_SAMPLING_H_
#define TUNEONCE_TESTS_TESTING_SAMPLING_H_

#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "testing/in_child.h"

namespace tuneonce::testing {

/// Returns whether tests sample nothing: TUNEONCE_TESTS=whole, which `scripts/test whole` sets.
inline bool AreTestsWhole() {
  const char* tests = std::getenv("TUNEONCE_TESTS");
  return tests != nullptr && std::string_view(tests) == "whole";
}

/// Returns the step in which a test goes through a sweep: 1 in plain builds and if AreTestsWhole, otherwise
/// `sanitized`.
inline std::size_t StepUnlessWhole(std::size_t sanitized) { return kIsSanitized && !AreTestsWhole() ? sanitized : 1; }

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_SAMPLING_H_
