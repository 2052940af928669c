#ifndef TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_
#define TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "compile/host_toolchain.h"
#include "testing/tools.h"
#include "tuneonce/toolchain.h"

namespace tuneonce::testing {

/// The host's compiler, which notes what it compiles, and hangs where it is told to, until it is given up.
class WatchedToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kHostCpp; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "watched"; }

  std::vector<std::string> compiled() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return compiled_;
  }
  std::string hangs_at;  ///< A define's value: "TILE=256".

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    std::string defines;
    for (const std::string& define : source.defines) defines += define + " ";
    {
      std::lock_guard<std::mutex> lock(mutex_);
      compiled_.push_back(defines);
    }
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(limits.timeout_ms);
    while (!hangs_at.empty() && defines.find(hangs_at) != std::string::npos) {
      if (limits.cancelled != nullptr && limits.cancelled->load()) return CancelledError("given up");
      if (std::chrono::steady_clock::now() >= end) return DeadlineExceededError("it hangs");
      std::this_thread::yield();
    }
    return host_.Compile(source, hints, target, limits);
  }

  HostToolchain host_{Tools()};
  mutable std::mutex mutex_;
  mutable std::vector<std::string> compiled_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_WATCHED_TOOLCHAIN_H_
