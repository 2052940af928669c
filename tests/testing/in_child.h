#ifndef TUNEONCE_TESTS_TESTING_IN_CHILD_H_
#define TUNEONCE_TESTS_TESTING_IN_CHILD_H_

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>

namespace tuneonce::testing {

/// InChild's exit code for a machine on which the test cannot be made.
inline constexpr int kCannotBeTested = 77;

/// Runs `body` in a child process, so that limits and settings of a whole process can be tried, and so that what would
/// end the test program is a failure. Returns 0 if all of its checks hold, 1 if one fails, 2 if it throws, what it gave
/// to _exit, or 1000 + the number of the signal that ended it.
template <typename Body>
int InChild(Body body) {
  std::fflush(nullptr);
  pid_t child = fork();
  if (child == 0) {
    try {
      body();
    } catch (const std::exception& e) {
      std::fprintf(stderr, "in the child: an exception: %s\n", e.what());
      _exit(2);
    }
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// A sanitizer's own memory is beyond any limit on addresses.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TUNEONCE_IS_SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(TUNEONCE_IS_SANITIZED)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

/// In a child: no more than `threads` threads from here on. Root is not bound by the limit: the child becomes nobody.
inline void LimitThreads(rlim_t threads) {
  const rlimit limit{threads, threads};
  if (geteuid() == 0 && setuid(65534) != 0) _exit(kCannotBeTested);
  if (setrlimit(RLIMIT_NPROC, &limit) != 0) _exit(kCannotBeTested);
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_IN_CHILD_H_
