#ifndef TUNEONCE_LIB_BUNDLE_BUNDLE_TERM_H_
#define TUNEONCE_LIB_BUNDLE_BUNDLE_TERM_H_

#include <string_view>
#include <vector>

#include "bundle/bundle_space.h"
#include "bundle/manifest.h"
#include "tuneonce/grid.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A whole number of a manifest, resolved: 4; the name of a dim, a scalar or an axis, {"axis": NAME} where one of those
/// has the same name; {"device": "num_sms"}; {"ceil_div": [a, b]}, {"floor_div": [a, b]}, {"sum": [a, ...]}, "product",
/// "min" and "max" likewise; or a sum of products, [[4, "M", "N"], [2, "N"]].
Result<Term> ReadTerm(const BundleSpace& space, const ManifestNode& node);

/// The member `field` of `node`.
Result<Term> ReadTermField(const BundleSpace& space, const ManifestNode& node, std::string_view field);

/// Reads the field `guards` into the space: {"dim": "N", "at_most": TERM}, {"scalar": "causal", "is": true}, {"term":
/// TERM, "divisible_by": 8}.
Status ReadGuards(const BundleSpace& space, const ManifestNode& root, SearchSpace* guarded);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BUNDLE_BUNDLE_TERM_H_
