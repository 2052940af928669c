// What a manifest says of CUDA C++: instances of templates, headers that travel with the bundle, folders; compiled by
// NVRTC for a GPU that is not here.
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "bundle/manifest.h"
#include "compile/dependency_file.h"
#include "compile/nvrtc_source.h"
#include "store/kernel_fingerprint.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

using testing::Sm;

class BundleCudaCppTest : public ::testing::Test {
 protected:
  BundleCudaCppTest() {
    std::filesystem::create_directory(folder_.path() + "/include");
    Write("k.cu",
          "#include <my/scale.h>\n#include <far.h>\n"
          "namespace ns { template <int TILE, typename T> __global__ void twice(const T* x, T* y, int n) {\n"
          "  int i = blockIdx.x * TILE + threadIdx.x; if (i < n) y[i] = x[i] * SCALE + FAR; } }\n");
    Write("scale.h", "#define SCALE 2\n");
    Write("include/far.h", "#define FAR 0\n");
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder_.path() + "/" + name) << text; }
  /// The good manifest with `from` replaced by `to`.
  Result<Bundle> LoadWith(const std::string& from = "", const std::string& to = "") {
    std::string manifest = kManifest;
    std::size_t at = manifest.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    Write("manifest.json", manifest.replace(at, from.size(), to));
    return Bundle::Load(folder_.path());
  }
  static KernelSource SourceOf(const Bundle& bundle) {
    const KernelDefinition& definition = bundle.definition();
    Problem problem;
    problem.dtypes.fill(DType::kFloat64);
    return definition.variants()[0].MakeSource(definition.space().Enumerate(Sm(90))->front(), problem);
  }

  static constexpr char kManifest[] = R"({
  "tuneonce_bundle": 1, "name": "k", "version": "1", "dims": ["N"],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dims": ["N"]},
    {"name": "y", "kind": "tensor", "access": "out", "same_dtype_as": "x", "dims": ["N"]},
    {"kind": "dim", "dim": "N"}],
  "axes": [{"name": "TILE", "values": [64, 128]}, {"name": "maxrregcount", "kind": "option", "values": [32, 64]}],
  "variants": [
    {"name": "cuda", "source": "cuda_cpp", "symbol": "ns::twice<TILE, T>", "defines": ["TILE"],
     "types": {"T": {"dtype_of": "x"}}, "headers": {"my/scale.h": "scale.h"}, "options": ["-Iinclude", "--fmad=true"],
     "grid": {"pattern": "one_d", "tiles": [["N", "TILE"]]}, "block": ["TILE"],
     "artifacts": [{"file": "k.cu"}]}
  ]
})";
  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleCudaCppTest, AnInstanceOfATemplateWithItsHeadersCompiles) {
  Result<Bundle> bundle = LoadWith();
  ASSERT_OK(bundle);
  KernelSource source = SourceOf(*bundle);
  EXPECT_EQ(source.file, "k.cu");
  EXPECT_EQ(source.defines, (std::vector<std::string>{"TILE=64", "T=double"}));
  EXPECT_EQ(source.options, (std::vector<std::string>{"-I" + RealPath(folder_.path()) + "/include", "--fmad=true",
                                                      "--maxrregcount=32"}));
  Result<Artifact> artifact = NvrtcToolchain(testing::Tools()).Compile(source, Hints(), Sm(90));
  if (artifact.status().code() == StatusCode::kUnavailable) {
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << artifact.status().message();
  }
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_ZN2ns5twiceILi64EdEEvPKT0_PS1_i");
  ASSERT_EQ(artifact->dependencies.size(), 1u);
  EXPECT_EQ(artifact->dependencies[0].path, RealPath(folder_.path()) + "/include/far.h");
  Write("scale.h", "#define SCALE 3\n");
  Result<Bundle> changed = LoadWith();
  ASSERT_OK(changed);
  EXPECT_NE(SourceOf(*changed).Fingerprint(), source.Fingerprint()) << "a header is part of what is tuned";
  Write("k.cu", *ReadFile(folder_.path() + "/k.cu") + "\n\nint a = b;\n");
  EXPECT_ERROR(NvrtcToolchain(testing::Tools()).Compile(SourceOf(*LoadWith()), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "k.cu(7): error: identifier \"b\" is undefined");
}

/// In an earlier folder of the bundle, and in the working directory, where NVRTC looks for a "header" first.
TEST_F(BundleCudaCppTest, AHeaderThatAppearsMakesItsCodeStale) {
  std::filesystem::create_directory(folder_.path() + "/first");
  Write("k.cu", "#include \"far.h\"\n" + *ReadFile(folder_.path() + "/k.cu"));
  Result<Bundle> bundle = LoadWith("\"-Iinclude\"", "\"-Ifirst\", \"-Iinclude\"");
  ASSERT_OK(bundle);
  Result<Artifact> artifact = NvrtcToolchain(testing::Tools()).Compile(SourceOf(*bundle), Hints(), Sm(90));
  if (artifact.status().code() == StatusCode::kUnavailable) {
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << artifact.status().message();
  }
  ASSERT_OK(artifact);
  if (artifact->dependencies.empty())
    GTEST_SKIP() << "NVRTC IS OLDER THAN 13, OR A HEADER DID NOT COMPILE IN THIS PROCESS";
  EXPECT_TRUE(DependenciesHold(*artifact));
  Write("first/other.h", "");
  EXPECT_TRUE(DependenciesHold(*artifact)) << "another name";
  Write("first/far.h", "#define FAR 1\n");
  EXPECT_FALSE(DependenciesHold(*artifact)) << "a stale artifact";
  std::filesystem::remove(folder_.path() + "/first/far.h");
  EXPECT_TRUE(DependenciesHold(*artifact));
  const std::filesystem::path here = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path() + "/include");
  EXPECT_FALSE(DependenciesHold(*artifact)) << "a stale artifact";
  std::filesystem::current_path(here);
}

TEST_F(BundleCudaCppTest, EachThingThatDecidesItsCodeIsInTheKernelsKey) {
  auto key = [](const Result<Bundle>& bundle) {
    EXPECT_OK(bundle);
    Problem problem;
    const Target target = Sm(90);
    problem.target = &target;
    problem.dtypes.fill(DType::kFloat64);
    problem.values.fill(nullptr);
    const KernelDefinition& definition = bundle->definition();
    problem.dims.Reset(static_cast<int>(definition.dims().size()));
    Result<Fingerprint> found = KernelFingerprint(definition, problem);
    EXPECT_OK(found);
    return *found;
  };
  const Fingerprint base = key(LoadWith());
  EXPECT_EQ(key(LoadWith()), base);
  const std::pair<const char*, const char*> edits[] = {
      {"ns::twice<TILE, T>", "ns::twice<TILE, int>"},
      {"\"defines\": [\"TILE\"],", ""},
      {"--fmad=true", "--fmad=false"},
      {"my/scale.h", "my/other.h"},
      {"{\"T\": {\"dtype_of\": \"x\"}}", "{\"U\": {\"dtype_of\": \"x\"}}"},
      {"[{\"file\": \"k.cu\"}]",
       "[{\"file\": \"k.cu\", \"config\": {\"TILE\": 64}}, {\"file\": \"k.cu\", \"config\": {\"TILE\": 128}}]"},
      {"\"name\": \"cuda\",", "\"name\": \"cuda\", \"backend\": \"other\","},
  };
  std::set<Fingerprint> keys = {base};
  for (const auto& [from, to] : edits) EXPECT_TRUE(keys.insert(key(LoadWith(from, to))).second) << to;
  Write("scale.h", "#define SCALE 3\n");
  EXPECT_TRUE(keys.insert(key(LoadWith())).second) << "a header's text";
  Write("k.cu", *ReadFile(folder_.path() + "/k.cu") + "\n");
  EXPECT_TRUE(keys.insert(key(LoadWith())).second) << "the text";
}

TEST_F(BundleCudaCppTest, WhatIsWrongIsNamedWithFileLineAndField) {
  Write("two.h", std::string("zero byte ") + '\0');
  std::filesystem::create_symlink("/etc/passwd", folder_.path() + "/link.h");
  struct Case {
    const char* from;
    const char* to;
    const char* message;
  };
  const Case cases[] = {
      {"ns::twice<TILE, T>", "<TILE>", ":9: variants[0].symbol: '<TILE>' is not a kernel's name"},
      {"ns::twice<TILE, T>", "twice<\\\"x\\\">", "is not a kernel's name: write name or ns::name<ARGUMENTS>"},
      {"ns::twice<TILE, T>", "twice<1>; int x", "is not a kernel's name"},
      {"ns::twice<TILE, T>", "twice<1\\n>", "is not a kernel's name"},
      {"\"scale.h\"", "\"../scale.h\"", "lies outside the bundle"},
      {"\"scale.h\"", "\"/etc/passwd\"", "lies outside the bundle"},
      {"\"scale.h\"", "\"link.h\"", "lies outside the bundle"},
      {"\"scale.h\"", "\"two.h\"", "it has a zero byte"},
      {"\"scale.h\"", "7", ":10: variants[0].headers.my/scale.h: expected a string"},
      {"{\"my/scale.h\": \"scale.h\"}", "[\"scale.h\"]", ":10: variants[0].headers: expected an object"},
      {"my/scale.h", "my\\nscale.h", "control characters"},
      {"my/scale.h", "", "a header's name is empty"},
  };
  for (const Case& each : cases) {
    // Without a folder of headers, in which the kernel could be.
    std::string manifest = kManifest;
    manifest.replace(manifest.find("\"-Iinclude\", "), 13, "");
    std::size_t at = manifest.find(each.from);
    ASSERT_NE(at, std::string::npos) << each.from;
    Write("manifest.json", manifest.replace(at, std::string(each.from).size(), each.to));
    SCOPED_TRACE(each.to);
    EXPECT_ERROR(Bundle::Load(folder_.path()), StatusCode::kInvalidArgument, each.message);
  }
  EXPECT_ERROR(LoadWith("\"scale.h\"", "\"none.h\""), StatusCode::kNotFound,
               ":10: variants[0].headers.my/scale.h: the header 'none.h' does not exist");
  EXPECT_ERROR(LoadWith("\"cuda_cpp\"", "\"cubin\""), StatusCode::kInvalidArgument, "as one word each: none");
  for (const std::string kind : {"\"cpu_cpp\"", "\"ptx\""}) {
    std::string manifest = kManifest;
    const std::string options = ", \"options\": [\"-Iinclude\", \"--fmad=true\"]";
    manifest.replace(manifest.find(options), options.size(), "");
    manifest.replace(manifest.find("\"cuda_cpp\""), 10, kind);
    Write("manifest.json", manifest);
    EXPECT_ERROR(Bundle::Load(folder_.path()), StatusCode::kInvalidArgument,
                 "variants[0].headers: \"headers\" is only for cuda_cpp and tile_cpp sources");
  }
}

TEST_F(BundleCudaCppTest, HeadersTravelInAProgramToo) {
  Write("k.cu",
        "#include \"scale.h\"\n__global__ void twice(const double* x, double* y, int n) { y[n] = SCALE * x[n]; }\n");
  std::string manifest = kManifest;
  for (auto [from, to] :
       {std::pair("ns::twice<TILE, T>", "twice"), {"my/scale.h", "scale.h"}, {"\"-Iinclude\", ", ""}}) {
    manifest.replace(manifest.find(from), std::string(from).size(), to);
  }
  std::vector<std::pair<std::string, std::string>> texts = {
      {"manifest.json", manifest}, {"k.cu", *ReadFile(folder_.path() + "/k.cu")}, {"scale.h", "#define SCALE 2\n"}};
  std::vector<EmbeddedFile> files;
  for (const auto& [name, text] : texts) {
    files.push_back({name.c_str(), reinterpret_cast<const unsigned char*>(text.data()), text.size()});
  }
  Result<Bundle> bundle = Bundle::Load(EmbeddedBundle{"twice", files.data(), files.size()});
  ASSERT_OK(bundle);
  Result<Artifact> artifact = NvrtcToolchain(testing::Tools()).Compile(SourceOf(*bundle), Hints(), Sm(90));
  if (artifact.status().code() == StatusCode::kUnavailable) {
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << artifact.status().message();
  }
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->symbol, "_Z5twicePKdPdi");
}

}  // namespace
}  // namespace tuneonce
