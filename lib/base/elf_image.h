#ifndef TUNEONCE_LIB_BASE_ELF_IMAGE_H_
#define TUNEONCE_LIB_BASE_ELF_IMAGE_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// A 64-bit little-endian ELF file, read without trusting it: every view lies inside the content.
class ElfImage {
 public:
  struct Section {
    std::string_view name;
    std::uint32_t type = 0;
    std::uint64_t size = 0;  ///< Also where the file holds no content (SHT_NOBITS).
    std::uint32_t link = 0;
    std::string_view content;  ///< Empty for SHT_NOBITS.
  };
  struct Symbol {
    std::string_view name;
    std::uint8_t type = 0;   ///< STT_FUNC, ...
    std::uint8_t other = 0;  ///< st_other.
    std::uint16_t section = 0;
    std::uint64_t value = 0;
  };

  /// Errors: InvalidArgument, saying what does not fit.
  static Result<ElfImage> Parse(std::string_view bytes);

  int machine() const { return machine_; }
  int abi_version() const { return abi_version_; }
  std::uint32_t flags() const { return flags_; }  ///< Flags whose meaning depends on the machine.
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }  ///< The symbols of .symtab, by index.
  const Section* Find(std::string_view name) const;

 private:
  Status ReadSections(std::string_view bytes);
  Status ReadSymbols();

  int machine_ = 0;
  int abi_version_ = 0;
  std::uint32_t flags_ = 0;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

/// True for a fatbin: images of one program for several GPU architectures, from which the driver takes one.
bool IsFatBinary(std::string_view bytes);
/// Returns OK if the bytes are as long as the header states, because a driver receives no size and reads that many.
/// REQUIRES: IsFatBinary. Errors: InvalidArgument.
Status CheckFatBinary(std::string_view bytes);

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_BASE_ELF_IMAGE_H_
