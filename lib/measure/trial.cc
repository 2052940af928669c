#include "tuneonce/trial.h"

#include <algorithm>

namespace tuneonce {
inline namespace v0 {

std::string_view FailureKindName(FailureKind kind) {
  switch (kind) {
    case FailureKind::kCompile:
      return "compile";
    case FailureKind::kLoad:
      return "load";
    case FailureKind::kResources:
      return "resources";
    case FailureKind::kLaunch:
      return "launch";
    case FailureKind::kRun:
      return "run";
    case FailureKind::kWrongResult:
      return "wrong result";
    case FailureKind::kOutOfBounds:
      return "out of bounds";
    case FailureKind::kNotWritten:
      return "not written";
    case FailureKind::kWroteInput:
      return "wrote an input";
    case FailureKind::kNotVerified:
      return "not verified";
    case FailureKind::kCrash:
      return "crash";
    case FailureKind::kTimeout:
      return "timeout";
    case FailureKind::kProtocol:
      return "protocol";
  }
  return "unknown";
}

bool Verification::Covers(const Verification& demanded) const {
  if (level < demanded.level) return false;
  if (demanded.level != Level::kReference) return true;
  return std::equal(outputs.begin(), outputs.end(), demanded.outputs.begin(), demanded.outputs.end(),
                    [](const Output& offered, const Output& wanted) {
                      return offered.absolute <= wanted.absolute && offered.relative <= wanted.relative &&
                             offered.ulps <= wanted.ulps && (!offered.may_be_partial || wanted.may_be_partial);
                    });
}

}  // namespace v0
}  // namespace tuneonce
