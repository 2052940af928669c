// Bundles that were compiled ahead (`tuneonce bundle compile`), on the CPU device: no compiler is there where they run.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "launch/call_binder.h"
#include "runtime/tuned_kernel_on.h"
#include "search/candidate.h"
#include "shared/compile_pool.h"
#include "store/kernel_fingerprint.h"
#include "store/memory_store.h"
#include "store/shipped_selections.h"
#include "testing/device_test.h"
#include "testing/process_monitor.h"
#include "testing/runtimes.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"
#include "tuneonce/plugin/autotune_observer.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/runtime.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

constexpr char kManifest[] = R"({"tuneonce_bundle": 1, "name": "scale", "version": "1", "dims": ["N"], "parameters": [
{"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
{"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
{"name": "factor", "kind": "scalar", "dtype": "float32", "warmup": 2.0}, {"kind": "dim", "dim": "N"}],
"axes": [{"name": "TILE", "values": [256, 4096]}], "baseline": {"TILE": 256}, "example": {"dims": {"N": 5000}},
"variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "scale", "defines": ["TILE"], OPTIONS
"grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]}, "artifacts": [{"file": "src/scale.cc"}]}]})";
constexpr char kSource[] = R"(
static void scale(const tuneonce_block& block, const float* x, float* y, float factor, int n) {
  int begin = block.x * TILE, end = begin + TILE < n ? begin + TILE : n;
  for (int i = begin; i < end; ++i) y[i] = x[i] * factor;
}
TUNEONCE_CPU_KERNEL(scale);)";

std::string Replaced(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

struct KeepResult : AutotuneObserver {
  void OnTuned(const std::string&, const std::string&, const TuningRecord& tuned) override { result = tuned; }
  TuningRecord result;
};

class PrecompiledBundleTest : public testing::CpuDeviceTest {
 protected:
  PrecompiledBundleTest() : folder_(*testing::MakeFolder()) {
    for (const char* made : {"scale", "scale/src"}) EXPECT_EQ(mkdir(Path(made).c_str(), 0700), 0);
    EXPECT_OK(folder_.WriteFile("scale/manifest.json", Replaced(kManifest, "OPTIONS", "")));
    EXPECT_OK(folder_.WriteFile("scale/src/scale.cc", kSource));
  }
  void SetUp() override {
    CpuDeviceTest::SetUp();
    compilerless_ = testing::RuntimeIn({{"TUNEONCE_CXX", "/nowhere/c++"}});
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }

  /// Compiles scale into `output` for the CPU device. False, with a failure, if that fails.
  bool Compile(const std::string& output, std::vector<std::string> options = {}) {
    std::vector<std::string> command = {"bundle", "compile", Path("scale"), "--target", "cpu", "-o", Path(output)};
    command.insert(command.end(), options.begin(), options.end());
    ProcessResult result = RunCli(command);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.exit_code == 0;
  }
  /// Tunes the source bundle of N=5000 into the store "st/store.db".
  std::string Tuned() {
    ProcessResult result =
        RunCli({"tune", Path("scale"), "--device", "cpu", "--quiet", "--store", Path("st/store.db")});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return Path("st/store.db");
  }
  void Rewrite(const std::string& file, const std::string& what, const std::string& by) {
    std::string text = *ReadFile(Path(file));
    EXPECT_NE(text.find(what), std::string::npos) << file << " has no " << what;
    EXPECT_OK(WriteFile(Path(file), Replaced(text, what, by)));
  }

  AutotunePolicy Policy(AutotunePolicy::Mode mode = AutotunePolicy::Mode::kTuneOnMiss) {
    AutotunePolicy policy;
    policy.mode = mode;
    policy.search.runtime = compilerless_;
    policy.search.max_rounds = 1;
    policy.store = std::make_shared<MemoryStore>();
    policy.observer = observer_;
    policy.on_tune_error = AutotunePolicy::OnTuneError::kReturn;
    return policy;
  }
  /// Launches scale by 3 on N ones.
  Status Launch(TunedKernel& kernel, std::size_t n, float expected = 3) {
    DeviceBuffer x = Floats(std::vector<float>(n, 1)), y = Floats(std::vector<float>(n, 0));
    auto extent = static_cast<std::int64_t>(n);
    TUNEONCE_RETURN_IF_ERROR(kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), DType::kFloat32, {extent}),
                                           TensorView::Contiguous(y.data(), DType::kFloat32, {extent}), 3.0f));
    EXPECT_EQ(Read(y), std::vector<float>(n, expected));
    return Status();
  }
  Status LaunchFrom(const std::string& folder, AutotunePolicy policy, float expected = 3) {
    TUNEONCE_ASSIGN_OR_RETURN(TunedKernel kernel, TunedKernel::FromBundle(Path(folder), std::move(policy)));
    return Launch(kernel, 5000, expected);
  }

  TemporaryFolder folder_;
  std::shared_ptr<Runtime> compilerless_;
  const std::shared_ptr<KeepResult> observer_ = std::make_shared<KeepResult>();
};

TEST_F(PrecompiledBundleTest, DecidedKeysNeedNoCompilerAndNoSearchWhateverTheDriver) {
  std::string store = Tuned();
  ASSERT_TRUE(Compile("out", {"--selections", store}));
  for (auto mode : {AutotunePolicy::Mode::kTuneOnMiss, AutotunePolicy::Mode::kStoredOnly}) {
    for (int driver_is_newer_by : {0, 10}) {
      Bundle bundle = *Bundle::Load(Path("out"));
      KernelDefinition definition = bundle.definition();
      std::vector<TuningRecord> records = *DecodeRecords(definition.shipped_selections());
      ASSERT_EQ(records.size(), 1u);
      records[0].key.driver_version -= driver_is_newer_by;
      definition.ShippedSelections(EncodeRecords(records));
      const testing::ProcessMonitor monitor;
      TunedKernel kernel = *TunedKernelOn::Create(*device_, definition, Policy(mode));
      ASSERT_OK(Launch(kernel, 5000));
      EXPECT_EQ(kernel.counters().tunes, 0);
      EXPECT_EQ(kernel.counters().stored_hits, 1);
      EXPECT_EQ(kernel.counters().fallbacks, 0);
      EXPECT_EQ(compilerless_->num_compiles(), 0);
      EXPECT_FALSE(monitor.HasStartedOne());
    }
  }
}

TEST_F(PrecompiledBundleTest, TheMonitorAndTheCounterSeeACompiler) {
  AutotunePolicy policy = Policy();
  policy.search.runtime = testing::RuntimeIn({});
  const testing::ProcessMonitor monitor;
  ASSERT_OK(LaunchFrom("scale", policy));
  EXPECT_TRUE(monitor.HasStartedOne());
  EXPECT_EQ(policy.search.runtime->num_compiles(), 2);
}

TEST_F(PrecompiledBundleTest, AnUndecidedKeyIsSearchedWithoutACompilerAndRemembered) {
  ASSERT_TRUE(Compile("out"));
  AutotunePolicy policy = Policy();
  const testing::ProcessMonitor monitor;
  for (bool is_restart : {false, true}) {
    TunedKernel kernel = *TunedKernel::FromBundle(Path("out"), policy);
    ASSERT_OK(Launch(kernel, 5000));
    EXPECT_EQ(kernel.counters().tunes, is_restart ? 0 : 1);
    EXPECT_EQ(kernel.counters().stored_hits, is_restart ? 1 : 0);
  }
  EXPECT_EQ(observer_->result.successes().size() + observer_->result.duplicates().size(), 2u);
  EXPECT_TRUE(observer_->result.failures().empty());
  EXPECT_EQ(observer_->result.cost.num_compiled, 0);
  EXPECT_EQ(compilerless_->num_compiles(), 0);
  EXPECT_FALSE(monitor.HasStartedOne());
}

TEST_F(PrecompiledBundleTest, EachDTypeHasItsCodeUnlessFewerWereAskedFor) {
  Rewrite("scale/manifest.json", R"("in", "dtype": "float32")", R"("in")");
  Rewrite("scale/manifest.json", R"("out", "dtype": "float32")", R"("out", "same_dtype_as": "x")");
  Rewrite("scale/manifest.json", R"("defines": ["TILE"],)",
          R"("defines": ["TILE"], "types": {"T": {"dtype_of": "x"}},
             "assumptions": [{"tensor": "x", "dtype": ["float32", "bfloat16"]}],)");
  Rewrite("scale/src/scale.cc", "const float* x, float* y", "const T* x, T* y");
  // A float's upper half is a bfloat16, and the lower one of 1 and of 3 is 0.
  auto launch_halves = [&](TunedKernel& kernel) {
    DeviceBuffer x = Floats(std::vector<float>(100, 1)), y = Floats(std::vector<float>(100, 0));
    const Status launched = kernel.Launch(stream_->get(), TensorView::Contiguous(x.data(), kBFloat16, {200}),
                                          TensorView::Contiguous(y.data(), kBFloat16, {200}), 3.0f);
    if (launched.ok()) {
      EXPECT_EQ(Read(y), std::vector<float>(100, 3));
    }
    return launched;
  };
  ASSERT_TRUE(Compile("both"));
  TunedKernel both = *TunedKernel::FromBundle(Path("both"), Policy());
  EXPECT_OK(Launch(both, 5000));
  EXPECT_OK(launch_halves(both));
  EXPECT_EQ(both.counters().tunes, 2);
  ASSERT_TRUE(Compile("one", {"--dtype", "x=float32"}));
  TunedKernel one = *TunedKernel::FromBundle(Path("one"), Policy());
  EXPECT_OK(Launch(one, 5000));
  EXPECT_ERROR(launch_halves(one), StatusCode::kUnavailable, "compiler");
  EXPECT_EQ(compilerless_->num_compiles(), 0);
}

TEST_F(PrecompiledBundleTest, InStoredOnlyAnUndecidedKeyRunsTheBaseline) {
  ASSERT_TRUE(Compile("out"));
  TunedKernel kernel = *TunedKernel::FromBundle(Path("out"), Policy(AutotunePolicy::Mode::kStoredOnly));
  ASSERT_OK(kernel.Warmup(stream_->get(), {{{"N", 5000}}}));
  ASSERT_OK(Launch(kernel, 5000));
  EXPECT_EQ(kernel.counters().fallbacks, 1);
  EXPECT_EQ(kernel.counters().tunes, 0);
  EXPECT_EQ(compilerless_->num_compiles(), 0);
}

TEST_F(PrecompiledBundleTest, ItIsTheSameKernelAsItsSourceBundleWithSourcesOrWithout) {
  ASSERT_TRUE(Compile("with"));
  ASSERT_TRUE(Compile("without", {"--no-sources"}));
  EXPECT_FALSE(ReadFile(Path("without/src/scale.cc")).ok());
  Target cpu;
  cpu.is_cpu_device = true;
  std::vector<Fingerprint> kernels;
  for (const char* folder : {"scale", "with", "without"}) {
    Bundle bundle = *Bundle::Load(Path(folder));
    KernelDefinition definition = bundle.definition();
    ASSERT_OK(definition.Validate());
    Problem problem;
    problem.dims = Dims(1);
    problem.target = &cpu;
    kernels.push_back(*KernelFingerprint(definition, problem));
    ASSERT_OK(folder == std::string("scale") ? Status() : LaunchFrom(folder, Policy()));
  }
  EXPECT_EQ(kernels[0], kernels[1]);
  EXPECT_EQ(kernels[0], kernels[2]);
}

TEST_F(PrecompiledBundleTest, ASourceThatIsPutBackIsReadAndRunsItsCodeOnlyIfItIsTheOneThatWasCompiled) {
  Rewrite("scale/manifest.json", "[{\"file\": \"src/scale.cc\"}]",
          R"([{"config": {"TILE": 256}, "file": "src/scale.cc"}, {"config": {"TILE": 4096}, "file": "src/large.cc"}])");
  ASSERT_OK(folder_.WriteFile("scale/src/large.cc", kSource));
  ASSERT_TRUE(Compile("out", {"--no-sources"}));
  ASSERT_EQ(mkdir(Path("out/src").c_str(), 0700), 0);
  ASSERT_OK(folder_.WriteFile("out/src/scale.cc", kSource));
  EXPECT_ERROR(LaunchFrom("out", Policy()), StatusCode::kInvalidArgument,
               "the bundle was compiled without its sources, and has 'src/scale.cc' but not 'src/large.cc': add all "
               "sources of variant 'cpu', or none");
  ASSERT_OK(folder_.WriteFile("out/src/large.cc", kSource));
  EXPECT_OK(LaunchFrom("out", Policy()));  // Without a compiler.
  EXPECT_EQ(RunCli({"bundle", "check", Path("out")}).exit_code, 0);
  for (const char* file : {"out/src/scale.cc", "out/src/large.cc"}) Rewrite(file, "* factor", "* factor + 7");
  EXPECT_ERROR(LaunchFrom("out", Policy()), StatusCode::kUnavailable, "or its sources were changed since");
  AutotunePolicy with_compiler = Policy();
  with_compiler.search.runtime = testing::RuntimeIn({});
  EXPECT_OK(LaunchFrom("out", with_compiler, 10));
  ProcessResult checked = RunCli({"bundle", "check", Path("out")});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE(checked.output.find("[wrong] variant 'cpu': 'src/scale.cc' or a header of it differs from the source that "
                                "was compiled"),
            std::string::npos)
      << checked.output;
}

TEST_F(PrecompiledBundleTest, OnlyWhatIsDecidedTravelsAndIsSearchedWhereAKeyIsNot) {
  std::string store = Tuned();
  ASSERT_TRUE(Compile("out", {"--selections", store, "--only-decided", "--no-sources"}));
  Bundle bundle = *Bundle::Load(Path("out"));
  std::string winner = (*DecodeRecords(bundle.definition().shipped_selections()))[0].best.config.ToString();
  std::size_t expected = winner == "TILE=256" ? 1 : 2;  // The winner and the baseline.
  TunedKernel kernel = *TunedKernel::FromBundle(Path("out"), Policy());
  ASSERT_OK(Launch(kernel, 5000));
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(Launch(kernel, 100000));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(observer_->result.successes().size() + observer_->result.duplicates().size(), expected);
  for (const CandidateOutcome& failure : observer_->result.failures()) {
    EXPECT_NE(failure.message.find("--no-sources"), std::string::npos) << failure.message;
  }
}

TEST_F(PrecompiledBundleTest, DamagedCodeIsCompiledAnewOrAnErrorAndNeverRuns) {
  ASSERT_TRUE(Compile("out"));
  for (const std::string& name : NamesIn(Path("out/precompiled/cpu"))) {
    std::string file = Path("out/precompiled/cpu/" + name), image = *ReadFile(file);
    image[image.size() / 2] = static_cast<char>(image[image.size() / 2] ^ 1);
    ASSERT_OK(WriteFile(file, image));
  }
  EXPECT_ERROR(LaunchFrom("out", Policy()), StatusCode::kUnavailable, "was changed or damaged (the checksum differs)");
  AutotunePolicy with_compiler = Policy();
  with_compiler.search.runtime = testing::RuntimeIn({});
  EXPECT_OK(LaunchFrom("out", with_compiler));
  EXPECT_EQ(with_compiler.search.runtime->num_compiles(), 2);
  ProcessResult checked = RunCli({"bundle", "check", Path("out")});
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_NE(checked.output.find("[wrong] variant 'cpu' {TILE=4096} on cpu: "), std::string::npos) << checked.output;
}

TEST_F(PrecompiledBundleTest, ASourceThatChangedIsNotRunByItsOldCode) {
  ASSERT_TRUE(Compile("out"));
  Rewrite("out/src/scale.cc", "x[i] * factor", "x[i] * factor + 1");
  EXPECT_ERROR(LaunchFrom("out", Policy()), StatusCode::kUnavailable, "or its sources were changed since");
  AutotunePolicy with_compiler = Policy();
  with_compiler.search.runtime = testing::RuntimeIn({});
  EXPECT_OK(LaunchFrom("out", with_compiler, 4));
}

TEST_F(PrecompiledBundleTest, AnotherTargetOrProcessorIsSaidInOneLine) {
  ASSERT_TRUE(Compile("out"));
  ASSERT_TRUE(Compile("other"));
  Rewrite("out/precompiled.json", "\"cpu\": \"", "\"cpu\": \"another ");
  EXPECT_ERROR(LaunchFrom("out", Policy()), StatusCode::kUnavailable,
               "the bundle's code for the CPU device was compiled for the CPU model 'another ");
  Rewrite("other/precompiled.json", "\"target\": \"cpu\"", "\"target\": \"sm_90\"");
  Rewrite("other/precompiled.json", "\"name\": \"cpu\"", "\"name\": \"sm_90\"");
  Status status = LaunchFrom("other", Policy());
  EXPECT_NE(status.message().find("was compiled ahead for sm_90, not for cpu"), std::string::npos) << status.ToString();
  EXPECT_NE(status.message().find("/nowhere/c++"), std::string::npos) << status.ToString();
}

TEST_F(PrecompiledBundleTest, EmbeddedItNeedsNoCompilerEither) {
  std::string store = Tuned();
  ASSERT_TRUE(Compile("out", {"--selections", store, "--no-sources"}));
  std::vector<std::pair<std::string, std::string>> contents = {
      {"manifest.json", *ReadFile(Path("out/manifest.json"))},
      {"precompiled.json", *ReadFile(Path("out/precompiled.json"))},
      {"precompiled/selections", *ReadFile(Path("out/precompiled/selections"))}};
  for (const std::string& name : NamesIn(Path("out/precompiled/cpu"))) {
    contents.emplace_back("precompiled/cpu/" + name, *ReadFile(Path("out/precompiled/cpu/" + name)));
  }
  std::vector<EmbeddedFile> files;
  for (const auto& [name, content] : contents) {
    files.push_back({name.c_str(), reinterpret_cast<const unsigned char*>(content.data()), content.size()});
  }
  const testing::ProcessMonitor monitor;
  TunedKernel kernel = *TunedKernel::FromBundle(EmbeddedBundle{"scale", files.data(), files.size()}, Policy());
  ASSERT_OK(Launch(kernel, 5000));
  EXPECT_EQ(kernel.counters().tunes, 0);
  ASSERT_OK(Launch(kernel, 123));
  EXPECT_EQ(kernel.counters().tunes, 1);
  EXPECT_EQ(compilerless_->num_compiles(), 0);
  EXPECT_FALSE(monitor.HasStartedOne());
}

TEST_F(PrecompiledBundleTest, ALinkedFolderIsCopiedAndWhatCannotBeCompiledAheadIsOneLine) {
  ASSERT_EQ(symlink(Path("scale").c_str(), Path("linked").c_str()), 0);
  ProcessResult linked = RunCli({"bundle", "compile", Path("linked"), "--target", "cpu", "-o", Path("out")});
  EXPECT_EQ(linked.exit_code, 0) << linked.output;
  EXPECT_OK(LaunchFrom("out", Policy()));
  auto compile = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"bundle", "compile", Path("scale")});
    return options;
  };
  ExpectOneLineError(compile({"--target", "cpu", "-o", Path("out")}), "the folder exists already: use a new folder");
  ASSERT_EQ(mkdir(Path("empty").c_str(), 0777), 0);
  ASSERT_EQ(symlink(Path("empty").c_str(), Path("link").c_str()), 0);
  for (const char* taken : {"scale/manifest.json", "link"}) {
    ExpectOneLineError(compile({"--target", "cpu", "-o", Path(taken)}), "a file or a link of this name exists already");
  }
  EXPECT_EQ(RunCli(compile({"--target", "cpu", "-o", Path("empty")})).exit_code, 0);
  ExpectOneLineError(compile({"--target", "sm_90", "-o", Path("new")}), "sm_90");
  ExpectOneLineError(compile({"--target", "gpu", "-o", Path("new")}), "use a name such as sm_90, or cpu");
  ExpectOneLineError(compile({"--target", "cpu", "--target", "cpu", "-o", Path("new")}), "is given twice");
  ExpectOneLineError(compile({"--target", "cpu", "--only-decided", "-o", Path("new")}), "--selections STORE");
  ExpectOneLineError(compile({"--target", "cpu", "-o", Path("new")}), "/nowhere/c++", "TUNEONCE_CXX=/nowhere/c++");
  ASSERT_OK(folder_.WriteFile("scale/manifest.json", Replaced(kManifest, "OPTIONS", R"("options": ["-Isrc"],)")));
  ExpectOneLineError(compile({"--target", "cpu", "-o", Path("new")}), "has the option -Isrc");
  EXPECT_FALSE(IsDirectory(Path("new")));
}

/// What the manifest does not name does not travel, and is no part of the kernel's identity.
TEST_F(PrecompiledBundleTest, AHeaderThatTheManifestDoesNotNameIsRefused) {
  ASSERT_OK(folder_.WriteFile("scale/src/loose.h", "#define LOOSE 1\n"));
  const std::string loose = Path("scale/src/loose.h");
  const std::vector<std::string> command = {"bundle", "compile", Path("scale"), "--target", "cpu", "-o", Path("new")};
  for (const std::string& include :
       {std::string("#include \"loose.h\""), std::string("#include \"" + loose + "\""),
        std::string("#include <" + loose + ">"), std::string("#define HEADER \"" + loose + "\"\n#include HEADER")}) {
    SCOPED_TRACE(include);
    ASSERT_OK(folder_.WriteFile("scale/src/scale.cc", include + kSource));
    ExpectOneLineError(command, "src/scale.cc includes '");
    ExpectOneLineError(command, "loose.h', which the manifest does not name; put it into the source");
    EXPECT_FALSE(IsDirectory(Path("new")));
  }
  // Those of the compiler may be included, and what is not compiled may be there.
  ASSERT_OK(folder_.WriteFile("scale/src/scale.cc",
                              std::string("#include <cstddef>\n#if 0\n#include \"loose.h\"\n#endif") + kSource));
  EXPECT_TRUE(Compile("new"));
}

TEST_F(PrecompiledBundleTest, TileCppIsCompiledAheadForGpusAndItsParametersAreThoseOfItsCode) {
  std::string manifest = Replaced(Replaced(kManifest, "OPTIONS", ""), "cpu_cpp", "tile_cpp");
  manifest =
      Replaced(Replaced(manifest, "\"symbol\": \"scale\"", "\"symbol\": \"scale<TILE>\""), "scale.cc", "scale.cu");
  EXPECT_OK(folder_.WriteFile("scale/src/scale.cu", R"(
#include "cuda_tile.h"
template <int TILE>
__tile_global__ void scale(const float* __restrict__ x, float* __restrict__ y, float factor, int n) {
  namespace tiles = ::cuda::tiles;
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<TILE>{}};
  auto ys = tiles::partition_view{tiles::tensor_span{y, tiles::extents{n}}, tiles::shape<TILE>{}};
  ys.store_masked(xs.load_masked(tiles::bid().x) * factor, tiles::bid().x);
})"));
  EXPECT_OK(folder_.WriteFile("scale/manifest.json", manifest));
  const std::string tileiras = "TUNEONCE_TILEIRAS=" + Environment::Read().tileiras;
  const std::string no_compiler = "TUNEONCE_TILE_NVRTC=/nowhere/libnvrtc.so.13";
  auto compile = [&](const std::string& output) {
    return RunCli({"bundle", "compile", Path("scale"), "--target", "sm_90", "-o", Path(output)}, tileiras);
  };
  ProcessResult compiled = compile("ahead");
  if (compiled.output.find("CUDA Tile C++ needs") != std::string::npos) {
    GTEST_SKIP() << "NOT INSTALLED: " << compiled.output;
  }
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_NE(compiled.output.find("sm_90: 2 configs, 2 ways to build them compiled"), std::string::npos);
  ProcessResult checked = RunCli({"bundle", "check", Path("ahead"), "--target", "sm_90"}, no_compiler);
  EXPECT_EQ(checked.exit_code, 0) << checked.output;
  EXPECT_OK(folder_.WriteFile("scale/manifest.json",
                              Replaced(manifest, "\"dim\": \"N\"}", "\"dim\": \"N\", \"dtype\": \"int64\"}")));
  ASSERT_EQ(compile("wrong").exit_code, 0);
  checked = RunCli({"bundle", "check", Path("wrong"), "--target", "sm_90"}, no_compiler);
  EXPECT_NE(checked.exit_code, 0);
  EXPECT_NE(checked.output.find("parameter 'N' (4 of 4 in the code): declared with 8 bytes, but the code has 4"),
            std::string::npos)
      << checked.output;
}

TEST_F(PrecompiledBundleTest, ShippedTileCppIsServedFromItsCubinsWithoutNvrtcAndTileiras) {
  const std::string bundle_folder = std::string(TUNEONCE_BUNDLE_FOLDER) + "/vector_add";
  std::vector<std::string> command = {"bundle",    "compile", bundle_folder, "--target",   "sm_90",
                                      "--variant", "tile_c",  "-o",          Path("ahead")};
  ExpectOneLineError(command, "--variant tile_c: 'vector_add' has no such variant for sm_90");
  command[6] = "tile_cpp";
  ProcessResult compiled = RunCli(command, "TUNEONCE_TILEIRAS=" + Environment::Read().tileiras);
  if (compiled.output.find("CUDA Tile C++ needs") != std::string::npos) {
    GTEST_SKIP() << "NOT INSTALLED: " << compiled.output;
  }
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  EXPECT_NE(compiled.output.find("4 ways to build them compiled"), std::string::npos) << compiled.output;
  const std::shared_ptr<Runtime> runtime = testing::RuntimeIn(
      {{"TUNEONCE_TILE_NVRTC", "/nowhere/libnvrtc.so.13"}, {"TUNEONCE_TILEIRAS", "/nowhere/tileiras"}});
  Result<Bundle> bundle = Bundle::Load(Path("ahead"), runtime);
  ASSERT_OK(bundle);
  const KernelDefinition& definition = bundle->definition();
  const std::vector<Config> configs = *definition.space().Enumerate(testing::Sm(90));
  std::vector<CompileJob> jobs;
  for (const Variant& variant : definition.variants()) {
    for (const Config& config : configs) {
      if (variant.name != "tile_cpp" || !variant.IsBackendOf(config)) continue;
      jobs.emplace_back();
      jobs.back().alternatives.push_back({variant.MakeSource(config, Problem()), variant.hints(config)});
    }
  }
  EXPECT_EQ(jobs.size(), 4u);
  CompileOptions options;
  options.cache = runtime->memory_store();
  const testing::ProcessMonitor monitor;
  CompilePool pool(runtime->compile_slots(), runtime->toolchains(), testing::Sm(90), jobs, options);
  while (std::optional<CompiledJob> job = pool.Next()) {
    ASSERT_OK(job->artifact);
    EXPECT_EQ(job->artifact->symbol.rfind("_Z10vector_addILi", 0), 0u) << job->artifact->symbol;
    EXPECT_FALSE(job->artifact->image.empty());
  }
  EXPECT_EQ(runtime->num_compiles(), 0);
  EXPECT_FALSE(monitor.HasStartedOne());
}

TEST_F(PrecompiledBundleTest, TileCppThatWasCompiledAheadIsLoadedWithWhatItAssumesAndStartsNoProcess) {
  std::string manifest = Replaced(Replaced(kManifest, "OPTIONS", ""), "cpu_cpp", "tile_cpp");
  manifest =
      Replaced(Replaced(manifest, "\"symbol\": \"scale\"", "\"symbol\": \"scale<TILE>\""), "scale.cc", "scale.cu");
  EXPECT_OK(folder_.WriteFile("scale/src/scale.cu", R"(
#include "cuda_tile.h"
template <int TILE>
__tile_global__ void scale(const float* __restrict__ x, float* __restrict__ y, float factor, int n) {
  namespace tiles = ::cuda::tiles;
  n = tiles::assume_divisible<16>(n);
  auto xs = tiles::partition_view{tiles::tensor_span{x, tiles::extents{n}}, tiles::shape<TILE>{}};
  auto ys = tiles::partition_view{tiles::tensor_span{y, tiles::extents{n}}, tiles::shape<TILE>{}};
  ys.store_masked(xs.load_masked(tiles::bid().x) * factor, tiles::bid().x);
})"));
  EXPECT_OK(folder_.WriteFile("scale/manifest.json", manifest));
  const std::string tileiras = "TUNEONCE_TILEIRAS=" + Environment::Read().tileiras;
  ProcessResult compiled =
      RunCli({"bundle", "compile", Path("scale"), "--target", "sm_90", "-o", Path("ahead")}, tileiras);
  if (compiled.output.find("CUDA Tile C++ needs") != std::string::npos) {
    GTEST_SKIP() << "NOT INSTALLED: " << compiled.output;
  }
  ASSERT_EQ(compiled.exit_code, 0) << compiled.output;
  for (const char* folder : {"scale", "ahead"}) {  // Read from what NVRTC makes, and from what was compiled.
    ProcessResult shown = RunCli({"bundle", "show", Path(folder)},
                                 folder == std::string("scale") ? tileiras : "TUNEONCE_TILE_NVRTC=/nowhere/nvrtc.so");
    EXPECT_NE(shown.output.find("its code assumes that the dim 'N' is a multiple of 16"), std::string::npos)
        << shown.output;
  }
  auto definition = std::make_shared<const KernelDefinition>(Bundle::Load(Path("ahead"))->definition());
  const Target target = *Target::Named("sm_90");
  std::shared_ptr<Runtime> runtime = testing::RuntimeIn(
      {{"TUNEONCE_TILE_NVRTC", "/nowhere/nvrtc.so"}, {"TUNEONCE_TILEIRAS", "/nowhere/tileiras"}, {"PATH", "/nowhere"}});
  const Result<std::vector<Config>> configs = definition->space().Enumerate(target);
  ASSERT_OK(configs);
  const testing::ProcessMonitor monitor;
  for (std::int64_t n : {64, 60}) {
    auto* nowhere = reinterpret_cast<void*>(0x100000);
    const TensorView tensor = TensorView::Contiguous(nowhere, DType::kFloat32, {n});  // Arguments refer to it.
    const std::vector<Argument> arguments = {tensor, tensor, 2.0f};
    BoundCall call;
    ASSERT_OK(CallBinder(*definition).Bind(arguments.data(), arguments.size(), &call));
    call.problem.target = &target;
    for (const Config& config : *configs) {
      Result<PlannedConfig> planned = PlanConfig(definition, config, call, /*enable_tile=*/true);
      ASSERT_OK(planned);
      CompileJob job = CompileJobOf(*planned);
      RefuseUnsuitableCode(*planned, &job);
      CompileOptions options;
      options.cache = runtime->memory_store();
      CompilePool pool(runtime->compile_slots(), runtime->toolchains(), target, {job}, options);
      const CompiledJob done = *pool.Next();
      if (n == 64) {
        EXPECT_OK(done.artifact);
      } else {
        EXPECT_ERROR(done.artifact, StatusCode::kInvalidArgument,
                     "dimension 0 of 'x' has extent 60, which 16 does not divide");
      }
    }
  }
  EXPECT_EQ(runtime->num_compiles(), 0);
  EXPECT_FALSE(monitor.HasStartedOne()) << "neither Python, nor nvcc, nor tileiras";
  EXPECT_FALSE(testing::IsMapped("libnvrtc"));
}

TEST_F(PrecompiledBundleTest, AHeaderThatTheManifestDoesNotNameIsRefusedInCudaCppToo) {
  const std::string manifest =
      Replaced(Replaced(Replaced(kManifest, "OPTIONS", "\"block\": [64], HEADERS"), "cpu_cpp", "cuda_cpp"),
               "src/scale.cc", "src/scale.cu");
  ASSERT_OK(folder_.WriteFile("scale/manifest.json", Replaced(manifest, "HEADERS", "")));
  ASSERT_OK(folder_.WriteFile("scale/src/loose.h", "#define LOOSE 1\n"));
  const std::string kernel =
      "extern \"C\" __global__ void scale(const float* x, float* y, float f, int n) { y[0] = f * TILE * LOOSE; }\n";
  ASSERT_OK(folder_.WriteFile("scale/src/scale.cu", "#define LOOSE 1\n" + kernel));
  const std::vector<std::string> command = {"bundle", "compile", Path("scale"), "--target", "sm_90", "-o", Path("new")};
  ProcessResult alone = RunCli(command);
  if (alone.exit_code != 0) GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << alone.output;
  ASSERT_EQ(system(("rm -r " + Path("new")).c_str()), 0);
  const std::string words =
      "src/scale.cu includes 'src/loose.h', which the manifest does not name; name it in `headers`";
  ASSERT_OK(folder_.WriteFile("scale/src/scale.cu", "#include \"loose.h\"\n" + kernel));
  ExpectOneLineError(command, words);  // NVRTC does not find it.
  char* here = get_current_dir_name();
  ASSERT_EQ(chdir(Path("scale").c_str()), 0);
  ExpectOneLineError(command, words);  // Here it does.
  ASSERT_EQ(chdir(here), 0);
  free(here);
  EXPECT_FALSE(IsDirectory(Path("new")));
  ASSERT_OK(folder_.WriteFile("scale/manifest.json",
                              Replaced(manifest, "HEADERS", "\"headers\": {\"loose.h\": \"src/loose.h\"},")));
  ProcessResult named = RunCli(command);
  EXPECT_EQ(named.exit_code, 0) << named.output;
  EXPECT_EQ(*ReadFile(Path("new/src/loose.h")), "#define LOOSE 1\n");
}

TEST_F(PrecompiledBundleTest, AListOfCodeThatIsNoneIsAnErrorWithItsLine) {
  ASSERT_TRUE(Compile("out"));
  const std::string whole = *ReadFile(Path("out/precompiled.json"));
  for (const auto& [what, by, message] :
       {std::tuple("\"tuneonce_precompiled\": 1", "\"tuneonce_precompiled\": 2", "update tuneonce"),
        std::tuple("\"checksum\": \"", "\"checksum\": \"x", "32 hexadecimal digits"),
        std::tuple("\"file\"", "\"fil\"", "fil"),
        std::tuple("\"target\": \"cpu\"", "\"target\": \"sm_1\"", "the target is not listed"),
        std::tuple("precompiled/cpu/", "../cpu/", "lies outside the bundle")}) {
    ASSERT_OK(WriteFile(Path("out/precompiled.json"), Replaced(whole, what, by)));
    Status status = LaunchFrom("out", Policy());
    EXPECT_NE(status.message().find(message), std::string::npos) << what << ": " << status.ToString();
  }
}

TEST_F(PrecompiledBundleTest, ShowSaysWhatTravels) {
  std::string store = Tuned();
  ASSERT_TRUE(Compile("out", {"--selections", store}));
  auto shown = nlohmann::json::parse(RunCli({"bundle", "show", Path("out"), "--json"}).output);
  EXPECT_EQ(shown["targets"][0]["name"], "cpu");
  EXPECT_EQ(shown["targets"][0]["images"], 2);
  EXPECT_EQ(shown["selections"].size(), 1u);
  EXPECT_NE(shown["selections"][0]["key"].get<std::string>().find("N=5000"), std::string::npos);
  ProcessResult text = RunCli({"bundle", "show", Path("out")});
  EXPECT_NE(text.output.find("compiled for cpu: 2 images"), std::string::npos) << text.output;
}

}  // namespace
}  // namespace tuneonce
