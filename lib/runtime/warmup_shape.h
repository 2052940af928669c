#ifndef TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_
#define TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_

#include "runtime/warmup_inputs.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/result.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
inline namespace v0 {

/// What inputs are made for, of a shape by names. Errors: InvalidArgument, with all that is wrong in one line: names
/// that are none of the kernel's or stand there twice, dims without a value, values of the wrong kind or that do not
/// fit.
TUNEONCE_API Result<InputShape> ReadShape(const KernelDefinition& definition, const TunedKernel::Shape& shape);

/// True if a launch at these dims would do nothing, as CallBinder::Bind has it. Errors: InvalidArgument if an extent of
/// 0 leaves nothing to compute an output from.
Result<bool> IsEmptyAt(const KernelDefinition& definition, const Dims& dims);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_RUNTIME_WARMUP_SHAPE_H_
