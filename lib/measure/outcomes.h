#ifndef TUNEONCE_LIB_MEASURE_OUTCOMES_H_
#define TUNEONCE_LIB_MEASURE_OUTCOMES_H_

#include <cstdint>
#include <string_view>

#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// How an outcome is kept in stores (by its number) and exported files (by its word), and its name for people. Neither
/// number nor word is ever changed, or given to another value.
struct NamedOutcome {
  OutcomeKind value;
  std::uint64_t number;
  std::string_view word;
  std::string_view name;
};

inline constexpr NamedOutcome kOutcomes[] = {
    {OutcomeKind::kMeasured, 1, "measured", "measured"},
    {OutcomeKind::kDuplicate, 2, "duplicate", "duplicate"},
    {OutcomeKind::kNotMeasured, 3, "not_measured", "not measured"},
    {OutcomeKind::kPredicted, 4, "predicted", "predicted"},
    {OutcomeKind::kCompile, 16, "compile", "compile"},
    {OutcomeKind::kLoad, 17, "load", "load"},
    {OutcomeKind::kResources, 18, "resources", "resources"},
    {OutcomeKind::kLaunch, 19, "launch", "launch"},
    {OutcomeKind::kRun, 20, "run", "run"},
    {OutcomeKind::kWrongResult, 21, "wrong_result", "wrong result"},
    {OutcomeKind::kOutOfBounds, 22, "out_of_bounds", "out of bounds"},
    {OutcomeKind::kNotWritten, 23, "not_written", "not written"},
    {OutcomeKind::kWroteInput, 24, "wrote_input", "wrote an input"},
    {OutcomeKind::kNotVerified, 25, "not_verified", "not verified"},
    {OutcomeKind::kCrash, 26, "crash", "crash"},
    {OutcomeKind::kTimeout, 27, "timeout", "timeout"},
    {OutcomeKind::kProtocol, 28, "protocol", "protocol"},
    {OutcomeKind::kQuarantined, 29, "quarantined", "quarantined"},
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_MEASURE_OUTCOMES_H_
