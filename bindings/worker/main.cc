// tuneonce_worker runs what may crash for another process, which starts it:
// - without arguments, the trials of a search, about which it talks to its host over a socket;
// - as `tuneonce_worker nvrtc FOLDER`, one compile by NVRTC, whose request and output are files in FOLDER.
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "compile/nvrtc_worker.h"
#include "search/trial_server.h"
#include "worker/this_worker.h"

namespace {

int Fail(const tuneonce::Status& status) {
  std::fprintf(stderr, "tuneonce_worker: %s\n", status.message().c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == tuneonce::kNvrtcCommand) {
    tuneonce::ExpectCrashes();
    const tuneonce::Status served = tuneonce::ServeNvrtc(argv[2]);
    _exit(served.ok() ? 0 : Fail(served));  // NVRTC is not unloaded.
  }
  tuneonce::Result<tuneonce::Channel> channel = tuneonce::OpenHostChannel();
  if (!channel.ok()) return Fail(channel.status());
  const tuneonce::Status served = tuneonce::ServeTrials(*channel);
  tuneonce::EndWorker(served.ok() || !channel->is_open() ? 0 : 1);
}
