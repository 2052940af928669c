// The remarks of a compiler: one line each, in an order that does not depend on the run.
#include "compile/compiler_remarks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace tuneonce {
namespace {

using Lines = std::vector<std::string>;

/// What tileiras 13.5 writes for one remark; `arguments` are lines of "  - NAME: VALUE".
std::string Remark(const std::string& kind, int line, const std::string& arguments) {
  return absl::StrCat("--- !", kind, "\nPass:            Memory\nName:            SomeRemark\n",
                      "DebugLoc:        { File: '/home/me/my, kernels/matmul.py', Line: ", line, ", Column: 17 }\n",
                      "Function:        matmul\nArgs:\n  - RemarkId:    4\n", arguments, "...\n");
}

TEST(CompilerRemarksTest, ARemarkIsALineOfItsKindTextDetailsAndPlace) {
  EXPECT_EQ(RemarksIn(Remark("Passed", 11,
                             "  - Remark:      Load instruction selected\n  - Instruction: TMA Load instruction\n"
                             "  - Shape:       '[64, 64]'\n")),
            Lines{"passed: Load instruction selected: TMA Load instruction, Shape [64, 64] (matmul.py:11:17)"});
}

TEST(CompilerRemarksTest, AReasonStatesItsPlaceOnceAndIsNotRepeated) {
  const std::string reason = "  - Reason:      'loc(\"/home/me/matmul.py\":13:4): stride isn''t 16-byte aligned'\n";
  EXPECT_EQ(RemarksIn(Remark("Failure", 13, "  - Remark:      Failed to select TMA load\n" + reason + reason + reason)),
            Lines{"failed: Failed to select TMA load: stride isn't 16-byte aligned (matmul.py:13:17)"});
}

TEST(CompilerRemarksTest, FailedOnesComeFirstThenByLine) {
  const std::string a = Remark("Passed", 2, "  - Remark: a\n"), b = Remark("Failure", 30, "  - Remark: b\n"),
                    c = Remark("Missed", 4, "  - Remark: c\n"), d = Remark("Failure", 7, "  - Remark: d\n"),
                    e = Remark("Analysis", 1, "  - Remark: e\n");
  const Lines sorted = {"failed: d (matmul.py:7:17)", "failed: b (matmul.py:30:17)", "missed: c (matmul.py:4:17)",
                        "analysis: e (matmul.py:1:17)", "passed: a (matmul.py:2:17)"};
  EXPECT_EQ(RemarksIn(a + b + c + d + e), sorted);
  EXPECT_EQ(RemarksIn(e + c + d + a + b + a), sorted) << "each once, in whatever order they come";
}

TEST(CompilerRemarksTest, WhatIsNotARemarkIsSkipped) {
  for (const char* text :
       {"", "\n\n", "junk", "--- !Other\n  - Remark: x\n...\n", "--- !Passed\n", "  - Remark: x\n",
        "--- !Passed\n  - Remark\n", "--- !Passed\nDebugLoc: {\n", "--- !Passed\n  - Remark: ''\n"}) {
    EXPECT_EQ(RemarksIn(text), Lines()) << text;
  }
  EXPECT_EQ(RemarksIn("--- !Passed\n  - Remark: cut"), Lines{"passed: cut"}) << "without a place";
}

TEST(CompilerRemarksTest, ManyAreCounted) {
  std::string yaml;
  for (int line = 1; line <= 40; ++line) yaml += Remark("Passed", line, "  - Remark: x\n");
  const Lines lines = RemarksIn(yaml);
  ASSERT_EQ(lines.size(), 33u);
  EXPECT_EQ(lines[31], "passed: x (matmul.py:32:17)");
  EXPECT_EQ(lines[32], "and 8 more remarks");
}

}  // namespace
}  // namespace tuneonce
