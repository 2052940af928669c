#ifndef TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_
#define TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compile/command_toolchain.h"
#include "testing/tools.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce::testing {

/// The host's compiler, which notes what it compiles, and hangs where it is told to, until it is given up.
class WatchedToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override {
    TUNEONCE_ASSIGN_OR_RETURN(std::string version, host_.Version());
    return update > 0 ? version + ", update " + std::to_string(update) : version;
  }
  std::string Description() const override { return "watched"; }

  std::vector<std::string> compiled() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return compiled_;
  }
  int num_hung() const { return num_hung_; }
  int num_given_up() const { return num_given_up_; }  ///< Of those: by a limit shorter than that for one compile.
  std::string hangs_at;                               ///< A define's value: "TILE=256".
  int update = 0;  ///< Another number is another version of the compiler, which makes other code.

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    std::string defines;
    for (const std::string& define : source.defines) defines += define + " ";
    {
      std::lock_guard<std::mutex> lock(mutex_);
      compiled_.push_back(defines);
    }
    const bool hangs = !hangs_at.empty() && defines.find(hangs_at) != std::string::npos;
    num_hung_ += hangs ? 1 : 0;
    num_given_up_ += hangs && limits.timeout.count() < WaitLimits().timeout.count() / 2 ? 1 : 0;
    auto end = std::chrono::steady_clock::now() + limits.timeout;
    while (hangs) {
      if (limits.stop.stop_requested()) return CancelledError("given up");
      if (std::chrono::steady_clock::now() >= end) return DeadlineExceededError("it hangs");
      std::this_thread::yield();
    }
    KernelSource updated = source;
    if (update > 0) updated.content += "\nvolatile int tuneonce_update = " + std::to_string(update) + ";\n";
    return host_.Compile(updated, hints, target, limits);
  }

  CommandToolchain host_{kHostCompiler, Tools()};
  mutable std::mutex mutex_;
  mutable std::vector<std::string> compiled_;
  mutable std::atomic<int> num_hung_{0};
  mutable std::atomic<int> num_given_up_{0};
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_
