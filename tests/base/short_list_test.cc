#include "base/short_list.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tuneonce {
namespace {

TEST(ShortListTest, ShowsAtMostFiveNamesAndACount) {
  EXPECT_EQ(ShortList({}), "none");
  EXPECT_EQ(ShortList({"a"}), "a");
  EXPECT_EQ(ShortList({"a", "b", "c", "d", "e"}), "a, b, c, d, e");
  EXPECT_EQ(ShortList({"a", "b", "c", "d", "e", "f", "g"}), "a, b, c, d, e, and 2 more");
}

TEST(ShortListTest, BeginsWithTheNamesThatAreMostSimilar) {
  const std::vector<std::string> names = {"dtype", "dims", "kind", "name", "by_pointers", "access", "tolerance"};
  EXPECT_EQ(ShortList(names, "acess"), "access, dims, name, dtype, kind, and 2 more");
  EXPECT_EQ(ShortList({"b", "a"}, "a"), "b, a") << "all are shown, in their order";
  EXPECT_EQ(ShortList(names, std::string(1 << 20, 'x')), "dtype, dims, kind, name, by_pointers, and 2 more");
}

TEST(ShortListTest, ListsTheNamesOfItems) {
  struct Item {
    std::string name;
  };
  EXPECT_EQ(ShortListOf(std::vector<Item>{{"a"}, {"b"}}, &Item::name), "a, b");
  EXPECT_EQ(ShortListOf(std::vector<int>{1, 2}, [](int value) { return std::to_string(value); }), "1, 2");
}

}  // namespace
}  // namespace tuneonce
