#include "store/kernel_fingerprint.h"
#include "store/memory_store.h"
#include "testing/device_test.h"
#include "testing/record_changes.h"
#include "tuneonce/fingerprint.h"
#include "tuneonce/record_store.h"

namespace tuneonce {
namespace {

TuningRecord Record(const std::string& config, const std::string& device = "H200", int driver = 13000,
                    std::uint64_t word = 1) {
  TuningRecord record;
  record.key.kernel = "k";
  record.key.kernel_fingerprint = Fingerprint{1, 2};
  record.key.key_words = {word};
  record.key.device_name = device;
  record.key.driver_version = driver;
  record.config = testing::NamedConfig(config);
  return record;
}

TEST(MemoryStoreTest, TheBestMatchIsFound) {
  MemoryStore store;
  TuningKey key = Record("").key;
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kNotFound);
  ASSERT_OK(store.Put(Record("other kernel's key", "H200", 13000, 2)));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kNotFound);
  ASSERT_OK(store.Put(Record("a", "B200")));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kOtherDevice);
  ASSERT_OK(store.Put(Record("b", "H200", 12080)));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kOtherDriver);
  ASSERT_OK(store.Put(Record("c")));
  EXPECT_EQ(store.Lookup(key)->match, RecordMatch::kExact);
  EXPECT_EQ(store.Lookup(key)->record->config, testing::NamedConfig("c"));
  ASSERT_OK(store.Put(Record("d")));
  EXPECT_EQ(store.Lookup(key)->record->config, testing::NamedConfig("d")) << "the newer record replaces the older one";
  EXPECT_EQ(store.List()->size(), 4u);
}

TEST(RecordLookupTest, OfTwoThatFitAlikeTheMeasuredOneGoesBeforeTheImportedOne) {
  TuningRecord imported = Record("imported", "H200", 0);
  imported.reason = ChoiceReason::kImported;
  TuningRecord measured = Record("measured", "H200", 12080);
  const TuningKey key = Record("").key;
  for (bool imported_first : {true, false}) {
    auto store = std::make_shared<MemoryStore>();
    ASSERT_OK(store->Put(imported_first ? imported : measured));
    EXPECT_EQ(store->Lookup(key)->match, RecordMatch::kOtherDriver);
    ASSERT_OK(store->Put(imported_first ? measured : imported));
    EXPECT_EQ(store->Lookup(key)->record->config, testing::NamedConfig("measured"));
    EXPECT_FALSE(store->Lookup(key)->is_shipped);
  }
  // Between layers too; and what lies under the user's store is said to.
  auto user = std::make_shared<MemoryStore>(), shipped = std::make_shared<MemoryStore>();
  ASSERT_OK(user->Put(imported));
  ASSERT_OK(shipped->Put(measured));
  RecordLookup found = *MakeLayeredStore(user, {shipped})->Lookup(key);
  EXPECT_EQ(found.record->config, testing::NamedConfig("measured"));
  EXPECT_TRUE(found.is_shipped);
  ASSERT_OK(user->Put(Record("the user's")));
  found = *MakeLayeredStore(user, {shipped})->Lookup(key);
  EXPECT_EQ(found.record->config, testing::NamedConfig("the user's"));
  EXPECT_FALSE(found.is_shipped);
}

TEST(TuningKeyTest, TheFingerprintTellsConfigsThatPrintAlike) {
  auto fingerprint = [](const Config& config) { return SharedChoiceFingerprint("choice", {config}); };
  SearchSpace doubles;
  doubles.AddDoubleAxis("A", {0.12345671, 0.12345672, 1});
  std::vector<Config> near = *doubles.Enumerate(Target());
  EXPECT_NE(fingerprint(near[0]), fingerprint(near[1])) << "0.12345671 and 0.12345672";
  SearchSpace whole;
  whole.AddAxis("A", {1});
  EXPECT_NE(fingerprint(near[2]), fingerprint(whole.Enumerate(Target())->front())) << "1.0 and 1";
  SearchSpace text;
  text.AddStringAxis("A", {"true", "1"});
  SearchSpace truth;
  truth.AddBoolAxis("A");
  EXPECT_NE(fingerprint((*text.Enumerate(Target()))[0]), fingerprint((*truth.Enumerate(Target()))[1]))
      << "true, \"true\"";
  EXPECT_NE(fingerprint((*text.Enumerate(Target()))[1]), fingerprint(whole.Enumerate(Target())->front())) << "1, \"1\"";
}

TEST(TuningKeyTest, TheFingerprintCoversVersionSourcesAndConfigs) {
  testing::ScaleKernel scale;
  auto fingerprint = [&](const KernelDefinition& definition, std::size_t num_configs) {
    std::vector<Config> configs = *scale.space.Enumerate(Target());
    configs.resize(num_configs, configs[0]);
    return *KernelFingerprint(definition, configs, Problem());
  };
  KernelDefinition base = scale.Definition();
  EXPECT_EQ(fingerprint(base, 4), fingerprint(scale.Definition(), 4));
  EXPECT_NE(fingerprint(base, 4), fingerprint(base, 3));
  EXPECT_NE(fingerprint(base, 4), fingerprint(scale.Definition("other"), 4));
  KernelDefinition version = KernelDefinition("scale").Version("2");
  version.AddVariant(Variant(scale.Source()).Grid(Grid::Fixed(1)));
  EXPECT_NE(fingerprint(base, 4), fingerprint(version, 4));
  KernelDefinition source("scale");
  source.AddVariant(Variant([](const Config&, const Problem&) { return KernelSource(); }).Grid(Grid::Fixed(1)));
  EXPECT_NE(fingerprint(base, 4), fingerprint(source, 4));
}

}  // namespace
}  // namespace tuneonce
