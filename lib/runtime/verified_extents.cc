#include "runtime/verified_extents.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Returns whether `classes` contains every class of extents that the dim can have in launches of this key.
bool CoverBucket(const KernelDefinition& definition, const std::string& dim, std::int64_t extent,
                 const ExtentClasses& all, const std::vector<std::uint64_t>& classes) {
  const auto part = std::find_if(definition.key().begin(), definition.key().end(), [&](const KeyPart& each) {
    return each.kind == KeyPart::Kind::kDim && each.name == dim;
  });
  if (part == definition.key().end()) return false;  // The key omits the dim, which may have any extent.
  // The last bucket of Nearest has no upper end.
  if (part->bucket == KeyPart::Bucket::kNearest && part->Round(extent) == part->values.back()) return false;
  const ExtentRange bucket = BucketOf(*part, extent);
  const std::vector<std::int64_t> extents = all.OneOfEach(bucket.first, bucket.last);
  return std::all_of(extents.begin(), extents.end(), [&](std::int64_t each) {
    return std::binary_search(classes.begin(), classes.end(), std::uint64_t{all.ClassOf(each)});
  });
}

}  // namespace

std::shared_ptr<const VerifiedExtents> VerifiedExtents::Of(const KernelDefinition& definition,
                                                           const Verification& verification, const Dims& dims,
                                                           ExtentClasses classes) {
  if (!MayLimit(verification)) return nullptr;
  std::shared_ptr<VerifiedExtents> made(new VerifiedExtents(std::move(classes)));
  for (const Verification::Extents& of_dim : verification.extents) {
    const auto known = std::find(definition.dims().begin(), definition.dims().end(), of_dim.dim);
    if (known == definition.dims().end()) continue;
    const Dim dim = definition.DimOf(of_dim.dim);
    if (CoverBucket(definition, of_dim.dim, dims[dim], made->classes_, of_dim.classes)) continue;
    made->dims_.push_back(OfDim{dim, of_dim.classes});
    absl::StrAppend(&made->id_, of_dim.dim, ":", absl::StrJoin(of_dim.classes, ","), ";");
  }
  return made->dims_.empty() ? nullptr : made;
}

bool VerifiedExtents::Cover(const Dims& dims) const {
  return std::all_of(dims_.begin(), dims_.end(), [&](const OfDim& of_dim) {
    const std::int64_t extent = dims[of_dim.dim];
    return std::binary_search(of_dim.classes.begin(), of_dim.classes.end(), std::uint64_t{classes_.ClassOf(extent)}) &&
           ExtentClasses::ReachOf(extent) <= of_dim.classes.back();
  });
}

}  // namespace v0
}  // namespace tuneonce
