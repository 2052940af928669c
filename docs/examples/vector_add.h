#ifndef TUNEONCE_DOCS_EXAMPLES_VECTOR_ADD_H_
#define TUNEONCE_DOCS_EXAMPLES_VECTOR_ADD_H_

#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce::examples {

/// z = x + y.
KernelDefinition DefineVectorAdd();
void ReferenceVectorAdd(const Dims& dims, std::vector<std::vector<float>>& tensors);

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_VECTOR_ADD_H_
