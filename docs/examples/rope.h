#ifndef TUNEONCE_DOCS_EXAMPLES_ROPE_H_
#define TUNEONCE_DOCS_EXAMPLES_ROPE_H_

#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce::examples {

/// Rotary position embedding of x[M, H, D], in place.
KernelDefinition DefineRope();
void ReferenceRope(const Dims& dims, std::vector<std::vector<float>>& tensors);

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_ROPE_H_
