// tuneonce_worker: runs the trials of another process, which starts it and talks to it over a socket. Nobody else runs
// it.
#include <cstdio>

#include "search/trial_server.h"
#include "worker/this_worker.h"

int main() {
  tuneonce::Result<tuneonce::Channel> channel = tuneonce::OpenHostChannel();
  if (!channel.ok()) {
    std::fprintf(stderr, "tuneonce_worker: %s\n", channel.status().message().c_str());
    return 2;
  }
  // Static storage: at the end everything is left to the system.
  static tuneonce::TrialServer server(*channel);
  const tuneonce::Status served = server.Serve();
  tuneonce::EndWorker(served.ok() || !channel->is_open() ? 0 : 1);
}
