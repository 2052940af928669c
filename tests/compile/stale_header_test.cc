// An artifact is served from a cache only while the headers that it was made of are as they were.
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <tuple>

#include "base/file.h"
#include "compile/compile_cached.h"
#include "compile/host_toolchain.h"
#include "compile/nvrtc_toolchain.h"
#include "testing/device_test.h"
#include "testing/targets.h"
#include "testing/tools.h"
#include "tuneonce/artifact_cache.h"
#include "tuneonce/fingerprint.h"

namespace tuneonce {
namespace {

using testing::CpuTarget;

class StaleHeaderTest : public ::testing::Test {
 protected:
  StaleHeaderTest() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~StaleHeaderTest() override { EXPECT_EQ(system(("rm -rf " + folder_).c_str()), 0); }

  /// Writes folder/value.h; returns when the clock of files has gone on, so that a compile from now on is later.
  void WriteHeader(const std::string& text, const std::string& name = "value.h") {
    std::string path = folder_ + "/" + name;
    ASSERT_OK(WriteFile(path, text));
    struct stat info {};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    timespec now{};
    do {
      clock_gettime(CLOCK_REALTIME_COARSE, &now);
    } while (std::tie(now.tv_sec, now.tv_nsec) <= std::tie(info.st_ctim.tv_sec, info.st_ctim.tv_nsec));
  }
  KernelSource Source(const std::string& before, std::vector<std::string> options) {
    KernelSource source = KernelSource::HostCpp(
        before + "\nstatic void k(const tuneonce_block&, int* y) { *y = VALUE; }\nTUNEONCE_CPU_KERNEL(k);", "k");
    source.options = std::move(options);
    return source;
  }
  Fingerprint Compile(const KernelSource& source, bool* from_cache) {
    Result<Artifact> artifact = CompileCached(host_, cache_, source, Hints(), CpuTarget(), WaitLimits(), from_cache);
    EXPECT_OK(artifact);
    return artifact.ok() ? artifact->code_fingerprint : Fingerprint();
  }

  std::string folder_ = "/tmp/header test-XXXXXX";  // With a blank: rules quote it.
  HostToolchain host_{testing::Tools()};
  MemoryArtifactCache cache_;
};

TEST_F(StaleHeaderTest, AChangeCountsWhateverTheWayToTheHeader) {
  struct Way {
    std::string source;
    std::vector<std::string> options;
  };
  const std::string header = folder_ + "/value.h";
  const std::string plain = "#include \"value.h\"";
  const Way ways[] = {
      {plain, {"-I" + folder_}},
      {plain, {"-I", folder_}},
      {plain, {"-isystem" + folder_}},
      {plain, {"-isystem", folder_}},
      {plain, {"-iquote" + folder_}},
      {plain, {"-iquote", folder_}},
      {plain, {"-idirafter" + folder_}},
      {"", {"-include", header}},
      {"", {"-imacros", header}},
      {"#include \"" + header + "\"", {}},
      {"#include <" + header + ">", {}},
      {"#include HEADER", {"-DHEADER=\"" + header + "\""}},
      {"#inc\\\nlude \"" + header + "\"", {}},
  };
  for (const Way& way : ways) {
    SCOPED_TRACE(way.source + (way.options.empty() ? "" : " " + way.options[0]));
    KernelSource source = Source(way.source, way.options);
    bool from_cache = true;
    WriteHeader("#define VALUE 1\n");
    Fingerprint one = Compile(source, &from_cache);
    EXPECT_EQ(Compile(source, &from_cache), one);
    EXPECT_TRUE(from_cache) << "nothing has changed";
    WriteHeader("#define VALUE 2\n");
    Fingerprint two = Compile(source, &from_cache);
    EXPECT_NE(two, one) << "a stale artifact";
    EXPECT_FALSE(from_cache);
    EXPECT_EQ(Compile(source, &from_cache), two);
    EXPECT_TRUE(from_cache) << "the new one is kept";
  }
}

TEST_F(StaleHeaderTest, AHeaderOfAHeaderCountsAndOneThatIsGone) {
  WriteHeader("#include \"inner.h\"\n");
  WriteHeader("#define VALUE 1\n", "inner.h");
  KernelSource source = Source("#include \"" + folder_ + "/value.h\"", {});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  WriteHeader("#define VALUE 2\n", "inner.h");
  EXPECT_NE(Compile(source, &from_cache), one);
  ASSERT_EQ(unlink((folder_ + "/inner.h").c_str()), 0);
  EXPECT_ERROR(CompileCached(host_, cache_, source, Hints(), CpuTarget(), WaitLimits(), &from_cache),
               StatusCode::kInvalidArgument, "inner.h");
}

TEST_F(StaleHeaderTest, AFileThatComesToBeCountsWhereTheSourceAsksForIt) {
  KernelSource source = Source(
      "#if __has_include(\"" + folder_ + "/value.h\")\n#define VALUE 2\n#else\n" + "#define VALUE 1\n#endif", {});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  WriteHeader("");
  EXPECT_NE(Compile(source, &from_cache), one);
}

TEST_F(StaleHeaderTest, WhatTheCompilerDoesNotListIsNotKept) {
  ASSERT_OK(WriteFile(folder_ + "/options", "-DVALUE=1"));
  KernelSource source = Source("", {"@" + folder_ + "/options"});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  ASSERT_OK(WriteFile(folder_ + "/options", "-DVALUE=2"));
  EXPECT_NE(Compile(source, &from_cache), one);
}

TEST_F(StaleHeaderTest, HarmlessOptionsAreKept) {
  KernelSource source = Source("", {"-O1", "-DVALUE=3", "-fno-inline", "-Wall", "-mno-avx", "-I" + folder_});
  bool from_cache = true;
  Fingerprint one = Compile(source, &from_cache);
  EXPECT_EQ(Compile(source, &from_cache), one);
  EXPECT_TRUE(from_cache);
}

/// NVRTC lists no headers: what includes one is compiled each time.
TEST_F(StaleHeaderTest, NvrtcSourcesThatIncludeAreNotKept) {
  Target h100;
  h100.capability_major = 9;
  NvrtcToolchain nvrtc(testing::Tools());
  struct Case {
    std::string before;
    std::vector<std::string> options;
    bool kept;
  };
  const Case cases[] = {
      {"#define VALUE 1", {}, true},
      {"#define VALUE 1", {"-I" + folder_}, true},
      {"#include \"value.h\"", {"-I" + folder_}, false},
      {"# inc\\\nlude <value.h>", {"-I" + folder_}, false},
      {"#include \"" + folder_ + "/value.h\"", {}, false},
      {"", {"-include=" + folder_ + "/value.h"}, false},
  };
  WriteHeader("#define VALUE 1\n");
  for (const Case& each : cases) {
    SCOPED_TRACE(each.before);
    KernelSource source =
        KernelSource::CudaCpp(each.before + "\nextern \"C\" __global__ void k(int* y) { *y = VALUE; }", "k");
    source.options = each.options;
    bool from_cache = true;
    Result<Artifact> first = CompileCached(nvrtc, cache_, source, Hints(), h100, WaitLimits(), &from_cache);
    if (first.status().code() == StatusCode::kUnavailable) {
      GTEST_SKIP() << "NVRTC IS NOT INSTALLED: " << first.status().message();
    }
    ASSERT_OK(first);
    EXPECT_EQ(first->key != Fingerprint(), each.kept);
    EXPECT_OK(CompileCached(nvrtc, cache_, source, Hints(), h100, WaitLimits(), &from_cache));
    EXPECT_EQ(from_cache, each.kept);
  }
}

}  // namespace
}  // namespace tuneonce
