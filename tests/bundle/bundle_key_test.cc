// What a manifest's "key" says of buckets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/temporary_folder.h"
#include "testing/device_test.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"
#include "tuneonce/plugin/sqlite_store.h"
#include "tuneonce/tuned_kernel.h"

namespace tuneonce {
namespace {

using testing::View;

constexpr char kSource[] = R"(
static void doubled(const tuneonce_block& block, const float* x, float* y, int n) {
  for (int i = block.x * TILE; i < n && i < (block.x + 1) * TILE; ++i) y[i] = 2 * x[i];
}
TUNEONCE_CPU_KERNEL(doubled);)";

std::string Manifest(const std::string& key) {
  return R"({
  "tuneonce_bundle": 1, "name": "doubled", "version": "1", "dims": ["N"],
  "key": [)" +
         key + R"(],
  "parameters": [
    {"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["N"]},
    {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["N"]},
    {"kind": "dim", "dim": "N"}
  ],
  "axes": [{"name": "TILE", "values": [64, 128]}],
  "baseline": {"TILE": 64},
  "variants": [
    {"name": "cpu", "source": "cpu_cpp", "symbol": "doubled", "defines": ["TILE"],
     "grid": {"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]},
     "artifacts": [{"file": "doubled.cc"}]}
  ]
})";
}

class BundleKeyTest : public testing::CpuDeviceTest {
 protected:
  Result<Bundle> Load(const std::string& key) {
    std::ofstream(folder_.path() + "/doubled.cc") << kSource;
    std::ofstream(folder_.path() + "/manifest.json") << Manifest(key);
    return Bundle::Load(folder_.path());
  }
  TemporaryFolder folder_ = *testing::MakeFolder();
};

TEST_F(BundleKeyTest, BucketsAreReadAsTheCppApiHasThem) {
  struct Case {
    const char* key;
    KeyPart part;
  };
  for (const Case& each :
       {Case{R"({"dim": "N"})", KeyOf("N")}, Case{R"({"dim": "N", "bucket": "next_pow2"})", KeyOf("N").NextPow2()},
        Case{R"({"dim": "N", "buckets": [1, 2, 24]})", KeyOf("N").Buckets({1, 2, 24})},
        Case{R"({"dim": "N", "nearest": [16, 4096]})", KeyOf("N").Nearest({16, 4096})}}) {
    Result<Bundle> bundle = Load(each.key);
    ASSERT_OK(bundle);
    const KeyPart& read = bundle->definition().key()[0];
    EXPECT_EQ(read.name, "N");
    EXPECT_EQ(read.bucket, each.part.bucket) << each.key;
    EXPECT_EQ(read.values, each.part.values) << each.key;
  }
}

TEST_F(BundleKeyTest, WhatIsWrongIsNamedWithLineAndField) {
  struct Case {
    const char* key;
    const char* message;
  };
  for (const Case& each : {
           Case{R"({"dim": "N", "buckets": []})", ":3: key[0]: KeyOf('N').Buckets has an empty list"},
           Case{R"({"dim": "N", "buckets": [4, 2]})", "KeyOf('N').Buckets has 2 after 4: give each value once"},
           Case{R"({"dim": "N", "nearest": [0]})", "KeyOf('N').Nearest begins with 0"},
           Case{R"({"dim": "N", "nearest": [1.5]})", "key[0].nearest[0]: expected"},
           Case{R"({"dim": "N", "buckets": 4})", "key[0].buckets: expected"},
           Case{R"({"dim": "N", "bucket": [4]})", "key[0].bucket: expected a string"},
           Case{R"({"dim": "N", "bucket": "nearest"})", "key[0].bucket: expected next_pow2, got 'nearest'"},
           Case{R"({"dim": "N", "buckets": [4], "nearest": [4]})",
                "has more than one of NextPow2, Buckets and Nearest"},
           Case{R"({"dim": "N", "bucket": "next_pow2", "buckets": [4]})", "has more than one of"},
           Case{R"({"dtype_of": "x", "buckets": [4]})", "key[0].buckets: unknown field"},
           Case{R"({"dim": "N", "bounds": [4]})", "key[0].bounds: unknown field"},
           Case{R"({"dim": "N"}, {"dim": "N", "buckets": [4]})", "the key names the dim 'N' twice"},
       }) {
    Status status = Load(each.key).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << each.key;
    EXPECT_NE(status.message().find(each.message), std::string::npos) << status.message();
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }
}

TEST_F(BundleKeyTest, AnEmbeddedBundleIsTunedAtItsBounds) {
  const std::string manifest = Manifest(R"({"dim": "N", "buckets": [100, 1000]})"), source = kSource;
  const EmbeddedFile files[] = {
      {"manifest.json", reinterpret_cast<const unsigned char*>(manifest.data()), manifest.size()},
      {"doubled.cc", reinterpret_cast<const unsigned char*>(source.data()), source.size()}};
  AutotunePolicy policy;
  policy.search.max_rounds = 1;
  Result<TunedKernel> kernel = TunedKernel::FromBundle(EmbeddedBundle{"doubled", files, 2}, policy);
  ASSERT_OK(kernel);
  for (std::size_t n : {200, 1000, 600}) {
    DeviceBuffer x = Floats(std::vector<float>(n, 3)), y = Floats(std::vector<float>(n, 0));
    ASSERT_OK(kernel->Launch(stream_->get(), View(x), View(y)));
    EXPECT_EQ(Read(y), std::vector<float>(n, 6));
  }
  EXPECT_EQ(kernel->counters().tunes, 1);
  EXPECT_EQ(kernel->counters().hits, 2);
}

/// What a store holds for a bundle's code never serves code, or a manifest, that was edited since, even if the size of
/// the file is as before.
TEST_F(BundleKeyTest, AFileThatWasEditedIsTunedAgain) {
  const std::string key = R"({"dim": "N"})";
  ASSERT_OK(Load(key));
  const auto launch = [&](float expected) {
    SqliteStoreOptions options;
    options.path = folder_.path() + "/store.db";
    AutotunePolicy policy;
    policy.search.max_rounds = 1;
    policy.store = *SqliteStore::Open(options);
    Result<TunedKernel> kernel = TunedKernel::FromBundle(folder_.path(), policy);
    EXPECT_OK(kernel);
    if (!kernel.ok()) return -1;
    DeviceBuffer x = Floats(std::vector<float>(100, 3)), y = Floats(std::vector<float>(100, 0));
    EXPECT_OK(kernel->Launch(stream_->get(), View(x), View(y)));
    EXPECT_EQ(Read(y), std::vector<float>(100, expected));
    return static_cast<int>(kernel->counters().tunes);
  };
  EXPECT_EQ(launch(6), 1);
  EXPECT_EQ(launch(6), 0);
  const std::string source = kSource;
  std::string edited = source;
  edited.replace(edited.find("2 * x"), 5, "4 * x");
  std::ofstream(folder_.path() + "/doubled.cc") << edited;
  EXPECT_EQ(launch(12), 1);
  std::ofstream(folder_.path() + "/doubled.cc") << source;
  EXPECT_EQ(launch(6), 0);
  std::string manifest = Manifest(key);
  manifest.replace(manifest.find("\"version\": \"1\""), 14, "\"version\": \"2\"");
  std::ofstream(folder_.path() + "/manifest.json") << manifest;
  EXPECT_EQ(launch(6), 1);
  std::filesystem::remove(folder_.path() + "/doubled.cc");
  EXPECT_ERROR(TunedKernel::FromBundle(folder_.path()), StatusCode::kNotFound, "'doubled.cc' does not exist");
}

}  // namespace
}  // namespace tuneonce
