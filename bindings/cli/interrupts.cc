#include "interrupts.h"

#include <csignal>
#include <initializer_list>

namespace tuneonce::cli {
namespace {

std::atomic<bool> was_interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
volatile std::sig_atomic_t caught = 0;

extern "C" void OnInterrupt(int signal) {
  caught = signal;
  was_interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

const std::atomic<bool>& CatchInterrupts() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (std::signal(signal, OnInterrupt) == SIG_IGN) std::signal(signal, SIG_IGN);
  }
  return was_interrupted;
}

void DieOfInterrupt() {
  if (caught == 0) return;
  std::signal(caught, SIG_DFL);
  std::raise(caught);
}

}  // namespace tuneonce::cli
