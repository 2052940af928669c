#ifndef TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_
#define TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "search/extent_classes.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/trial.h"

namespace tuneonce {
inline namespace v0 {

/// The extents at which a key's selected config may run, where launches of the key differ in dims: those of the classes
/// that it was verified at. A value; immutable. Thread rule: any thread.
class VerifiedExtents {
 public:
  /// Null if the config may run at all extents that launches of the key of `dims` can have: each class of every bucket
  /// was verified, or nothing is compared with a reference.
  static std::shared_ptr<const VerifiedExtents> Of(const KernelDefinition& definition, const Verification& verification,
                                                   const Dims& dims, const std::vector<Config>& configs);

  bool Cover(const Dims& dims) const;
  /// Tells such values apart.
  const std::string& id() const { return id_; }

 private:
  struct OfDim {
    Dim dim;
    std::vector<std::uint64_t> classes;  // Rising.
  };

  explicit VerifiedExtents(ExtentClasses classes) : classes_(std::move(classes)) {}

  ExtentClasses classes_;
  std::vector<OfDim> dims_;
  std::string id_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_VERIFIED_EXTENTS_H_
