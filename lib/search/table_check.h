#ifndef TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
#define TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_

#include <cuda.h>

#include <vector>

#include "launch/call_binder.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// Looks at the memory that a caller's call has, before something is tuned on it: once, where the call comes in.
/// InvalidArgument, naming the parameter, for memory of the host that the device does not reach; for a PointerTable
/// that does not hold the addresses of the tensors that came with it, since what a launch runs on would be something
/// else than what was tuned; and for what CheckNoAddresses refuses. Waits for the stream, if there is such a parameter.
Status CheckTables(const KernelDefinition& definition, const BoundCall& call, StreamView stream);

/// InvalidArgument, naming the parameter, for a tensor of 8-byte integers that is read and holds addresses of memory:
/// what a candidate writes there would be the caller's, and compared with nothing. Raw memory is not looked at. The
/// driver says what is memory. Of a call of earlier, whose memory may be gone, it cannot: there what lies near to one
/// of `once`, the call's addresses then, counts too. Waits for the stream, if there is such a tensor.
Status CheckNoAddresses(const KernelDefinition& definition, const BoundCall& call, StreamView stream,
                        const std::vector<CUdeviceptr>& once = {});

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
