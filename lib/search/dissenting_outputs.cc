#include "search/dissenting_outputs.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

/// Copies of outputs at a time. Candidates that fail for reasons of their own each compute something else; those that
/// are correct meet in one copy, which is among the first unless most candidates are incorrect.
constexpr std::size_t kMostKept = 3;

}  // namespace

Result<int> DissentingOutputs::Add(const KernelDefinition& definition, const TrialTensors& tensors,
                                   const Fingerprint& code) {
  for (Kept& kept : kept_) {
    std::optional<OutputDifference> difference;
    TUNEONCE_ASSIGN_OR_RETURN(std::optional<OutputCheck::Finding> finding,
                              kept.outputs->Check(definition, tensors, /*poison=*/0, "another", &difference));
    if (finding) continue;
    if (std::find(kept.codes.begin(), kept.codes.end(), code) == kept.codes.end()) kept.codes.push_back(code);
    return static_cast<int>(kept.codes.size());
  }
  if (kept_.size() == kMostKept) return 0;
  auto outputs = std::make_unique<OutputCheck>(stream_, memory_, comparer_);
  Status added = outputs->Keep(definition, tensors);
  if (added.code() == StatusCode::kResourceExhausted) return 0;
  TUNEONCE_RETURN_IF_ERROR(added);
  kept_.push_back(Kept{std::move(outputs), {code}});
  return 1;
}

}  // namespace v0
}  // namespace tuneonce
