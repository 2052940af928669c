#include "base/elf_image.h"

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

namespace tuneonce {
inline namespace v0 {
namespace {

template <typename T>
bool ReadAt(std::string_view bytes, std::uint64_t offset, T* out) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return false;
  std::memcpy(out, bytes.data() + offset, sizeof(T));
  return true;
}

/// The zero-terminated text at `offset` of a string table.
bool TextAt(std::string_view table, std::uint64_t offset, std::string_view* out) {
  if (offset >= table.size()) return false;
  std::size_t end = table.find('\0', static_cast<std::size_t>(offset));
  if (end == std::string_view::npos) return false;
  *out = table.substr(static_cast<std::size_t>(offset), end - static_cast<std::size_t>(offset));
  return true;
}

/// The start of a fatbin (fatBinaryHeader of CUDA's fatbinary.h).
struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;  // Behind the header.
};
constexpr std::uint32_t kMagic = 0xba55ed50;

}  // namespace

Result<ElfImage> ElfImage::Parse(std::string_view bytes) {
  Elf64_Ehdr header;
  if (!ReadAt(bytes, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return InvalidArgumentError("the file does not start with the ELF magic number");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return InvalidArgumentError("the file is not a 64-bit little-endian ELF file");
  }
  std::uint64_t program_headers = std::uint64_t{header.e_phnum} * header.e_phentsize;
  if (header.e_phoff > bytes.size() || program_headers > bytes.size() - header.e_phoff) {
    return InvalidArgumentError("the program headers are truncated");
  }
  for (std::uint64_t i = 0; i < header.e_phnum && header.e_phentsize >= sizeof(Elf64_Phdr); ++i) {
    Elf64_Phdr segment;
    ReadAt(bytes, header.e_phoff + i * header.e_phentsize, &segment);
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset) {
      return InvalidArgumentError("a segment is truncated");
    }
  }
  ElfImage image;
  image.machine_ = header.e_machine;
  image.abi_version_ = header.e_ident[EI_ABIVERSION];
  image.flags_ = header.e_flags;
  TUNEONCE_RETURN_IF_ERROR(image.ReadSections(bytes));
  TUNEONCE_RETURN_IF_ERROR(image.ReadSymbols());
  return image;
}

Status ElfImage::ReadSections(std::string_view bytes) {
  Elf64_Ehdr header;
  ReadAt(bytes, 0, &header);
  std::vector<Elf64_Shdr> headers(header.e_shnum);
  for (std::size_t i = 0; i < headers.size(); ++i) {
    if (!ReadAt(bytes, header.e_shoff + i * sizeof(Elf64_Shdr), &headers[i])) {
      return InvalidArgumentError("the section table is truncated");
    }
  }
  std::uint64_t total = 0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> num_named;
  for (const Elf64_Shdr& each : headers) {
    Section section;
    section.type = each.sh_type;
    section.size = each.sh_size;
    section.link = each.sh_link;
    if (each.sh_type != SHT_NOBITS && each.sh_type != SHT_NULL) {
      if (each.sh_offset > bytes.size() || each.sh_size > bytes.size() - each.sh_offset) {
        return InvalidArgumentError("a section is truncated");
      }
      // A content counts once: what reads all of them takes time for the file's size, not for that times their number.
      // In cubins for sm_100 and newer, sections of Mercury (.nv.merc) name the contents of others again.
      if (++num_named[{each.sh_offset, each.sh_size}] != 2) total += each.sh_size;
      if (total > bytes.size()) return InvalidArgumentError("the sections of the file overlap");
      section.content = bytes.substr(static_cast<std::size_t>(each.sh_offset), static_cast<std::size_t>(each.sh_size));
    }
    sections_.push_back(section);
  }
  if (header.e_shstrndx >= sections_.size()) return InvalidArgumentError("the sections have no names");
  std::string_view names = sections_[header.e_shstrndx].content;
  for (std::size_t i = 0; i < sections_.size(); ++i) {
    if (!TextAt(names, headers[i].sh_name, &sections_[i].name)) return InvalidArgumentError("a section has no name");
  }
  return Status();
}

Status ElfImage::ReadSymbols() {
  for (const Section& section : sections_) {
    if (section.type != SHT_SYMTAB) continue;
    if (section.link >= sections_.size()) return InvalidArgumentError("the symbols have no names");
    std::string_view names = sections_[section.link].content;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.content.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym entry;
      ReadAt(section.content, at, &entry);
      Symbol symbol;
      if (!TextAt(names, entry.st_name, &symbol.name)) return InvalidArgumentError("a symbol has no name");
      symbol.type = ELF64_ST_TYPE(entry.st_info);
      symbol.other = entry.st_other;
      symbol.section = entry.st_shndx;
      symbol.value = entry.st_value;
      symbols_.push_back(symbol);
    }
    break;
  }
  return Status();
}

const ElfImage::Section* ElfImage::Find(std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.name == name) return &section;
  }
  return nullptr;
}

bool IsFatBinary(std::string_view bytes) {
  return bytes.size() >= sizeof(kMagic) && std::memcmp(bytes.data(), &kMagic, sizeof(kMagic)) == 0;
}

Status CheckFatBinary(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof(header)) return InvalidArgumentError("the fatbin's header is truncated");
  std::memcpy(&header, bytes.data(), sizeof(header));
  bool is_whole = header.header_bytes >= sizeof(header) && header.header_bytes <= bytes.size() &&
                  header.content_bytes <= bytes.size() - header.header_bytes;
  return is_whole ? Status() : InvalidArgumentError("the fatbin is truncated");
}

}  // namespace v0
}  // namespace tuneonce
