// TUNEONCE_RECORD_SHAPES: what of a TunedKernel's launches is recorded.
#include "runtime/launched_shapes.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "shared/shape_log.h"
#include "testing/runtimes.h"
#include "testing/tools.h"
#include "testing/tuned_scale_test.h"
#include "tuneonce/runtime.h"

namespace tuneonce {
namespace {

using testing::View;

class LaunchedShapesTest : public testing::TunedScaleTest {
 protected:
  void SetUp() override {
    TunedScaleTest::SetUp();
    Result<TemporaryFolder> folder = testing::MakeFolder();
    ASSERT_OK(folder);
    folder_.emplace(*std::move(folder));
    RuntimeOptions options;
    options.environment["TUNEONCE_RECORD_SHAPES"] = folder_->path() + "/shapes";
    policy_.search.runtime = testing::MakeRuntime(std::move(options));
  }
  /// What the file says below its first line, after all is written.
  std::string Recorded() {
    policy_.search.runtime->shape_log()->Flush();
    Result<std::string> content = ReadFile(folder_->path() + "/shapes");
    if (!content.ok()) return content.status().message();
    EXPECT_EQ(content->rfind(kShapesHeader, 0), 0u) << *content;
    return content->substr(content->find('\n') + 1);
  }

  std::optional<TemporaryFolder> folder_;
};

TEST_F(LaunchedShapesTest, MissesAndHitsAreCountedByKeyAndTrialsAndWarmUpsAreNot) {
  KernelDefinition definition = scale_.Definition();
  definition.Key(KeyOf("N").NextPow2());
  TunedKernel kernel = Create(definition);
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 5}}}));
  for (std::size_t n : {1000u, 900u, 1000u, 3u}) Launch(kernel, n);
  EXPECT_EQ(Recorded(), "scale N=1000 factor=2  # 3 launches\nscale N=3 factor=2  # 1 launches\n");
  DeviceBuffer nothing = Floats({});
  ASSERT_OK(kernel.Launch(stream_->get(), View(nothing), View(nothing), 2.0f));
  EXPECT_EQ(Recorded(), "scale N=1000 factor=2  # 3 launches\nscale N=3 factor=2  # 1 launches\n") << "of nothing";
}

TEST_F(LaunchedShapesTest, ATryThatMissesAndTheLaunchAfterItAreOne) {
  TunedKernel kernel = Create();
  DeviceBuffer x = Floats({1, 2}), y = Floats({0, 0});
  const TensorView x_view = View(x), y_view = View(y);  // Arguments point to what they are made of.
  const float factor = 2;
  const Argument arguments[] = {x_view, y_view, factor};
  for (int i = 0; i < 2; ++i) {
    bool missed = false;
    ASSERT_OK(kernel.Launch(stream_->get(), ArgumentSpan(arguments, 3), &missed));
    EXPECT_EQ(missed, i == 0);
    if (missed) {
      ASSERT_OK(kernel.Launch(stream_->get(), ArgumentSpan(arguments, 3)));
    }
  }
  EXPECT_EQ(Recorded(), "scale N=2 factor=2  # 2 launches\n");
}

TEST_F(LaunchedShapesTest, AProcessThatTunesNothingAndOneThatIsFrozenRecordToo) {
  policy_.mode = AutotunePolicy::Mode::kFallbackOnly;
  {
    TunedKernel kernel = Create();
    Launch(kernel, 7);
  }
  policy_.mode = AutotunePolicy::Mode::kTuneOnMiss;
  TunedKernel kernel = Create();
  kernel.Freeze();
  Launch(kernel, 7);
  EXPECT_EQ(Recorded(), "scale N=7 factor=2  # 2 launches\n");
  EXPECT_EQ(kernel.counters().tunes, 0);
}

TEST_F(LaunchedShapesTest, ADtypeThatIsLeftOpenIsRecorded) {
  KernelDefinition definition("any");
  definition
      .Parameters(
          {In("x", DType::kAny, {"N"}), Out("y", SameDTypeAs("x"), {"N"}), Scalar<float>("factor"), DimValue("N")})
      .Space(scale_.space)
      .AddVariant(Variant(scale_.Source()).Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(definition);
  Launch(kernel, 3);
  EXPECT_EQ(Recorded(), "any N=3 x=float32 factor=2  # 1 launches\n");
}

TEST_F(LaunchedShapesTest, AScalarIsRecordedOnlyAsATextThatReadsBackExactly) {
  KernelDefinition definition("wide");
  Variant variant(scale_.Source());
  variant.parameters = {"x", "y", "factor", "N"};
  definition
      .Parameters({In("x", kFloat32, {"N"}), Out("y", kFloat32, {"N"}), Scalar<float>("factor"), DimValue("N"),
                   Scalar<std::uint64_t>("u"), Scalar<std::int64_t>("i"), Scalar<double>("f")})
      .Key({KeyOf("N"), ValueOf("u"), ValueOf("i"), ValueOf("f")})
      .Space(scale_.space)
      .AddVariant(variant.Grid(Grid::OneD({"N", scale_.tile})));
  TunedKernel kernel = Create(definition);
  DeviceBuffer x = Floats({1, 2}), y = Floats({0, 0});
  auto launch = [&](std::uint64_t u, std::int64_t i, double f) {
    return kernel.Launch(stream_->get(), View(x), View(y), 2.0f, u, i, f);
  };
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  const double nan = std::copysign(std::numeric_limits<double>::quiet_NaN(), 1.0);
  ASSERT_OK(launch(kMost, kLeast, nan));
  ASSERT_OK(launch(kMost, 7, -nan));
  ASSERT_OK(launch(1, 7, -0.0));
  ASSERT_OK(launch(1, 7, -std::numeric_limits<double>::infinity()));
  const std::string recorded = Recorded();
  for (const char* values : {"u=18446744073709551615 i=-9223372036854775808 f=nan", "u=18446744073709551615 i=7 f=-nan",
                             "u=1 i=7 f=-0.0", "u=1 i=7 f=-inf"}) {
    const std::string line = std::string("wide N=2 factor=2 ") + values + "  # 1 launches\n";
    EXPECT_NE(recorded.find(line), std::string::npos) << line << recorded;
  }
  const std::int64_t tunes = kernel.counters().tunes;
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 2}, {"factor", 2}, {"u", kMost}, {"i", kLeast}, {"f", nan}},
                                           {{"N", 2}, {"factor", 2}, {"u", 1}, {"i", 7}, {"f", -0.0}}}));
  EXPECT_EQ(kernel.counters().tunes, tunes) << "the keys of the launches";
  double payload;
  const std::uint64_t bits = 0x7ff8000000000001;
  std::memcpy(&payload, &bits, sizeof(payload));
  ::testing::internal::CaptureStderr();
  ASSERT_OK(launch(1, 7, payload));
  ASSERT_OK(launch(2, 7, payload));
  const std::string warning = ::testing::internal::GetCapturedStderr();
  const std::string words = "a launch of 'wide': the scalar 'f' is a NaN whose bits no text gives";
  EXPECT_NE(warning.find(words), std::string::npos) << warning;
  EXPECT_EQ(warning.find(words), warning.rfind(words)) << "warned once";
  EXPECT_NE(Recorded().find("# launches of other shapes: 2\n"), std::string::npos) << Recorded();
}

}  // namespace
}  // namespace tuneonce
