#ifndef TUNEONCE_TESTS_TESTING_PROCESS_MONITOR_H_
#define TUNEONCE_TESTS_TESTING_PROCESS_MONITOR_H_

#include <sys/resource.h>
#include <sys/wait.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace tuneonce::testing {

/// Whether this process has started any other since it was made, by what the kernel counts: what children that ended
/// have used (a process cannot start without a page fault), and children that did not end.
class ProcessMonitor {
 public:
  bool HasStartedOne() const {
    siginfo_t info{};
    bool has_child = waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    return has_child || Faults() != faults_;
  }

 private:
  static long Faults() {
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_minflt + used.ru_majflt;
  }

  const long faults_ = Faults();
};

/// Whether a library whose path has `part` is mapped into this process.
inline bool IsMapped(const std::string& part) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_PROCESS_MONITOR_H_
