#include <gtest/gtest.h>

#include "compile/dependency_file.h"
#include "compile/header_search.h"

namespace tuneonce {
namespace {

/// "<a.h>", "\"a.h\"", "next <a.h>", "macro", "ask <a.h>", "ask next <a.h>", and "?" for what is not complete.
std::string Written(const HeaderRequests& found) {
  std::string text;
  for (const HeaderRequest& request : found.requests) {
    using Kind = HeaderRequest::Kind;
    if (!text.empty()) text += ", ";
    if (request.kind == Kind::kComputed) {
      text += "macro";
      continue;
    }
    if (request.kind == Kind::kAsk || request.kind == Kind::kAskNext) text += "ask ";
    if (request.kind == Kind::kIncludeNext || request.kind == Kind::kAskNext) text += "next ";
    text += request.is_quoted ? "\"" + request.name + "\"" : "<" + request.name + ">";
  }
  return text + (found.is_complete ? "" : "?");
}

TEST(HeaderRequestsTest, DirectivesAndQuestionsAreFoundAndNothingElse) {
  struct Case {
    const char* text;
    const char* found;
  };
  const Case cases[] = {
      {"", ""},
      {"int include;", ""},
      {"#include <a.h>", "<a.h>"},
      {"#include \"a.h\"", "\"a.h\""},
      {"  #\tinclude<a//b.h>// <c.h>", "<a//b.h>"},
      {"/* x */ # /* y */ include /* z */ \"it's.h\"", "\"it's.h\""},
      {"#import <a.h>\r\n#include_next <b.h>\r\n", "<a.h>, next <b.h>"},
      {"%:include <a.h>", "<a.h>"},
      {"#inc\\\nlude <a\\\r\n.h>", "<a.h>"},
      {"#inc\\ \nlude <a.h>", "<a.h>"},
      {"#include HEADER", "macro"},
      {"#include HEADER(x)", "macro"},
      {"#include", ""},
      {"#include <a.h", ""},
      {"x #include <a.h>", ""},
      {"// #include <a.h>", ""},
      {"// cut \\\n#include <a.h>", ""},
      {"// cut \\ \n#include <a.h>", "?"},
      {"/*\n#include <a.h>\n*/", ""},
      {"/* never ends\n#include <a.h>", ""},
      {"char c = '\"';\n#include <a.h>", "<a.h>"},
      {"char c = '\\'';\n#include <a.h>", "<a.h>"},
      {"auto s = \"/*\";\n#include <a.h>", "<a.h>"},
      {"int n = 1'000'000; /* ' */\n#include <a.h>", "<a.h>"},
      {"int n = 0x1'f/*\n*/;\n#include <a.h>", "<a.h>"},
      {"#if 0\ndon't /* it's\n*/\n#endif\n#include <a.h>", "<a.h>"},
      {"auto s = R\"(\n#include <a.h>\n)\";\n#include <b.h>", "<b.h>"},
      {"auto s = u8R\"x()\"\n#include <a.h>\n)x\";\n#include <b.h>", "<b.h>"},
      {"auto s = R\"(never ends\n#include <a.h>", "<a.h>?"},
      {"auto s = XR\"(\";\n#include <a.h>", "<a.h>"},
      {"#if __has_include(<a.h>) || __has_include ( \"b.h\" )", "ask <a.h>, ask \"b.h\""},
      {"#elif __has_include_next(<a.h>)", "ask next <a.h>"},
      {"#if __has_include(NAME)", "?"},
      {"#ifdef __has_include", ""},
      {"#if defined __has_include && defined(__has_include) && __has_include(<a.h>)", "ask <a.h>"},
      {"#define __has_include(name) 0", ""},
      {"#define HAS __has_include", "?"},
      {"#define HAS(a, b) __has_include(a)", "?"},
      {"#define HAS() __has_include(<a.h>)", "ask <a.h>"},
      {"#define HAS_NEXT(a) __has_include_next(a)", "?"},
      {"// __has_include(NAME)\nauto s = \"__has_include(NAME)\";", ""},
      {"#include_next HEADER", "macro?"},
      {"#embed \"a.bin\"", "?"},
      {"#if __has_embed(\"a.bin\")", "?"},
      {"#ifdef __has_embed", ""},
      {"asm(\".incbin \\\"a.bin\\\"\");", "?"},
      {"?\?=include <a.h>", "?"},
  };
  for (const Case& each : cases) EXPECT_EQ(Written(FindHeaderRequests(each.text, {})), each.found) << each.text;
}

TEST(HeaderRequestsTest, AMacroThatAsksIsFoundWhereItIsDefinedAndWhereItIsUsed) {
  const HeaderRequests direct = FindHeaderRequests("#define HAS(_X) __has_include(_X)", {});
  EXPECT_EQ(direct.asking_macros, std::set<std::string>{"HAS"});
  EXPECT_TRUE(direct.is_complete);
  const HeaderRequests through = FindHeaderRequests("#define HAS_TOO( x ) (HAS( x ))", {"HAS"});
  EXPECT_EQ(through.asking_macros, std::set<std::string>{"HAS_TOO"});
  EXPECT_EQ(Written(FindHeaderRequests("#if HAS(<a.h>) && !HAS_TOO(\"b.h\")", {"HAS", "HAS_TOO"})),
            "ask <a.h>, ask \"b.h\"");
  EXPECT_EQ(Written(FindHeaderRequests("#if HAS(NAME)", {"HAS"})), "?");
  EXPECT_EQ(Written(FindHeaderRequests("#ifdef HAS\n#undef HAS\n#endif", {"HAS"})), "");
  EXPECT_EQ(Written(FindHeaderRequests("#define OTHER HAS", {"HAS"})), "?");
}

TEST(CpuHeadersTest, ThePathIsReadAsCompilersWriteIt) {
  const HeaderPath path = HeaderPathIn(
      "Using built-in specs.\n"
      "ignoring duplicate directory \"/usr/include/c++\"\n"
      "ignoring nonexistent directory \"/no/such\"\n"
      "#include \"...\" search starts here:\n /quoted folder\n"
      "#include <...> search starts here:\n /a\n /usr/include\nEnd of search list.\n /tail\n");
  EXPECT_EQ(path.quoted, (std::vector<std::string>{"/no/such", "/quoted folder"}));
  EXPECT_EQ(path.angled, (std::vector<std::string>{"/no/such", "/a", "/usr/include"}));
  EXPECT_TRUE(HeaderPathIn("error").angled.empty());
}

}  // namespace
}  // namespace tuneonce
