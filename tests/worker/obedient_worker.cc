// A worker that does what it is told, ill or well: the body of each message is a word, and its answer has the same
// kind.
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "cuda/driver_api.h"
#include "cuda/ipc_memory.h"
#include "tuneonce/device.h"
#include "worker/this_worker.h"

using namespace tuneonce;  // NOLINT(google-build-using-namespace)

namespace {

/// An endless loop that no optimizer may leave out.
[[noreturn]] void Loop() {
  for (volatile int i = 0;; i = i + 1) {
  }
}

/// Ends as a program does, whose last objects take their time.
[[noreturn]] void EndSlowly(Channel* channel) {
  channel->Close();
  usleep(1200000);
  std::exit(5);
}

/// Ends, or stays and does nothing that is good. Returns for all other words.
void Misbehave(const std::string& word) {
  if (word == "crash") {
    signal(SIGSEGV, SIG_DFL);  // A sanitizer's handler would end it by an exit.
    raise(SIGSEGV);
  }
  if (word == "trap") __builtin_trap();
  if (word == "abort") std::abort();
  if (word == "exit") std::exit(3);
  if (word == "kill") kill(getpid(), SIGKILL);
  if (word == "stop") kill(getpid(), SIGSTOP);
  if (word == "hang") Loop();
  if (word == "hang everywhere") {
    for (int i = 0; i < 8; ++i) std::thread(Loop).detach();
    Loop();
  }
  if (word == "garbage") {
    if (write(kWorkerSocket, "Segmentation fault (core dumped)", 32) != 32) std::exit(4);
    pause();
  }
  if (word == "close") {
    shutdown(kWorkerSocket, SHUT_RDWR);
    sleep(1000);
  }
}

std::string Descriptors() {
  std::string text;
  for (const std::string& name : NamesIn("/proc/self/fd")) {
    char target[256];
    ssize_t n = readlink(("/proc/self/fd/" + name).c_str(), target, sizeof(target));
    if (n > 0) text += name + "=" + std::string(target, static_cast<std::size_t>(n)) + "\n";
  }
  return text;
}

std::string Variables() {
  std::string text;
  for (char** variable = environ; *variable != nullptr; ++variable) text += std::string(*variable) + "\n";
  return text;
}

/// A child that ends as programs do. What runs at the end of one may wait for a lock that another thread had when it
/// was forked (a sanitizer's, say): then another child is tried.
std::string ForkAndExit() {
  int status = 0;
  for (int i = 0; i < 5; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(2);
      std::exit(6);
    }
    waitpid(child, &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGALRM) break;
  }
  return WIFEXITED(status) ? std::to_string(WEXITSTATUS(status)) : "it was ended by a signal";
}

/// A child that stays, holding nothing but what it inherits.
std::string ForkASleeper() {
  pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  return std::to_string(child);
}

/// Memory of the CPU device for the host, of which each byte is 7, as long as this process lives.
std::string Export() {
  static std::optional<Context> context;
  static std::optional<ExportedBlock> block;
  Result<const DriverApi*> api = LoadCpuDriver(Environment());
  if (!api.ok()) return api.status().ToString();
  context.emplace(*Context::RetainPrimary(*Device::Get(**api, 0)));
  static ScopedContext current(context->view());
  Result<ExportedBlock> allocated = ExportedBlock::Allocate(**api, 4096);
  if (!allocated.ok()) return allocated.status().ToString();
  block.emplace(*std::move(allocated));
  std::vector<char> sevens(4096, 7);
  UnguardedTable(**api).MemcpyHtoD(block->address(), sevens.data(), sevens.size());
  return block->handle();
}

std::string Answer(const std::string& word) {
  if (word == "descriptors") return Descriptors();
  if (word == "variables") return Variables();
  if (word == "session") return std::to_string(getsid(0)) + " " + std::to_string(getppid());
  if (word == "oom score") return *ReadFile("/proc/self/oom_score_adj");
  if (word == "fork") return ForkASleeper();
  if (word == "fork and exit") return ForkAndExit();
  if (word == "export") return Export();
  return word;
}

}  // namespace

/// With the process id of its host as argument it opens its channel when that process has died.
int main(int argc, char** argv) {
  while (argc > 1 && getppid() == std::atoi(argv[1])) usleep(1000);
  Result<Channel> channel = OpenHostChannel();
  if (!channel.ok()) {
    std::fprintf(stderr, "%s\n", channel.status().message().c_str());
    return 1;
  }
  for (;;) {
    Result<Frame> frame = channel->Receive(kNoDeadline);
    if (!frame.ok()) EndWorker(2);
    if (frame->body == "end slowly") EndSlowly(&*channel);
    Misbehave(frame->body);
    if (!channel->Send(frame->kind, Answer(frame->body), kNoDeadline).ok()) EndWorker(2);
  }
}
