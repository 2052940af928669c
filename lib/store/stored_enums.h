#ifndef TUNEONCE_LIB_STORE_STORED_ENUMS_H_
#define TUNEONCE_LIB_STORE_STORED_ENUMS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "measure/outcomes.h"
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

inline constexpr StoredValue<Bound> kStoredBounds[] = {
    {Bound::kMemory, 1, "memory"},
    {Bound::kBalanced, 2, "balanced"},
    {Bound::kCompute, 3, "compute"},
};

constexpr const auto& StoredValues(AxisKind) { return kStoredAxisKinds; }
constexpr const auto& StoredValues(TunedInputs) { return kStoredInputs; }
constexpr const auto& StoredValues(SelectionReason) { return kStoredReasons; }
constexpr const auto& StoredValues(OutcomeKind) { return kOutcomes; }
constexpr const auto& StoredValues(Bound) { return kStoredBounds; }
constexpr const auto& StoredValues(Verification::Level) { return kStoredLevels; }

/// Null if the enum's table lacks the value: stored_enums_test tells.
template <typename Enum>
auto FindStored(Enum value) -> decltype(&StoredValues(value)[0]) {
  for (const auto& each : StoredValues(value)) {
    if (each.value == value) return &each;
  }
  return nullptr;
}
template <typename Enum>
std::optional<Enum> FromNumber(std::uint64_t number) {
  for (const auto& each : StoredValues(Enum())) {
    if (each.number == number) return each.value;
  }
  return std::nullopt;
}
template <typename Enum>
std::optional<Enum> FromWord(std::string_view word) {
  for (const auto& each : StoredValues(Enum())) {
    if (each.word == word) return each.value;
  }
  return std::nullopt;
}

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_STORE_STORED_ENUMS_H_
