// The first launch of a key whose config is in the store asks a handful of questions of a space of 10,000 points, and
// no longer enumerates it.
#include <optional>
#include <string>

#include "store/memory_store.h"
#include "testing/device_test.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr int kPoints = 10'000;

/// What a definition of the test has.
struct Made {
  std::string text = "2 * x[i]";
  std::string condition = "a few";
  bool has_baseline = false;
  bool has_header = false;
  bool has_bucket = false;  ///< The key rounds N, so that the config is verified at several extents.

  int num_points() const { return has_bucket ? 60 * 60 : kPoints; }
};

class StoredKeyCostTest : public testing::CpuDeviceTest {
 protected:
  StoredKeyCostTest() {
    policy_.store = std::make_shared<MemoryStore>();
    policy_.search.max_rounds = 1;
  }
  /// A space of Made::num_points points, of which a function keeps two. `asked_` counts its calls.
  TunedKernel Create(const Made& made) {
    std::vector<std::int64_t> values;
    for (int i = 0; i < (made.has_bucket ? 60 : 100); ++i) {
      values.push_back(made.has_bucket ? std::int64_t{1} << i : i + 1);
    }
    SearchSpace space;
    IntAxis a = space.AddAxis("A", values), b = space.AddAxis("B", values);
    space.Where(made.condition, [this, a, b](const Config& config) {
      ++asked_;
      return config[a] == config[b] && config[a] <= 2;
    });
    if (made.has_baseline) space.SetBaseline({{a, 2}, {b, 2}});
    const std::string source =
        "static void k(const tuneonce_block& block, const float* x, float* y, int n) {\n"
        "  for (int i = 0; block.x == 0 && i < n; ++i) y[i] = " +
        made.text + " + 0 * (A + B);\n}\nTUNEONCE_CPU_KERNEL(k);";
    Variant variant = CpuCpp(source, "k");
    if (made.has_header) variant.Include("/tmp");
    KernelDefinition definition("k");
    definition.Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), DimValue("N")})
        .Space(std::move(space))
        .Key({made.has_bucket ? KeyOf("N").NextPow2() : KeyOf("N")})
        .Grid(Grid::Fixed(1))
        .AddVariant(std::move(variant));
    Result<TunedKernel> kernel = TunedKernel::Create(definition, policy_);
    EXPECT_OK(kernel);
    return *std::move(kernel);
  }
  /// The calls of the condition, and of searches, by the first launch of a new kernel.
  struct Cost {
    int asked;
    std::int64_t tunes;
  };
  Cost FirstLaunch(const Made& made) {
    TunedKernel kernel = Create(made);
    DeviceBuffer x = Floats({1, 2, 3}), y = Floats({0, 0, 0});
    asked_ = 0;
    EXPECT_OK(kernel.Launch(stream_->get(), testing::View(x), testing::View(y)));
    EXPECT_EQ(Read(y).size(), 3u);
    return {asked_, kernel.counters().tunes};
  }

  AutotunePolicy policy_;
  int asked_ = 0;
};

TEST_F(StoredKeyCostTest, AStoredKeyDoesNotEnumerateTheSpace) {
  for (Made made : {Made{}, Made{"2 * x[i]", "a few", true}, Made{"2 * x[i]", "a few", false, true},
                    Made{"2 * x[i]", "a few", true, false, true}}) {
    policy_.store = std::make_shared<MemoryStore>();
    const Cost first = FirstLaunch(made);
    EXPECT_EQ(first.tunes, 1);
    EXPECT_GE(first.asked, made.num_points());
    const Cost again = FirstLaunch(made);
    EXPECT_EQ(again.tunes, 0);
    EXPECT_LE(again.asked, 20);
    made.text = "3 * x[i]";
    EXPECT_EQ(FirstLaunch(made).tunes, 1) << "another source is another kernel";
  }
}

TEST_F(StoredKeyCostTest, ARecordServesASpaceWithTheSameConfigsThatIsDefinedInAnotherWay) {
  Made made;
  EXPECT_EQ(FirstLaunch(made).tunes, 1);
  made.condition = "the same by another name";
  const Cost renamed = FirstLaunch(made);
  EXPECT_EQ(renamed.tunes, 0);
  EXPECT_GE(renamed.asked, kPoints) << "whether the configs are the same is found out by making them";
}

}  // namespace
}  // namespace tuneonce
