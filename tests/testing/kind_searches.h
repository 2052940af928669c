#ifndef TUNEONCE_TESTS_TESTING_KIND_SEARCHES_H_
#define TUNEONCE_TESTS_TESTING_KIND_SEARCHES_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/exhaustive_search.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce::testing {

/// Searches on a device among kernels of which some do what they must not: y = 2 * x over kElements elements.
template <typename OnDevice, std::int64_t kElements>
class KindSearches : public OnDevice {
 protected:
  static constexpr std::int64_t kN = kElements;

  explicit KindSearches(double candidate_deadline_ms) {
    options_.quiet = true;
    options_.runtime = RuntimeIn({});
    options_.candidate_deadline_ms = candidate_deadline_ms;
  }

  /// EXPECTs that nothing of the caller's changes.
  Result<TuningRecord> Search(const KernelDefinition& definition) {
    DeviceBuffer x = this->Floats(std::vector<float>(kN, 3)), y = this->Floats(std::vector<float>(kN, 7));
    const TensorView x_view = View(x), y_view = View(y);
    Result<TuningRecord> result = exhaustive_search(definition, this->stream_->get(), {x_view, y_view}, options_);
    EXPECT_TRUE(this->Read(x) == std::vector<float>(kN, 3)) << "the caller's input is damaged";
    EXPECT_TRUE(this->Read(y) == std::vector<float>(kN, 7)) << "the caller's output is damaged";
    return result;
  }
  /// Failures by config: "crash: ...".
  static std::map<std::string, std::string> Failures(const TuningRecord& result) {
    std::map<std::string, std::string> failures;
    for (const CandidateOutcome& failure : result.failures()) {
      failures[failure.config.ToString()] = std::string(OutcomeName(failure.kind)) + ": " + failure.message;
    }
    return failures;
  }
  /// KIND from 0 to 28, and one that wants more memory than there is.
  static std::vector<std::int64_t> Thirty() {
    std::vector<std::int64_t> kinds;
    for (std::int64_t kind = 0; kind < 29; ++kind) kinds.push_back(kind);
    kinds.push_back(1000);
    return kinds;
  }

  SearchOptions options_;
};

/// Something of the host's that computes in its context from now on, until it is stopped.
class HostAtWork {
 public:
  HostAtWork(const DriverApi& api, ContextView context) : thread_([this, &api, context] { Run(api, context); }) {}
  ~HostAtWork() { Stop(); }

  void Stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  int computed() const { return computed_; }
  int failed() const { return failed_; }

 private:
  void Run(const DriverApi& api, ContextView context) {
    ScopedContext current(context);
    Stream stream = *Stream::Create(api);
    DeviceBuffer buffer = *DeviceBuffer::Allocate(stream.view(), 4096);
    std::vector<char> bytes(4096);
    while (!over_) {
      const auto value = static_cast<char>(++computed_);
      bool fine = buffer.Fill(static_cast<unsigned char>(value)).ok() &&
                  buffer.CopyToHost(bytes.data(), bytes.size()).ok() && stream.view().Synchronize().ok();
      if (!fine || bytes != std::vector<char>(4096, value)) ++failed_;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  std::atomic<bool> over_{false};
  std::atomic<int> computed_{0}, failed_{0};
  std::thread thread_;  // The last: it uses the others.
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_KIND_SEARCHES_H_
