#ifndef TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_
#define TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/extent_classes.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
inline namespace v0 {

/// The extents at which a key's selected config may run, if launches of the key differ in dims: those of the classes at
/// which it was verified, up to the next power of two of the largest one. An immutable value. Thread rule: any thread.
class VerifiedExtents {
 public:
  /// Returns null if the config may run at all extents that launches of the key of `dims` can have, because each class
  /// of every bucket was verified or nothing is compared with a reference.
  static std::shared_ptr<const VerifiedExtents> Of(const KernelDefinition& definition, const Verification& verification,
                                                   const Dims& dims, ExtentClasses classes);

  /// Returns false if Of returns null for all configs, so that these need not be made.
  static bool MayLimit(const Verification& verification) {
    return verification.level == Verification::Level::kReference && !verification.extents.empty();
  }

  bool Cover(const Dims& dims) const;
  /// Identifies the value: equal ids mean equal extents.
  const std::string& id() const { return id_; }

 private:
  struct OfDim {
    Dim dim;
    std::vector<std::uint64_t> classes;  // Increasing; those of ReachOf are the last.
  };

  explicit VerifiedExtents(ExtentClasses classes) : classes_(std::move(classes)) {}

  ExtentClasses classes_;
  std::vector<OfDim> dims_;
  std::string id_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_
