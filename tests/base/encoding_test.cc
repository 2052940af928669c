#include "base/encoding.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "testing/expect_status.h"

namespace tuneonce {
namespace {

enum class Color { kRed, kGreen, kBlue };

std::string AllFields() {
  return Encoder()
      .U32(0x80000001u)
      .U64(std::numeric_limits<std::uint64_t>::max())
      .I64(-7)
      .F64(-0.0)
      .Bool(true)
      .Enum(Color::kBlue)
      .Text(std::string("a\0b\n", 4))
      .Bytes(std::string("\0\xff", 2))
      .Count(2)
      .U32(1)
      .U32(2)
      .Take();
}

/// Reads what AllFields wrote; whether it did is for the caller to look at.
Status ReadAllFields(std::string_view body) {
  Decoder reader(body);
  reader.U32();
  reader.U64();
  reader.I64();
  reader.F64();
  reader.Bool();
  reader.Enum(Color::kBlue);
  reader.Text();
  reader.Bytes();
  for (std::size_t i = reader.Count(4); i > 0; --i) reader.U32();
  return reader.Done();
}

TEST(EncodingTest, FieldsComeBackAsTheyWere) {
  const std::string body = AllFields();
  Decoder reader(body);
  EXPECT_EQ(reader.U32(), 0x80000001u);
  EXPECT_EQ(reader.U64(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.I64(), -7);
  EXPECT_TRUE(std::signbit(reader.F64()));
  EXPECT_TRUE(reader.Bool());
  EXPECT_EQ(reader.Enum(Color::kBlue), Color::kBlue);
  EXPECT_EQ(reader.Text(), std::string("a\0b\n", 4));
  EXPECT_EQ(reader.Bytes(), std::string("\0\xff", 2));
  ASSERT_EQ(reader.Count(4), 2u);
  EXPECT_EQ(reader.U32(), 1u);
  EXPECT_EQ(reader.U32(), 2u);
  EXPECT_OK(reader.Done());
}

TEST(EncodingTest, NumbersAreLittleEndianOfFixedWidth) {
  EXPECT_EQ(Encoder().U32(1).U64(2).Take(), std::string("\1\0\0\0\2\0\0\0\0\0\0\0", 12));
  EXPECT_EQ(Encoder().Text("ab").Bool(true).Take(), std::string("\2\0\0\0\0\0\0\0ab\1\0\0\0", 14));
}

TEST(EncodingTest, WhatIsCutAtAnyByteIsNoMessage) {
  const std::string body = AllFields();
  ASSERT_OK(ReadAllFields(body));
  for (std::size_t length = 0; length < body.size(); ++length) {
    EXPECT_ERROR(ReadAllFields(std::string_view(body).substr(0, length)), StatusCode::kInternal, "a message ");
  }
  EXPECT_ERROR(ReadAllFields(body + "x"), StatusCode::kInternal, "1 more bytes");
}

TEST(EncodingTest, AfterWhatIsNotThereEverythingIsZeroAndEmpty) {
  const std::string body = Encoder().U64(1000).U64(5).Text("text").Take();
  Decoder reader(body);
  EXPECT_EQ(reader.Bytes(), "");  // Of 1000 bytes.
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.U64(), 0u);
  EXPECT_EQ(reader.Text(), "");
  EXPECT_EQ(reader.Count(1), 0u);
  EXPECT_ERROR(reader.Done(), StatusCode::kInternal, "of a field of 1000");
}

TEST(EncodingTest, CountsThatTheMessageCannotHoldAreRefused) {
  for (std::uint64_t count : {std::uint64_t{3}, std::uint64_t{1} << 61, std::numeric_limits<std::uint64_t>::max()}) {
    const std::string body = Encoder().U64(count).U64(1).U64(2).Take();
    Decoder reader(body);
    EXPECT_EQ(reader.Count(8), 0u);
    EXPECT_ERROR(reader.Done(), StatusCode::kInternal, "elements, but ends after");
  }
}

TEST(EncodingTest, ValuesThatAnEnumOrABoolLacksAreRefused) {
  const std::string body = Encoder().U32(3).Take();
  Decoder color(body);
  EXPECT_EQ(color.Enum(Color::kBlue), Color::kRed);
  EXPECT_ERROR(color.Done(), StatusCode::kInternal, "has the value 3 in a field whose maximum is 2");
  Decoder flag(body);
  EXPECT_FALSE(flag.Bool());
  EXPECT_FALSE(flag.ok());
}

TEST(EncodingTest, TheFirstReasonIsTheOneThatIsSaid) {
  const std::string body = Encoder().U32(3).U32(4).Take();
  Decoder reader(body);
  reader.U32();
  reader.Refuse("a third tensor of two");
  reader.U64();
  EXPECT_ERROR(reader.Done(), StatusCode::kInternal, "a third tensor of two");
}

}  // namespace
}  // namespace tuneonce
