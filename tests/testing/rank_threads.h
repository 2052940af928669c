#ifndef TUNEONCE_TESTS_TESTING_RANK_THREADS_H_
#define TUNEONCE_TESTS_TESTING_RANK_THREADS_H_

#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "testing/device_test.h"
#include "tuneonce/plugin/rank_group.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::testing {

/// The shape that ranks are warmed up for, and the baseline of ScaleKernel.
inline constexpr std::int64_t kScaleN = 1000;
inline constexpr char kScaleBaseline[] = "TILE=64, WORK=100";

/// What one rank has, on a thread of its own: a CPU device's context, a stream, and a kernel. Ranks share devices where
/// there are fewer (TUNEONCE_CPU_DEVICES).
class RankThread {
 public:
  RankThread(int its_rank, KernelDefinition definition, AutotunePolicy policy)
      : rank(its_rank), definition_(std::move(definition)), policy_(std::move(policy)) {}

  void Start() {
    Result<Device> first = OpenDevice("cpu");
    ASSERT_OK(first);
    Result<int> devices = Device::Count(first->api());
    ASSERT_OK(devices);
    Result<Device> device = Device::Get(first->api(), rank % *devices);
    ASSERT_OK(device);
    Result<Context> context = Context::RetainPrimary(*device);
    ASSERT_OK(context);
    context_.emplace(*std::move(context));
    current_.emplace(context_->view());
    Result<Stream> made = Stream::Create(device->api());
    ASSERT_OK(made);
    stream.emplace(*std::move(made));
    Result<TunedKernel> created = TunedKernel::Create(definition_, policy_);
    ASSERT_OK(created);
    kernel.emplace(*std::move(created));
  }

  CUstream cu_stream() const { return stream->get(); }
  Status Warmup(std::int64_t n) { return kernel->Warmup(cu_stream(), {{{"N", n}}}); }
  Status Launch(std::size_t n) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    TUNEONCE_RETURN_IF_ERROR(kernel->Launch(cu_stream(), View(x), View(y), 2.0f));
    std::vector<float> values(n);
    TUNEONCE_RETURN_IF_ERROR(y.CopyToHost(values.data(), y.bytes()));
    TUNEONCE_RETURN_IF_ERROR(stream->view().Synchronize());
    return values == std::vector<float>(n, 6) ? Status() : InternalError("it computed something else");
  }
  /// The config that a launch would run.
  std::string Runs(std::int64_t n) {
    Result<LaunchPlan> plan = kernel->Explain(cu_stream(), {{"N", n}});
    EXPECT_OK(plan);
    return plan.ok() && plan->config ? plan->config->ToString() : "";
  }
  LaunchPlan Explain(std::int64_t n) {
    Result<LaunchPlan> plan = kernel->Explain(cu_stream(), {{"N", n}});
    EXPECT_OK(plan);
    return plan.ok() ? *plan : LaunchPlan();
  }

  const int rank;
  std::optional<Stream> stream;
  std::optional<TunedKernel> kernel;

 private:
  DeviceBuffer Floats(const std::vector<float>& values) {
    Result<DeviceBuffer> buffer = DeviceBuffer::Allocate(stream->view(), values.size() * sizeof(float));
    EXPECT_OK(buffer);
    EXPECT_OK(buffer->CopyFromHost(values.data(), values.size() * sizeof(float)));
    EXPECT_OK(stream->view().Synchronize());
    return *std::move(buffer);
  }

  KernelDefinition definition_;
  AutotunePolicy policy_;
  std::optional<Context> context_;
  std::optional<ScopedContext> current_;
};

/// Ranks that are threads: what each does, by rank. A rank's kernel and stream end on its thread.
struct RankThreads {
  explicit RankThreads(int size) : groups(MakeThreadRanks(size)) {
    for (int rank = 0; rank < size; ++rank) {
      AutotunePolicy policy;
      policy.store = MakeMemoryStore();
      policy.search.max_rounds = 1;
      policy.ranks.group = groups[static_cast<std::size_t>(rank)];
      policy.ranks.silence_ms = 20000;
      policies.push_back(std::move(policy));
      definitions.push_back(ScaleKernel().Definition());
    }
  }

  void Run(const std::function<void(RankThread&)>& body) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      threads.emplace_back([&, i] {
        RankThread rank(static_cast<int>(i), definitions[i], policies[i]);
        rank.Start();
        if (rank.kernel) body(rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::vector<std::shared_ptr<RankGroup>> groups;
  std::vector<AutotunePolicy> policies;  // By rank.
  std::vector<KernelDefinition> definitions;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_RANK_THREADS_H_
