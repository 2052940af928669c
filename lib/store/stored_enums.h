#ifndef TUNEONCE_LIB_STORE_STORED_ENUMS_H_
#define TUNEONCE_LIB_STORE_STORED_ENUMS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "tuneonce/config.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// How a value of an enum is kept: in stores by its number, in exported files by its word. Neither is ever changed, or
/// given to another value.
template <typename Enum>
struct StoredValue {
  Enum value;
  std::uint64_t number;
  std::string_view word;
};

inline constexpr StoredValue<AxisKind> kStoredAxisKinds[] = {
    {AxisKind::kStructural, 1, "structural"},
    {AxisKind::kHint, 2, "hint"},
    {AxisKind::kOption, 3, "option"},
};

inline constexpr StoredValue<TunedInputs> kStoredInputs[] = {
    {TunedInputs::kUnknown, 0, "unknown"},
    {TunedInputs::kCaller, 1, "caller"},
    {TunedInputs::kRepeated, 2, "repeated"},
    {TunedInputs::kFill, 3, "fill"},
};

inline constexpr StoredValue<SelectionReason> kStoredReasons[] = {
    {SelectionReason::kUnknown, 0, "unknown"},
    {SelectionReason::kFastest, 1, "fastest"},
    {SelectionReason::kTieBaseline, 3, "tie_baseline"},
    {SelectionReason::kTieEarliest, 5, "tie_earliest"},
    {SelectionReason::kBaselineByMargin, 6, "baseline_by_margin"},
    {SelectionReason::kPinned, 7, "pinned"},
    {SelectionReason::kImported, 8, "imported"},
    {SelectionReason::kPredicted, 9, "predicted"},
};

inline constexpr StoredValue<Verification::Level> kStoredLevels[] = {
    {Verification::Level::kNone, 0, "none"},
    {Verification::Level::kMemory, 1, "memory"},
    {Verification::Level::kReference, 2, "reference"},
};

inline constexpr StoredValue<CandidateOutcome::Kind> kStoredOutcomes[] = {
    {CandidateOutcome::Kind::kMeasured, 1, "measured"},
    {CandidateOutcome::Kind::kDuplicate, 2, "duplicate"},
    {CandidateOutcome::Kind::kNotMeasured, 3, "not_measured"},
    {CandidateOutcome::Kind::kPredicted, 4, "predicted"},
    {CandidateOutcome::Kind::kCompile, 16, "compile"},
    {CandidateOutcome::Kind::kLoad, 17, "load"},
    {CandidateOutcome::Kind::kResources, 18, "resources"},
    {CandidateOutcome::Kind::kLaunch, 19, "launch"},
    {CandidateOutcome::Kind::kRun, 20, "run"},
    {CandidateOutcome::Kind::kWrongResult, 21, "wrong_result"},
    {CandidateOutcome::Kind::kOutOfBounds, 22, "out_of_bounds"},
    {CandidateOutcome::Kind::kNotWritten, 23, "not_written"},
    {CandidateOutcome::Kind::kWroteInput, 24, "wrote_input"},
    {CandidateOutcome::Kind::kNotVerified, 25, "not_verified"},
    {CandidateOutcome::Kind::kCrash, 26, "crash"},
    {CandidateOutcome::Kind::kTimeout, 27, "timeout"},
    {CandidateOutcome::Kind::kProtocol, 28, "protocol"},
    {CandidateOutcome::Kind::kQuarantined, 29, "quarantined"},
};

constexpr const auto& StoredValues(AxisKind) { return kStoredAxisKinds; }
constexpr const auto& StoredValues(TunedInputs) { return kStoredInputs; }
constexpr const auto& StoredValues(SelectionReason) { return kStoredReasons; }
constexpr const auto& StoredValues(CandidateOutcome::Kind) { return kStoredOutcomes; }
constexpr const auto& StoredValues(Verification::Level) { return kStoredLevels; }

/// Null if the enum's table lacks the value: stored_enums_test tells.
template <typename Enum>
const StoredValue<Enum>* FindStored(Enum value) {
  for (const StoredValue<Enum>& each : StoredValues(value)) {
    if (each.value == value) return &each;
  }
  return nullptr;
}
template <typename Enum>
std::optional<Enum> FromNumber(std::uint64_t number) {
  for (const StoredValue<Enum>& each : StoredValues(Enum())) {
    if (each.number == number) return each.value;
  }
  return std::nullopt;
}
template <typename Enum>
std::optional<Enum> FromWord(std::string_view word) {
  for (const StoredValue<Enum>& each : StoredValues(Enum())) {
    if (each.word == word) return each.value;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORED_ENUMS_H_
