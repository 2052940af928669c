#include "bundle/manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/expect_status.h"

namespace tuneonce {
namespace {

Result<std::unique_ptr<const ManifestDocument>> Parse(const std::string& text) {
  return ManifestDocument::Parse(text, "file.json");
}

TEST(ManifestTest, AnErrorNamesItsLine) {
  struct Case {
    const char* text;
    const char* message;
  };
  const Case cases[] = {
      {"", "file.json:1: this is not JSON: "},
      {"{\n\"a\": 1\n\"b\": 2}", "file.json:3: this is not JSON: "},
      {"[1,\n2", "file.json:2: this is not JSON: "},
      {"[1] 2", "file.json:1: this is not JSON: "},
      {"[\"a\\q\"]", "file.json:1: this is not JSON: "},
      {"[\"\xff\"]", "file.json:1: this is not JSON: "},
      {"[\n1e400]", "file.json:2: this is not JSON: number overflow parsing '1e400'"},
      {"[9223372036854775808]", "file.json:1: a number is too large"},
      {"{\"a\": 1,\n\"a\": 2}", "file.json:2: the key 'a' appears twice in one object"},
      {"{\"a\": 1,\n\"\\u0061\": 2}", "file.json:2: the key 'a' appears twice in one object"},
  };
  for (const Case& each : cases) {
    EXPECT_ERROR(Parse(each.text), StatusCode::kInvalidArgument, each.message);
  }
  EXPECT_OK(Parse(std::string(32, '[') + std::string(32, ']')));
  EXPECT_ERROR(Parse(std::string(33, '[') + std::string(33, ']')), StatusCode::kInvalidArgument, "nested too deep");
}

TEST(ManifestTest, AKeyThatAppearsTwiceIsFoundAmongManyAsAmongFew) {
  std::string members = "\"k0\": [{\"k0\": 0}]";  // In another object a key may come again.
  for (int i = 1; i < 100; ++i) members += ",\n\"k" + std::to_string(i) + "\": " + std::to_string(i);
  ASSERT_OK(Parse("{" + members + "}"));
  EXPECT_EQ(*(*Parse("{" + members + "}"))->root().Find("k99")->Int(), 99);
  for (const char* key : {"k0", "k1", "k31", "k32", "k33", "k99"}) {
    EXPECT_ERROR(Parse("{" + members + ", \"" + key + "\": 1}"), StatusCode::kInvalidArgument,
                 std::string("file.json:100: the key '") + key + "' appears twice in one object");
  }
}

TEST(ManifestTest, AValueKnowsItsPlace) {
  const auto document = Parse("{\"a\": [1, {\"b\": 2},\n[3, \"x\\ty\"]], \"c\": 4}");
  ASSERT_OK(document);
  const ManifestNode& root = (*document)->root();
  EXPECT_EQ(root.Place(), "file.json:1");
  const ManifestChildren list = *(*root.Get("a"))->Array();
  EXPECT_EQ(list[0].Place(), "file.json:1: a[0]");
  EXPECT_EQ(list[1].Find("b")->Place(), "file.json:1: a[1].b");
  EXPECT_EQ((*list[2].Array())[1].Place(), "file.json:2: a[2][1]");
  EXPECT_EQ(*(*list[2].Array())[1].String(), "x\ty");
  EXPECT_EQ(root.Find("c")->Place(), "file.json:2: c");
  EXPECT_EQ(list[1].Find("c"), nullptr);
  EXPECT_EQ(list[0].Find("b"), nullptr);
  EXPECT_ERROR(root.CheckFields({"a"}), StatusCode::kInvalidArgument,
               "file.json:2: c: unknown field; the fields are: a");
}

}  // namespace
}  // namespace tuneonce
