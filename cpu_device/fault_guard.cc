#include "fault_guard.h"

#include <csetjmp>
#include <csignal>
#include <memory>
#include <mutex>

namespace tuneonce::cpu_device {
namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
struct sigaction previous_actions[NSIG];

thread_local sigjmp_buf* volatile escape = nullptr;

void OnSignal(int signal, siginfo_t* info, void* context) {
  if (escape != nullptr) siglongjmp(*escape, signal);
  const struct sigaction& previous = previous_actions[signal];
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    std::signal(signal, SIG_DFL);  // The faulting instruction runs again and ends the process.
  } else {
    previous.sa_handler(signal);
  }
}

void InstallHandlers() {
  struct sigaction action {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (int signal : kSignals) sigaction(signal, &action, &previous_actions[signal]);
}

/// An alternate signal stack for as long as the thread lives.
class SignalStack {
 public:
  SignalStack() : memory_(new char[kBytes]) {
    stack_t stack{};
    stack.ss_sp = memory_.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, &previous_);
  }
  ~SignalStack() { sigaltstack(&previous_, nullptr); }

 private:
  static constexpr std::size_t kBytes = 64 * 1024;
  std::unique_ptr<char[]> memory_;
  stack_t previous_{};
};

}  // namespace

void PrepareThreadForFaults() {
  static std::once_flag once;
  std::call_once(once, InstallHandlers);
  thread_local SignalStack stack;
}

CUresult RunGuarded(const tuneonce_kernel& kernel, const tuneonce_block& block, void* const* parameters) {
  sigjmp_buf here;
  int signal = sigsetjmp(here, /*savemask=*/0);  // SA_NODEFER: no mask to restore, and no system call per block.
  if (signal != 0) {
    escape = nullptr;
    return signal == SIGSEGV || signal == SIGBUS ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_ERROR_LAUNCH_FAILED;
  }
  escape = &here;
  CUresult result = CUDA_SUCCESS;
  try {
    kernel.invoke(&block, parameters);
  } catch (...) {
    result = CUDA_ERROR_LAUNCH_FAILED;
  }
  escape = nullptr;
  return result;
}

}  // namespace tuneonce::cpu_device
