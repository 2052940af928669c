#ifndef TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_TEST_H_
#define TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_TEST_H_

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "launch/device_table.h"
#include "runtime/feature_matrix/case.h"
#include "runtime/feature_matrix/matrix_kernel.h"
#include "runtime/feature_matrix/oracle.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/work_timer.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/plugin/toolchain.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce::testing {

/// A store that fails whatever record it is asked for.
class FailingStore final : public ForwardingStore {
 public:
  FailingStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<RecordLookup> Lookup(const TuningKey&) const override { return Why(); }
  Status Put(const TuningRecord&) override { return Why(); }
  Result<std::vector<TuningRecord>> List() const override { return Why(); }
  Status Remove(const TuningKey&) override { return Why(); }
  Result<TuningLease> Lease(const TuningKey&, const WaitLimits&) override { return TuningLease(); }

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
                             const WaitLimits& limits) const override {
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

/// One case: its devices, its store and its kernel, and the oracle that says what must happen.
class MatrixTest : public ::testing::TestWithParam<Case> {
 protected:
  MatrixTest() : folder_(*MakeFolder()), kernel_(GetParam(), folder_.path()), oracle_(GetParam()) {}

  void SetUp() override {
    const int wanted = case_.devices() == Devices::kOne ? 1 : 2;
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
    const bool is_tile = case_.variant() == VariantKind::kTileCpp;
    toolchain_ = std::make_shared<MemoToolchain>(/*is_missing=*/!has_compiler,
                                                 is_tile ? SourceKind::kTileCpp : SourceKind::kCpuCpp);
    RuntimeOptions options;
    options.log = [](LogLevel, const std::string&) {};
    options.toolchains = std::make_shared<const ToolchainSet>(
        std::vector<std::shared_ptr<const Toolchain>>{toolchain_, std::make_shared<CubinsAsTheyAre>()});
    AutotunePolicy policy;
    policy.search.runtime = MakeRuntime(std::move(options));
    policy.search.timer = &timer_;
    policy.search.max_rounds = 1;
    policy.store = std::move(store);
    policy.retry_after = std::chrono::milliseconds(3600000);  // No failure's pause is over while a case runs.
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
    ASSERT_OK(other.Warmup(stream().get(), arguments.list));
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
    Arguments(const MatrixTest& test, StreamView stream, const MatrixCall& its_call) : call(its_call) {
      const bool is_strided = !call.is_regular && test.case_.variant() == VariantKind::kStrided;
      const bool is_table = test.case_.tensors() == Tensors::kByPointers;
      const int groups = is_table ? Case::kGroups : 1;
      for (int group = 0; group < groups; ++group) {
        // Of a table the last tensor alone is not aligned.
        const bool is_off = !call.is_regular && !is_strided && group == groups - 1;
        AddX(stream, is_strided ? 2 : 1, is_off ? 1 : 0);
        ys.push_back(*DeviceBuffer::Allocate(stream, static_cast<std::size_t>(call.n) * 4 + 4));
        EXPECT_OK(ys.back().Fill(0));
        y_views.push_back(TensorView::Contiguous(ys.back().data(), dtype(), {call.n}));
      }
      EXPECT_OK(stream.Synchronize());
      if (is_table) {
        x_table = *DeviceTable::Create(x_views, stream);
        y_table = *DeviceTable::Create(y_views, stream);
        list = {x_table->table(), y_table->table(), call.factor};
      } else {
        list = {x_views.front(), y_views.front(), call.factor};
      }
    }
    void AddX(StreamView stream, std::int64_t stride, std::int64_t offset) {
      const std::int64_t n = call.n;
      std::vector<std::uint32_t> values(static_cast<std::size_t>(n * stride + offset) + 4, Bits(99));
      for (std::int64_t i = 0; i < n; ++i) values[static_cast<std::size_t>(offset + i * stride)] = Bits(3);
      xs.push_back(*DeviceBuffer::Allocate(stream, values.size() * 4));
      EXPECT_OK(xs.back().CopyFromHost(values.data(), values.size() * 4));
      EXPECT_OK(stream.Synchronize());
      x_views.push_back(TensorView::Strided(static_cast<float*>(xs.back().data()) + offset, dtype(), &n, &stride, 1));
    }
    DType dtype() const { return call.is_int ? DType::kInt32 : DType::kFloat32; }
    std::uint32_t Bits(float value) const {
      std::uint32_t bits = static_cast<std::uint32_t>(value);
      if (!call.is_int) std::memcpy(&bits, &value, sizeof(bits));
      return bits;
    }
    void ExpectRight(StreamView stream) const {
      for (const DeviceBuffer& y : ys) {
        std::vector<std::uint32_t> got(static_cast<std::size_t>(call.n));
        if (call.n > 0) EXPECT_OK(y.CopyToHost(got.data(), got.size() * 4));
        EXPECT_OK(stream.Synchronize());
        EXPECT_EQ(got, std::vector<std::uint32_t>(got.size(), Bits(3 * call.factor)));
      }
    }

    const MatrixCall call;
    std::vector<DeviceBuffer> xs, ys;
    std::vector<TensorView> x_views, y_views;
    std::unique_ptr<DeviceTable> x_table, y_table;
    std::vector<Argument> list;
  };

  void Start() {
    policy_ = PolicyWith(store_, case_.compiler() == Compiler::kPresent);
    policy_.mode = case_.mode();
    if (case_.new_key() == NewKey::kPredict) policy_.on_new_key = AutotunePolicy::OnNewKey::kPredict;
    tuned_.emplace(*TunedKernel::Create(kernel_.Definition(), policy_));
  }

  const Case case_ = GetParam();
  const MatrixCall first_ = {case_.key() == KeyKind::kGuardOnBaseline ? 999 : 1000};
  TemporaryFolder folder_;
  MatrixKernel kernel_;
  WorkTimer timer_;
  std::vector<Place> places_;
  std::optional<ScopedContext> current_;
  int device_ = 0;
  std::shared_ptr<MemoToolchain> toolchain_;
  std::shared_ptr<RecordStore> store_;
  Oracle oracle_;
  AutotunePolicy policy_;
  std::optional<TunedKernel> tuned_;
};

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_RUNTIME_FEATURE_MATRIX_MATRIX_TEST_H_
