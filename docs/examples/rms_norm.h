#ifndef TUNEONCE_DOCS_EXAMPLES_RMS_NORM_H_
#define TUNEONCE_DOCS_EXAMPLES_RMS_NORM_H_

#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce::examples {

/// The eps that the example passes.
inline constexpr float kRmsNormEpsilon = 1e-5f;
/// Root-mean-square normalization of the rows of x[M, N].
KernelDefinition DefineRmsNorm();
void ReferenceRmsNorm(const Dims& dims, std::vector<std::vector<float>>& tensors);

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_RMS_NORM_H_
