// What a Runtime's log says, to whom, and what a host's function for it may do.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/environment.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using Host = std::function<void(LogLevel, const std::string&)>;

std::shared_ptr<Runtime> Logging(const std::string& level, Host host) {
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_LOG", level}};
  options.log = std::move(host);
  return testing::MakeRuntime(std::move(options));
}

TEST(LogTest, ALevelSaysWhatThoseBeforeItSay) {
  for (const auto& [level, expected] :
       {std::pair("", "w"), std::pair("warn", "w"), std::pair("info", "wi"), std::pair("debug", "wid")}) {
    std::string said;
    std::shared_ptr<Runtime> runtime = Logging(level, [&](LogLevel of, const std::string& line) {
      EXPECT_EQ(line, of == LogLevel::kWarn ? "w" : of == LogLevel::kInfo ? "i" : "d");
      said += line;
    });
    runtime->Warn("w");
    runtime->Log(LogLevel::kInfo, "i");
    runtime->Log(LogLevel::kDebug, "d");
    EXPECT_EQ(said, expected);
    EXPECT_EQ(runtime->Logs(LogLevel::kInfo), said.size() > 1);
  }
}

TEST(LogTest, AnUnknownLevelIsAnErrorWhereItWasGivenAndPassedOverInTheProcess) {
  RuntimeOptions options;
  options.environment = {{"TUNEONCE_LOG", "verbose"}};
  EXPECT_ERROR(Runtime::Create(options), StatusCode::kInvalidArgument,
               "TUNEONCE_LOG is 'verbose': it must be one of: warn, info, debug");
  setenv("TUNEONCE_LOG", "verbose", 1);
  EXPECT_EQ(Environment::Read().log, "warn");
  setenv("TUNEONCE_LOG", "debug", 1);
  EXPECT_TRUE(testing::RuntimeIn({})->Logs(LogLevel::kDebug));
  unsetenv("TUNEONCE_LOG");
}

/// In a process of its own, whose default Runtime is not made yet.
TEST(LogDeathTest, TheDefaultRuntimeWarnsOfAMisspelledVariable) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  auto use = [] {
    setenv("TUNEONCE_STOER", "memory", 1);
    Runtime::Default();
    std::exit(0);
  };
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(0), "'TUNEONCE_STOER' is not a variable that this library reads");
}

TEST(LogTest, OnStderrLevelsAreMarkedAndWarningsAloneAreSaidOnce) {
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn({{"TUNEONCE_LOG", "debug"}});
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) {
    runtime->Warn("w");
    runtime->Log(LogLevel::kInfo, "i");
  }
  runtime->Log(LogLevel::kDebug, "d");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "tuneonce: w\ntuneonce [info]: i\ntuneonce [info]: i\ntuneonce [debug]: d\n");
}

TEST(LogTest, ALineIsOnePrintableLineWhateverItWasMadeOf) {
  const std::string hostile = "a\nforged\r\x1b[2J\xff\xe2\x80\xae\x01";
  const std::string harmless = "a\\nforged\\r\\x1b[2J\\xff\\u202e\\x01";
  std::string said;
  Logging("info", [&](LogLevel, const std::string& line) { said = line; })->Log(LogLevel::kInfo, hostile);
  EXPECT_EQ(said, harmless);
  ::testing::internal::CaptureStderr();
  testing::RuntimeIn({})->Warn(hostile);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tuneonce: " + harmless + "\n");
}

TEST(LogTest, WhatTheHostsFunctionSaysItselfIsLeftOutAndWhatItThrowsIsDropped) {
  int calls = 0;
  std::shared_ptr<Runtime> runtime;
  std::shared_ptr<Runtime> other = Logging("warn", [&](LogLevel, const std::string&) { runtime->Warn("and back"); });
  runtime = Logging("warn", [&](LogLevel, const std::string&) {
    ++calls;
    runtime->Warn("from within");
    other->Warn("to another one");
    throw std::runtime_error("full");
  });
  runtime->Warn("a");
  runtime->Warn("b");
  EXPECT_EQ(calls, 2) << "the second is said, although the first threw";
  runtime->Warn("c");
  EXPECT_EQ(calls, 3);
}

/// The first call waits for the second, of another thread: with a lock round them it would wait for ever.
TEST(LogTest, ASlowHostHoldsUpNoOtherThread) {
  std::mutex mutex;
  std::condition_variable changed;
  int inside = 0;
  std::shared_ptr<Runtime> runtime = Logging("warn", [&](LogLevel, const std::string&) {
    std::unique_lock<std::mutex> lock(mutex);
    ++inside;
    changed.notify_all();
    changed.wait(lock, [&] { return inside == 2; });
  });
  std::thread first([&] { runtime->Warn("a"); });
  std::thread second([&] { runtime->Warn("b"); });
  first.join();
  second.join();
  EXPECT_EQ(inside, 2);
}

TEST(LogTest, OfManyThreadsEveryLineComesWhole) {
  constexpr int kThreads = 8, kEach = 200;
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn({{"TUNEONCE_LOG", "info"}});
  ::testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const std::string line(static_cast<std::size_t>(100 + i), static_cast<char>('a' + i));
      for (int each = 0; each < kEach; ++each) runtime->Log(LogLevel::kInfo, line);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::istringstream said(::testing::internal::GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(said, line); ++count) {
    const char letter = line.back();
    EXPECT_EQ(line, "tuneonce [info]: " + std::string(static_cast<std::size_t>(100 + letter - 'a'), letter));
  }
  EXPECT_EQ(count, kThreads * kEach);
}

class LogOfTunesTest : public testing::CpuDeviceTest {
 protected:
  void Tune(const std::shared_ptr<Runtime>& runtime, TunedKernel* kept = nullptr) {
    AutotunePolicy policy;
    policy.search.runtime = runtime;
    TunedKernel kernel = *TunedKernel::Create(testing::ScaleKernel().Definition(), policy);
    Launch(kernel);
    Launch(kernel);
    if (kept != nullptr) *kept = std::move(kernel);
  }
  void Launch(TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
    EXPECT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
  }
};

TEST_F(LogOfTunesTest, InfoTellsOfKeysDebugOfCandidatesAndAHitSaysNothing) {
  std::vector<std::string> info, debug;
  std::shared_ptr<Runtime> runtime = Logging("debug", [&](LogLevel level, const std::string& line) {
    (level == LogLevel::kInfo ? info : debug).push_back(line);
  });
  Tune(runtime);
  ASSERT_EQ(info.size(), 3u);
  EXPECT_NE(info[0].find("kernel 'scale', N=1000, x:float32, y:float32: the store has no selection"), std::string::npos)
      << info[0];
  EXPECT_NE(info[1].find("a search begins among 4 configs"), std::string::npos) << info[1];
  EXPECT_NE(info[2].find("4 measured, 0 failed"), std::string::npos) << info[2];
  EXPECT_EQ(debug.size(), 9u) << "four compiled, four right, one race";
  info.clear();
  debug.clear();
  Tune(runtime);
  EXPECT_EQ(info.size(), 1u) << "stored";
  EXPECT_TRUE(debug.empty());
}

TEST_F(LogOfTunesTest, ALaunchFromWithinIsAnErrorAndTheSearchGoesOn) {
  TunedKernel other = *TunedKernel::Create(testing::ScaleKernel().Definition("other"));
  DeviceBuffer x = Floats({1}), y = Floats({0});
  int calls = 0;
  Tune(Logging("debug", [&](LogLevel, const std::string&) {
    ++calls;
    EXPECT_ERROR(other.Launch(stream_->get(), testing::View(x), testing::View(y), 2.0f),
                 StatusCode::kFailedPrecondition, "from inside a callback");
    throw std::runtime_error("full");
  }));
  EXPECT_GT(calls, 5);
}

}  // namespace
}  // namespace tuneonce
