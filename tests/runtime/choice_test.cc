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
  /// `fast`, for x at 64's multiples, and `any` behind it.
  KernelDefinition Aligned64() const {
    KernelDefinition definition("aligned");
    Variant any = Variant(scale_.Source()).Named("any").Grid(Grid::OneD({"N", scale_.tile}));
    Variant fast = any;
    definition.Parameters(scale_.Definition().parameters())
        .Space(scale_.space)
        .AddVariant(fast.Named("fast").Assuming({Aligned("x", 64)}))
        .AddVariant(any);
    return definition;
  }
  /// Of 1000 elements, of which x begins one behind an aligned address.
  Choice ChoiceOfUnaligned(const TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
    Result<Choice> choice = kernel.ChoiceOf(stream_->get(), Behind(x), View(y), 2.0f);
    EXPECT_OK(choice);
    return choice.ok() ? *choice : Choice();
  }
  void LaunchUnaligned(TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(1001, 3)), y = Floats(std::vector<float>(1000, 0));
    ASSERT_OK(kernel.Launch(stream_->get(), Behind(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(1000, 6));
  }
  static TensorView Behind(const DeviceBuffer& x) {
    return TensorView::Contiguous(static_cast<float*>(x.data()) + 1, DType::kFloat32, {1000});
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

TEST_F(ChoiceTest, ACompleteShippedRecordServesThoughTheUsersOwnWasCutShort) {
  auto tuned = std::make_shared<MemoryStore>();
  policy_.store = tuned;
  TunedKernel first = Create(Mode::kTune);
  Launch(first, 1000);
  const TuningRecord complete = tuned->List()->front();
  TuningRecord cut_short = complete;
  cut_short.is_complete = false;
  cut_short.config = complete.baseline->config;
  ASSERT_FALSE(cut_short.config.IsSame(complete.config));
  for (bool of_another_driver : {false, true}) {
    for (Mode mode : {Mode::kTune, Mode::kStoredOnly}) {
      SCOPED_TRACE(of_another_driver);
      TuningRecord shipped = complete;
      if (of_another_driver) shipped.key.driver_version -= 10;
      auto user = std::make_shared<MemoryStore>(), under = std::make_shared<MemoryStore>();
      ASSERT_OK(user->Put(cut_short));
      ASSERT_OK(under->Put(shipped));
      policy_.store = MakeLayeredStore(user, {under});
      policy_.weakest_match = of_another_driver ? RecordMatch::kOtherDriver : RecordMatch::kExact;
      TunedKernel kernel = Create(mode);
      Choice choice = ChoiceOf(kernel);
      EXPECT_EQ(choice.from, From::kShipped);
      EXPECT_EQ(choice.match, of_another_driver ? RecordMatch::kOtherDriver : RecordMatch::kExact);
      ASSERT_TRUE(choice.config.has_value());
      EXPECT_TRUE(choice.config->IsSame(complete.config));
      Launch(kernel, 1000);
      EXPECT_EQ(kernel.counters().stored_hits, 1);
      EXPECT_EQ(kernel.counters().tunes, 0);
    }
  }
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

TEST_F(ChoiceTest, ACallThatAVariantDoesNotSuitHasAKeyOfItsOwnThatNamesIt) {
  TunedKernel kernel = Create(Mode::kTune, Aligned64());
  Launch(kernel, 1000);
  EXPECT_EQ(ChoiceOf(kernel).variant, "fast");
  Choice choice = ChoiceOfUnaligned(kernel);
  EXPECT_EQ(choice.runs, Runs::kSearch);
  EXPECT_EQ(choice.because, Because::kNoRecord) << "what was measured is of the other variant";
  EXPECT_EQ(choice.from, From::kNowhere);
  EXPECT_FALSE(choice.config);
  EXPECT_EQ(choice.key, "N=1000, x:float32, y:float32, without fast");
  LaunchUnaligned(kernel);
  EXPECT_EQ(kernel.counters().tunes, 2);
  EXPECT_EQ(kernel.counters().stand_ins, 0);
  choice = ChoiceOfUnaligned(kernel);
  EXPECT_EQ(choice.because, Because::kResident);
  EXPECT_EQ(choice.variant, "any");
  EXPECT_EQ(ChoiceOf(kernel).variant, "fast") << "its own choice stays";
  EXPECT_EQ(ChoiceOf(kernel).key, "N=1000, x:float32, y:float32");
}

TEST_F(ChoiceTest, WhatIsPinnedOrImportedForAKeyServesItsCallsThatLeaveAVariantOutAndWhatIsMeasuredDoesNot) {
  TunedKernel measured = Create(Mode::kTune, Aligned64());
  Launch(measured, 1000);
  const TuningRecord of_search = policy_.store->List()->front();
  ASSERT_EQ(WorkOf(ChoiceOf(measured)), 1);
  struct Case {
    const char* what;
    std::function<void(TunedKernel&)> put;
    From from;
    Runs runs;
    std::int64_t work;  // The baseline's is 100, and 1 is what a search chooses.
    int tunes;
  };
  const Case cases[] = {
      {"pinned in the store",
       [](TunedKernel& kernel) {
         EXPECT_OK(kernel.Pin({{"N", 1000}}, {{"TILE", 256}, {"WORK", 100}}, TunedKernel::PinFor::kStore));
       },
       From::kPinned, Runs::kChoice, 100, 0},
      {"imported",
       [&](TunedKernel&) {
         TuningRecord record;
         record.key = of_search.key;
         record.key.driver_version = 0;
         record.config = of_search.config;
         record.reason = ChoiceReason::kImported;
         EXPECT_OK(policy_.store->Put(record));
       },
       From::kImported, Runs::kSearch, 1, 0},
      {"measured", [&](TunedKernel&) { EXPECT_OK(policy_.store->Put(of_search)); }, From::kNowhere, Runs::kSearch, -1,
       1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    policy_.store = std::make_shared<MemoryStore>();
    TunedKernel putting = Create(Mode::kTune, Aligned64());
    c.put(putting);
    ASSERT_EQ(policy_.store->List()->size(), 1u);
    TunedKernel kernel = Create(Mode::kTune, Aligned64());
    Choice choice = ChoiceOfUnaligned(kernel);
    EXPECT_EQ(choice.key, "N=1000, x:float32, y:float32, without fast");
    EXPECT_EQ(choice.from, c.from);
    EXPECT_EQ(choice.runs, c.runs);
    EXPECT_EQ(WorkOf(choice), c.work);
    EXPECT_EQ(choice.variant, c.runs == Runs::kChoice ? "any" : "") << "what a launch of unaligned tensors runs";
    for (TunedKernel* each : {&putting, &kernel}) LaunchUnaligned(*each);
    EXPECT_EQ(putting.counters().tunes, c.tunes);
    EXPECT_EQ(kernel.counters().tunes, 0) << "the other has put what it found";
    EXPECT_EQ(ChoiceOfUnaligned(kernel).variant, "any");
    EXPECT_EQ(WorkOf(ChoiceOfUnaligned(kernel)), c.from == From::kPinned ? 100 : 1);
  }
}

TEST_F(ChoiceTest, WhatIsNoShapeOrNoArgumentsIsSaid) {
  TunedKernel kernel = Create(Mode::kTune);
  DeviceBuffer x = Floats({1, 2});
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), {{"M", 4}}), StatusCode::kInvalidArgument, "'M' is unknown");
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), TunedKernel::Shape()), StatusCode::kInvalidArgument, "the dim 'N'");
  EXPECT_ERROR(kernel.ChoiceOf(stream_->get(), View(x)), StatusCode::kInvalidArgument, "argument");
  Result<Choice> nothing = kernel.ChoiceOf(stream_->get(), {{"N", 0}});
  ASSERT_OK(nothing);
  EXPECT_EQ(nothing->runs, Runs::kNothing);
}

}  // namespace
}  // namespace tuneonce
