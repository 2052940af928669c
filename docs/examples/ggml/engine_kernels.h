#ifndef TUNEONCE_EXAMPLE_ENGINE_KERNELS_H_
#define TUNEONCE_EXAMPLE_ENGINE_KERNELS_H_

#include "tuneonce/kernel_definition.h"

// The kernels that the engine's nodes are replaced by, in the engine's own layouts: each with a space for a GPU (CUDA
// C++) or one for the CPU device (C++), since what is worth trying has nothing in common.

/// How many columns of activations MulMat takes: a decode step's batch. Above, a matmul is another kernel.
constexpr int kMostColumns = 8;

/// y[m] = x[m] / sqrt(mean(x[m]^2) + eps) * w, of float32. Call: x [M, N], w [N], y [M, N], eps.
tuneonce::KernelDefinition RmsNormMul(bool for_cpu_device);

/// y[m][n] = sum over k of w[n][k] * x[m][k], with weights in float16, summed in float32, for M up to kMostColumns.
/// Call: w [N, K], x [M, K], y [M, N].
tuneonce::KernelDefinition MulMat(bool for_cpu_device);

#endif  // TUNEONCE_EXAMPLE_ENGINE_KERNELS_H_
