#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_MATMUL_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_MATMUL_H_

#include "bundle/manifest.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// The field "matmul", {"a": "a", "m": "M", "tile_m": "TILE_M", ...}: what is not named is called as MatmulParts has
/// it.
Result<MatmulParts> ReadMatmul(const ManifestNode& node);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_MATMUL_H_
