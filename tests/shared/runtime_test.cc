#include "tuneonce/runtime.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "base/file.h"
#include "compile/command_toolchain.h"
#include "compile/compile_slots.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/autotune_policy.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::MakeRuntime;
using testing::RuntimeIn;
using testing::View;

TEST(RuntimeTest, TheDefaultIsOneForTheProcess) {
  EXPECT_EQ(Runtime::Default(), Runtime::Default());
  EXPECT_EQ(Runtime::OrDefault(nullptr), Runtime::Default());
  std::shared_ptr<Runtime> other = RuntimeIn({});
  EXPECT_EQ(Runtime::OrDefault(other), other);
}

// Its threads, and drivers that know its functions, may still run the code.
TEST(RuntimeTest, APluginThatIsClosedStaysLoadedOnceItMadeARuntime) {
  for (bool is_used : {false, true}) {
    void* plugin = dlopen(TUNEONCE_CLOSED_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(plugin, nullptr) << dlerror();
    auto use = reinterpret_cast<bool (*)()>(dlsym(plugin, "MakeAndDestroyARuntime"));
    ASSERT_NE(use, nullptr);
    EXPECT_TRUE(!is_used || use());
    ASSERT_EQ(dlclose(plugin), 0);
    void* still = dlopen(TUNEONCE_CLOSED_PLUGIN, RTLD_NOW | RTLD_NOLOAD);
    EXPECT_EQ(still != nullptr, is_used);
    EXPECT_TRUE(still == nullptr || use());
  }
}

TEST(RuntimeTest, TheEnvironmentIsReadWhenARuntimeIsMade) {
  setenv("TUNEONCE_CXX", "first", 1);
  std::shared_ptr<Runtime> runtime = RuntimeIn({});
  setenv("TUNEONCE_CXX", "second", 1);
  EXPECT_EQ(runtime->environment().cxx, "first");
  EXPECT_EQ(RuntimeIn({})->environment().cxx, "second");
  EXPECT_EQ(RuntimeIn({{"TUNEONCE_CXX", "third"}})->environment().cxx, "third");
}

TEST(RuntimeTest, OptionsThatCannotBeUsedAreNamed) {
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_CPU_DEVICES", "0"}};
  EXPECT_ERROR(Runtime::Create(options), StatusCode::kInvalidArgument, "TUNEONCE_CPU_DEVICES is '0'");
  options.environment = {{"CXXFLAGS", "-O2"}};
  EXPECT_ERROR(Runtime::Create(options), StatusCode::kInvalidArgument, "'CXXFLAGS' is not a variable");
  options.environment.clear();
  options.compile_workers = -1;
  EXPECT_ERROR(Runtime::Create(options), StatusCode::kInvalidArgument, "compile_workers is -1");
}

TEST(RuntimeTest, EachHasItsOwnParts) {
  std::shared_ptr<Runtime> first = RuntimeIn({{"TUNEONCE_COMPILE_WORKERS", "3"}});
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_COMPILE_WORKERS", "3"}};
  options.compile_workers = 5;
  std::shared_ptr<Runtime> second = MakeRuntime(options);
  EXPECT_EQ(first->compile_slots().limit(), 3);
  EXPECT_EQ(second->compile_slots().limit(), 5) << "what is given beats the environment";
  EXPECT_NE(first->memory_store(), second->memory_store());
  EXPECT_NE(&first->toolchains(), &second->toolchains());
  EXPECT_EQ(first->store(), first->memory_store()) << "TUNEONCE_STORE=memory, here";
  EXPECT_NE(first->store(), second->store());
}

TEST(RuntimeTest, WhatIsGivenIsUsed) {
  RuntimeOptions options;
  options.store = MakeMemoryStore();
  options.toolchains = std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{});
  std::shared_ptr<Runtime> runtime = MakeRuntime(options);
  EXPECT_EQ(runtime->store(), options.store);
  EXPECT_EQ(&runtime->toolchains(), options.toolchains.get());
}

/// Keeps what a log is told.
struct Log {
  std::function<void(LogLevel, const std::string&)> Function() {
    return [this](LogLevel, const std::string& line) {
      std::lock_guard<std::mutex> lock(mutex);
      lines.push_back(line);
    };
  }
  std::mutex mutex;
  std::vector<std::string> lines;
};

TEST(RuntimeLogTest, WarningsGoToTheHostsFunctionAndNowhereElse) {
  Log log;
  RuntimeOptions options;
  options.log = log.Function();
  ::testing::internal::CaptureStderr();
  std::shared_ptr<Runtime> runtime = MakeRuntime(options);
  runtime->Warn("a");
  runtime->Warn("a");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(log.lines, (std::vector<std::string>{"a", "a"}));
  options.log = [](LogLevel, const std::string&) { throw std::runtime_error("full"); };
  MakeRuntime(options)->Warn("what throws is dropped");
}

TEST(RuntimeLogTest, WithoutOneEachLineIsSaidOnceOnStderr) {
  ::testing::internal::CaptureStderr();
  std::shared_ptr<Runtime> first = RuntimeIn({});
  std::shared_ptr<Runtime> second = RuntimeIn({});
  for (int i = 0; i < 2; ++i) first->Warn("a\nb");
  second->Warn("c");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tuneonce: a\\nb\ntuneonce: c\n");
}

TEST(RuntimeStoreTest, AStoreThatCannotBeOpenedIsAWarningAndMemoryServes) {
  TemporaryFolder folder = *testing::MakeFolder();
  ASSERT_OK(WriteFile(folder.path() + "/file", "no folder"));
  Log log;
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_STORE", folder.path() + "/file/store.db"}};
  options.log = log.Function();
  std::shared_ptr<Runtime> runtime = MakeRuntime(options);
  EXPECT_TRUE(log.lines.empty()) << "nothing was needed of it yet";
  EXPECT_EQ(runtime->store(), runtime->memory_store());
  EXPECT_EQ(runtime->store(), runtime->memory_store());
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("/file/store.db"), std::string::npos) << log.lines[0];
  EXPECT_NE(log.lines[0].find("records are kept in memory only"), std::string::npos) << log.lines[0];
}

TEST(RuntimeStoreTest, AFileWithoutANameIsNoStore) {
  EXPECT_ERROR(SqliteStore::Open({}), StatusCode::kInvalidArgument, "Runtime::Default()->store()");
}

/// Compiles as the built-in toolchain does, and counts.
class CountingToolchain final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCpuCpp; }
  Result<std::string> Version() const override { return host_.Version(); }
  std::string Description() const override { return "counting"; }
  int count() const { return count_; }
  bool states_code = true;  ///< Whether it sets Artifact::code_fingerprint.

 private:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const WaitLimits& limits) const override {
    ++count_;
    TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, host_.Compile(source, hints, target, limits));
    if (!states_code) artifact.code_fingerprint = Fingerprint();
    return artifact;
  }
  CommandToolchain host_{kHostCompiler, testing::Tools()};
  mutable std::atomic<int> count_{0};
};

class TwoRuntimesTest : public testing::CpuDeviceTest {
 protected:
  /// A launch of the scale kernel by a TunedKernel of the Runtime.
  Counters LaunchIn(const std::shared_ptr<Runtime>& runtime) {
    AutotunePolicy policy;
    policy.search.runtime = runtime;
    TunedKernel kernel = *TunedKernel::Create(testing::ScaleKernel().Definition(), policy);
    ScopedContext current(context_->view());  // On whatever thread.
    DeviceBuffer x = Floats(std::vector<float>(1000, 3));
    DeviceBuffer y = Floats(std::vector<float>(1000, 0));
    EXPECT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
    return kernel.counters();
  }
};

TEST_F(TwoRuntimesTest, CandidatesOfAToolchainThatStatesNoFingerprintOfCodeAreNoDuplicates) {
  auto toolchain = std::make_shared<CountingToolchain>();
  toolchain->states_code = false;
  AutotunePolicy policy;
  policy.search.runtime = testing::RuntimeWith(toolchain);
  policy.store = MakeMemoryStore();
  TunedKernel kernel = *TunedKernel::Create(testing::ScaleKernel().Definition(), policy);
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  ASSERT_OK(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
  EXPECT_EQ(policy.store->List()->front().successes().size(), 4u);
}

TEST_F(TwoRuntimesTest, EachTunesWithItsCompilerAndRemembersInItsStore) {
  TemporaryFolder folder = *testing::MakeFolder();
  std::shared_ptr<CountingToolchain> compilers[2];
  std::shared_ptr<Runtime> runtimes[2];
  for (int i : {0, 1}) {
    compilers[i] = std::make_shared<CountingToolchain>();
    RuntimeOptions options;
    options.environment = {{"TUNEONCE_STORE", folder.path() + "/" + std::to_string(i) + "/store.db"}};
    options.toolchains =
        std::make_shared<const ToolchainSet>(std::vector<std::shared_ptr<const Toolchain>>{compilers[i]});
    runtimes[i] = MakeRuntime(options);
  }
  EXPECT_EQ(LaunchIn(runtimes[0]).tunes, 1);
  EXPECT_EQ(compilers[0]->count(), 4);
  EXPECT_EQ(compilers[1]->count(), 0);
  EXPECT_EQ(runtimes[0]->store()->List()->size(), 1u);
  EXPECT_TRUE(runtimes[1]->store()->List()->empty()) << "what one learned the other does not know";
  EXPECT_EQ(LaunchIn(runtimes[1]).tunes, 1);
  EXPECT_EQ(compilers[1]->count(), 4) << "nor does it find its artifacts";
  EXPECT_EQ(LaunchIn(runtimes[0]).stored_hits, 1);
  EXPECT_EQ(compilers[0]->count(), 4);
}

TEST_F(TwoRuntimesTest, EnvironmentsDoNotMix) {
  std::shared_ptr<Runtime> disabled = RuntimeIn({{"DISABLE_AUTOTUNE", "1"}});
  std::shared_ptr<Runtime> tuning = RuntimeIn({{"DISABLE_AUTOTUNE", "0"}});
  std::shared_ptr<Runtime> without = RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  EXPECT_EQ(LaunchIn(disabled).tunes, 0);
  EXPECT_EQ(LaunchIn(tuning).tunes, 1);
  EXPECT_ERROR(without->toolchains().For(SourceKind::kCpuCpp).value()->Version(), StatusCode::kUnavailable,
               "/nowhere/c++");
  EXPECT_OK(tuning->toolchains().For(SourceKind::kCpuCpp).value()->Version());
}

TEST_F(TwoRuntimesTest, BothTuneAtOnceOnOneDevice) {
  std::shared_ptr<Runtime> runtimes[] = {RuntimeIn({}), RuntimeIn({})};
  std::thread other([&] { EXPECT_EQ(LaunchIn(runtimes[0]).tunes, 1); });
  EXPECT_EQ(LaunchIn(runtimes[1]).tunes, 1);
  other.join();
}

TEST_F(TwoRuntimesTest, ItLivesAsLongAsAKernelThatUsesIt) {
  std::shared_ptr<Runtime> runtime = RuntimeIn({});
  std::weak_ptr<Runtime> watched = runtime;
  {
    AutotunePolicy policy;
    policy.search.runtime = std::move(runtime);
    TunedKernel kernel = *TunedKernel::Create(testing::ScaleKernel().Definition(), policy);
    policy = AutotunePolicy();
    EXPECT_FALSE(watched.expired());
  }
  EXPECT_TRUE(watched.expired());
}

TEST_F(TwoRuntimesTest, AKernelsWarningsGoToItsRuntimesLog) {
  Log log;
  RuntimeOptions options;
  options.environment = {{"CUDA_INJECTION64_PATH", "/opt/nsys.so"}};
  options.log = log.Function();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(LaunchIn(MakeRuntime(options)).tunes, 1);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ASSERT_EQ(log.lines.size(), 1u);
  EXPECT_NE(log.lines[0].find("kernel 'scale': tuned under a profiler (/opt/nsys.so)"), std::string::npos);
}

/// Each test is a process of its own, in which nobody has opened the CPU device yet.
TEST(CpuDevicesOfARuntimeTest, ItHasAsManyAsItsRuntimeWants) {
  std::shared_ptr<Runtime> two = RuntimeIn({{"TUNEONCE_CPU_DEVICES", "2"}, {"TUNEONCE_CPU_MEMORY_MIB", "64"}});
  Result<Device> device = two->OpenDevice("cpu:1");
  ASSERT_OK(device);
  EXPECT_EQ(*Device::Count(device->api()), 2);
  EXPECT_EQ(device->Identity()->memory_bytes, 64u << 20);
  EXPECT_ERROR(two->OpenDevice("cpu:2"), StatusCode::kInvalidArgument, "no device 2");
}

TEST(CpuDevicesOfARuntimeTest, TheFirstThatOpensItDecidesAndWhoWantsMoreIsToldSo) {
  ASSERT_OK(RuntimeIn({{"TUNEONCE_CPU_DEVICES", "2"}, {"TUNEONCE_CPU_MEMORY_MIB", "64"}})->OpenDevice("cpu"));
  EXPECT_OK(RuntimeIn({})->OpenDevice("cpu:1"));  // It wants one, and there are two.
  EXPECT_ERROR(RuntimeIn({{"TUNEONCE_CPU_DEVICES", "3"}})->OpenDevice("cpu"), StatusCode::kFailedPrecondition,
               "already runs in this process, with 2 devices of 64 MiB each, but this Runtime needs 3");
  EXPECT_ERROR(RuntimeIn({{"TUNEONCE_CPU_MEMORY_MIB", "65"}})->OpenDevice("cpu"), StatusCode::kFailedPrecondition,
               "this Runtime needs 1 of 65 MiB");
}

}  // namespace
}  // namespace tuneonce
