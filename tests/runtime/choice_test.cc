// ChoiceOf: what a launch would run, why, and from where. Each answer is compared with what a launch then does.
#include <atomic>

#include "cuda/graph.h"
#include "store/memory_store.h"
#include "testing/tuned_scale_test.h"
#include "testing/work_timer.h"
#include "tuneonce/device_buffer.h"
#include "tuneonce/record_store.h"
#include "tuneonce/tuned_kernel.h"
#include "tuneonce/tuning_record.h"

namespace tuneonce {
namespace {

using testing::View;
using Because = Choice::Because;
using From = Choice::From;
using Mode = AutotunePolicy::Mode;
using Runs = Choice::Runs;

class ChoiceTest : public testing::TunedScaleTest {
 protected:
  ChoiceTest() { policy_.search.timer = &timer_; }
  TunedKernel Create(Mode mode) { return Create(mode, scale_.Definition()); }
  TunedKernel Create(Mode mode, const KernelDefinition& definition) {
    policy_.mode = mode;
    return TunedScaleTest::Create(definition);
  }
  /// By arguments and by shape, which must say the same.
  Choice ChoiceOf(const TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    const Counters before = kernel.counters();
    Result<Choice> choice = kernel.ChoiceOf(stream_->get(), View(x), View(y), 2.0f);
    Result<Choice> of_shape = kernel.ChoiceOf(stream_->get(), {{"N", static_cast<std::int64_t>(n)}});
    EXPECT_OK(choice);
    EXPECT_OK(of_shape);
    if (!choice.ok() || !of_shape.ok()) return Choice();
    EXPECT_EQ(choice->runs, of_shape->runs);
    EXPECT_EQ(choice->because, of_shape->because);
    EXPECT_EQ(choice->from, of_shape->from);
    EXPECT_EQ(choice->config, of_shape->config);
    EXPECT_EQ(choice->detail, of_shape->detail);
    // Asking changes nothing.
    const Counters after = kernel.counters();
    EXPECT_EQ(after.hits, before.hits);
    EXPECT_EQ(after.tunes, before.tunes);
    EXPECT_EQ(after.stored_hits, before.stored_hits);
    EXPECT_EQ(after.stand_ins, before.stand_ins);
    EXPECT_EQ(after.loaded_kernels, before.loaded_kernels);
    EXPECT_EQ(after.resident_entries, before.resident_entries);
    EXPECT_EQ(after.waiting_keys, before.waiting_keys);
    EXPECT_EQ(Read(y), std::vector<float>(n, 0)) << "nothing is launched";
    return *choice;
  }
  std::int64_t WorkOf(const Choice& choice) { return choice.config ? (*choice.config)[scale_.work] : -1; }

  testing::WorkTimer timer_;
};

TEST_F(ChoiceTest, AMissSearchesThenTheChoiceIsResidentAndSaysHowSureItIs) {
  TunedKernel kernel = Create(Mode::kTune);
  Choice choice = ChoiceOf(kernel);
  EXPECT_EQ(choice.runs, Runs::kSearch);
  EXPECT_EQ(choice.because, Because::kNoRecord);
  EXPECT_EQ(choice.from, From::kNowhere);
  EXPECT_FALSE(choice.config);
  EXPECT_EQ(choice.key, "N=1000, x:float32, y:float32");
  Launch(kernel, 1000);
  choice = ChoiceOf(kernel);
  EXPECT_EQ(choice.runs, Runs::kChoice);
  EXPECT_EQ(choice.because, Because::kResident);
  EXPECT_EQ(choice.from, From::kSearch);
  EXPECT_EQ(WorkOf(choice), 1);
  EXPECT_EQ(choice.variant, kernel.definition().variants().front().name);
  ASSERT_NE(choice.record, nullptr);
  EXPECT_GT(choice.record->measurement.mean_us, 0);
  EXPECT_TRUE(choice.record->is_complete);
  EXPECT_EQ(choice.record->timer, "work");
  EXPECT_TRUE(choice.record->candidates.empty()) << "kept for each key: without the others";
}

TEST_F(ChoiceTest, AStoredChoiceIsFoundWithoutLoadingIt) {
  TunedKernel first = Create(Mode::kTune);
  Launch(first, 1000);
  for (Mode mode : {Mode::kTune, Mode::kTuneInBackground, Mode::kStoredOnly}) {
    TunedKernel kernel = Create(mode);
    Choice choice = ChoiceOf(kernel);
    EXPECT_EQ(choice.runs, Runs::kChoice);
    EXPECT_EQ(choice.because, Because::kStored);
    EXPECT_EQ(choice.from, From::kStore);
    EXPECT_EQ(choice.match, RecordMatch::kExact);
    EXPECT_EQ(WorkOf(choice), 1);
    ASSERT_NE(choice.record, nullptr);
    Launch(kernel, 1000);
    EXPECT_EQ(kernel.counters().stored_hits, 1);
    choice = ChoiceOf(kernel);
    EXPECT_EQ(choice.because, Because::kResident);
    EXPECT_EQ(choice.from, From::kStore);
  }
}

TEST_F(ChoiceTest, AShippedRecordAndAnotherDriversAreSaidToBeThat) {
  auto shipped = std::make_shared<MemoryStore>();
  policy_.store = shipped;
  TunedKernel first = Create(Mode::kTune);
  Launch(first, 1000);
  TuningRecord record = shipped->List()->front();
  ASSERT_OK(shipped->Remove(record.key));
  record.key.driver_version -= 10;
  ASSERT_OK(shipped->Put(record));
  policy_.store = MakeLayeredStore(std::make_shared<MemoryStore>(), {shipped});
  TunedKernel strict = Create(Mode::kTune);
  EXPECT_EQ(ChoiceOf(strict).runs, Runs::kSearch) << "a record that policy does not let serve";
  policy_.weakest_match = RecordMatch::kOtherDriver;
  TunedKernel kernel = Create(Mode::kTune);
  for (int i = 0; i < 2; ++i) {
    Choice choice = ChoiceOf(kernel);
    EXPECT_EQ(choice.runs, Runs::kChoice);
    EXPECT_EQ(choice.from, From::kShipped);
    EXPECT_EQ(choice.match, RecordMatch::kOtherDriver);
    Launch(kernel, 1000);
  }
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(ChoiceTest, WhyAStandInRunsIsSaid) {
  struct Case {
    const char* what;
    Mode mode;
    std::function<void(TunedKernel&)> prepare;
    Because because;
    const char* detail;
  };
  std::atomic<bool> cancelled{true};
  const Case cases[] = {
      {"mode", Mode::kBaselineOnly, [](TunedKernel&) {}, Because::kMode, ""},
      {"no record, and no search", Mode::kStoredOnly, [](TunedKernel&) {}, Because::kNoRecord, ""},
      {"no search in a launch", Mode::kTuneInBackground, [](TunedKernel&) {}, Because::kNoRecord, ""},
      {"waits", Mode::kTuneInBackground, [&](TunedKernel& kernel) { Launch(kernel, 1000); }, Because::kWaits, ""},
      {"sealed", Mode::kTune, [](TunedKernel& kernel) { kernel.Seal(); }, Because::kSealed, ""},
      {"failed", Mode::kTune,
       [&](TunedKernel& kernel) {
         (void)kernel.Warmup(stream_->get(), {{{"N", 1000}}});
       },
       Because::kFailedTune, "cancelled"},
  };
  for (const Case& c : cases) {
    policy_.search.cancelled = std::string(c.what) == "failed" ? &cancelled : nullptr;
    policy_.retry_after_ms = 1000000;
    TunedKernel kernel = Create(c.mode);
    c.prepare(kernel);
    Choice choice = ChoiceOf(kernel);
    EXPECT_EQ(choice.runs, Runs::kStandIn) << c.what;
    EXPECT_EQ(choice.because, c.because) << c.what;
    EXPECT_EQ(choice.from, From::kNowhere) << c.what;
    EXPECT_EQ(WorkOf(choice), 100) << c.what << ": the baseline";
    EXPECT_NE(choice.detail.find(c.detail), std::string::npos) << c.what << ": " << choice.detail;
    const std::int64_t stand_ins = kernel.counters().stand_ins;
    if (c.mode != Mode::kStoredOnly) {  // Nobody compiled its stand-in.
      Launch(kernel, 1000);
      EXPECT_EQ(kernel.counters().stand_ins, stand_ins + 1) << c.what;
    }
  }
}

TEST_F(ChoiceTest, OnACapturingStreamItIsWhatACaptureRuns) {
  TunedKernel kernel = Create(Mode::kTune);
  DeviceBuffer x = Floats(std::vector<float>(1000, 3)), y = Floats(std::vector<float>(1000, 0));
  auto ask = [&](std::int64_t n) {
    Result<Choice> choice = InternalError("not asked");
    Result<GraphExec> graph = GraphExec::Capture(stream_->view(), [&](CUstream stream) {
      choice = kernel.ChoiceOf(stream, {{"N", n}});
      return Status();
    });
    EXPECT_OK(graph);
    return choice;
  };
  EXPECT_ERROR(ask(1000), StatusCode::kFailedPrecondition, "the stream is capturing and nothing is loaded");
  Launch(kernel, 1000);
  Result<Choice> resident = ask(1000);
  ASSERT_OK(resident);
  EXPECT_EQ(resident->runs, Runs::kChoice);
  // Another key whose stand-in alone is loaded.
  policy_.mode = Mode::kStoredOnly;
  std::atomic<bool> cancelled{true};
  policy_.search.cancelled = &cancelled;
  kernel = Create(Mode::kTune);
  (void)kernel.Warmup(stream_->get(), {{{"N", 2000}}});
  Result<Choice> stand_in = ask(2000);
  ASSERT_OK(stand_in);
  EXPECT_EQ(stand_in->because, Because::kCapture);
  EXPECT_EQ(WorkOf(*stand_in), 100);
}

TEST_F(ChoiceTest, AGuardAndATensorThatDoNotSuitAreNamed) {
  // A bucket of N whose winner has a guard that not all of its shapes meet.
  SearchSpace space = scale_.space;
  IntAxis work = scale_.work;
  space.AddGuard("at least 900",
                 [=](const Config& c, const Dims& dims) { return c[work] == 100 || dims[Dim{0}] >= 900; });
  KernelDefinition definition("guarded");
  definition.Parameters(scale_.Definition().parameters())
      .Key({KeyOf("N").NextPow2()})
      .Space(space)
      .AddVariant(Variant(scale_.Source()).Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(Mode::kTune, definition);
  Launch(kernel, 1000);
  EXPECT_EQ(ChoiceOf(kernel, 1000).runs, Runs::kChoice);
  EXPECT_EQ(ChoiceOf(kernel, 1000).key, "N<=1024, x:float32, y:float32");
  Choice choice = ChoiceOf(kernel, 600);
  EXPECT_EQ(choice.runs, Runs::kStandIn);
  EXPECT_EQ(choice.because, Because::kGuard);
  EXPECT_NE(choice.detail.find("guard 'at least 900' does not hold"), std::string::npos) << choice.detail;
  EXPECT_EQ(choice.from, From::kSearch) << "the choice that may not run";
  EXPECT_EQ(WorkOf(choice), 100);
  // A strided tensor: nothing suits it, and ChoiceOf is the error that a launch is.
  DeviceBuffer x = Floats(std::vector<float>(4000, 3)), y = Floats(std::vector<float>(1000, 0));
  TensorView strided = View(x);
  strided.shape[0] = 1000;
  strided.strides[0] = 4;
  Status launched = kernel.Launch(stream_->get(), strided, View(y), 2.0f);
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), strided, View(y), 2.0f), StatusCode::kInvalidArgument, "stride");
  EXPECT_EQ(kernel.ChoiceOf(stream_->get(), strided, View(y), 2.0f).status().message(), launched.message());
}

TEST_F(ChoiceTest, ACallThatAVariantDoesNotSuitHasAChoiceOfItsOwn) {
  KernelDefinition definition("aligned");
  definition.Parameters(scale_.Definition().parameters())
      .Space(scale_.space)
      .AddVariant(
          Variant(scale_.Source()).Named("fast").Grid(Grid::OneD({"N", scale_.tile})).Assuming({Aligned("x", 64)}))
      .AddVariant(Variant(scale_.Source()).Named("any").Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(Mode::kTune, definition);
  Launch(kernel, 1000);
  EXPECT_EQ(ChoiceOf(kernel).variant, "fast");
  DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
  TensorView unaligned = View(y);
  unaligned.data = static_cast<float*>(View(x).data) + 1;
  Result<Choice> choice = kernel.ChoiceOf(stream_->get(), unaligned, View(y), 2.0f);
  ASSERT_OK(choice);
  EXPECT_EQ(choice->runs, Runs::kSearch);
  EXPECT_EQ(choice->because, Because::kNoRecord);
  EXPECT_NE(choice->key.find(", without fast"), std::string::npos) << choice->key;
  ASSERT_OK(kernel.Launch(stream_->get(), unaligned, View(y), 2.0f));
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.ChoiceOf(stream_->get(), unaligned, View(y), 2.0f)->variant, "any");
  EXPECT_EQ(ChoiceOf(kernel).variant, "fast");
}

TEST_F(ChoiceTest, APinOfTheStoreServesCallsThatAVariantDoesNotSuitToo) {
  KernelDefinition definition("aligned");
  definition.Parameters(scale_.Definition().parameters())
      .Space(scale_.space)
      .AddVariant(
          Variant(scale_.Source()).Named("fast").Grid(Grid::OneD({"N", scale_.tile})).Assuming({Aligned("x", 64)}))
      .AddVariant(Variant(scale_.Source()).Named("any").Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel first = Create(Mode::kTune, definition);
  Launch(first, 1000);
  DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
  TensorView unaligned = View(y);
  unaligned.data = static_cast<float*>(View(x).data) + 1;
  auto asked = [&](TunedKernel& kernel) { return *kernel.ChoiceOf(stream_->get(), unaligned, View(y), 2.0f); };
  TunedKernel second = Create(Mode::kTune, definition);
  EXPECT_EQ(asked(second).from, From::kNowhere) << "what was measured is of the other variant's code";
  Config baseline = *scale_.space.baseline();
  TunedKernel::NamedConfig named;
  for (std::size_t i = 0; i < baseline.values().size(); ++i)
    named.emplace_back(baseline.AxisName(i), baseline.values()[i]);
  ASSERT_OK(second.Pin({{"N", 1000}}, named, TunedKernel::PinFor::kStore));
  const Choice choice = asked(second);
  EXPECT_EQ(choice.from, From::kPinned);
  EXPECT_EQ(choice.config, baseline);
  ASSERT_OK(second.Launch(stream_->get(), unaligned, View(y), 2.0f));
  EXPECT_EQ(second.counters().tunes, 0);
  EXPECT_EQ(asked(second).variant, "any");
}

TEST_F(ChoiceTest, WhatIsNoShapeOrNoArgumentsIsSaid) {
  TunedKernel kernel = Create(Mode::kTune);
  DeviceBuffer x = Floats({1, 2});
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), {{"M", 4}}), StatusCode::kInvalidArgument,
               "'M' is none of the kernel's");
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), TunedKernel::Shape()), StatusCode::kInvalidArgument, "the dim 'N'");
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), View(x)), StatusCode::kInvalidArgument, "argument");
  Result<Choice> nothing = kernel.ChoiceOf(stream_->get(), {{"N", 0}});
  ASSERT_OK(nothing);
  EXPECT_EQ(nothing->runs, Runs::kNothing);
}

}  // namespace
}  // namespace tuneonce
