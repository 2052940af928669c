#ifndef TUNEONCE_DOCS_EXAMPLES_MATMUL_H_
#define TUNEONCE_DOCS_EXAMPLES_MATMUL_H_

#include <vector>

#include "tuneonce/kernel_definition.h"

namespace tuneonce::examples {

/// c[M, N] = a[M, K] * b[K, N] in float32, by tiles.
KernelDefinition DefineMatmul();
void ReferenceMatmul(const Dims& dims, std::vector<std::vector<float>>& tensors);

}  // namespace tuneonce::examples

#endif  // TUNEONCE_DOCS_EXAMPLES_MATMUL_H_
