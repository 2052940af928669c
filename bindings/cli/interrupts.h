#ifndef TUNEONCE_BINDINGS_CLI_INTERRUPTS_H_
#define TUNEONCE_BINDINGS_CLI_INTERRUPTS_H_

#include <atomic>

namespace tuneonce::cli {

/// From now on SIGINT, SIGTERM and SIGHUP set the flag that is returned, so that a command ends in order; a second one
/// ends the process at once. A signal that is ignored stays so.
const std::atomic<bool>& CatchInterrupts();

/// Ends the process by the signal that was caught, if there was one, as its parent expects it. To be called last.
void DieOfInterrupt();

}  // namespace tuneonce::cli

#endif  // TUNEONCE_BINDINGS_CLI_INTERRUPTS_H_
