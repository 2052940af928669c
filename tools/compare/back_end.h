#ifndef TUNEONCE_TOOLS_COMPARE_BACK_END_H_
#define TUNEONCE_TOOLS_COMPARE_BACK_END_H_

#include <string>
#include <vector>

#include "launch/variant_set.h"
#include "tuneonce/arguments.h"
#include "tuneonce/config.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The part of a kernel that is one back end's.
struct BackEnd {
  std::vector<Config> configs;  ///< Its own, in the space's order; at least one.
  VariantSet left_out;          ///< The variants that are not its.
};

/// The variants that are called `name`; if no variant is, those whose names begin with it and an underscore, as
/// "tile_cpp_D64" begins with "tile_cpp".
std::vector<const Variant*> VariantsNamed(const std::string& name, const std::vector<const Variant*>& variants);

/// `backend`: a back end (Variant::BackendName), of whose variants those are meant that have the kind of source of the
/// first that runs on the problem's target, so that nothing stands in for it; else VariantsNamed; empty: the whole
/// kernel. Errors: as SearchSpace::Enumerate; NotFound, with those that there are; FailedPrecondition if none of
/// its configs is for this problem.
Result<BackEnd> BackEndNamed(const std::string& backend, const KernelDefinition& definition, const Problem& problem);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_TOOLS_COMPARE_BACK_END_H_
