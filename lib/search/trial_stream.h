#ifndef TUNEONCE_LIB_SEARCH_TRIAL_STREAM_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_STREAM_H_

#include "tuneonce/result.h"
#include "tuneonce/stream.h"
#include "tuneonce/target.h"

namespace tuneonce {
inline namespace v0 {

/// A private stream for trials, whose work comes after what `caller` holds now. Errors: InvalidArgument if `caller` is
/// of another context than the thread's; FailedPrecondition without a context, if it captures, or from inside a
/// callback of the user's or a launcher that is tried.
Result<Stream> MakeTrialStream(StreamView caller);

/// The current context's device as a target.
Result<Target> CurrentTarget(const DriverApi& api);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_STREAM_H_
