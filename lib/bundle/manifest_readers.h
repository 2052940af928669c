#ifndef TUNEONCE_LIB_BUNDLE_MANIFEST_READERS_H_
#define TUNEONCE_LIB_BUNDLE_MANIFEST_READERS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bundle/bundle_artifacts.h"
#include "bundle/bundle_files.h"
#include "bundle/bundle_space.h"
#include "bundle/manifest.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

// The functions that read a manifest's fields, by which Bundle reads the whole. Each returns InvalidArgument, with the
// file, the line and the field, for a value that it does not accept.

namespace tuneonce {
inline namespace v0 {

/// Reads a whole number, resolved: 4; the name of a dim, a scalar or an axis, {"axis": NAME} where one of those has the
/// same name; {"device": "num_sms"}; {"ceil_div": [a, b]}, {"floor_div": [a, b]}, {"sum": [a, ...]}, "product", "min"
/// and "max" likewise; or a sum of products, [[4, "M", "N"], [2, "N"]].
Result<Term> ReadTerm(const BundleSpace& space, const ManifestNode& node);
/// Reads the member `field` of `node` as ReadTerm does.
Result<Term> ReadTermField(const BundleSpace& space, const ManifestNode& node, std::string_view field);

/// Reads a dtype by its name: "float16".
Result<DType> ReadDType(const ManifestNode& node);
/// Reads {"absolute": 0.01, "relative": 0.01, "ulps": 2}, in which each field is optional.
Result<Tolerance> ReadTolerance(const ManifestNode& node);
/// Reads the field `parameters` into the definition.
Status ReadParameters(const BundleSpace& space, const ManifestNode& root, KernelDefinition* definition);

/// Reads the field `assumptions` of a variant: what its code was compiled for. That there are such tensors and scalars
/// is checked later (ValidateForLaunch).
Result<std::vector<Assumption>> ReadAssumptions(const ManifestNode& variant);
/// Returns what the compiler gets for an option of a bundle's manifest. A bundle comes from elsewhere, and compilers
/// have options that write files (-o, -MF), run programs (-fplugin, -B), or read further options (@file): so only those
/// are passed on that are known to change nothing but the code. An include path (-IDIR) is made absolute; it must be a
/// folder of the bundle. Errors: InvalidArgument for any other option, NotFound for a folder that is not there.
Result<std::string> BundleOption(SourceKind kind, const std::string& option, const BundleFiles& files);

/// One element of a manifest's variants.
struct BundleVariant {
  const ManifestNode* node;
  Variant variant;                             ///< Moved into the definition.
  std::shared_ptr<BundleArtifacts> artifacts;  ///< Which the variant's functions share.
};
/// Reads one variant, and its artifacts from `files`.
Result<BundleVariant> ReadVariant(const BundleSpace& space, const ManifestNode& node, BundleFiles* files);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_MANIFEST_READERS_H_
