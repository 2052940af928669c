// Text from elsewhere, made fit for a terminal.
#include "base/printable.h"

#include <gtest/gtest.h>

namespace tuneonce {
namespace {

TEST(PrintableTest, WhatAReaderCanSeeStaysAsItIs) {
  for (const char* text :
       {"", "matmul", "C:\\n\\x1b", "Größe 1 µs", "行列", "~ \"quoted\" 'too'", "\xf0\x9f\x9a\x80"}) {
    EXPECT_EQ(Printable(text), text);
    EXPECT_EQ(PrintableLines(text), text);
  }
}

TEST(PrintableTest, WhatActsOnATerminalIsSpelledOut) {
  const std::pair<std::string, const char*> cases[] = {
      {"\x1b[2J\x1b]0;title\x07", "\\x1b[2J\\x1b]0;title\\x07"},
      {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xc2\x9b"
       "31m",
       "\\u009b31m"},  // C1: the one-character form of ESC [.
      {"safe\xe2\x80\xae"
       "evil",
       "safe\\u202eevil"},                               // Right-to-left override.
      {"\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069"},  // Isolates.
      {"a\xe2\x80\x8b"
       "b",
       "a\\u200bb"},  // Zero width.
      {"a\xe2\x80\xa8"
       "b",
       "a\\u2028b"},                     // A line separator.
      {"\xf3\xa0\x81\x81", "\\ue0041"},  // A tag character.
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(Printable(text), shown);
}

TEST(PrintableTest, BytesThatAreNoUtf8AreSpelledOut) {
  const std::pair<std::string, const char*> cases[] = {
      {"\xff", "\\xff"},
      {"\x9b"
       "31m",
       "\\x9b31m"},                         // C1 as a byte, which 8-bit terminals obey.
      {"\xc0\x9b", "\\xc0\\x9b"},           // Overlong ESC.
      {"\xe0\x80\x9b", "\\xe0\\x80\\x9b"},  // Overlong.
      {"\xf0\x80\x80\x9b", "\\xf0\\x80\\x80\\x9b"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // A surrogate.
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // Beyond Unicode.
      {"\xe2\x80", "\\xe2\\x80"},                    // Cut.
      {"\xe2\x1b[m", "\\xe2\\x1b[m"},                // The ESC is not swallowed by the character before it.
  };
  for (const auto& [text, shown] : cases) EXPECT_EQ(Printable(text), shown);
}

TEST(PrintableTest, LinesKeepTheirEndsAndTabsOnly) {
  EXPECT_EQ(PrintableLines("a:\t1\nb\r\n\x1b[m"), "a:\t1\nb\\r\n\\x1b[m");
}

TEST(PrintableTest, PrintingTwiceChangesNothing) {
  std::string once = Printable("\x1b[m \xff \xe2\x80\xae");
  EXPECT_EQ(Printable(once), once);
}

}  // namespace
}  // namespace tuneonce
