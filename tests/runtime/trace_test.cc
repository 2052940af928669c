// The trace of a tune: what Perfetto shows of it. Checked by the rules of Chrome's Trace Event Format, and against what
// the search says that it cost.
#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/span.h"
#include "testing/runtimes.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using Json = nlohmann::json;

/// The events of a trace that are no names, once it is sure that it is well formed: fields and types are the format's,
/// and the spans of a line lie beside or within each other.
std::vector<Json> CheckedEvents(const std::string& text) {
  Json trace = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(trace.is_object()) << text.substr(0, 300);
  if (!trace.is_object()) return {};
  std::vector<Json> events;
  std::map<std::int64_t, std::vector<Json>> lines;
  for (const Json& event : trace["traceEvents"]) {
    EXPECT_TRUE(event["name"].is_string() && event["pid"].is_number_integer() && event["tid"].is_number_integer());
    if (event["ph"] == "M") {
      EXPECT_TRUE(event["args"]["name"].is_string()) << event;
      continue;
    }
    EXPECT_EQ(event["ph"], "X") << event;
    EXPECT_TRUE(event["ts"].is_number() && event["dur"].is_number() && event["args"].is_object()) << event;
    EXPECT_GE(event["ts"].get<double>(), 0);
    EXPECT_GE(event["dur"].get<double>(), 0);
    events.push_back(event);
    lines[event["tid"]].push_back(event);
  }
  constexpr double kRounding = 0.0021;  // Three digits after the point, of begin and duration.
  for (auto& [line, on_it] : lines) {
    auto end = [](const Json& event) { return event["ts"].get<double>() + event["dur"].get<double>(); };
    std::sort(on_it.begin(), on_it.end(), [&](const Json& a, const Json& b) {
      return a["ts"] != b["ts"] ? a["ts"].get<double>() < b["ts"].get<double>() : end(a) > end(b);
    });
    std::vector<Json> open;
    for (const Json& event : on_it) {
      while (!open.empty() && end(open.back()) <= event["ts"].get<double>() + kRounding) open.pop_back();
      if (!open.empty()) {
        EXPECT_LE(end(event), end(open.back()) + kRounding) << open.back() << " is crossed by " << event;
      }
      open.push_back(event);
    }
  }
  return events;
}

double Sum(const std::vector<Json>& events, const std::string& category, const char* argument) {
  double sum = 0;
  for (const Json& event : events) {
    if (event["cat"] == category && event["args"].contains(argument)) sum += event["args"][argument].get<double>();
  }
  return sum;
}

long Count(const std::vector<Json>& events, const std::string& category, const std::string& begin = "") {
  return std::count_if(events.begin(), events.end(), [&](const Json& event) {
    return event["cat"] == category && event["name"].get<std::string>().rfind(begin, 0) == 0;
  });
}

struct KeepResult : AutotuneObserver {
  // Called by each thread that tuned.
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override {
    std::lock_guard lock(mutex);
    result = tuned;
  }
  std::mutex mutex;
  TuningRecord result;  // Of the last search; read when none runs.
};

class TraceTest : public testing::TunedScaleTest {
 protected:
  TraceTest() {
    policy_.search.runtime = runtime_;
    policy_.observer = observer_;
  }

  std::shared_ptr<Runtime> runtime_ = testing::RuntimeIn({});
  std::shared_ptr<KeepResult> observer_ = std::make_shared<KeepResult>();
};

TEST_F(TraceTest, ItShowsAllThatASearchDidAndItsSumsAreTheCosts) {
  policy_.search.max_rounds = 20;
  policy_.search.final_rounds = 2;
  TunedKernel kernel = Create();
  runtime_->BeginTrace();
  Launch(kernel, 1000);
  std::vector<Json> events = CheckedEvents(runtime_->EndTrace());
  const TuningCost& cost = observer_->result.cost;
  ASSERT_EQ(observer_->result.successes().size(), 4u);
  EXPECT_EQ(Count(events, "compile"), 4);
  EXPECT_EQ(cost.num_compiled, 4);
  EXPECT_NEAR(Sum(events, "compile", "compile_s"), cost.compile_seconds, 1e-9);
  EXPECT_EQ(Sum(events, "compile", "from_cache"), 0);
  // Samples of the race and the final rounds, and the runs before it.
  EXPECT_NEAR((Sum(events, "sample", "us") + Sum(events, "load", "warmup_us")) * 1e-6, cost.gpu_seconds, 1e-9);
  EXPECT_EQ(Count(events, "race", "round of"), cost.num_rounds + 2);
  EXPECT_EQ(Count(events, "race", "race of 4"), 1);
  EXPECT_EQ(Count(events, "load", "prepare"), 4);
  EXPECT_EQ(Count(events, "load", "load"), 4);
  EXPECT_GE(Count(events, "verify"), 5) << "of each before the race, and of the selection after it";
  EXPECT_GE(Count(events, "warm-up", "run, timed"), 4);
  EXPECT_EQ(Count(events, "store", "write a record"), 1);
  EXPECT_GE(Count(events, "store", "look up a record"), 1);
  EXPECT_GE(Count(events, "wait", "wait for a compile slot"), 4);
  EXPECT_EQ(Count(events, "tune", "tune scale N=1000"), 1);
  for (const Json& event : events) {
    if (event["cat"] == "tune") {
      EXPECT_GE(event["dur"].get<double>() * 1e-6, cost.wall_seconds) << "the search lies within its span";
    }
    if (event["cat"] == "search") {
      EXPECT_EQ(event["args"]["best"], observer_->result.best.config.ToString());
    }
  }
}

TEST_F(TraceTest, AHitIsNotInItNorWhatWasBeforeOrIsAfterIt) {
  TunedKernel kernel = Create();
  Launch(kernel, 1000);
  runtime_->BeginTrace();
  Launch(kernel, 1000);
  EXPECT_TRUE(CheckedEvents(runtime_->EndTrace()).empty());
  Launch(kernel, 2000);
  EXPECT_TRUE(CheckedEvents(runtime_->EndTrace()).empty()) << "it is off";
}

TEST_F(TraceTest, ItIsBoundedAndSaysHowMuchIsMissing) {
  TunedKernel kernel = Create();
  runtime_->BeginTrace(/*max_events=*/5);
  Launch(kernel, 1000);
  std::string text = runtime_->EndTrace();
  EXPECT_EQ(CheckedEvents(text).size(), 5u);
  EXPECT_GT(Json::parse(text)["otherData"]["dropped_events"].get<int>(), 10);
}

TEST_F(TraceTest, FailuresAreInItAndWhateverTheyHoldItIsJson) {
  KernelDefinition definition = scale_.Definition("a \"kernel\" \\");
  definition.AddVariant(Variant([](const Config&, const Problem&) {
                          return KernelSource::CpuCpp("#error \"quoted\\\" \x1b", "scale");
                        }).Grid(Grid::Fixed(1)));
  TunedKernel kernel = Create(definition);
  KernelDefinition broken("broken");
  broken.Parameters({Out("y", kFloat32, {"N"})}).AddVariant(Variant([](const Config&, const Problem&) {
                                                              return KernelSource::CpuCpp("#error \"x\\\" \x1b", "k");
                                                            }).Grid(Grid::Fixed(1)));
  TunedKernel fails = Create(broken);
  runtime_->BeginTrace();
  Launch(kernel, 100);
  DeviceBuffer y = Floats({0});
  EXPECT_FALSE(fails.Launch(stream_->get(), testing::View(y)).ok());
  std::vector<Json> events = CheckedEvents(runtime_->EndTrace());
  EXPECT_GT(
      std::count_if(events.begin(), events.end(), [](const Json& event) { return event["args"].contains("failure"); }),
      0);
}

TEST_F(TraceTest, TwoRuntimesHaveTracesOfTheirOwn) {
  std::shared_ptr<Runtime> other = testing::RuntimeIn({});
  TunedKernel kernel = Create();
  runtime_->BeginTrace();
  other->BeginTrace();
  Launch(kernel, 1000);
  EXPECT_TRUE(CheckedEvents(other->EndTrace()).empty());
  EXPECT_FALSE(CheckedEvents(runtime_->EndTrace()).empty());
}

TEST_F(TraceTest, ManyThreadsMayTuneAndBeginAndEndItMeanwhile) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      ScopedContext current(context_->view());
      Stream stream = *Stream::Create(device_->api());
      TunedKernel kernel = Create(scale_.Definition("scale" + std::to_string(i)));
      EXPECT_OK(kernel.Warmup(stream.get(), {TunedKernel::Shape{{"N", 1000}}}));
    });
  }
  for (int i = 0; i < 50; ++i) {
    runtime_->BeginTrace();
    std::this_thread::yield();
    CheckedEvents(runtime_->EndTrace());
  }
  runtime_->BeginTrace();
  for (std::thread& thread : threads) thread.join();
  CheckedEvents(runtime_->EndTrace());
}

TEST(SpanTest, OneThatBeganBeforeTheTraceIsNotInIt) {
  Trace trace;
  trace.Begin(10);
  {
    Span old(&trace, "tune", "old");
    trace.End();
    trace.Begin(10);
    Span without(nullptr, "tune", "no trace");
    Span young(&trace, "tune", "young");
  }
  std::vector<Json> events = CheckedEvents(trace.End());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0]["name"], "young");
}

}  // namespace
}  // namespace tuneonce
