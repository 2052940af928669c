#include "search/input_copies.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace tuneonce {
inline namespace v0 {

std::string InputCopies::Input::Described() const { return absl::StrCat(names_, " (", original_.bytes, " bytes)"); }

Result<const InputCopies::Input*> InputCopies::Add(const MemoryRange& original, const std::string& names) {
  for (const Input& input : inputs_) {
    if (input.original_.address == original.address && input.original_.bytes == original.bytes) return &input;
  }
  Input input;
  input.original_ = original;
  input.names_ = names;
  input.is_callers_ = !memory_.Holds(original.address);
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer_.Checksums({original}));
  input.checksum_ = sums.front();
  std::vector<GuardedMemory::Piece> pieces = {{original.bytes, original.address, "input " + names}};
  Result<GuardedMemory> copy = GuardedMemory::Create(memory_, stream_, GuardedMemory::BytesFor(pieces));
  if (copy.ok()) {
    copy->LayOut(std::move(pieces));
    TUNEONCE_RETURN_IF_ERROR(copy->Arm(comparer_));
    TUNEONCE_RETURN_IF_ERROR(copy->CopyFrom(0, original.address));
    input.copy_.emplace(*std::move(copy));
  } else if (copy.status().code() != StatusCode::kResourceExhausted) {
    return copy.status();
  }
  lacks_copies_ |= !input.copy_.has_value();
  inputs_.push_back(std::move(input));
  return &inputs_.back();
}

Status InputCopies::Mend(const Input* input, std::uint64_t checksum) {
  for (Input& each : inputs_) {
    if (&each != input) continue;
    if (each.copy_) return each.copy_->CopyFrom(0, each.original_.address);
    each.checksum_ = checksum;
    ++num_damaged_;
    if (each.is_callers_) {
      absl::StrAppend(&damaged_, damaged_.empty() ? "" : ", ", each.names_);
    }
  }
  return Status();
}

std::string InputCopies::CallersInputs(bool at_risk) const {
  std::string described;
  for (const Input& input : inputs_) {
    if (!input.is_callers_ || input.is_at_risk() != at_risk) continue;
    absl::StrAppend(&described, described.empty() ? "" : ", ", input.Described());
  }
  return described;
}

Status InputCopies::FindDamage() {
  std::vector<const Input*> looked_at;
  std::vector<MemoryRange> ranges;
  for (const Input& input : inputs_) {
    if (!input.is_at_risk()) continue;
    looked_at.push_back(&input);
    ranges.push_back(input.range());
  }
  TUNEONCE_ASSIGN_OR_RETURN(std::vector<std::uint64_t> sums, comparer_.Checksums(ranges));
  for (std::size_t i = 0; i < looked_at.size(); ++i) {
    if (sums[i] != looked_at[i]->checksum()) TUNEONCE_RETURN_IF_ERROR(Mend(looked_at[i], sums[i]));
  }
  return Status();
}

std::size_t InputCopies::copied_bytes() const {
  std::size_t bytes = 0;
  for (const Input& input : inputs_) bytes += input.copy_ ? input.copy_->bytes() : 0;
  return bytes;
}

void InputCopies::Drop() {
  for (Input& input : inputs_) {
    lacks_copies_ |= input.copy_.has_value();
    input.copy_.reset();
  }
}

}  // namespace v0
}  // namespace tuneonce
