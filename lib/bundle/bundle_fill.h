#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_FILL_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_FILL_H_

#include "bundle/bundle_space.h"
#include "tuneonce/parameters.h"

namespace tuneonce {
inline namespace v0 {

/// A parameter's "warmup": a number, {"iota": [start, step]} or {"uniform": [low, high]}; a dim's name can stand for
/// each number.
Result<WarmupFill> ReadWarmupFill(const BundleSpace& space, const ManifestNode& node);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_FILL_H_
