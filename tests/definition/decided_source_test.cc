// Sources are made of what the key decides: a dim that it rounds or omits has no say in them.
#include <gtest/gtest.h>

#include "definition/source_identity.h"
#include "testing/device_test.h"

namespace tuneonce {
namespace {

constexpr Dim M{0}, N{1};

KernelDefinition With(std::vector<KeyPart> key, Variant::SourceFn source) {
  KernelDefinition definition("k");
  definition.Parameters({In("x", kFloat32, {"M", "N"}), Out("y", kFloat32, {"M", "N"})}).Key(std::move(key));
  definition.AddVariant(Variant(std::move(source)).Grid(Grid::Fixed(1)));
  EXPECT_OK(definition.Validate());
  return definition;
}

Result<KernelSource> Make(const KernelDefinition& definition) {
  Problem problem{};
  problem.dims = Dims(2);
  problem.dims[M] = 100;
  problem.dims[N] = 7;
  return MakeDecidedSource(definition, definition.variants().front(), Config(), problem);
}

TEST(DecidedSourceTest, ADimThatTheKeyRoundsOrOmitsIsNamed) {
  const auto reads_m = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp("", "k").Define("ROWS", p[M]);
  };
  const auto compares = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp(p.dims[M] > 5000 ? "large" : "small", "k");
  };
  const auto divides = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp(p[M] % 16 ? "any" : "16", "k");
  };
  const std::vector<std::vector<KeyPart>> keys = {{KeyOf("M").NextPow2(), KeyOf("N")},
                                                  {KeyOf("M").Buckets({64, 128}), KeyOf("N")},
                                                  {KeyOf("M").Nearest({64, 128}), KeyOf("N")},
                                                  {KeyOf("N")}};
  for (const std::vector<KeyPart>& key : keys) {
    for (const Variant::SourceFn& source :
         {Variant::SourceFn(reads_m), Variant::SourceFn(compares), Variant::SourceFn(divides)}) {
      Result<KernelSource> made = Make(With(key, source));
      EXPECT_ERROR(made, StatusCode::kInvalidArgument, "reads the dim 'M', which the key rounds or omits");
    }
  }
}

TEST(DecidedSourceTest, AnExactDimMayBeRead) {
  const auto reads_n = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp("", "k").Define("COLUMNS", p[N]);
  };
  Result<KernelSource> made = Make(With({KeyOf("M").NextPow2(), KeyOf("N")}, reads_n));
  ASSERT_OK(made);
  EXPECT_EQ(made->defines, std::vector<std::string>{"COLUMNS=7"});
}

TEST(DecidedSourceTest, AFunctionThatReadsADimAndDoesNotDependOnItIsAccepted) {
  const auto looks = [](const Config&, const Problem& p) {
    return KernelSource::CpuCpp(p[M] > 0 ? "one" : "none", "k");
  };
  EXPECT_OK(Make(With({KeyOf("M").NextPow2(), KeyOf("N")}, looks)));
}

TEST(DecidedSourceTest, AFunctionThatThrowsForSomeExtentsDependsOnThem) {
  const auto throws = [](const Config&, const Problem& p) -> KernelSource {
    if (p[M] > 4096) throw std::runtime_error("too large");
    return KernelSource::CpuCpp("", "k");
  };
  EXPECT_ERROR(Make(With({KeyOf("M").NextPow2(), KeyOf("N")}, throws)), StatusCode::kInvalidArgument, "'M'");
}

}  // namespace
}  // namespace tuneonce
