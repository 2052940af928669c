#ifndef TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
#define TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_

#include <cuda.h>

#include <vector>

#include "launch/call_binder.h"
#include "tuneonce/device.h"
#include "tuneonce/kernel_definition.h"

namespace tuneonce {
inline namespace v0 {

/// Checks the memory of a caller's call once before tuning on it. Returns InvalidArgument, naming the parameter, for
/// host memory that the device cannot access; for a PointerTable that does not contain the addresses of its tensors,
/// because a launch would run on other data than was tuned; and for what CheckNoAddresses refuses. Waits for the stream
/// if there is such a parameter.
Status CheckTables(const KernelDefinition& definition, const BoundCall& call, StreamView stream);

/// Returns InvalidArgument, naming the parameter, for an input tensor of 8-byte integers that contains addresses of
/// memory: a candidate would write the caller's data there, and nothing would be compared. Raw memory is not checked.
/// The driver is asked what is memory. The memory of an earlier call may be gone, so there a value near one of `once`,
/// the addresses of that call, counts too. Waits for the stream if there is such a tensor.
Status CheckNoAddresses(const KernelDefinition& definition, const BoundCall& call, StreamView stream,
                        const std::vector<CUdeviceptr>& once = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
