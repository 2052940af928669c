#ifndef TUNEONCE_LIB_SEARCH_INPUT_COPIES_H_
#define TUNEONCE_LIB_SEARCH_INPUT_COPIES_H_

#include <deque>
#include <optional>
#include <string>

#include "search/trial_memory.h"

namespace tuneonce {
inline namespace v0 {

/// The tensors that kernels of a search only read: one copy of each, on which trials run, so that a kernel that writes
/// its input harms nothing. Where memory for a copy is missing trials run on the original, and checksums tell whether
/// one wrote it. Thread rule: one thread.
class InputCopies {
 public:
  /// REQUIRES: all of them outlive it.
  InputCopies(TrialMemory& memory, ArrayComparer& comparer, StreamView stream)
      : memory_(memory), comparer_(comparer), stream_(stream) {}

  class Input {
   public:
    /// Where trials find it.
    CUdeviceptr address() const { return copy_ ? copy_->pieces()[0].address : original_.address; }
    const std::optional<GuardedMemory>& copy() const { return copy_; }
    MemoryRange range() const { return MemoryRange{address(), original_.bytes}; }
    std::uint64_t checksum() const { return checksum_; }
    const std::string& names() const { return names_; }
    /// True if trials run on memory of the caller's.
    bool is_at_risk() const { return is_callers_ && !copy_; }
    /// "'x' (4000 bytes)".
    std::string Described() const;

   private:
    friend class InputCopies;
    MemoryRange original_;
    bool is_callers_ = false;
    std::string names_;  // Names of the parameters in it: "'x', 'w'".
    std::uint64_t checksum_ = 0;
    std::optional<GuardedMemory> copy_;
  };

  /// The input at this range; copied if it is new and there is memory for it. Lives as long as this object.
  Result<const Input*> Add(const MemoryRange& original, const std::string& names);
  /// Restores an input of which a trial left the checksum `checksum`, from its copy. Without a copy the original is
  /// damaged, and its current bytes count from now on.
  Status Mend(const Input* input, std::uint64_t checksum);
  /// Returns the bytes of all copies together.
  std::size_t copied_bytes() const;
  /// Frees all copies, for lack of memory.
  void Drop();
  /// Lists the caller's inputs that have copies, or with `at_risk` those without: "'x' (4000 bytes)". May be empty.
  std::string CallersInputs(bool at_risk) const;
  /// Counts as damaged those without a copy that are not as they were, which a trial wrote since they were looked at
  /// last. Waits. Errors: the driver's.
  Status FindDamage();

  /// True if trials run, or ran, on an original.
  bool lacks_copies() const { return lacks_copies_; }
  /// Names of those whose originals were damaged, if these are the caller's.
  const std::string& damaged() const { return damaged_; }
  int num_damaged() const { return num_damaged_; }

 private:
  TrialMemory& memory_;
  ArrayComparer& comparer_;
  StreamView stream_;
  std::deque<Input> inputs_;  // Addresses stay.
  bool lacks_copies_ = false;
  std::string damaged_;
  int num_damaged_ = 0;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_INPUT_COPIES_H_
