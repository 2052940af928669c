#include "tile_ir/tile_ir.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/short_list.h"
#include "tile_ir/tile_ir_body.h"
#include "tile_ir/tile_ir_file.h"
#include "tile_ir/tile_ir_functions.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr int kMaxTypeNesting = 8;  // Of types; real ones nest three deep.
constexpr std::string_view kI32Type("\x03", 1);

using HintsByTarget = std::map<std::string, HintValues>;
using Parsed = ParsedTileIr;
using Function = TileIrFunction;

/// Renders types in tileirdisasm's words, those that can be a parameter's.
class TypePrinter {
 public:
  explicit TypePrinter(const Parsed& parsed) : parsed_(parsed) {}

  Result<std::vector<std::string>> Parameters(std::uint64_t signature) {
    ByteReader reader = parsed_.ReaderOfType(signature);
    if (reader.Byte("a function's type") != 0x10) reader.Fail("a function's type is not a function type");
    std::uint64_t count = reader.Varint("the number of parameters");
    std::vector<std::string> parameters;
    std::map<std::uint64_t, std::string> printed;  // Most parameters are of one or two types.
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
      const std::uint64_t type = ReadTypeIndex(reader);
      auto [it, is_new] = printed.try_emplace(type);
      if (is_new && reader.ok()) {
        TUNEONCE_ASSIGN_OR_RETURN(it->second, Print(type, 0));
      }
      parameters.push_back(it->second);
    }
    TUNEONCE_RETURN_IF_ERROR(reader.status());
    return parameters;
  }

 private:
  std::uint64_t ReadTypeIndex(ByteReader& reader) const { return reader.Index("a type", parsed_.types.items.size()); }

  /// A type that no parameter can have is called by its number. Errors: one that is cut, or names a type that is not
  /// there, which a patch might add.
  Result<std::string> Print(std::uint64_t type, int nesting) {
    static constexpr std::string_view kSimple[] = {"i1",   "i8",  "i16",  "i32", "i64",      "f16",
                                                   "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2"};
    ByteReader reader = parsed_.ReaderOfType(type);
    std::uint8_t tag = reader.Byte("a type");
    TUNEONCE_RETURN_IF_ERROR(reader.status());
    if (nesting > kMaxTypeNesting) return Other(type);
    if (tag < std::size(kSimple)) return std::string(kSimple[tag]);
    if (tag == 0x0c) {
      if (parsed_.file.AtLeast(4)) reader.Varint("a pointer's flags");
      std::uint64_t pointee = ReadTypeIndex(reader);
      TUNEONCE_RETURN_IF_ERROR(reader.status());
      TUNEONCE_ASSIGN_OR_RETURN(std::string text, Print(pointee, nesting + 1));
      return absl::StrCat("ptr<", text, ">");
    }
    if (tag == 0x0d) {
      std::uint64_t element = ReadTypeIndex(reader);
      std::uint64_t rank = reader.Varint("a rank");
      std::string text = "tile<";
      for (std::uint64_t i = 0; i < rank && reader.ok(); ++i) {
        std::uint64_t low = reader.Word("an extent");
        std::uint64_t extent = low | (std::uint64_t{reader.Word("an extent")} << 32);
        absl::StrAppend(&text, extent, "x");
      }
      TUNEONCE_RETURN_IF_ERROR(reader.status());
      TUNEONCE_ASSIGN_OR_RETURN(std::string element_text, Print(element, nesting + 1));
      return absl::StrCat(text, element_text, ">");
    }
    return Other(type);
  }

  static std::string Other(std::uint64_t type) { return absl::StrCat("type ", type); }

  const Parsed& parsed_;
};

/// The hints of an entry after the patch, by the bytecode's names.
HintsByTarget Combine(const HintsByTarget& present, const Hints& hints) {
  HintsByTarget combined;
  if (hints.update() == Hints::Update::kMerge) combined = present;
  for (const auto& [target, values] : hints.by_target()) {
    for (const auto& [name, value] : values) combined[target][std::string(BytecodeHintName(name))] = value;
  }
  return combined;
}

void AppendHints(const HintsByTarget& hints, Parsed& parsed, std::string* out) {
  out->push_back(static_cast<char>(TileIrAttribute::kOptimizationHints));
  AppendVarint(hints.size(), out);
  for (const auto& [target, values] : hints) {
    AppendVarint(parsed.strings.Intern(target), out);
    out->push_back(static_cast<char>(TileIrAttribute::kDictionary));
    AppendVarint(values.size(), out);
    for (const auto& [name, value] : values) {
      AppendVarint(parsed.strings.Intern(name), out);
      out->push_back(static_cast<char>(TileIrAttribute::kInteger));
      AppendVarint(parsed.types.Intern(kI32Type), out);
      AppendVarint(static_cast<std::uint64_t>(value), out);
    }
  }
}

/// The function's bytes with other hints.
void AppendPatched(const Function& function, const HintsByTarget& hints, Parsed& parsed, std::string* out) {
  std::string_view bytes = parsed.file.bytes;
  auto copy = [&](std::size_t begin, std::size_t end) { out->append(bytes.substr(begin, end - begin)); };
  bool always_present = parsed.file.AtLeast(5);
  std::uint8_t flags = function.flags;
  if (!always_present) {
    flags = static_cast<std::uint8_t>(hints.empty() ? flags & ~Function::kHintsFlag : flags | Function::kHintsFlag);
  }
  copy(function.begin, function.flags_at);
  out->push_back(static_cast<char>(flags));
  copy(function.flags_at + 1, function.hints_begin);
  if (always_present || !hints.empty()) AppendHints(hints, parsed, out);
  copy(function.hints_end, function.end);
}

/// The error for an entry that is not among those of the file.
Status NoSuchEntry(const Parsed& parsed, std::string_view entry) {
  std::set<std::string> names;
  for (const Function& function : parsed.functions) {
    if (function.is_entry) names.emplace(parsed.NameOf(function));
  }
  return NotFoundError(absl::StrCat("Tile IR bytecode has no entry '", std::string(entry),
                                    "'; its entries are: ", ShortList({names.begin(), names.end()}, entry)));
}

/// Adds the strings that name globals which the function uses. Resets `*names` if its body cannot be read.
void AddGlobalsOf(const Parsed& parsed, const Function& function, std::optional<std::set<std::uint64_t>>* names) {
  Result<TileIrBody> body = TileIrBody::Read(parsed, function);
  if (!body.ok()) names->reset();
  if (!*names) return;
  for (const TileIrOperation& operation : body->operations) {
    if (operation.code == TileIrCode::kGetGlobal) (*names)->insert(operation.number);
  }
}

/// The payload of the section of globals with only those in `names`. Nothing if the section is missing, or cannot be
/// read.
std::optional<std::string> GlobalsOf(const Parsed& parsed, const std::set<std::uint64_t>& names) {
  auto section = std::find_if(parsed.file.sections.begin(), parsed.file.sections.end(),
                              [](const TileIrFile::Section& each) { return each.id == TileIrFile::kGlobal; });
  if (section == parsed.file.sections.end()) return std::nullopt;
  ByteReader reader(parsed.file.bytes, section->begin, section->end);
  const std::uint64_t count = reader.Varint("the number of globals");
  std::string kept;
  std::uint64_t num_kept = 0;
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::size_t begin = reader.offset();
    const std::uint64_t name = reader.Index("a global's name", parsed.strings.items.size());
    for (const char* what : {"a global's type", "a global's value", "a global's alignment"}) reader.Varint(what);
    if (parsed.file.AtLeast(3)) {
      reader.Byte("a global's visibility");
      reader.Varint("whether a global is constant");
    }
    if (names.count(name) == 0) continue;
    kept.append(parsed.file.bytes.substr(begin, reader.offset() - begin));
    ++num_kept;
  }
  if (!reader.ok()) return std::nullopt;
  std::string payload;
  AppendVarint(num_kept, &payload);
  return payload + kept;
}

}  // namespace

Result<TileIrModule> ReadTileIr(std::string_view bytecode) {
  TUNEONCE_ASSIGN_OR_RETURN(Parsed parsed, Parsed::Parse(bytecode));
  TileIrModule module;
  module.major = parsed.file.major;
  module.minor = parsed.file.minor;
  for (const Function& function : parsed.functions) {
    if (!function.is_entry) continue;
    TileIrEntry entry;
    entry.name = parsed.NameOf(function);
    TUNEONCE_ASSIGN_OR_RETURN(entry.parameters, TypePrinter(parsed).Parameters(function.signature));
    entry.hints = function.hints;
    module.entries.push_back(std::move(entry));
  }
  return module;
}

Result<std::string> PatchTileIrHints(std::string_view bytecode, const Hints& hints, std::string_view entry) {
  TUNEONCE_RETURN_IF_ERROR(hints.Check());
  TUNEONCE_ASSIGN_OR_RETURN(Parsed parsed, Parsed::Parse(bytecode));
  std::string func;
  bool found = false;
  AppendVarint(parsed.functions.size(), &func);
  for (const Function& function : parsed.functions) {
    bool is_meant = function.is_entry && (entry.empty() || parsed.NameOf(function) == entry);
    found = found || is_meant;
    if (is_meant) {
      AppendPatched(function, Combine(function.hints, hints), parsed, &func);
    } else {
      func.append(bytecode.substr(function.begin, function.end - function.begin));
    }
  }
  if (!found) return NoSuchEntry(parsed, entry);
  return parsed.file.Write({{TileIrFile::kFunc, std::move(func)},
                            {TileIrFile::kString, parsed.strings.Write()},
                            {TileIrFile::kType, parsed.types.Write()}});
}

Result<std::string> ExtractTileIrEntry(std::string_view bytecode, std::string_view entry) {
  TUNEONCE_ASSIGN_OR_RETURN(Parsed parsed, Parsed::Parse(bytecode));
  std::string kept;
  std::uint64_t num_kept = 0;
  bool found = false;
  std::optional<std::set<std::uint64_t>> globals{std::in_place};
  for (const Function& function : parsed.functions) {
    const bool is_meant = function.is_entry && parsed.NameOf(function) == entry;
    found = found || is_meant;
    if (function.is_entry && !is_meant) continue;
    kept.append(bytecode.substr(function.begin, function.end - function.begin));
    ++num_kept;
    AddGlobalsOf(parsed, function, &globals);
  }
  if (!found) return NoSuchEntry(parsed, entry);
  std::string func;
  AppendVarint(num_kept, &func);
  std::vector<std::pair<TileIrFile::SectionId, std::string>> payloads = {{TileIrFile::kFunc, func + kept}};
  if (std::optional<std::string> section = globals ? GlobalsOf(parsed, *globals) : std::nullopt) {
    payloads.emplace_back(TileIrFile::kGlobal, *std::move(section));
  }
  return parsed.file.Write(payloads);
}

std::string HintsByTargetString(const std::map<std::string, HintValues>& hints) {
  std::vector<std::string> parts;
  for (const auto& [target, values] : hints) {
    if (!values.empty())
      parts.push_back(absl::StrCat(target, ": ", absl::StrJoin(values, ", ", absl::PairFormatter("="))));
  }
  return parts.empty() ? "none" : absl::StrJoin(parts, "; ");
}

std::string BakedHintsNote(const TileIrEntry& entry, const Hints& hints) {
  std::string baked = HintsByTargetString(entry.hints);
  if (baked == "none") return "";
  if (hints.empty()) return absl::StrCat("entry '", entry.name, "' already has hints: ", baked);
  if (hints.update() == Hints::Update::kReplace) return "";
  std::vector<std::string> winners;
  auto given = hints.by_target().find("default");
  for (const auto& [target, values] : entry.hints) {
    if (target == "default" || given == hints.by_target().end()) continue;
    for (const auto& [name, value] : given->second) {
      auto own = values.find(std::string(BytecodeHintName(name)));
      auto of_target = hints.by_target().find(target);
      bool is_given = of_target != hints.by_target().end() && of_target->second.count(name) > 0;
      if (own == values.end() || is_given) continue;
      winners.push_back(absl::StrCat(own->first, "=", std::int64_t{own->second}, " of ", target));
    }
  }
  if (winners.empty()) return "";
  return absl::StrCat("entry '", entry.name, "' keeps hints that override the merged default: ", ShortList(winners));
}

}  // namespace v0
}  // namespace tuneonce
