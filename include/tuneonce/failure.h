#ifndef TUNEONCE_FAILURE_H_
#define TUNEONCE_FAILURE_H_

#include <string>
#include <string_view>

#include "tuneonce/api.h"
#include "tuneonce/config.h"

namespace tuneonce {

/// Why a candidate cannot win.
enum class FailureKind {
  kCompile,      ///< The toolchain refused it.
  kLoad,         ///< The driver refused the image, or its parameters are not the declared ones.
  kResources,    ///< It needs more memory, shared memory or threads than there are.
  kLaunch,       ///< The launch was refused, or the geometry cannot be launched.
  kRun,          ///< It failed while running, or could not be timed.
  kWrongResult,  ///< It computed something else than the baseline.
  kOutOfBounds,  ///< It wrote outside of its outputs and workspaces.
  kNotWritten,   ///< It left elements of an output unwritten.
  kWroteInput,   ///< It wrote a tensor that it only reads, by its declaration.
  kNotVerified,  ///< There is no reference to compare its outputs with: the baseline failed.
};

/// "compile", "load", ...
TUNEONCE_API std::string_view FailureKindName(FailureKind kind);

/// A candidate that failed: data of the result, not an error of the search.
struct Failure {
  Config config;
  FailureKind kind = FailureKind::kCompile;
  std::string message;  ///< The tool's or driver's own words.
  /// The reason may pass (IsTransient): no memory, no process, no compiler, no time. Another search may measure it.
  bool is_transient = false;
};

}  // namespace tuneonce

#endif  // TUNEONCE_FAILURE_H_
