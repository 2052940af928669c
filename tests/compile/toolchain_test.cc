#include "tuneonce/plugin/toolchain.h"

#include "base/environment.h"
#include "base/file.h"
#include "compile/command_toolchain.h"
#include "compile/cubin.h"
#include "compile/nvrtc_source.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

using testing::CpuTarget;
using testing::Sm;

constexpr char kHostSource[] = "static void k(const tuneonce_block&, int* y) { *y = VALUE; }\nTUNEONCE_CPU_KERNEL(k);";

KernelSource Host(int value) {
  KernelSource source = KernelSource::CpuCpp(kHostSource, "k");
  source.Define("VALUE", value);
  return source;
}

TEST(CpuToolchainTest, CompilesAndFingerprintsTheCode) {
  CommandToolchain host(kHostCompiler, testing::Tools());
  Result<Artifact> one = host.Compile(Host(1), Hints(), CpuTarget());
  ASSERT_OK(one);
  EXPECT_EQ(one->image.substr(1, 3), "ELF");
  EXPECT_EQ(one->symbol, "k");
  EXPECT_GT(one->seconds, 0);
  EXPECT_EQ(host.Compile(Host(1), Hints(), CpuTarget())->code_fingerprint, one->code_fingerprint);
  EXPECT_NE(host.Compile(Host(2), Hints(), CpuTarget())->code_fingerprint, one->code_fingerprint);
  // A macro that the source does not use changes nothing: a duplicate.
  KernelSource unused = Host(1);
  unused.Define("UNUSED", 7);
  EXPECT_EQ(host.Compile(unused, Hints(), CpuTarget())->code_fingerprint, one->code_fingerprint);
}

TEST(CpuToolchainTest, ErrorsCarryTheCompilersWords) {
  KernelSource broken = KernelSource::CpuCpp("this is no C++", "k");
  EXPECT_ERROR(CommandToolchain(kHostCompiler, testing::Tools()).Compile(broken, Hints(), CpuTarget()),
               StatusCode::kInvalidArgument, "k.cc:1");
  EXPECT_ERROR(CommandToolchain(kHostCompiler, testing::Tools()).Compile(Host(1), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "CPU device only");
}

TEST(CpuToolchainTest, AMissingCompilerIsUnavailable) {
  Environment environment = Environment::Read();
  environment.cxx = "no-such-compiler";
  EXPECT_ERROR(CommandToolchain(kHostCompiler, testing::ToolsOf(environment)).Compile(Host(1), Hints(), CpuTarget()),
               StatusCode::kUnavailable, "no-such-compiler");
  environment.cxx = "";
  environment.path = "/nowhere";
  EXPECT_ERROR(CommandToolchain(kHostCompiler, testing::ToolsOf(environment)).Compile(Host(1), Hints(), CpuTarget()),
               StatusCode::kUnavailable, "c++, g++, clang++");
}

TEST(CpuToolchainTest, NoTemporaryFileStays) {
  Environment environment = Environment::Read();
  std::string name = "/tmp/tuneonce-test-XXXXXX";
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  environment.temporary_folder = name;
  CommandToolchain host(kHostCompiler, testing::ToolsOf(environment));
  EXPECT_OK(host.Compile(Host(1), Hints(), CpuTarget()));
  EXPECT_FALSE(host.Compile(KernelSource::CpuCpp("#error no", "k"), Hints(), CpuTarget()).ok());
  EXPECT_EQ(rmdir(name.c_str()), 0) << "the folder is not empty";
}

TEST(NvrtcToolchainTest, AMissingLibraryNamesThePlaces) {
  Environment environment = Environment::Read();
  environment.nvrtc = "/no/libnvrtc.so";
  EXPECT_ERROR(NvrtcToolchain(testing::ToolsOf(environment)).Compile(KernelSource::CudaCpp("", "k"), Hints(), Sm(90)),
               StatusCode::kUnavailable, "/no/libnvrtc.so");
  environment.nvrtc = "libm.so.6";
  EXPECT_ERROR(NvrtcToolchain(testing::ToolsOf(environment)).Compile(KernelSource::CudaCpp("", "k"), Hints(), Sm(90)),
               StatusCode::kUnavailable, "is not NVRTC");
}

/// NVRTC needs no GPU, but its library: scripts/test installs it.
TEST(NvrtcToolchainTest, CompilesForAGpuThatIsNotHere) {
  KernelSource source = KernelSource::CudaCpp("extern \"C\" __global__ void k(int* y) { *y = VALUE; }", "k");
  source.Define("VALUE", 3);
  Result<Artifact> artifact = NvrtcToolchain(testing::Tools()).Compile(source, Hints(), Sm(90));
  if (artifact.status().code() == StatusCode::kUnavailable) {
    GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << artifact.status().message();
  }
  ASSERT_OK(artifact);
  EXPECT_EQ(artifact->image.substr(1, 3), "ELF");
  EXPECT_EQ(NvrtcToolchain(testing::Tools()).Compile(source, Hints(), Sm(90))->code_fingerprint,
            artifact->code_fingerprint);
  EXPECT_ERROR(NvrtcToolchain(testing::Tools()).Compile(KernelSource::CudaCpp("no C++", "k"), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "k.cu(1)");
  EXPECT_ERROR(NvrtcToolchain(testing::Tools()).Compile(source, Hints(), CpuTarget()), StatusCode::kInvalidArgument,
               "CPU device");
}

TEST(CubinToolchainTest, WhatIsNoCubinIsRefused) {
  KernelSource text = KernelSource::Cubin("PTX", "k");
  EXPECT_ERROR(CubinToolchain().Compile(text, Hints(), Sm(90)), StatusCode::kInvalidArgument,
               "the image is not a cubin: the file does not start with the ELF magic number");
  EXPECT_ERROR(CubinToolchain().Compile(text, Hints(), CpuTarget()), StatusCode::kInvalidArgument, "CPU device");
  Result<Artifact> host = CommandToolchain(kHostCompiler, testing::Tools()).Compile(Host(1), Hints(), CpuTarget());
  EXPECT_ERROR(CubinToolchain().Compile(KernelSource::Cubin(host->image, "k"), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "for another machine");
}

TEST(CubinToolchainTest, OnTheCpuDeviceASharedObjectIsTheMachineCode) {
  Result<Artifact> host = CommandToolchain(kHostCompiler, testing::Tools()).Compile(Host(1), Hints(), CpuTarget());
  ASSERT_OK(host);
  Result<Artifact> as_is = CubinToolchain().Compile(KernelSource::Cubin(host->image, "k"), Hints(), CpuTarget());
  ASSERT_OK(as_is);
  EXPECT_EQ(as_is->image, host->image);
  EXPECT_EQ(as_is->code_fingerprint, host->code_fingerprint) << "the same code is measured once";
  EXPECT_ERROR(CubinToolchain().Compile(KernelSource::Cubin(host->image, ""), Hints(), CpuTarget()),
               StatusCode::kInvalidArgument, "does not list its kernels");
}

TEST(CubinToolchainTest, AFatbinIsTakenWholeAndByName) {
  Result<std::string> fatbin = ReadFile(std::string(TUNEONCE_TEST_DATA) + "/cubin/two_kernels.fatbin");
  ASSERT_OK(fatbin);
  EXPECT_OK(CubinToolchain().Compile(KernelSource::Cubin(*fatbin, "first"), Hints(), Sm(90)));
  EXPECT_ERROR(CubinToolchain().Compile(KernelSource::Cubin(*fatbin, ""), Hints(), Sm(90)),
               StatusCode::kInvalidArgument, "pass the kernel");
  for (std::size_t kept : {std::size_t{4}, std::size_t{15}, std::size_t{16}, fatbin->size() - 1}) {
    EXPECT_ERROR(CubinToolchain().Compile(KernelSource::Cubin(fatbin->substr(0, kept), "first"), Hints(), Sm(90)),
                 StatusCode::kInvalidArgument, "truncated");
  }
}

TEST(ToolchainSetTest, ChoosesByKindOfSource) {
  for (SourceKind kind : {SourceKind::kCpuCpp, SourceKind::kCudaCpp, SourceKind::kTileCpp, SourceKind::kTileIr,
                          SourceKind::kPtx, SourceKind::kCubin}) {
    EXPECT_OK(BuiltInToolchains(Environment()).For(kind));
  }
  EXPECT_ERROR(ToolchainSet({}).For(SourceKind::kTileIr), StatusCode::kUnimplemented, "tile_ir");
}

TEST(ToolchainTest, AnArtifactsKeyCoversWhatTheArtifactDependsOn) {
  CommandToolchain host(kHostCompiler, testing::Tools());
  Fingerprint key = *host.ArtifactKey(Host(1), Hints(), CpuTarget());
  EXPECT_EQ(*host.ArtifactKey(Host(1), Hints(HintValues{{"occupancy", 2}}), CpuTarget()), key) << "hints do not apply";
  EXPECT_NE(*host.ArtifactKey(Host(2), Hints(), CpuTarget()), key);
  EXPECT_NE(*host.ArtifactKey(Host(1), Hints(), Sm(90)), key);
}

}  // namespace
}  // namespace tuneonce
