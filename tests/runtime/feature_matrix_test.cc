// What meets what: launch paths, keys, variants, stores, modes, devices, shared memory and a missing compiler, in pairs.
// What each case must do is computed by an Oracle, which was written from docs/modes.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <thread>

#include "base/temporary_folder.h"
#include "cuda/graph.h"
#include "runtime/feature_matrix/case.h"
#include "runtime/feature_matrix/matrix_kernel.h"
#include "runtime/feature_matrix/oracle.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/record_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::AllPairs;
using testing::Case;
using testing::Factors;
using testing::ImpossiblePair;
using testing::ImpossiblePairs;
using testing::KeyKind;
using testing::MatrixCall;
using testing::MemoToolchain;
using testing::Mode;
using testing::Oracle;
using testing::Path;
using testing::StoreState;
using testing::VariantKind;

/// A store that fails whatever it is asked.
class FailingStore final : public RecordStore {
 public:
  Result<RecordLookup> Lookup(const TuningKey&) const override { return Why(); }
  Status Put(const TuningRecord&) override { return Why(); }
  Result<std::vector<TuningRecord>> List() const override { return Why(); }
  Status Remove(const TuningKey&) override { return Why(); }

 private:
  static Status Why() { return UnavailableError("this store is broken"); }
};

/// Takes cubins as they are, as the Runtime's own does, beside a compiler of the test's.
class CubinsAsTheyAre final : public Toolchain {
 public:
  SourceKind source_kind() const override { return SourceKind::kCubin; }
  Result<std::string> Version() const override { return Own().Version(); }
  std::string Description() const override { return Own().Description(); }

 protected:
  Result<Artifact> DoCompile(const KernelSource& source, const Hints& hints, const Target& target,
                             const CompileLimits& limits) const override {
    return Own().Compile(source, hints, target, limits);
  }

 private:
  static const Toolchain& Own() { return **Runtime::Default()->toolchains().For(SourceKind::kCubin); }
};

/// A device, with a context and a stream.
struct Place {
  Device device;
  Context context;
  std::optional<Stream> stream;
};

class FeatureMatrixTest : public ::testing::TestWithParam<Case> {
 protected:
  FeatureMatrixTest() : folder_(*testing::MakeFolder()), kernel_(GetParam(), folder_.path()), oracle_(GetParam()) {}

  void SetUp() override {
    const int wanted = case_.devices() == testing::Devices::kOne ? 1 : 2;
    Result<Device> first = OpenDevice("cpu");
    ASSERT_OK(first);
    if (*Device::Count(first->api()) != wanted) GTEST_SKIP() << "needs TUNEONCE_CPU_DEVICES=" << wanted;
    for (int i = 0; i < wanted; ++i) {
      Device device = *OpenDevice("cpu:" + std::to_string(i));
      places_.push_back({device, *Context::RetainPrimary(device), {}});
      Use(i);
      places_.back().stream.emplace(*Stream::Create(device.api()));
      if (case_.variant() == VariantKind::kCallable) {
        ASSERT_NO_FATAL_FAILURE(kernel_.PrepareCallable(device));
      }
    }
    if (case_.variant() == VariantKind::kFiles) {
      ASSERT_NO_FATAL_FAILURE(kernel_.WriteFiles());
    }
    Use(0);
    ASSERT_NO_FATAL_FAILURE(PrepareStore());
  }
  void TearDown() override {
    tuned_.reset();
    current_.reset();
  }

  void Use(int device) {
    current_.reset();
    current_.emplace(places_[static_cast<std::size_t>(device)].context.view());
    device_ = device;
    oracle_.Use(device);
  }
  StreamView stream() const { return places_[static_cast<std::size_t>(device_)].stream->view(); }

  std::shared_ptr<SqliteStore> OpenStore(const std::string& name, bool read_only = false) {
    SqliteStoreOptions options;
    options.path = folder_.path() + "/" + name + "/store.db";
    options.read_only = read_only;
    return *SqliteStore::Open(options);
  }
  AutotunePolicy PolicyWith(std::shared_ptr<RecordStore> store, bool has_compiler) {
    toolchain_ = std::make_shared<MemoToolchain>(/*is_missing=*/!has_compiler);
    RuntimeOptions options;
    options.log = [](const std::string&) {};
    options.toolchains = std::make_shared<const ToolchainSet>(
        std::vector<std::shared_ptr<const Toolchain>>{toolchain_, std::make_shared<CubinsAsTheyAre>()});
    AutotunePolicy policy;
    policy.search.runtime = testing::MakeRuntime(std::move(options));
    policy.search.timer = &timer_;
    policy.search.max_rounds = 1;
    policy.store = std::move(store);
    policy.retry_after_ms = 3600000;  // No failure's pause is over while a case runs.
    return policy;
  }
  /// What is there when the case begins.
  void PrepareStore() {
    oracle_.Prepare(first_);
    if (case_.store() == StoreState::kEmpty) store_ = OpenStore("user");
    if (case_.store() == StoreState::kFailing) store_ = std::make_shared<FailingStore>();
    if (store_ != nullptr) return;
    std::shared_ptr<RecordStore> made = OpenStore("made");
    TunedKernel other = *TunedKernel::Create(kernel_.Definition(), PolicyWith(made, /*has_compiler=*/true));
    Arguments arguments(*this, stream(), first_);
    ASSERT_OK(other.WarmupArguments(stream().get(), arguments.list.data(), arguments.list.size()));
    TuningRecord record = (*made->List()).at(0);
    store_ = made;
    if (case_.store() == StoreState::kWithoutArtifact) store_ = OpenStore("user");
    if (case_.store() == StoreState::kIncomplete) record.is_complete = false, record.num_not_measured = 1;
    if (case_.store() == StoreState::kOtherDriver) ASSERT_OK(store_->Remove(record.key));
    if (case_.store() == StoreState::kOtherDriver) record.key.driver_version = 1;
    if (case_.store() != StoreState::kComplete) ASSERT_OK(store_->Put(record));
    if (case_.store() == StoreState::kShipped) {
      made.reset();
      store_ = MakeLayeredStore(OpenStore("user"), {OpenStore("made", /*read_only=*/true)});
    }
  }

  /// Device memory for one call, and the arguments that are passed.
  struct Arguments {
    Arguments(const FeatureMatrixTest& test, StreamView stream, const MatrixCall& its_call) : call(its_call) {
      const bool is_strided = !call.is_regular && test.case_.variant() == VariantKind::kStrided;
      const std::int64_t n = call.n, stride = is_strided ? 2 : 1, offset = call.is_regular || is_strided ? 0 : 1;
      DType dtype = call.is_int ? DType::kInt32 : DType::kFloat32;
      std::vector<std::uint32_t> values(static_cast<std::size_t>(n * stride + offset) + 4, Bits(99));
      for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(offset + i * stride)] = Bits(3);
      x.emplace(*DeviceBuffer::Allocate(stream, values.size() * 4));
      y.emplace(*DeviceBuffer::Allocate(stream, static_cast<std::size_t>(n) * 4 + 4));
      EXPECT_OK(x->CopyFromHost(values.data(), values.size() * 4));
      EXPECT_OK(y->Fill(0));
      EXPECT_OK(stream.Synchronize());
      x_view = TensorView::Strided(static_cast<float*>(x->data()) + offset, dtype, &n, &stride, 1);
      y_view = TensorView::Contiguous(y->data(), dtype, {n});
      list = {x_view, y_view, call.factor};
    }
    std::uint32_t Bits(float value) const {
      std::uint32_t bits = static_cast<std::uint32_t>(value);
      if (!call.is_int) std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    }
    void ExpectRight(StreamView stream) const {
      std::vector<std::uint32_t> got(static_cast<std::size_t>(call.n));
      if (call.n > 0) EXPECT_OK(y->CopyToHost(got.data(), got.size() * 4));
      EXPECT_OK(stream.Synchronize());
      EXPECT_EQ(got, std::vector<std::uint32_t>(got.size(), Bits(3 * call.factor)));
    }

    const MatrixCall call;
    std::optional<DeviceBuffer> x, y;
    TensorView x_view, y_view;
    std::vector<Argument> list;
  };

  void Start() {
    policy_ = PolicyWith(store_, case_.compiler() == testing::Compiler::kPresent);
    policy_.mode = case_.mode();
    tuned_.emplace(*TunedKernel::Create(kernel_.Definition(), policy_));
  }
  void ExpectCounters() {
    const Counters got = tuned_->counters(), &wanted = oracle_.counters();
    EXPECT_EQ(got.hits, wanted.hits);
    EXPECT_EQ(got.tunes, wanted.tunes);
    EXPECT_EQ(got.stored_hits, wanted.stored_hits);
    EXPECT_EQ(got.stand_ins, wanted.stand_ins);
    EXPECT_EQ(got.sealed_misses, wanted.sealed_misses);
    EXPECT_EQ(got.capture_misses, wanted.capture_misses);
    EXPECT_EQ(got.failed_tunes, wanted.failed_tunes);
    EXPECT_EQ(got.waiting_keys, oracle_.num_waiting());
    if (!oracle_.may_have_compiled()) {
      EXPECT_EQ(toolchain_->num_asked(), 0) << "was compiled";
    }
  }
  void Launch(const MatrixCall& call) {
    Arguments arguments(*this, stream(), call);
    tuneonce_matrix_ran = 0;
    const Oracle::Answer answer = oracle_.Launch(call);
    Status launched = tuned_->LaunchArguments(stream().get(), arguments.list.data(), arguments.list.size());
    EXPECT_EQ(launched.code(), answer.code) << launched.ToString();
    if (launched.ok()) arguments.ExpectRight(stream());
    if (launched.ok()) {
      EXPECT_EQ(tuneonce_matrix_ran, answer.ran.mark());
    }
    ExpectCounters();
  }
  void Capture(const MatrixCall& call) {
    Arguments arguments(*this, stream(), call);
    const Oracle::Answer answer = oracle_.Launch(call, /*is_captured=*/true);
    Status launched;
    Result<GraphExec> graph = GraphExec::Capture(stream(), [&](CUstream captured) {
      launched = tuned_->LaunchArguments(captured, arguments.list.data(), arguments.list.size());
      return Status();
    });
    ASSERT_OK(graph);
    EXPECT_EQ(launched.code(), answer.code) << launched.ToString();
    tuneonce_matrix_ran = 0;
    if (launched.ok()) ASSERT_OK(graph->Launch(stream().get()));
    if (launched.ok()) arguments.ExpectRight(stream());
    EXPECT_EQ(tuneonce_matrix_ran, answer.ran.mark());
    ExpectCounters();
  }
  void Warmup(const MatrixCall& call, bool by_shape) {
    Arguments arguments(*this, stream(), call);
    const StatusCode code = oracle_.Warmup(call);
    TunedKernel::Shape shape({{"N", call.n}}, {});
    if (case_.key() == KeyKind::kDType) {
      DType dtype = arguments.x_view.dtype;
      shape.dtypes = {{"x", dtype}, {"y", dtype}};
    }
    Status warmed = by_shape
                        ? tuned_->Warmup(stream().get(), {shape})
                        : tuned_->WarmupArguments(stream().get(), arguments.list.data(), arguments.list.size());
    EXPECT_EQ(warmed.code(), code) << warmed.ToString();
    ExpectCounters();
  }
  void AtSafePoint() {
    const StatusCode code = oracle_.AtSafePoint();
    Status status = tuned_->AtSafePoint(stream().get());
    EXPECT_EQ(status.code(), code) << status.ToString();
    ExpectCounters();
  }
  /// One of them may run the stand-in, as it finds the key busy; which is not known, and so not what is counted of it.
  void LaunchOnTwoThreads(const MatrixCall& call) {
    const Oracle::Answer answer = oracle_.Launch(call);
    const bool has_stand_in = oracle_.HasStandIn(call);
    auto launch = [&] {
      ScopedContext current(places_[static_cast<std::size_t>(device_)].context.view());
      Stream own = *Stream::Create(places_[static_cast<std::size_t>(device_)].device.api());
      Arguments arguments(*this, own.view(), call);
      Status launched = tuned_->LaunchArguments(own.get(), arguments.list.data(), arguments.list.size());
      EXPECT_TRUE(launched.code() == answer.code || (!has_stand_in && launched.code() == StatusCode::kUnavailable))
          << launched.ToString();
      if (launched.ok()) arguments.ExpectRight(own.view());
    };
    std::thread one(launch), other(launch);
    one.join();
    other.join();
    Counters counted = oracle_.counters();
    const Counters got = tuned_->counters();
    counted.hits = got.hits;
    counted.stand_ins = got.stand_ins;
    oracle_.set_counters(counted);
    ExpectCounters();
  }
  void TakePath() {
    switch (case_.path()) {
      case Path::kLaunch:
        return Launch(first_);
      case Path::kWarmupByShape:
      case Path::kWarmupByArguments:
        Warmup(first_, case_.path() == Path::kWarmupByShape);
        return Launch(first_);
      case Path::kCaptureAfterWarmup:
        Warmup(first_, /*by_shape=*/false);
        return Capture(first_);
      case Path::kCaptureOnMiss:
        Capture(first_);
        return Launch(first_);
      case Path::kAfterSeal:
        Warmup(first_, /*by_shape=*/true);
        tuned_->Seal();
        oracle_.Seal();
        return Launch(first_);
      case Path::kAtSafePoint:
        Launch(first_);
        AtSafePoint();
        return Launch(first_);
      case Path::kTwoThreads:
        LaunchOnTwoThreads(first_);
        return Launch(first_);
    }
  }
  void ExpectRecords() {
    if (case_.store() == StoreState::kFailing) return;
    Result<std::vector<TuningRecord>> records = store_->List();
    ASSERT_OK(records);
    std::vector<std::string> lines;
    for (const TuningRecord& record : *records) {
      lines.push_back(record.tuned_at + (record.key.driver_version == 1 ? " other driver" : "") +
                      (record.is_complete ? "" : " incomplete"));
    }
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines, oracle_.Records());
  }
  MatrixCall SecondCall() const {
    MatrixCall call = first_;
    call.n = case_.key() == KeyKind::kGuardOnBaseline ? 1000 : 999;
    call.is_int = case_.key() == KeyKind::kDType;
    if (case_.key() == KeyKind::kScalar) call.factor = 5;
    return call;
  }

  const Case case_ = GetParam();
  const MatrixCall first_ = {case_.key() == KeyKind::kGuardOnBaseline ? 999 : 1000};
  TemporaryFolder folder_;
  testing::MatrixKernel kernel_;
  testing::WorkTimer timer_;
  std::vector<Place> places_;
  std::optional<ScopedContext> current_;
  int device_ = 0;
  std::shared_ptr<MemoToolchain> toolchain_;
  std::shared_ptr<RecordStore> store_;
  Oracle oracle_;
  AutotunePolicy policy_;
  std::optional<TunedKernel> tuned_;
};

TEST_P(FeatureMatrixTest, DoesWhatTheDocsSay) {
  Start();
  const int device = case_.devices() == testing::Devices::kOne ? 0 : 1;
  Use(device);
  auto step = [&](const char* what, auto&& act) {
    if (HasFailure()) return;  // What follows would only repeat it.
    SCOPED_TRACE(what);
    act();
  };
  step("the path", [&] { TakePath(); });
  step("a second shape", [&] { Launch(SecondCall()); });
  if (case_.has_general_variant()) {
    MatrixCall irregular = first_;
    irregular.is_regular = false;
    step("a tensor that the first variant is not for", [&] { Launch(irregular); });
  }
  step("nothing", [&] { Launch({0, false, 2, true}); });
  step("the first shape again", [&] { Launch(first_); });
  if (device == 1) {
    Use(0);
    step("on the other device", [&] { Launch(first_); });
    Use(1);
  }
  step("what is stored", [&] { ExpectRecords(); });
  Start();
  oracle_.Restart();
  step("after a restart", [&] { Launch(first_); });
  step("what is stored after a restart", [&] { ExpectRecords(); });
}

INSTANTIATE_TEST_SUITE_P(feature_matrix, FeatureMatrixTest, ::testing::ValuesIn(AllPairs()),
                         [](const auto& of_case) { return of_case.param.Name(); });

TEST(AllPairsTest, EveryPossiblePairOccursAndNoImpossibleOne) {
  const std::vector<Case> cases = AllPairs();
  auto occurs = [&](std::size_t a, int value_a, std::size_t b, int value_b) {
    return std::any_of(cases.begin(), cases.end(),
                       [&](const Case& c) { return c.values[a] == value_a && c.values[b] == value_b; });
  };
  for (std::size_t a = 0; a < Case::kNumFactors; ++a) {
    for (std::size_t b = a + 1; b < Case::kNumFactors; ++b) {
      for (int i = 0; i < static_cast<int>(Factors()[a].values.size()); ++i) {
        for (int j = 0; j < static_cast<int>(Factors()[b].values.size()); ++j) {
          bool is_impossible =
              std::any_of(ImpossiblePairs().begin(), ImpossiblePairs().end(), [&](const ImpossiblePair& pair) {
                return pair.factor_a == a && pair.value_a == i && pair.factor_b == b && pair.value_b == j;
              });
          EXPECT_EQ(occurs(a, i, b, j), !is_impossible)
              << Factors()[a].name << " " << Factors()[a].values[static_cast<std::size_t>(i)] << " x "
              << Factors()[b].name << " " << Factors()[b].values[static_cast<std::size_t>(j)];
        }
      }
    }
  }
  std::set<std::string> names;
  for (const Case& c : cases) EXPECT_TRUE(names.insert(c.Name()).second) << c.Name() << " twice";
  EXPECT_LE(cases.size(), 80u);
  for (const ImpossiblePair& pair : ImpossiblePairs()) EXPECT_STRNE(pair.reason, "");
}

}  // namespace
}  // namespace tuneonce
