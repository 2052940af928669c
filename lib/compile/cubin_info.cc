#include "compile/cubin_info.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/elf_image.h"
#include "compile/cubin.h"
#include "tuneonce/artifact.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr std::uint8_t kFormatSized = 4;  // EIFMT_SVAL: a size, then so many bytes.
/// A parameter: its number in bits 32 to 47 and, in the third word, its size: in the upper 14 bits, or (since
/// CUDA 12.8) in the lower 16.
constexpr std::uint8_t kAttributeParameter = 0x17;
constexpr std::uint8_t kAttributeParameter2 = 0x45;
constexpr int kOldSizeShift = 18;
/// From this version of the ABI on the architecture stands in the second byte of the flags; before, in the first.
constexpr int kAbiWithArchitectureInSecondByte = 8;

}  // namespace

std::uint32_t WordAt(std::string_view bytes, std::size_t offset) {
  std::uint32_t word = 0;
  if (offset + sizeof(word) <= bytes.size()) std::memcpy(&word, bytes.data() + offset, sizeof(word));
  return word;
}

std::vector<InfoEntry> InfoEntries(std::string_view content) {
  std::vector<InfoEntry> entries;
  for (std::size_t at = 0; at + 4 <= content.size();) {
    InfoEntry entry;
    entry.format = static_cast<std::uint8_t>(content[at]);
    entry.attribute = static_cast<std::uint8_t>(content[at + 1]);
    std::memcpy(&entry.size, content.data() + at + 2, sizeof(entry.size));
    at += 4;
    if (entry.format == kFormatSized) {
      if (entry.size > content.size() - at) break;
      entry.value = content.substr(at, entry.size);
      at += entry.size;
    }
    entries.push_back(entry);
  }
  return entries;
}

Result<CubinKernel> ReadCubinKernel(std::string_view image, const std::string& symbol) {
  Artifact artifact;
  artifact.image = std::string(image);
  artifact.symbol = symbol;
  TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  TUNEONCE_ASSIGN_OR_RETURN(ElfImage elf, ElfImage::Parse(artifact.image));
  CubinKernel kernel;
  kernel.symbol = artifact.symbol;
  const bool is_new = elf.abi_version() >= kAbiWithArchitectureInSecondByte;
  kernel.capability = static_cast<int>((is_new ? elf.flags() >> 8 : elf.flags()) & 0xff);
  const ElfImage::Section* info = elf.Find(".nv.info." + artifact.symbol);
  if (info == nullptr) return kernel;
  std::map<std::uint32_t, std::size_t> sizes;  // By number.
  for (const InfoEntry& entry : InfoEntries(info->content)) {
    if (entry.attribute != kAttributeParameter && entry.attribute != kAttributeParameter2) continue;
    std::uint32_t word = WordAt(entry.value, 8);
    sizes[WordAt(entry.value, 4) & 0xffff] =
        entry.attribute == kAttributeParameter ? word >> kOldSizeShift : word & 0xffff;
  }
  for (const auto& [number, size] : sizes) {
    if (number != kernel.parameter_sizes.size()) {
      return InvalidArgumentError(absl::StrCat("the cubin has no size for parameter ", kernel.parameter_sizes.size(),
                                               " (counted from 0) of '", artifact.symbol,
                                               "': compile it again, because the file may be damaged"));
    }
    kernel.parameter_sizes.push_back(size);
  }
  return kernel;
}

}  // namespace v0
}  // namespace tuneonce
