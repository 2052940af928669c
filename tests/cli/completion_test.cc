// Completions and manual pages: that they say what the parser knows, and that shells understand them.
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "cli/run_cli.h"
#include "testing/tools.h"

namespace tuneonce {
namespace {

bool Has(const char* program) {
  return tuneonce::Run({"/bin/sh", "-c", std::string("command -v ") + program}).exit_code == 0;
}

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() : folder_(*testing::MakeFolder()) {}

  std::string ScriptOf(const std::string& shell) {
    ProcessResult script = RunCli({"completion", shell});
    EXPECT_EQ(script.exit_code, 0) << script.output;
    std::string path = folder_.path() + "/" + shell;
    EXPECT_TRUE(WriteFile(path, script.output).ok());
    return path;
  }
  /// What bash makes of these words, the last of which is under the cursor: one suggestion a line.
  std::string Complete(const std::string& words) {
    const std::string script = "source '" + bash_ + "'; COMP_WORDS=(" + words +
                               "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _tuneonce; "
                               "printf '%s\\n' \"${COMPREPLY[@]}\"";
    ProcessResult result = tuneonce::Run({"/bin/bash", "--norc", "-c", script});
    EXPECT_EQ(result.exit_code, 0) << result.output;
    return result.output;
  }

  TemporaryFolder folder_;
  std::string bash_;
};

TEST_F(CompletionTest, BashCompletesCommandsOptionsAndTheirValues) {
  bash_ = ScriptOf("bash");
  EXPECT_EQ(Complete("tuneonce tu"), "tune\n");
  EXPECT_EQ(Complete("tuneonce tune --sha"), "--shape\n--shapes\n");
  EXPECT_EQ(Complete("tuneonce tune vector_add --timer ''"), "cupti\nevents\n");
  EXPECT_EQ(Complete("tuneonce tune vector_add --timer c"), "cupti\n");
  EXPECT_EQ(Complete("tuneonce tune --device c"), "cpu\ncuda\n");
  EXPECT_EQ(Complete("tuneonce tune vector_a"), "vector_add\n");
  EXPECT_EQ(Complete("tuneonce records exp"), "explain\nexport\n");
  EXPECT_EQ(Complete("tuneonce records prune --older"), "--older-than-days\n");
  EXPECT_EQ(Complete("tuneonce completion z"), "zsh\n");
  EXPECT_EQ(Complete("tuneonce --verbose tune --dry"), "--dry-run\n");
  // An option's value is no command, and where nothing is suggested bash's own file names come.
  EXPECT_EQ(Complete("tuneonce records list --store prune --ver"), "--verbose\n");
  EXPECT_EQ(Complete("tuneonce tune --store /tm"), "\n");
  EXPECT_EQ(Complete("tuneonce tune --shapes /tm"), "\n");
}

TEST_F(CompletionTest, BashCompletesAgainInTheSameShellAndLeavesItsVariables) {
  bash_ = ScriptOf("bash");
  const std::string script = "source '" + bash_ +
                             "'; values=mine; ask() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); "
                             "_tuneonce; echo \"${COMPREPLY[*]}\"; }; "
                             "for i in 1 2; do ask tuneonce tune --device ''; ask tuneonce tune --timer c; "
                             "ask tuneonce records exp; ask tuneonce tune --store /tm; done; echo \"$values\"";
  const std::string once = "auto cpu cuda\ncupti\nexplain export\n\n";
  EXPECT_EQ(tuneonce::Run({"/bin/bash", "--norc", "-c", script}).output, once + once + "mine\n");
}

TEST_F(CompletionTest, EveryCommandThatHelpListsIsCompleted) {
  bash_ = ScriptOf("bash");
  const std::string help = RunCli({"--help"}).output;
  const std::size_t list = help.find("Subcommands:");
  ASSERT_NE(list, std::string::npos) << help;
  const std::string completed = Complete("tuneonce ''");
  for (const char* command : {"doctor", "tune", "compile", "hints", "records", "completion", "man"}) {
    EXPECT_NE(help.find(std::string("\n  ") + command + " ", list), std::string::npos) << command;
    EXPECT_NE(("\n" + completed).find(std::string("\n") + command + "\n"), std::string::npos) << completed;
  }
}

TEST_F(CompletionTest, ZshAndFishUnderstandTheirs) {
  const std::string zsh = ScriptOf("zsh"), fish = ScriptOf("fish");
  EXPECT_NE(ReadFile(zsh)->find("_tuneonce__records__export()"), std::string::npos);
  EXPECT_NE(ReadFile(fish)->find("-l older-than-days"), std::string::npos);
  if (Has("zsh")) {
    ProcessResult checked = tuneonce::Run({"/bin/sh", "-c",
                                           "zsh -n '" + zsh + "' && zsh -fc 'autoload -U compinit; compinit -u -d " +
                                               folder_.path() + "/dump; source " + zsh + "; whence _tuneonce'"});
    EXPECT_EQ(checked.exit_code, 0) << checked.output;
  }
  if (Has("fish")) {
    ProcessResult completed =
        tuneonce::Run({"/bin/sh", "-c",
                       "HOME='" + folder_.path() + "' fish --no-config -c 'source " + fish +
                           "; complete -C \"tuneonce tune --timer \"; complete -C \"tuneonce rec\"; "
                           "complete -C \"tuneonce records exp\"'"});
    EXPECT_EQ(completed.exit_code, 0) << completed.output;
    for (const char* suggestion : {"cupti", "events", "records", "export", "explain"}) {
      EXPECT_NE(completed.output.find(suggestion), std::string::npos) << suggestion << ": " << completed.output;
    }
  }
}

TEST_F(CompletionTest, ManualPagesHaveAllOptionsAndRoffTakesThem) {
  ASSERT_EQ(RunCli({"man", "--folder", folder_.path()}).exit_code, 0);
  for (const char* page : {"tuneonce", "tuneonce-tune", "tuneonce-records", "tuneonce-man"}) {
    const std::string path = folder_.path() + "/" + page + ".1";
    Result<std::string> content = ReadFile(path);
    ASSERT_TRUE(content.ok()) << page;
    if (Has("mandoc")) {
      ProcessResult linted = tuneonce::Run({"/bin/sh", "-c", "mandoc -T lint -W error '" + path + "'"});
      EXPECT_EQ(linted.exit_code, 0) << linted.output;
    }
  }
  EXPECT_NE(ReadFile(folder_.path() + "/tuneonce-tune.1")->find("\\fB\\-\\-dry\\-run\\fR"), std::string::npos);
  EXPECT_NE(RunCli({"man", "records"}).output.find("older\\-than\\-days"), std::string::npos);
  EXPECT_NE(RunCli({"man", "compare"}).output.find("3 when tuneonce compare finds that B should not"),
            std::string::npos);
  EXPECT_NE(RunCli({"man", "tune"}).output.find("\\fB\\-\\-strategy\\fR \\fITEXT\\fR"), std::string::npos);
  ExpectOneLineError({"man", "nonsense"}, "unknown command 'nonsense'");
  ExpectOneLineError({"man", "--folder", "/none"}, "cannot write /none/tuneonce.1");
}

}  // namespace
}  // namespace tuneonce
