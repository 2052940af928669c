#ifndef TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_
#define TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_

#include "runtime/warmup_inputs.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// Returns what inputs are made for, from a shape by names. Errors: InvalidArgument that lists all mistakes in one
/// line: unknown or repeated names, dims without a value, and values of the wrong kind or out of range.
Result<InputShape> ReadShape(const KernelDefinition& definition, const TunedKernel::Shape& shape);

/// Returns whether a launch at these dims would do nothing, like CallBinder::Bind. Errors: InvalidArgument if an extent
/// of 0 leaves no input to compute an output from.
Result<bool> IsEmptyAt(const KernelDefinition& definition, const Dims& dims);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_
