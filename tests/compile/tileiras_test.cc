// tileiras and ptxas: the real ones from PyPI (scripts/test installs them), and fakes that misbehave.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>
#include <thread>

#include "base/environment.h"
#include "base/file.h"
#include "base/temporary_folder.h"
#include "compile/command_toolchain.h"
#include "compile/toolbox.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/plugin/toolchain.h"

namespace tuneonce {
namespace {

using testing::Sm;

std::string Fixture(const std::string& name) { return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir"); }

constexpr char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .u64 y, .param .u32 value) {
  .reg .b32 %r<2>; .reg .b64 %rd<3>;
  .shared .align 4 .b8 scratch[512];
  ld.param.u64 %rd1, [y]; ld.param.u32 %r1, [value]; cvta.to.global.u64 %rd2, %rd1;
  st.shared.u32 [scratch], %r1; bar.sync 0; ld.shared.u32 %r1, [scratch+4];
  st.global.u32 [%rd2], %r1;
  ret;
}
)";

#define SKIP_WITHOUT(toolchain)                                             \
  if (Result<std::string> version = (toolchain).Version(); !version.ok()) { \
    GTEST_SKIP() << "NOT INSTALLED: " << version.status().message();        \
  }

TEST(TileirasToolchainTest, CompilesBytecodeAndDescribesTheCubin) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  Result<Artifact> artifact = tileiras.Compile(KernelSource::TileIr(Fixture("matmul"), "matmul"), Hints(), Sm(90));
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->kernels, std::vector<std::string>{"matmul"});
  EXPECT_GT(artifact->resources.registers, 16);
  EXPECT_GE(artifact->resources.shared_bytes, 64 * 64 * 2 * 2) << "two tiles of 64 x 64 in fp16";
  EXPECT_GT(artifact->seconds, 0);
  EXPECT_EQ(artifact->log, "");
  // Another architecture, and the entry that is the only one.
  Result<Artifact> sm80 = tileiras.Compile(KernelSource::TileIr(Fixture("matmul"), ""), Hints(), Sm(80));
  ASSERT_OK(sm80);
  EXPECT_EQ(sm80->symbol, "matmul");
  EXPECT_NE(sm80->code_fingerprint, artifact->code_fingerprint);
}

TEST(TileirasToolchainTest, RemarksComeWithTheArtifact) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  Result<Artifact> artifact =
      tileiras.Compile(KernelSource::TileIr(Fixture("product.unaligned"), "product"), Hints(), Sm(90));
  ASSERT_OK(artifact);
  ASSERT_FALSE(artifact->remarks.empty());
  EXPECT_EQ(artifact->remarks.front().rfind("failed: Failed to select TMA load instruction: ", 0), 0u)
      << artifact->remarks.front();
  EXPECT_NE(artifact->remarks.front().find("not 16-byte aligned (product.cu:"), std::string::npos)
      << artifact->remarks.front();
  EXPECT_EQ(artifact->log, "");
  Result<Artifact> kept = DecodeArtifact(EncodeArtifact(*artifact));
  ASSERT_OK(kept);
  EXPECT_EQ(kept->remarks, artifact->remarks);
}

TEST(TileirasToolchainTest, OperationsOfProgrammaticLaunchesCompile) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  for (int capability : {90, 100}) {
    EXPECT_OK(tileiras.Compile(KernelSource::TileIr(Fixture("dependent"), "dependent"), Hints(), Sm(capability)));
  }
}

TEST(TileirasToolchainTest, HintsActAndBakedOnesAreReported) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  KernelSource source = KernelSource::TileIr(Fixture("rms_norm.hinted"), "rms_norm");
  Result<Artifact> baked = tileiras.Compile(source, Hints(), Sm(90));
  ASSERT_OK(baked);
  EXPECT_EQ(baked->log,
            "entry 'rms_norm' already has hints: default: num_cta_in_cga=1, occupancy=2; sm_90: occupancy=4");
  // Replacing drops sm_90's own hint, merging keeps it: it wins over the default.
  Hints sixteen(HintValues{{"occupancy", 16}});
  Result<Artifact> replaced = tileiras.Compile(source, sixteen, Sm(90));
  ASSERT_OK(replaced);
  EXPECT_EQ(replaced->log, "");
  Result<Artifact> merged = tileiras.Compile(source, sixteen.Set(Hints::Update::kMerge), Sm(90));
  ASSERT_OK(merged);
  EXPECT_EQ(merged->log, "entry 'rms_norm' keeps hints that override the merged default: occupancy=4 of sm_90");
  EXPECT_EQ(merged->code_fingerprint, baked->code_fingerprint);
}

TEST(TileirasToolchainTest, MathOptionsArePatchedIntoTheBytecodeAndAreInTheKey) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  const Hints hints(HintValues{{"occupancy", 2}});
  std::set<std::string> codes, keys;
  for (const std::vector<std::string>& options :
       {std::vector<std::string>{}, {"--ftz"}, {"--approx"}, {"--ftz", "--approx"}}) {
    KernelSource source = KernelSource::TileIr(Fixture("math.13.3"), "math");
    source.options = options;
    Result<Artifact> artifact = tileiras.Compile(source, hints, Sm(90));
    ASSERT_OK(artifact);
    codes.insert(artifact->code_fingerprint.ToString());
    keys.insert(tileiras.ArtifactKey(source, hints, Sm(90))->ToString());
    // A source that has the flags gives the same image.
    std::string name = "math.13.3";
    for (const std::string& option : options) name += "." + option.substr(2);
    Result<Artifact> flagged = tileiras.Compile(KernelSource::TileIr(Fixture(name), "math"), hints, Sm(90));
    ASSERT_OK(flagged);
    EXPECT_EQ(flagged->image, artifact->image) << name;
  }
  EXPECT_EQ(codes.size(), 4u);
  EXPECT_EQ(keys.size(), 4u);
}

TEST(TileirasToolchainTest, BadRequestsAreRefusedBeforeTheToolRuns) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  KernelSource source = KernelSource::TileIr(Fixture("matmul"), "matmul");
  Target cpu;
  cpu.is_cpu_device = true;
  EXPECT_ERROR(tileiras.Compile(source, Hints(), cpu), StatusCode::kInvalidArgument, "cannot run on the CPU device");
  EXPECT_ERROR(tileiras.Compile(source, Hints(HintValues{{"occupancy", 0}}), Sm(90)), StatusCode::kInvalidArgument,
               "occupancy=0");
  EXPECT_ERROR(tileiras.Compile(source, Hints(HintValues{{"num_ctas", 2}}), Sm(80)), StatusCode::kInvalidArgument,
               "no clusters");
  EXPECT_ERROR(tileiras.Compile(KernelSource::TileIr(Fixture("matmul"), "gemm"), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "no entry 'gemm' in the bytecode; it has matmul");
  EXPECT_ERROR(tileiras.Compile(KernelSource::TileIr("junk", "k"), Hints(), Sm(90)), StatusCode::kInvalidArgument,
               "offset 0");
}

TEST(TileirasToolchainTest, TheToolsWordsAreInTheError) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  EXPECT_ERROR(tileiras.Compile(KernelSource::TileIr(Fixture("matmul"), "matmul"), Hints(), Sm(70)),
               StatusCode::kInvalidArgument, "sm_70");
}

TEST(PtxasToolchainTest, CompilesPtxAndDescribesTheCubin) {
  CommandToolchain ptxas(kPtxas, testing::Tools());
  SKIP_WITHOUT(ptxas);
  Result<Artifact> artifact = ptxas.Compile(KernelSource::Ptx(kPtx, "fill"), Hints(), Sm(90));
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->kernels, std::vector<std::string>{"fill"});
  EXPECT_EQ(artifact->resources.shared_bytes, 512);
  EXPECT_EQ(artifact->resources.local_bytes, 0);
  std::string used = "Used " + std::to_string(artifact->resources.registers) + " registers";
  EXPECT_NE(artifact->log.find(used), std::string::npos) << artifact->log;
  EXPECT_ERROR(ptxas.Compile(KernelSource::Ptx(kPtx, "filler"), Hints(), Sm(90)), StatusCode::kInvalidArgument,
               "no kernel 'filler' in the image; its kernels are: fill");
  EXPECT_ERROR(ptxas.Compile(KernelSource::Ptx("no ptx", "fill"), Hints(), Sm(90)), StatusCode::kInvalidArgument,
               "Missing .version");
  EXPECT_OK(ptxas.Compile(KernelSource::Ptx("\xef\xbb\xbf" + std::string(kPtx), "fill"), Hints(), Sm(90)));
}

TEST(PtxasToolchainTest, PtxForAnArchitecturesOwnFeaturesIsCompiledForIt) {
  CommandToolchain ptxas(kPtxas, testing::Tools());
  SKIP_WITHOUT(ptxas);
  std::string ptx = kPtx;
  ptx.replace(ptx.find("sm_90"), 5, "sm_90a");
  EXPECT_OK(ptxas.Compile(KernelSource::Ptx(ptx, "fill"), Hints(), Sm(90)));
}

TEST(CodeFingerprintTest, NamesAndLineInformationDoNotCount) {
  CommandToolchain tileiras(kTileiras, testing::Tools());
  SKIP_WITHOUT(tileiras);
  KernelSource source = KernelSource::TileIr(Fixture("softmax.13.3"), "softmax");
  Result<Artifact> plain = tileiras.Compile(source, Hints(), Sm(90));
  ASSERT_OK(plain);
  source.options = {"--lineinfo"};
  Result<Artifact> with_lines = tileiras.Compile(source, Hints(), Sm(90));
  ASSERT_OK(with_lines);
  EXPECT_NE(with_lines->image, plain->image);
  EXPECT_EQ(with_lines->code_fingerprint, plain->code_fingerprint);
  // The same kernel under another name, of another length.
  Result<Artifact> renamed =
      tileiras.Compile(KernelSource::TileIr(Fixture("softmax.renamed"), "soft_maximum"), Hints(), Sm(90));
  ASSERT_OK(renamed);
  EXPECT_NE(renamed->image, plain->image);
  EXPECT_EQ(renamed->code_fingerprint, plain->code_fingerprint);
  // A hint that changes the code does count.
  Result<Artifact> hinted = tileiras.Compile(KernelSource::TileIr(Fixture("softmax.13.3"), "softmax"),
                                             Hints(HintValues{{"num_ctas", 2}}), Sm(90));
  ASSERT_OK(hinted);
  EXPECT_NE(hinted->code_fingerprint, plain->code_fingerprint);
}

TEST(CodeFingerprintTest, ConstantsAndSharedMemoryCount) {
  CommandToolchain ptxas(kPtxas, testing::Tools());
  SKIP_WITHOUT(ptxas);
  auto fingerprint = [&](const std::string& from, const std::string& to) {
    std::string ptx = kPtx;
    if (!from.empty()) ptx.replace(ptx.find(from), from.size(), to);
    return ptxas.Compile(KernelSource::Ptx(ptx, "fill"), Hints(), Sm(90))->code_fingerprint;
  };
  Fingerprint plain = fingerprint("", "");
  EXPECT_EQ(fingerprint(".reg .b32 %r<2>", ".reg .b32 %r<3>"), plain) << "the same code";
  EXPECT_NE(fingerprint("scratch[512]", "scratch[1024]"), plain);
  EXPECT_NE(fingerprint("scratch+4", "scratch+8"), plain);
}

TEST(CubinTest, ADamagedImageIsRefusedOrHarmless) {
  CommandToolchain ptxas(kPtxas, testing::Tools());
  SKIP_WITHOUT(ptxas);
  std::string image = ptxas.Compile(KernelSource::Ptx(kPtx, "fill"), Hints(), Sm(90))->image;
  ToolchainSet toolchains = BuiltInToolchains(Environment());
  const Toolchain& cubin = **toolchains.For(SourceKind::kCubin);
  ASSERT_OK(cubin.Compile(KernelSource::Cubin(image, "fill"), Hints(), Sm(90)));
  for (std::size_t size = 0; size < image.size(); size += 7) {
    std::vector<char> part(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(cubin.Compile(KernelSource::Cubin(std::string(part.data(), size), "fill"), Hints(), Sm(90)).ok());
  }
  for (std::size_t i = 0; i < image.size(); ++i) {
    std::string damaged = image;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    (void)cubin.Compile(KernelSource::Cubin(damaged, "fill"), Hints(), Sm(90));  // Under AddressSanitizer.
  }
}

/// A tileiras that is a shell script; every test's temporary files go to a folder that must be empty afterwards.
class MisbehavingTileirasTest : public ::testing::Test {
 protected:
  void SetUp() override {
    outside_.emplace(*testing::MakeFolder());
    mkdir(Temporary().c_str(), 0700);
    environment_.temporary_folder = Temporary();
    environment_.tileiras = outside_->path() + "/tileiras";
  }
  void TearDown() override { EXPECT_TRUE(std::filesystem::is_empty(Temporary())) << "a temporary file is left"; }
  std::string Temporary() const { return outside_->path() + "/tmp"; }

  /// `body` runs for a compile; "$output" is the file to write, "$outside" a folder of the test's, "$remarks" the file
  /// for remarks.
  Result<Artifact> Compile(const std::string& body, const WaitLimits& limits = {}) {
    std::string script =
        "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'release " + release_ +
        ", fake'; exit; fi\n"
        "for output; do case $output in --remarks-output-file=*) remarks=${output#*=};; esac; done\noutside=" +
        outside_->path() + "\n" + body + "\n";
    std::string path = *outside_->WriteFile("tileiras", script);
    chmod(path.c_str(), 0700);
    return CommandToolchain(kTileiras, testing::ToolsOf(environment_))
        .Compile(KernelSource::TileIr(Fixture("matmul"), "matmul"), Hints(), Sm(90), limits);
  }
  /// The pid that a script wrote to "$outside/pid" is no process any more, or a zombie that nobody reaps.
  bool IsGone() {
    constexpr int kMostPolls = 12000;  // Of 10 ms: a busy machine gets to it within two minutes.
    for (int i = 0; i < kMostPolls; ++i) {
      Result<std::string> text = ReadFile(outside_->path() + "/pid");
      Result<std::string> state = text.ok() && text->find('\n') != std::string::npos
                                      ? ReadFile("/proc/" + std::to_string(std::stoi(*text)) + "/stat")
                                      : Result<std::string>(std::string("not yet"));
      if (!state.ok() || state->empty() || state->find(") Z ") != std::string::npos) return true;
      usleep(10000);
    }
    return false;
  }

  Environment environment_ = Environment::Read();
  std::string release_ = "0.0";
  std::optional<TemporaryFolder> outside_;
};

TEST_F(MisbehavingTileirasTest, RemarksBeforeAFailureAreInTheError) {
  const std::string fails =
      "printf -- '--- !Failure\\nArgs:\\n  - Remark: no TMA\\n...\\n' > \"$remarks\"; echo 'error: no'; exit 5";
  release_ = "13.5";
  EXPECT_ERROR(Compile(fails), StatusCode::kInvalidArgument,
               "failed with exit code 5: error: no\nremarks of the compiler:\nfailed: no TMA");
  EXPECT_ERROR(Compile("echo 'error: no'; exit 5"), StatusCode::kInvalidArgument, "exit code 5: error: no");
  release_ = "13.2";  // Without the options for remarks.
  EXPECT_ERROR(Compile("[ -z \"$remarks\" ] && echo none; exit 5"), StatusCode::kInvalidArgument,
               "failed with exit code 5: none");
}

TEST_F(MisbehavingTileirasTest, Missing) {
  EXPECT_ERROR(CommandToolchain(kTileiras, testing::ToolsOf(environment_))
                   .Compile(KernelSource::TileIr(Fixture("matmul"), "matmul"), Hints(), Sm(90)),
               StatusCode::kUnavailable, "tileiras was not found at " + outside_->path());
  environment_.tileiras = "";
  environment_.path = "/nowhere";
  environment_.home = environment_.virtual_env = "";
  environment_.cuda_home = "/no/cuda";
  Result<Tool> tool = Toolbox(environment_).Find("no-such-tool", "");
  EXPECT_ERROR(tool, StatusCode::kUnavailable, "/no/cuda/bin/no-such-tool, /usr/local/cuda/bin/no-such-tool");
}

TEST_F(MisbehavingTileirasTest, Hanging) {
  WaitLimits limits;
  limits.timeout = std::chrono::milliseconds(1000);
  // Its child ignores what it can.
  EXPECT_ERROR(
      Compile("sh -c 'trap \"\" TERM INT HUP; echo $$ > '$outside'/pid; touch \"$TMPDIR\"/x; sleep 1000' & wait",
              limits),
      StatusCode::kDeadlineExceeded, "did not finish within 1000 ms");
  EXPECT_TRUE(IsGone());
}

TEST_F(MisbehavingTileirasTest, KilledHalfWay) {
  EXPECT_ERROR(Compile("sleep 1000 & echo $! > $outside/pid; printf part > \"$output\"; kill -9 $$"),
               StatusCode::kInternal, "was ended by signal 9");
  EXPECT_TRUE(IsGone());
}

TEST_F(MisbehavingTileirasTest, Cancelled) {
  std::atomic<bool> cancelled{false};
  WaitLimits limits;
  limits.stop = &cancelled;
  std::thread canceller([&] {
    while (!std::filesystem::exists(outside_->path() + "/begun")) usleep(1000);
    cancelled = true;
  });
  EXPECT_ERROR(Compile("sleep 1000 & echo $! > $outside/pid; touch $outside/begun; wait", limits),
               StatusCode::kCancelled, "was cancelled");
  canceller.join();
  EXPECT_TRUE(IsGone());
}

TEST_F(MisbehavingTileirasTest, Crashing) {
  EXPECT_ERROR(Compile("echo assertion failed >&2; kill -SEGV $$"), StatusCode::kInternal,
               "was ended by signal 11 (SIGSEGV): assertion failed");
  EXPECT_ERROR(Compile("echo 'error: failed to compile Tile IR program'; exit 5"), StatusCode::kInvalidArgument,
               "failed with exit code 5: error: failed to compile Tile IR program");
}

TEST_F(MisbehavingTileirasTest, WritingNothingOrNonsense) {
  EXPECT_ERROR(Compile("exit 0"), StatusCode::kInternal, "its output file is missing or empty");
  EXPECT_ERROR(Compile(": > \"$output\""), StatusCode::kInternal, "its output file is missing or empty");
  EXPECT_ERROR(Compile("echo text > \"$output\""), StatusCode::kInvalidArgument, "the image is not a cubin");
}

TEST_F(MisbehavingTileirasTest, FillingTheDisk) {
  // A file that would not end is cut at 1 GiB by SIGXFSZ: truncate asks for more at once, without writing it.
  EXPECT_ERROR(Compile("exec truncate -s 2G \"$output\""), StatusCode::kInternal, "was ended by signal 25");
  // A disk that is full already.
  EXPECT_ERROR(Compile("cat /dev/zero > /dev/full || exit 1"), StatusCode::kResourceExhausted,
               "failed with exit code 1: cat: write error: No space left on device");
}

TEST_F(MisbehavingTileirasTest, MathOptionsAreNoneOfIts) {
  environment_.tileiras = outside_->path() + "/tileiras";
  std::string path = *outside_->WriteFile(
      "tileiras", "#!/bin/sh\n[ \"$1\" = --version ] && echo 'release 0.0, fake' && exit\necho \"got $*\"; exit 5\n");
  chmod(path.c_str(), 0700);
  KernelSource source = KernelSource::TileIr(Fixture("math.13.3"), "math");
  source.options = {"--ftz", "-O2", "--approx"};
  Result<Artifact> artifact =
      CommandToolchain(kTileiras, testing::ToolsOf(environment_)).Compile(source, Hints(), Sm(90));
  EXPECT_ERROR(artifact, StatusCode::kInvalidArgument, "got --gpu-name sm_90 -O2 ");
  EXPECT_EQ(artifact.status().message().find("--ftz"), std::string::npos);
}

TEST_F(MisbehavingTileirasTest, ItsEnvironmentIsEmptyButForTmpdir) {
  setenv("CUDA_HOME", "/old/toolkit", 1);
  // PWD and the like are the shell's own.
  EXPECT_ERROR(Compile("env > $outside/environment; exit 1"), StatusCode::kInvalidArgument, "exit code 1");
  Result<std::string> environment = ReadFile(outside_->path() + "/environment");
  ASSERT_OK(environment);
  EXPECT_EQ(environment->find("CUDA_HOME"), std::string::npos) << *environment;
  EXPECT_EQ(environment->find("HOME="), std::string::npos) << *environment;
  EXPECT_NE(environment->find("TMPDIR=" + Temporary()), std::string::npos) << *environment;
  unsetenv("CUDA_HOME");
}

}  // namespace
}  // namespace tuneonce
