// Cubins of our own kernels, and files that only look like one.
#include "compile/cubin.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
namespace {

/// A cubin of one kernel, "k", built by hand, with room for what a test adds.
class HandMadeCubin {
 public:
  /// A section's content lies in the file at `offset`; `size` 0: to its end.
  void AddSection(std::uint64_t offset, std::uint64_t size) { extra_.push_back({offset, size}); }
  void AddKernels(int count) { num_kernels_ += count; }

  std::string Bytes() const {
    std::string names = std::string("\0.symtab\0.names\0.x\0k\0", 21);
    std::string symbols;
    for (int i = 0; i < num_kernels_; ++i) {
      Elf64_Sym symbol{};
      symbol.st_name = 19;
      symbol.st_info = STT_FUNC;
      symbol.st_other = 0x10;  // An entry.
      symbols.append(reinterpret_cast<const char*>(&symbol), sizeof(symbol));
    }
    std::size_t num_sections = 3 + extra_.size();
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = 190;
    header.e_shoff = sizeof(header);
    header.e_shnum = static_cast<std::uint16_t>(num_sections);
    header.e_shstrndx = 2;
    std::uint64_t content = sizeof(header) + num_sections * sizeof(Elf64_Shdr);
    std::uint64_t total = content + symbols.size() + names.size();
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof(header));
    auto add = [&](std::uint32_t name, std::uint32_t type, std::uint64_t offset, std::uint64_t size,
                   std::uint32_t link) {
      Elf64_Shdr section{};
      section.sh_name = name;
      section.sh_type = type;
      section.sh_offset = offset;
      section.sh_size = size;
      section.sh_link = link;
      bytes.append(reinterpret_cast<const char*>(&section), sizeof(section));
    };
    add(0, SHT_NULL, 0, 0, 0);
    add(1, SHT_SYMTAB, content, symbols.size(), 2);
    add(9, SHT_STRTAB, content + symbols.size(), names.size(), 0);
    for (auto [offset, size] : extra_) add(16, SHT_PROGBITS, offset, size == 0 ? total - offset : size, 0);
    return bytes + symbols + names;
  }

 private:
  struct Extra {
    std::uint64_t offset;
    std::uint64_t size;
  };
  std::vector<Extra> extra_;
  int num_kernels_ = 1;
};

Status Describe(std::string image, Artifact* artifact) {
  artifact->image = std::move(image);
  return DescribeCubin(artifact);
}

TEST(CubinTest, AHandMadeOneIsRead) {
  Artifact artifact;
  Status status = Describe(HandMadeCubin().Bytes(), &artifact);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(artifact.symbol, "k");
}

TEST(CubinTest, AFileWithinItselfIsRefusedAndNotFollowedForEver) {
  HandMadeCubin cubin;
  cubin.AddSection(0, 0);
  Artifact artifact;
  Status status = Describe(cubin.Bytes(), &artifact);
  EXPECT_NE(status.message().find("overlap"), std::string::npos) << status.ToString();
}

TEST(CubinTest, ContentIsHashedOnceHoweverManySectionsNameIt) {
  HandMadeCubin cubin;
  for (int i = 0; i < 1000; ++i) cubin.AddSection(64, 64000);  // 64 MB of what is a file of 65 kB.
  Artifact artifact;
  EXPECT_NE(Describe(cubin.Bytes(), &artifact).message().find("overlap"), std::string::npos);
}

TEST(CubinTest, MoreKernelsThanAnyoneTellsApartAreRefused) {
  HandMadeCubin cubin;
  cubin.AddKernels(100000);
  Artifact artifact;
  EXPECT_NE(Describe(cubin.Bytes(), &artifact).message().find("kernels"), std::string::npos);
}

TEST(CubinTest, ThoseOfPtxasAndTileirasAreRead) {
  for (const char* name : {"two_kernels.cubin", "rms_norm.cubin"}) {
    Result<std::string> image = ReadFile(std::string(TUNEONCE_TEST_DATA "/cubin/") + name);
    ASSERT_TRUE(image.ok()) << image.status().ToString();
    Artifact artifact;
    artifact.symbol = std::string(name) == "rms_norm.cubin" ? "rms_norm" : "add";
    Status status = Describe(*image, &artifact);
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_GT(artifact.resources.registers, 0);
    EXPECT_GT(artifact.resources.shared_bytes, 0);
    Fingerprint whole = artifact.code_fingerprint;
    EXPECT_TRUE(Describe(*image + "trailing bytes", &artifact).ok());
    EXPECT_EQ(artifact.code_fingerprint, whole);
    for (std::size_t length = 0; length < image->size(); length += 61) {
      Artifact cut;
      EXPECT_EQ(Describe(image->substr(0, length), &cut).code(), StatusCode::kInvalidArgument) << length;
    }
  }
}

}  // namespace
}  // namespace tuneonce
