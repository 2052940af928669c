#ifndef TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_
#define TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_

#include "tuneonce/result.h"
#include "worker/channel.h"

namespace tuneonce {
inline namespace v0 {

/// A worker's side of isolated searches, one search at a time: answers a host's messages (TrialMessage) with an
/// InProcessRunner of its own, in a context of its own, which it makes current on this thread. Returns once the host
/// ends them, or the context is lost, which the last answer reports. What it has made is left to the system. To be
/// called once per process. Errors: the channel's. REQUIRES: the channel outlives the process.
Status ServeTrials(Channel& channel);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_SEARCH_TRIAL_SERVER_H_
