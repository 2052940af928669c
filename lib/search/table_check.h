#ifndef TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
#define TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_

#include "launch/call_binder.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/stream.h"

namespace tuneonce {
inline namespace v0 {

/// Looks at the tables of addresses that a call has, before something is tuned on it. InvalidArgument, naming the
/// parameter, for a PointerTable that does not hold the addresses of the tensors that came with it, since what a launch
/// runs on would be something else than what was tuned; and for a tensor of 8-byte integers that is not declared
/// ByPointers and holds addresses of memory: what a candidate writes there would be the caller's, and compared with
/// nothing. Raw memory is not looked at. Waits for the stream, if there is such a parameter.
Status CheckTables(const KernelDefinition& definition, const BoundCall& call, StreamView stream);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TABLE_CHECK_H_
