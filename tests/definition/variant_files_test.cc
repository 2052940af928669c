// Variants made of files that were compiled ahead.
#include <string>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "tuneonce/kernel_definition.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

class VariantFilesTest : public ::testing::Test {
 protected:
  VariantFilesTest() : folder_(*testing::MakeFolder()) {
    EXPECT_OK(WriteFile(folder_.path() + "/k.64xrow.cubin", "first"));
    EXPECT_OK(WriteFile(folder_.path() + "/k.128xrow.cubin", "second"));
  }
  std::vector<Config> Configs() const { return *space_.Enumerate(Target()); }

  TemporaryFolder folder_;
  SearchSpace space_;
  IntAxis tile_ = space_.AddAxis("TILE", {64, 128, 256});
  Axis<std::string> layout_ = space_.AddStringAxis("LAYOUT", {"row"});
};

TEST_F(VariantFilesTest, APatternNamesTheFileAndTheKernelOfAConfig) {
  Variant variant = Cubins(folder_.path() + "/k.{TILE}x{LAYOUT}.cubin", "k_{TILE}").Grid(Grid::Fixed(1));
  KernelSource first = variant.source(Configs()[0], Problem());
  EXPECT_OK(first.Check());
  EXPECT_EQ(first.kind, SourceKind::kCubin);
  EXPECT_EQ(first.content, "first");
  EXPECT_EQ(first.symbol, "k_64");
  EXPECT_EQ(variant.source(Configs()[1], Problem()).content, "second");
  EXPECT_ERROR(variant.source(Configs()[2], Problem()).Check(), StatusCode::kNotFound, "/k.256xrow.cubin");
}

TEST_F(VariantFilesTest, AListNamesTheConfigsThatThereIsCodeFor) {
  Variant variant = Cubins({{{{tile_, 128}}, KernelSource::Cubin("bytes", "k")},
                            {{{tile_, 64}, {layout_, "row"}},
                             KernelSource::FromFile(SourceKind::kCubin, folder_.path() + "/k.64xrow.cubin", "k")}})
                        .Grid(Grid::Fixed(1));
  EXPECT_EQ(variant.source(Configs()[0], Problem()).content, "first");
  EXPECT_EQ(variant.source(Configs()[1], Problem()).content, "bytes");
  EXPECT_ERROR(variant.source(Configs()[2], Problem()).Check(), StatusCode::kNotFound,
               "no precompiled code was given for the config {TILE=256, LAYOUT=row}");
}

TEST_F(VariantFilesTest, APatternThatIsWrongSaysSo) {
  struct Case {
    const char* pattern;
    const char* part;
  };
  for (const Case& each :
       {Case{"k.{TILES}.cubin", "names the axis 'TILES', but the config {TILE=64, LAYOUT=row} has no such axis"},
        Case{"k.{TILE.cubin", "has an opening brace without a closing one"}}) {
    EXPECT_ERROR(Cubins(each.pattern, "k").Grid(Grid::Fixed(1)).source(Configs()[0], Problem()).Check(),
                 StatusCode::kInvalidArgument, each.part);
    EXPECT_ERROR(Cubins(folder_.path() + "/k.{TILE}xrow.cubin", each.pattern)
                     .Grid(Grid::Fixed(1))
                     .source(Configs()[0], Problem())
                     .Check(),
                 StatusCode::kInvalidArgument, each.part);
  }
}

TEST_F(VariantFilesTest, CppInAFileIsThatOfItsText) {
  const std::string path = *folder_.WriteFile("k.cu", "the text");
  for (const auto& [of_file, of_text] : {std::pair(CudaCppFile(path, "k<TILE>"), CudaCpp("the text", "k<TILE>")),
                                         std::pair(TileCppFile(path, "k<TILE>"), TileCpp("the text", "k<TILE>"))}) {
    const KernelSource source = of_file.source(Configs()[0], Problem());
    EXPECT_OK(source.Check());
    EXPECT_EQ(source.content, "the text");
    EXPECT_EQ(source.symbol, "k<TILE>");
    EXPECT_EQ(source.file, path);
    EXPECT_EQ(source.kind, of_text.source(Configs()[0], Problem()).kind);
    EXPECT_EQ(of_file.name, of_text.name);
  }
  EXPECT_ERROR(TileCppFile(folder_.path() + "/none.cu", "k").source(Configs()[0], Problem()).Check(),
               StatusCode::kNotFound, "/none.cu");
}

TEST_F(VariantFilesTest, AFileThatIsMissingChangesTheFingerprint) {
  std::string path = folder_.path() + "/late.cubin";
  Fingerprint missing = KernelSource::FromFile(SourceKind::kCubin, path, "k").Fingerprint();
  ASSERT_OK(WriteFile(path, ""));
  EXPECT_NE(KernelSource::FromFile(SourceKind::kCubin, path, "k").Fingerprint(), missing);
}

}  // namespace
}  // namespace tuneonce
