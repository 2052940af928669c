// The code that an application ships serves whatever lies over it: also a user's store that has no code.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/temporary_folder.h"
#include "store/forwarding_store.h"
#include "testing/device_test.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "tuneonce/device.h"
#include "tuneonce/plugin/record_store.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;
using Mode = AutotunePolicy::Mode;
using Stores = std::shared_ptr<RecordStore>;

/// A host's store that keeps records and no code.
class HostsStore final : public ForwardingStore {
 public:
  HostsStore() : ForwardingStore(MakeMemoryStore()) {}
  Result<std::optional<Artifact>> GetArtifact(const Fingerprint&) const override { return std::optional<Artifact>(); }
  Status PutArtifact(const Fingerprint&, const Artifact&) override {
    return UnimplementedError("this store keeps no code");
  }
};

class ShippedCodeTest : public testing::CpuDeviceTest {
 protected:
  ShippedCodeTest() : folder_(*testing::MakeFolder()) { policy_.search.max_rounds = 1; }

  Stores OpenFile(const std::string& name, bool read_only) {
    SqliteStoreOptions options;
    options.path = folder_.path() + "/" + name + ".db";
    options.read_only = read_only;
    Result<std::shared_ptr<SqliteStore>> store = SqliteStore::Open(options);
    EXPECT_OK(store);
    return *std::move(store);
  }
  /// A store with the record of 1000 elements, and its code.
  Stores Shipped() {
    AutotunePolicy policy = policy_;
    policy.store = OpenFile("shipped", /*read_only=*/false);
    TunedKernel kernel = Create(policy);
    EXPECT_OK(Launch(kernel));
    return OpenFile("shipped", /*read_only=*/true);
  }
  /// A kernel of other code than the one that is shipped.
  KernelDefinition Another() const {
    KernelDefinition definition("another");
    auto source = [shipped = scale_.Source()](const Config& config, const Problem& problem) {
      return shipped(config, problem).Define("ANOTHER", std::int64_t{1});
    };
    definition
        .Parameters(
            {In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor").ForWarmup(2), DimValue("N")})
        .Space(scale_.space)
        .AddVariant(Variant(source).Grid(Grid::OneD({"N", scale_.tile})));
    return definition;
  }
  TunedKernel Create(const AutotunePolicy& policy) {
    Result<TunedKernel> kernel = TunedKernel::Create(scale_.Definition(), policy);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  Status Launch(TunedKernel& kernel, std::size_t n = 1000) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), View(x), View(y), 2.0f));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
    return Status();
  }
  /// A runtime without a compiler, in which these variables are set and no others that name a place for a store.
  static std::shared_ptr<Runtime> WithoutACompiler(std::map<std::string, std::string> variables = {}) {
    std::map<std::string, std::string> all = {
        {"TUNEONCE_CXX", "/nowhere/c++"}, {"TUNEONCE_STORE", ""}, {"XDG_CACHE_HOME", ""}, {"HOME", ""}};
    for (auto& [name, value] : variables) all[name] = value;
    RuntimeOptions options;
    options.environment = std::move(all);
    options.log = [](LogLevel, const std::string&) {};  // It warns of a home that is no place for a store.
    return testing::MakeRuntime(std::move(options));
  }

  TemporaryFolder folder_;
  testing::ScaleKernel scale_;
  AutotunePolicy policy_;
};

TEST_F(ShippedCodeTest, ItServesUnderEveryStoreWithoutIt) {
  const Stores shipped = Shipped();
  auto runtime_store = [](std::map<std::string, std::string> variables) {
    return WithoutACompiler(std::move(variables))->store();
  };
  const std::string file = *folder_.WriteFile("file", "");
  const std::vector<std::pair<const char*, Stores>> cases = {
      {"the shipped store alone", shipped},
      {"a store in memory", MakeLayeredStore(MakeMemoryStore(), {shipped})},
      {"TUNEONCE_STORE=memory", MakeLayeredStore(runtime_store({{"TUNEONCE_STORE", "memory"}}), {shipped})},
      {"no HOME", MakeLayeredStore(runtime_store({}), {shipped})},
      {"a HOME that cannot be written", MakeLayeredStore(runtime_store({{"HOME", file}}), {shipped})},
      {"a host's store", MakeLayeredStore(std::make_shared<HostsStore>(), {shipped})},
      {"a second shipped store", MakeLayeredStore(MakeMemoryStore(), {MakeMemoryStore(), shipped})},
      {"layers over layers", MakeLayeredStore(MakeMemoryStore(), {MakeLayeredStore(MakeMemoryStore(), {shipped})})},
      {"a file", MakeLayeredStore(OpenFile("user", false), {shipped})},
      {"a fleet", MakeFleetStore(MakeMemoryStore(), shipped)},
      {"a machine of a fleet", MakeFleetStore(MakeLayeredStore(MakeMemoryStore(), {shipped}), MakeMemoryStore())},
      {"a machine of a fleet that has code",
       MakeFleetStore(MakeLayeredStore(MakeMemoryStore(), {shipped}), OpenFile("fleet", false))},
  };
  for (const auto& [what, store] : cases) {
    for (Mode mode : {Mode::kStoredOnly, Mode::kTuneOnMiss}) {
      SCOPED_TRACE(what);
      policy_.search.runtime = WithoutACompiler();
      policy_.store = store;
      policy_.mode = mode;
      TunedKernel kernel = Create(policy_);
      EXPECT_OK(Launch(kernel));
      EXPECT_EQ(kernel.counters().stored_hits, 1);
      EXPECT_EQ(policy_.search.runtime->num_compiles(), 0);
    }
  }
}

TEST_F(ShippedCodeTest, WhatIsCompiledOverItIsCompiledOnceInAProcess) {
  const Stores shipped = Shipped();
  for (const auto& [what, store] : std::vector<std::pair<const char*, Stores>>{
           {"a store in memory", MakeLayeredStore(MakeMemoryStore(), {shipped})},
           {"a fleet over a host's store", MakeFleetStore(std::make_shared<HostsStore>(), shipped)},
           {"a fleet", MakeFleetStore(MakeMemoryStore(), shipped)}}) {
    SCOPED_TRACE(what);
    policy_.search.runtime = testing::MakeRuntime(RuntimeOptions());
    policy_.store = store;
    for (int i = 0; i < 2; ++i) {
      Result<TunedKernel> kernel = TunedKernel::Create(Another(), policy_);
      ASSERT_OK(kernel);
      ASSERT_OK(Launch(*kernel));
      EXPECT_EQ(kernel->counters().stored_hits, i);
      EXPECT_EQ(policy_.search.runtime->num_compiles(), 4) << "of the first kernel's search";
    }
  }
}

TEST_F(ShippedCodeTest, TheErrorOfAStoreWithoutCodeNamesWhatIsMissing) {
  AutotunePolicy tunes = policy_;
  tunes.store = std::make_shared<HostsStore>();
  TunedKernel kernel = Create(tunes);
  ASSERT_OK(Launch(kernel));
  policy_.mode = Mode::kStoredOnly;
  policy_.search.runtime = WithoutACompiler();
  for (const Stores& store : {tunes.store, MakeLayeredStore(tunes.store, {OpenFile("empty", false)})}) {
    policy_.store = store;
    TunedKernel without = Create(policy_);
    EXPECT_ERROR(Launch(without), StatusCode::kUnavailable, "the store has no code for {");
  }
}

TEST_F(ShippedCodeTest, AStoreInMemoryServesWithoutACompiler) {
  AutotunePolicy tunes = policy_;
  tunes.store = MakeMemoryStore();
  TunedKernel kernel = Create(tunes);
  ASSERT_OK(Launch(kernel));
  policy_.mode = Mode::kStoredOnly;
  policy_.search.runtime = WithoutACompiler();
  policy_.store = tunes.store;
  TunedKernel stored = Create(policy_);
  EXPECT_OK(Launch(stored));
}

}  // namespace
}  // namespace tuneonce
