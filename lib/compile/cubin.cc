#include "compile/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/elf_image.h"
#include "base/short_list.h"
#include "tuneonce/plugin/artifact.h"
#include "tuneonce/plugin/fingerprint.h"

namespace tuneonce {
inline namespace v0 {
namespace {

// What a cubin's ELF adds to the standard (CUDA's own names where it has published them in cuobjdump's output).
constexpr std::uint8_t kEntryBit = 0x10;  // STO_CUDA_ENTRY
constexpr std::uint32_t kTypeCallGraph = 0x70000001;
constexpr std::uint8_t kAttributeFrameSize = 0x11;
constexpr std::uint8_t kAttributeRegisters = 0x2f;
/// The register limit that was passed to the compiler. The entry holds the limit in place of a size; 255 means that no
/// limit was given. The fingerprint ignores the limit, because only its effect on the code counts: code that needs
/// fewer registers anyway is the same without it.
constexpr std::uint8_t kAttributeMaxRegisters = 0x1b;
constexpr std::uint16_t kNoMaxRegisters = 0xff;
/// Attributes whose value begins with the index of a symbol. An index moves when a debug section comes or goes.
constexpr std::uint8_t kSymbolAttributes[] = {0x0a, kAttributeFrameSize, 0x12, 0x23, kAttributeRegisters, 0x66};
/// Shared memory that the system keeps to itself per block, in a kernel's section from sm_90 on: 1 KiB ("CUDA C++
/// Programming Guide", compute capabilities: shared memory).
constexpr std::int64_t kReservedSharedBytes = 1024;
/// Each name is looked for in each section: more would take minutes. CUDA's own libraries have hundreds to an image.
constexpr std::size_t kMaxKernels = 4096;

bool IsInfo(std::string_view name) { return name.substr(0, 8) == ".nv.info"; }

/// Sections that neither code nor launch depends on: names, debug information, notes (they hold the tool's command
/// line), and relocations of these.
bool IsLeftOut(const ElfImage::Section& section) {
  std::string_view name = section.name;
  if (name.substr(0, 5) == ".rela") name.remove_prefix(5);
  return name.empty() || name.find("debug") != std::string_view::npos || name.substr(0, 5) == ".note" ||
         name == ".strtab" || name == ".shstrtab" || name == ".symtab" || section.type == kTypeCallGraph;
}

/// Hashes an image's code and data. Names of kernels count as their numbers, wherever they stand.
class CodeHash {
 public:
  explicit CodeHash(const std::vector<std::string>& kernels) : kernels_(kernels) {}

  void Add(const ElfImage& image) { AddSections(image, /*may_embed=*/true); }

  Fingerprint Finish() const { return hash_.Finish(); }

 private:
  /// `may_embed`: .nv.host is an x86-64 object that the driver runs at launch; what is in that is only content.
  void AddSections(const ElfImage& image, bool may_embed) {
    for (const ElfImage::Section& section : image.sections()) {
      if (section.type == SHT_NULL || IsLeftOut(section)) continue;
      hash_.Add(Canonical(section.name));
      if (section.type == SHT_NOBITS) hash_.Add(section.size);
      if (IsInfo(section.name)) {
        AddInfo(section.content);
      } else if (section.type == SHT_RELA) {
        AddRelocations(image, section.content);
      } else if (Result<ElfImage> host = ElfImage::Parse(section.content); may_embed && host.ok()) {
        AddSections(*host, /*may_embed=*/false);
      } else {
        hash_.Add(Canonical(section.content));
      }
    }
  }

  /// Text with every kernel's name (at the end of a section's name, or zero-terminated in data) taken out.
  std::string Canonical(std::string_view text) const {
    std::string result(text);
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      std::string number = absl::StrCat("#", i);
      if (absl::EndsWith(result, "." + kernels_[i])) {
        result.replace(result.size() - kernels_[i].size(), std::string::npos, number);
      }
      std::string terminated = kernels_[i] + '\0';
      std::size_t at = result.find(terminated);
      if (at != std::string::npos) result.replace(at, terminated.size(), number);
    }
    return result;
  }

  void AddInfo(std::string_view content) {
    for (const InfoEntry& entry : InfoEntries(content)) {
      bool has_symbol = std::find(std::begin(kSymbolAttributes), std::end(kSymbolAttributes), entry.attribute) !=
                        std::end(kSymbolAttributes);
      hash_.Add(entry.format).Add(entry.attribute);
      hash_.Add(entry.attribute == kAttributeMaxRegisters ? kNoMaxRegisters : entry.size);
      hash_.Add(has_symbol && entry.value.size() >= 4 ? entry.value.substr(4) : entry.value);
    }
  }

  /// By what a symbol is, not by its index.
  void AddRelocations(const ElfImage& image, std::string_view content) {
    for (std::size_t at = 0; at + sizeof(Elf64_Rela) <= content.size(); at += sizeof(Elf64_Rela)) {
      Elf64_Rela relocation;
      std::memcpy(&relocation, content.data() + at, sizeof(relocation));
      hash_.Add(relocation.r_offset).Add(ELF64_R_TYPE(relocation.r_info));
      hash_.Add(static_cast<std::uint64_t>(relocation.r_addend));
      std::uint64_t index = ELF64_R_SYM(relocation.r_info);
      if (index >= image.symbols().size()) continue;
      const ElfImage::Symbol& symbol = image.symbols()[index];
      hash_.Add(symbol.value);
      if (symbol.section < image.sections().size()) hash_.Add(Canonical(image.sections()[symbol.section].name));
    }
  }

  const std::vector<std::string>& kernels_;
  Fingerprinter hash_;
};

ResourceUse ResourcesOf(const ElfImage& image, const std::string& kernel) {
  ResourceUse use;
  if (const ElfImage::Section* info = image.Find(".nv.info"); info != nullptr) {
    for (const InfoEntry& entry : InfoEntries(info->content)) {
      std::uint32_t symbol = WordAt(entry.value, 0);
      if (symbol >= image.symbols().size() || image.symbols()[symbol].name != kernel) continue;
      if (entry.attribute == kAttributeRegisters) use.registers = static_cast<int>(WordAt(entry.value, 4));
      if (entry.attribute == kAttributeFrameSize) use.local_bytes = WordAt(entry.value, 4);
    }
  }
  if (const ElfImage::Section* shared = image.Find(".nv.shared." + kernel); shared != nullptr) {
    bool has_reserved = image.Find(".nv.shared.reserved.0") != nullptr;
    use.shared_bytes = static_cast<std::int64_t>(shared->size) - (has_reserved ? kReservedSharedBytes : 0);
  }
  return use;
}

/// Finds the only kernel whose name is the C++ mangling of a global function `name` ("_Z4name..."). Returns the end of
/// `kernels` if no kernel or more than one has such a name.
std::vector<std::string>::const_iterator OnlyMangled(const std::vector<std::string>& kernels, const std::string& name) {
  const std::string mangled = absl::StrCat("_Z", name.size(), name);
  auto is_it = [&](const std::string& kernel) { return kernel.rfind(mangled, 0) == 0; };
  auto first = std::find_if(kernels.begin(), kernels.end(), is_it);
  if (first == kernels.end()) return first;
  return std::find_if(first + 1, kernels.end(), is_it) == kernels.end() ? first : kernels.end();
}

/// An image of which no more is known than its bytes.
Status DescribeByBytes(Artifact* artifact) {
  if (artifact->symbol.empty())
    return InvalidArgumentError("the image does not list its kernels: pass the kernel's name as the symbol");
  artifact->code_fingerprint = Fingerprinter().Add(artifact->image).Add(artifact->symbol).Finish();
  return Status();
}

Status DescribeSharedObject(Artifact* artifact) {
  Result<ElfImage> image = ElfImage::Parse(artifact->image);
  if (!image.ok()) {
    return InvalidArgumentError("the image is not a shared object, which the CPU device loads: " +
                                image.status().message());
  }
  if (image->machine() == kMachineCuda) return InvalidArgumentError("a cubin cannot run on the CPU device");
  return DescribeByBytes(artifact);
}

constexpr std::uint8_t kFormatSized = 4;  // EIFMT_SVAL: a size, then so many bytes.
/// A parameter: its number in bits 32 to 47 and, in the third word, its size: in the upper 14 bits, or (since
/// CUDA 12.8) in the lower 16.
constexpr std::uint8_t kAttributeParameter = 0x17;
constexpr std::uint8_t kAttributeParameter2 = 0x45;
constexpr int kOldSizeShift = 18;
/// From this version of the ABI on the architecture stands in the second byte of the flags; before, in the first.
constexpr int kAbiWithArchitectureInSecondByte = 8;

}  // namespace

Status DescribeCubin(Artifact* artifact) {
  Result<ElfImage> image = ElfImage::Parse(artifact->image);
  if (!image.ok()) return InvalidArgumentError(absl::StrCat("the image is not a cubin: ", image.status().message()));
  if (image->machine() != kMachineCuda) {
    return InvalidArgumentError("the image is not a cubin: it is an ELF file for another machine");
  }
  artifact->kernels.clear();
  for (const ElfImage::Symbol& symbol : image->symbols()) {
    if (symbol.type == STT_FUNC && (symbol.other & kEntryBit) != 0) artifact->kernels.emplace_back(symbol.name);
  }
  if (artifact->kernels.size() > kMaxKernels) {
    return InvalidArgumentError(
        absl::StrCat("the image has ", artifact->kernels.size(), " kernels; at most ", kMaxKernels, " are possible"));
  }
  if (artifact->symbol.empty() && artifact->kernels.size() == 1) artifact->symbol = artifact->kernels[0];
  auto kernel = std::find(artifact->kernels.cbegin(), artifact->kernels.cend(), artifact->symbol);
  if (kernel == artifact->kernels.end()) kernel = OnlyMangled(artifact->kernels, artifact->symbol);
  if (kernel != artifact->kernels.end()) artifact->symbol = *kernel;
  if (kernel == artifact->kernels.end()) {
    return InvalidArgumentError(absl::StrCat("no kernel '", artifact->symbol, "' in the image; its kernels are: ",
                                             ShortList(artifact->kernels, artifact->symbol)));
  }
  artifact->resources = ResourcesOf(*image, artifact->symbol);
  CodeHash hash(artifact->kernels);
  hash.Add(*image);
  artifact->code_fingerprint =
      Fingerprinter().Add(hash.Finish()).Add(static_cast<std::uint64_t>(kernel - artifact->kernels.begin())).Finish();
  return Status();
}

Result<Artifact> CubinToolchain::DoCompile(const KernelSource& source, const Hints&, const Target& target,
                                           const WaitLimits&) const {
  Artifact artifact;
  artifact.image = source.content;
  artifact.symbol = source.symbol;
  if (target.is_cpu_device) {
    TUNEONCE_RETURN_IF_ERROR(DescribeSharedObject(&artifact));
  } else if (IsFatBinary(artifact.image)) {
    TUNEONCE_RETURN_IF_ERROR(CheckFatBinary(artifact.image));
    TUNEONCE_RETURN_IF_ERROR(DescribeByBytes(&artifact));
  } else {
    TUNEONCE_RETURN_IF_ERROR(DescribeCubin(&artifact));
  }
  return artifact;
}

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
