#include "tile_ir/tile_ir.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>

#include "base/file.h"
#include "testing/device_test.h"
#include "testing/tile_ir_property.h"
#include "tile_ir/tile_ir_file.h"

namespace tuneonce {
namespace {

std::string Fixture(const std::string& name) { return *ReadFile(TUNEONCE_TEST_DATA "/tile_ir/" + name + ".tileir"); }

std::vector<std::string> Fixtures() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(TUNEONCE_TEST_DATA "/tile_ir")) {
    if (file.path().extension() == ".tileir") names.push_back(file.path().stem().string());
  }
  return names;
}

using ByName = std::map<std::string, HintValues>;

TEST(TileIrTest, EntriesAndSignaturesAreRead) {
  Result<TileIrModule> module = ReadTileIr(Fixture("matmul"));
  ASSERT_OK(module);
  EXPECT_EQ(module->major, 13);
  EXPECT_EQ(module->minor, 3);
  ASSERT_EQ(module->entries.size(), 1u);
  const TileIrEntry& entry = module->entries[0];
  EXPECT_EQ(entry.name, "matmul");
  ASSERT_EQ(entry.parameters.size(), 15u);  // Three arrays of rank 2, five parameters each.
  EXPECT_EQ(entry.parameters[0], "tile<ptr<f16>>");
  EXPECT_EQ(entry.parameters[1], "tile<i32>");
  EXPECT_EQ(entry.hints, (ByName{{"default", {}}}));
}

TEST(TileIrTest, EveryVersionIsRead) {
  for (int minor = 1; minor <= 5; ++minor) {
    Result<TileIrModule> module = ReadTileIr(Fixture("softmax.13." + std::to_string(minor)));
    ASSERT_OK(module);
    EXPECT_EQ(module->minor, minor);
    EXPECT_EQ(module->entries[0].parameters.size(), 10u);
    EXPECT_EQ(module->entries[0].parameters[0], "tile<ptr<f32>>") << minor;
  }
}

TEST(TileIrTest, HintsAreReadByTarget) {
  for (const char* name : {"rms_norm.hinted", "rms_norm.hinted.13.5"}) {
    EXPECT_EQ(ReadTileIr(Fixture(name))->entries[0].hints,
              (ByName{{"default", {{"num_cta_in_cga", 1}, {"occupancy", 2}}}, {"sm_90", {{"occupancy", 4}}}}));
  }
}

TEST(TileIrTest, ReplacingDropsEveryTargetsHints) {
  for (const char* name : {"rms_norm.hinted", "rms_norm.hinted.13.5"}) {
    Result<std::string> patched = PatchTileIrHints(Fixture(name), Hints(HintValues{{"num_ctas", 2}}));
    ASSERT_OK(patched);
    EXPECT_EQ(ReadTileIr(*patched)->entries[0].hints, (ByName{{"default", {{"num_cta_in_cga", 2}}}}));
  }
}

TEST(TileIrTest, MergingKeepsTheRest) {
  Hints hints(ByTarget<HintValues>({{"default", {{"occupancy", 8}}}, {"sm_100", {{"num_ctas", 4}}}}));
  Result<std::string> patched = PatchTileIrHints(Fixture("rms_norm.hinted"), hints.Set(Hints::Update::kMerge));
  ASSERT_OK(patched);
  EXPECT_EQ(ReadTileIr(*patched)->entries[0].hints, (ByName{{"default", {{"num_cta_in_cga", 1}, {"occupancy", 8}}},
                                                            {"sm_100", {{"num_cta_in_cga", 4}}},
                                                            {"sm_90", {{"occupancy", 4}}}}));
}

TEST(TileIrTest, HintsAreClearedAndComeBack) {
  for (const std::string& name : Fixtures()) {
    Result<std::string> cleared = PatchTileIrHints(Fixture(name), Hints());
    ASSERT_OK(cleared);
    EXPECT_EQ(ReadTileIr(*cleared)->entries[0].hints, ByName()) << name;
    Result<std::string> hinted = PatchTileIrHints(*cleared, Hints(HintValues{{"occupancy", 3}}));
    ASSERT_OK(hinted);
    EXPECT_EQ(ReadTileIr(*hinted)->entries[0].hints, (ByName{{"default", {{"occupancy", 3}}}})) << name;
  }
}

TEST(TileIrTest, OneOfSeveralEntriesIsPatched) {
  std::string file = Fixture("softmax.two_entries");
  Result<std::string> patched = PatchTileIrHints(file, Hints(HintValues{{"occupancy", 1}}), "softmax_4096");
  ASSERT_OK(patched);
  Result<TileIrModule> module = ReadTileIr(*patched);
  ASSERT_EQ(module->entries.size(), 2u);
  EXPECT_EQ(module->entries[0].hints.at("default").at("occupancy"), 8);
  EXPECT_EQ(module->entries[1].hints.at("default").at("occupancy"), 1);
  EXPECT_ERROR(PatchTileIrHints(file, Hints(), "softmax"), StatusCode::kNotFound,
               "no entry 'softmax'; its entries are: softmax_1024, softmax_4096");
}

TEST(TileIrTest, AnExtractedEntryHasItsOwnGlobalsAndNoOtherEntry) {
  const std::string bytecode = Fixture("scale.cpp");
  Result<TileIrModule> module = ReadTileIr(bytecode);
  ASSERT_OK(module);
  ASSERT_EQ(module->entries.size(), 3u);
  auto globals_in = [](const std::string& bytes) -> int {
    Result<TileIrFile> file = TileIrFile::Parse(bytes);
    for (const TileIrFile::Section& section : file->sections) {
      if (section.id == TileIrFile::kGlobal) return bytes[section.begin];
    }
    return -1;
  };
  EXPECT_GT(globals_in(bytecode), 3);
  for (const TileIrEntry& entry : module->entries) {
    Result<std::string> alone = ExtractTileIrEntry(bytecode, entry.name);
    ASSERT_OK(alone);
    EXPECT_LT(alone->size(), bytecode.size());
    EXPECT_EQ(globals_in(*alone), 1) << entry.name;
    Result<TileIrModule> extracted = ReadTileIr(*alone);
    ASSERT_OK(extracted);
    ASSERT_EQ(extracted->entries.size(), 1u);
    EXPECT_EQ(extracted->entries[0].name, entry.name);
    EXPECT_EQ(extracted->entries[0].parameters, entry.parameters);
    EXPECT_EQ(*ExtractTileIrEntry(*alone, entry.name), *alone);
  }
  EXPECT_ERROR(ExtractTileIrEntry(bytecode, "scale"), StatusCode::kNotFound,
               "no entry 'scale'; its entries are: _Z5scaleILi128E");
}

TEST(TileIrTest, PatchingManyTimesDoesNotGrowTheFile) {
  std::string file = *PatchTileIrHints(Fixture("matmul"), Hints(HintValues{{"occupancy", 1}, {"num_ctas", 1}}));
  std::size_t size = file.size();
  for (int i = 0; i < 100; ++i) {
    file = *PatchTileIrHints(file, Hints(HintValues{{"occupancy", 1 + i % 32}, {"num_ctas", 1 << (i % 4)}}));
  }
  EXPECT_EQ(file.size(), size);
}

TEST(TileIrTest, BadHintsAreErrors) {
  EXPECT_ERROR(PatchTileIrHints(Fixture("matmul"), Hints(HintValues{{"occupancy", 0}})), StatusCode::kInvalidArgument,
               "occupancy=0");
}

TEST(TileIrTest, AFileWithoutTheI32TypeGetsIt) {
  std::string bytes = Fixture("softmax.13.3");
  Result<TileIrFile> file = TileIrFile::Parse(bytes);
  Result<TileIrTable> types = TileIrTable::Parse(*file, TileIrFile::kType, "types");
  for (std::string_view& item : types->items) {
    if (item == "\x03") item = "\x04";  // Every i32 becomes an i64: another program, but a file that can be read.
  }
  std::string without = file->Write({{TileIrFile::kType, types->Write()}});
  Result<std::string> patched = PatchTileIrHints(without, Hints(HintValues{{"occupancy", 2}}));
  ASSERT_OK(patched);
  Result<TileIrFile> after = TileIrFile::Parse(*patched);
  Result<TileIrTable> new_types = TileIrTable::Parse(*after, TileIrFile::kType, "types");
  EXPECT_EQ(new_types->items.size(), types->items.size() + 1);
  EXPECT_EQ(new_types->items.back(), "\x03");
  EXPECT_EQ(ReadTileIr(*patched)->entries[0].hints.at("default").at("occupancy"), 2);
  EXPECT_EQ(ReadTileIr(*patched)->entries[0].parameters[1], "tile<i64>");
}

TEST(TileIrTest, AParametersTypeThatNamesNoTypeIsRefused) {
  std::string bytes = Fixture("softmax.13.3");
  Result<TileIrFile> file = TileIrFile::Parse(bytes);
  Result<TileIrTable> types = TileIrTable::Parse(*file, TileIrFile::kType, "types");
  // A patch that adds a type would make it mean something.
  const std::string pointer_to_none = {'\x0c', static_cast<char>(types->items.size())};
  for (std::string_view& item : types->items) {
    if (item[0] == '\x0c') item = pointer_to_none;
  }
  EXPECT_ERROR(ReadTileIr(file->Write({{TileIrFile::kType, types->Write()}})), StatusCode::kInvalidArgument, "a type");
}

TEST(TileIrTest, APaddedFunctionSectionIsReadByCount) {
  std::string bytes = Fixture("matmul");
  Result<TileIrFile> file = TileIrFile::Parse(bytes);
  const TileIrFile::Section& func = file->Find(TileIrFile::kFunc);
  std::string payload = bytes.substr(func.begin, func.end - func.begin) + std::string(5, '\xcb');
  std::string padded = file->Write({{TileIrFile::kFunc, payload}});
  EXPECT_EQ(*PatchTileIrHints(padded, Hints(HintValues{{"occupancy", 2}})),
            *PatchTileIrHints(bytes, Hints(HintValues{{"occupancy", 2}})));
}

TEST(TileIrTest, DamageIsNamedWithItsOffset) {
  std::string file = Fixture("matmul");
  EXPECT_ERROR(ReadTileIr(""), StatusCode::kInvalidArgument, "offset 0");
  EXPECT_ERROR(ReadTileIr("not bytecode at all"), StatusCode::kInvalidArgument, "offset 0: the content does not start");
  EXPECT_ERROR(ReadTileIr(file.substr(0, 700)), StatusCode::kInvalidArgument, "the file ends within a section");
  EXPECT_ERROR(ReadTileIr(file + "x"), StatusCode::kInvalidArgument, "bytes follow the end");
  file[9] = 9;
  EXPECT_ERROR(ReadTileIr(file), StatusCode::kInvalidArgument, "offset 8: version 13.9");
}

TEST(TileIrTest, EveryTruncationIsRefused) {
  for (const std::string& name : Fixtures()) {
    std::string file = Fixture(name);
    for (std::size_t size = 0; size < file.size(); ++size) {
      // A copy of just that size, so that AddressSanitizer sees a read beyond it.
      std::vector<char> part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      std::string_view view(part.data(), part.size());
      bool accepted = true;
      ASSERT_EQ(TileIrPropertyViolation(view, &accepted), "") << name << " cut to " << size;
      ASSERT_FALSE(accepted) << name << " cut to " << size;
    }
  }
}

TEST(TileIrTest, EveryFlippedByteIsRefusedOrYieldsAWellFormedFile) {
  int num_accepted = 0;
  int num_refused = 0;
  // Each byte of each file in one way. Files that are alike have the ways in turn.
  constexpr int kFlips[] = {0x01, 0x80, 0xff};
  std::size_t turn = 0;
  for (const std::string& name : Fixtures()) {
    std::string file = Fixture(name);
    ++turn;
    for (std::size_t i = 0; i < file.size(); ++i) {
      const int flip = kFlips[(turn + i) % std::size(kFlips)];
      std::string damaged = file;
      damaged[i] = static_cast<char>(damaged[i] ^ flip);
      bool accepted = false;
      ASSERT_EQ(TileIrPropertyViolation(damaged, &accepted), "") << name << ", byte " << i << " ^ " << flip;
      ++(accepted ? num_accepted : num_refused);
    }
  }
  EXPECT_GT(num_accepted, 0);  // A flip in a function's body, say.
  EXPECT_GT(num_refused, 0);
}

}  // namespace
}  // namespace tuneonce
