#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "bundle/bundle_files.h"
#include "testing/expect_status.h"
#include "testing/tools.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

/// Two folders of bundles, and a working directory of its own.
class BundleFoldersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* folder : {"a", "b", "here"}) ASSERT_EQ(mkdir(Path(folder).c_str(), 0700), 0);
    ASSERT_NE(getcwd(before_, sizeof(before_)), nullptr);
    ASSERT_EQ(chdir(Path("here").c_str()), 0);
  }
  void TearDown() override { EXPECT_EQ(chdir(before_), 0); }

  std::string Path(const std::string& name) const { return folder_.path() + "/" + name; }
  void Make(const std::string& name) {
    ASSERT_EQ(mkdir(Path(name).c_str(), 0700), 0);
    ASSERT_OK(WriteFile(Path(name) + "/manifest.json", "{}"));
  }
  BundleFolders Folders() const {
    Environment environment;
    environment.bundles = Path("a") + "::" + Path("none") + ":" + Path("b");
    return BundleFolders::Of(environment);
  }

  TemporaryFolder folder_ = *testing::MakeFolder();
  char before_[4096];
};

TEST_F(BundleFoldersTest, ANameIsLookedForInOrderAndBehindThemAmongWhatIsShipped) {
  Make("b/mine");
  EXPECT_EQ(*Folders().Find("mine"), Path("b/mine"));
  Make("a/mine");
  EXPECT_EQ(*Folders().Find("mine"), Path("a/mine"));
  EXPECT_EQ(RealPath(*Folders().Find("rms_norm")), RealPath(TUNEONCE_BUNDLE_FOLDER "/rms_norm"));
  Make("b/rms_norm");
  EXPECT_EQ(*Folders().Find("rms_norm"), Path("b/rms_norm"));
  std::vector<std::string> names = Folders().Names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(std::count(names.begin(), names.end(), "mine"), 1);
  EXPECT_EQ(std::count(names.begin(), names.end(), "vector_add"), 1);
}

TEST_F(BundleFoldersTest, AFolderIsTakenAsItIs) {
  Make("a/mine");
  Make("here/own");
  for (std::string folder :
       {Path("a/mine"), Path("none"), std::string("./mine"), std::string("mine/"), std::string(".")}) {
    EXPECT_EQ(*Folders().Find(folder), folder) << "it may be none: that is said where it is read";
  }
  EXPECT_EQ(*Folders().Find("own"), "own") << "of the working directory";
}

TEST_F(BundleFoldersTest, ANameThatIsTwoBundlesIsNone) {
  Make("a/mine");
  Make("here/mine");
  EXPECT_ERROR(
      Folders().Find("mine"), StatusCode::kInvalidArgument,
      "'mine' is a bundle in the working directory and also in " + Path("a") + ": write ./mine or " + Path("a/mine"));
  ASSERT_EQ(chdir(Path("a").c_str()), 0);
  EXPECT_EQ(*Folders().Find("mine"), Path("a/mine")) << "it is the same one";
  ASSERT_EQ(chdir(Path("here").c_str()), 0);
  ASSERT_EQ(mkdir("rope", 0700), 0);
  EXPECT_EQ(RealPath(*Folders().Find("rope")), RealPath(TUNEONCE_BUNDLE_FOLDER "/rope")) << "any folder is no bundle";
}

TEST_F(BundleFoldersTest, WhatIsNotFoundSaysWhereWasLookedAndWhatThereIs) {
  Make("b/mine");
  Status none = Folders().Find("nonsense").status();
  EXPECT_ERROR(none, StatusCode::kNotFound,
               "no bundle 'nonsense': there is no such folder, and no bundle of that name in " + Path("a") + ", " +
                   Path("none") + ", " + Path("b") + ", ");
  EXPECT_ERROR(none, StatusCode::kNotFound, "; the installed bundles are: mine, rope, ");
  ASSERT_EQ(mkdir("empty", 0700), 0);
  EXPECT_ERROR(Bundle::Load("empty").status(), StatusCode::kNotFound,
               "'empty' is not a bundle: it has no manifest.json");
  EXPECT_ERROR(Bundle::Load("./none").status(), StatusCode::kNotFound, "no bundle folder './none'");
}

}  // namespace
}  // namespace tuneonce
