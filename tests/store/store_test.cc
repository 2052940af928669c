#include <algorithm>
#include <set>

#include "store/kernel_fingerprint.h"
#include "store/memory_store.h"
#include "store/shipped_selections.h"
#include "testing/comma_locale.h"
#include "testing/device_test.h"
#include "testing/record_changes.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/record_store.h"

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
  record.best.config = testing::NamedConfig(config);
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
  EXPECT_EQ(store.Lookup(key)->record->best.config, testing::NamedConfig("c"));
  ASSERT_OK(store.Put(Record("d")));
  EXPECT_EQ(store.Lookup(key)->record->best.config, testing::NamedConfig("d"))
      << "the newer record replaces the older one";
  EXPECT_EQ(store.List()->size(), 4u);
}

TEST(MemoryStoreTest, TheCodeThatWasUsedLastStaysWithinTheLimit) {
  const Fingerprint a{1, 0}, b{2, 0}, c{3, 0}, d{4, 0};
  auto sized = [](std::size_t bytes) {
    Artifact artifact;
    artifact.image = std::string(bytes, 'x');
    return artifact;
  };
  MemoryStore store(/*max_artifact_bytes=*/3000);
  ASSERT_OK(store.PutArtifact(a, sized(1000)));
  ASSERT_OK(store.PutArtifact(b, sized(1000)));
  EXPECT_TRUE(store.GetArtifact(a)->has_value());
  ASSERT_OK(store.PutArtifact(c, sized(1000)));
  EXPECT_TRUE(store.GetArtifact(a)->has_value());
  EXPECT_FALSE(store.GetArtifact(b)->has_value()) << "the least recently used goes";
  EXPECT_ERROR(store.PutArtifact(d, sized(5000)), StatusCode::kResourceExhausted, "larger than the store's limit");
  EXPECT_TRUE(store.GetArtifact(a)->has_value()) << "nothing else is lost";
  ASSERT_OK(store.PutArtifact(a, sized(10)));
  EXPECT_EQ((*store.GetArtifact(a))->image.size(), 10u);
}

TEST(RecordLookupTest, OfTwoThatFitAlikeTheMeasuredOneGoesBeforeTheImportedOne) {
  TuningRecord imported = Record("imported", "H200", 0);
  imported.reason = SelectionReason::kImported;
  TuningRecord measured = Record("measured", "H200", 12080);
  const TuningKey key = Record("").key;
  for (bool imported_first : {true, false}) {
    auto store = std::make_shared<MemoryStore>();
    ASSERT_OK(store->Put(imported_first ? imported : measured));
    EXPECT_EQ(store->Lookup(key)->match, RecordMatch::kOtherDriver);
    ASSERT_OK(store->Put(imported_first ? measured : imported));
    EXPECT_EQ(store->Lookup(key)->record->best.config, testing::NamedConfig("measured"));
    EXPECT_FALSE(store->Lookup(key)->is_shipped);
  }
  // Between layers too; and what lies under the user's store is said to.
  auto user = std::make_shared<MemoryStore>(), shipped = std::make_shared<MemoryStore>();
  ASSERT_OK(user->Put(imported));
  ASSERT_OK(shipped->Put(measured));
  RecordLookup found = *MakeLayeredStore(user, {shipped})->Lookup(key);
  EXPECT_EQ(found.record->best.config, testing::NamedConfig("measured"));
  EXPECT_TRUE(found.is_shipped);
  ASSERT_OK(user->Put(Record("the user's")));
  found = *MakeLayeredStore(user, {shipped})->Lookup(key);
  EXPECT_EQ(found.record->best.config, testing::NamedConfig("the user's"));
  EXPECT_FALSE(found.is_shipped);
}

TEST(RecordLookupTest, ACompleteRecordGoesBeforeOneThatWasCutShortWhateverLayerHasIt) {
  TuningRecord cut_short = Record("cut short"), complete = Record("complete"), pinned = Record("pinned");
  TuningRecord also_cut_short = Record("also cut short");
  cut_short.is_complete = also_cut_short.is_complete = pinned.is_complete = false;
  pinned.is_pinned = true;
  TuningRecord imported = Record("imported");
  imported.reason = SelectionReason::kImported;
  struct Case {
    const char* what;
    TuningRecord users, shipped;
    const char* serves;
  };
  const std::vector<Case> cases = {
      {"the shipped one is complete", cut_short, complete, "complete"},
      {"the user's is complete", complete, cut_short, "complete"},
      {"both are complete", complete, Record("shipped"), "complete"},
      {"neither is", cut_short, also_cut_short, "cut short"},
      {"a person's selection is not cut short", pinned, complete, "pinned"},
      {"nor is a shipped one", cut_short, pinned, "pinned"},
      {"what was measured goes before what was imported, also if it was cut short", imported, cut_short, "cut short"},
      {"in either order", cut_short, imported, "cut short"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    auto user = std::make_shared<MemoryStore>(), shipped = std::make_shared<MemoryStore>();
    ASSERT_OK(user->Put(each.users));
    ASSERT_OK(shipped->Put(each.shipped));
    const bool is_users = each.users.best.config == testing::NamedConfig(each.serves);
    std::vector<std::shared_ptr<RecordStore>> stores = {
        MakeLayeredStore(user, {shipped}), MakeLayeredStore(user, {std::make_shared<MemoryStore>(), shipped})};
    // What a user imports goes before what came along with the kernel.
    if (!each.users.is_imported()) stores.push_back(StoreOverShipped(user, shipped, RecordMatch::kExact));
    for (const std::shared_ptr<RecordStore>& store : stores) {
      RecordLookup found = *store->Lookup(each.users.key);
      EXPECT_EQ(found.record->best.config, testing::NamedConfig(each.serves));
      EXPECT_EQ(found.is_shipped, !is_users);
    }
  }
}

TEST(RecordLookupTest, PolicyGetsTheCompleteRecordOfAnotherDriverInPlaceOfOneThatWasCutShort) {
  TuningRecord cut_short = Record("cut short");
  cut_short.is_complete = false;
  auto user = std::make_shared<MemoryStore>(), shipped = std::make_shared<MemoryStore>();
  ASSERT_OK(user->Put(cut_short));
  ASSERT_OK(shipped->Put(Record("complete", "H200", 12080)));
  ASSERT_OK(shipped->Put(Record("of another device", "B200")));
  auto in_one = std::make_shared<MemoryStore>(), turned = std::make_shared<MemoryStore>();
  std::vector<TuningRecord> all = *MakeLayeredStore(user, {shipped})->List();
  for (const TuningRecord& record : all) ASSERT_OK(in_one->Put(record));
  std::reverse(all.begin(), all.end());
  for (const TuningRecord& record : all) ASSERT_OK(turned->Put(record));
  struct Case {
    const char* what;
    std::shared_ptr<RecordStore> store;
    bool is_shipped;
  };
  for (const Case& each :
       {Case{"layers", MakeLayeredStore(user, {shipped}), true},
        Case{"layers, turned", MakeLayeredStore(shipped, {user}), false}, Case{"one store", in_one, false},
        Case{"one store, turned", turned, false}, Case{"a fleet", MakeFleetStore(user, shipped), false}}) {
    SCOPED_TRACE(each.what);
    RecordLookup found = *each.store->Lookup(cut_short.key);
    EXPECT_EQ(found.record->best.config, cut_short.best.config);
    EXPECT_EQ(found.Miss(), RecordMiss::kNone);
    EXPECT_EQ(found.BestFor(RecordMatch::kExact).record->best.config, cut_short.best.config);
    for (RecordMatch weakest : {RecordMatch::kOtherDriver, RecordMatch::kOtherDevice}) {
      const RecordLookup& best = found.BestFor(weakest);
      EXPECT_EQ(best.record->best.config, testing::NamedConfig("complete"));
      EXPECT_EQ(best.match, RecordMatch::kOtherDriver);
      EXPECT_EQ(best.is_shipped, each.is_shipped);
    }
  }
  // Nothing goes before a complete record of this driver.
  ASSERT_OK(user->Put(Record("here")));
  EXPECT_EQ(
      MakeLayeredStore(user, {shipped})->Lookup(cut_short.key)->BestFor(RecordMatch::kOtherDevice).record->best.config,
      testing::NamedConfig("here"));
}

TEST(TuningKeyTest, TheFingerprintTellsConfigsThatPrintAlike) {
  auto fingerprint = [](const Config& config) { return SelectionGroupFingerprint("selection", {config}); };
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

TEST(TuningKeyTest, TheFingerprintTellsSmallValuesOfAScalarApartInEveryLocale) {
  testing::ScaleKernel scale;
  auto fingerprint = [&](double eps) {
    KernelDefinition definition("k");
    definition.Parameters({Scalar<double>("eps"), Out("y", kFloat32, {"N"})})
        .Space(scale.space)
        .Key(KeyOf("N"))
        .Grid(Grid::Fixed(1))
        .AddVariant(CudaCpp("a", "scale").ForTarget(Condition()).Assuming({ScalarIs("eps", eps)}));
    EXPECT_OK(definition.Validate());
    Problem problem{};
    problem.dims = Dims(static_cast<int>(definition.dims().size()));
    return *KernelFingerprint(definition, problem);
  };
  EXPECT_NE(fingerprint(1e-7), fingerprint(2e-7));
  const Fingerprint under_c = fingerprint(1.5);
  TUNEONCE_COMMA_LOCALE_OR_SKIP();
  EXPECT_EQ(fingerprint(1.5), under_c);
}

TEST(TuningKeyTest, TheFingerprintCoversTheDefinitionAndNotTheListOfConfigs) {
  testing::ScaleKernel scale;
  auto fingerprint = [&](const KernelDefinition& definition) {
    KernelDefinition validated = definition;
    EXPECT_OK(validated.Validate());
    Problem problem{};
    problem.dims = Dims(static_cast<int>(validated.dims().size()));
    return *KernelFingerprint(validated, problem);
  };
  // Of a source that is known, so that configs are not asked for theirs.
  auto define = [&](const std::string& name, const std::string& version, const std::string& source, KeyPart part,
                    Term grid, std::vector<Assumption> assumptions, Tolerance tolerance) {
    KernelDefinition definition(name);
    definition.Version(version)
        .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"})})
        .Space(scale.space)
        .Key(std::move(part))
        .Grid(Grid::Fixed(std::move(grid)))
        .VerifyWithin(tolerance)
        .AddVariant(CudaCpp(source, "scale").ForTarget(Condition()).Assuming(std::move(assumptions)));
    return definition;
  };
  const KernelDefinition base = define("k", "", "a", KeyOf("N"), 1, {}, {});
  KernelDefinition with_more = base;
  SearchSpace more;
  more.AddAxis("TILE", {64, 256, 512});
  more.AddAxis("WORK", {100, 1});
  with_more.Space(std::move(more));
  EXPECT_EQ(fingerprint(base), fingerprint(with_more)) << "a record says which configs it knows";
  EXPECT_EQ(fingerprint(base), fingerprint(define("k", "", "a", KeyOf("N"), 1, {}, {1, 1, 1})));
  const std::vector<KernelDefinition> others = {
      define("l", "", "a", KeyOf("N"), 1, {}, {}),
      define("k", "2", "a", KeyOf("N"), 1, {}, {}),
      define("k", "", "b", KeyOf("N"), 1, {}, {}),
      define("k", "", "a", KeyOf("N").NextPow2(), 1, {}, {}),
      define("k", "", "a", KeyOf("N"), CeilDiv("N", 64), {}, {}),
      define("k", "", "a", KeyOf("N"), 1, {Aligned("x", 16)}, {}),
  };
  for (const KernelDefinition& other : others) EXPECT_NE(fingerprint(base), fingerprint(other));
}

TEST(TuningKeyTest, TheFingerprintCoversWhichDimsAndScalarsTheTermsRead) {
  testing::ScaleKernel scale;
  auto fingerprint = [&](const Term& grid, const Term& derived) {
    KernelDefinition definition("k");
    definition
        .Parameters({Out("y", kFloat32, {"M", "N"}), Scalar<int>("len"), Scalar<std::int8_t>("small"),
                     Scalar<bool>("flag"), Derived("d", derived)})
        .Space(scale.space)
        .Grid(Grid::Fixed(grid))
        .AddVariant(CudaCpp("a", "scale").ForTarget(Condition()));
    EXPECT_OK(definition.Validate());
    Problem problem{};
    problem.dims = Dims(static_cast<int>(definition.dims().size()));
    return *KernelFingerprint(definition, problem);
  };
  const std::vector<Term> terms = {1,
                                   "M",
                                   "N",
                                   "len",
                                   "small",
                                   "flag",
                                   Min("M", "N"),
                                   Max("M", "N"),
                                   CeilDiv("M", 64),
                                   CeilDiv("len", 64),
                                   CeilDiv("len", 2048),
                                   CeilDiv("len", 4096)};
  std::set<Fingerprint> seen;
  for (const Term& term : terms) {
    EXPECT_TRUE(seen.insert(fingerprint(term, 1)).second) << "grid " << term.ToString();
    const bool is_new = term.IsConstant() || seen.insert(fingerprint(1, term)).second;
    EXPECT_TRUE(is_new) << "derived " << term.ToString();
  }
}

}  // namespace
}  // namespace tuneonce
