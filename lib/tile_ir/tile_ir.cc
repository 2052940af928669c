#include "tile_ir/tile_ir.h"

#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tile_ir/tile_ir_file.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Tags of the attributes that can stand in a function's head (cuda-tile, `_bytecode/attribute.py`).
enum AttributeTag : std::uint8_t {
  kInteger = 0x01,
  kFloat = 0x02,
  kTruth = 0x03,
  kType = 0x04,
  kString = 0x05,
  kArray = 0x06,
  kDivBy = 0x08,
  kDictionary = 0x0a,
  kOptimizationHints = 0x0b,
  kBounded = 0x0c,
};

constexpr std::uint8_t kEntryFlag = 0x02;
constexpr std::uint8_t kHintsFlag = 0x04;
constexpr int kMaxNesting = 8;  // Of attributes and types; real ones nest three deep.
constexpr std::string_view kI32Type("\x03", 1);

using HintsByTarget = std::map<std::string, HintValues>;

/// One function of the Func section, as offsets into the file.
struct Function {
  bool is_entry = false;
  std::uint64_t name = 0;       ///< Index of a string.
  std::uint64_t signature = 0;  ///< Index of a type.
  std::uint8_t flags = 0;
  std::size_t begin = 0;
  std::size_t flags_at = 0;
  std::size_t hints_begin = 0;  ///< Equal to hints_end where it has none.
  std::size_t hints_end = 0;
  std::size_t end = 0;
  HintsByTarget hints;
};

/// Everything that reading and patching need of a file. Its views point into the file's bytes.
struct Parsed {
  TileIrFile file;
  TileIrTable strings;
  TileIrTable types;
  std::vector<Function> functions;
};

HintsByTarget ReadHints(ByteReader& reader, const Parsed& parsed) {
  HintsByTarget hints;
  auto string = [&](const char* what) {
    std::uint64_t index = reader.Index(what, parsed.strings.items.size());
    return reader.ok() ? std::string(parsed.strings.items[index]) : std::string();
  };
  if (reader.Byte("hints") != kOptimizationHints) reader.Fail("hints were expected");
  std::uint64_t num_targets = reader.Varint("the number of targets");
  for (std::uint64_t t = 0; t < num_targets && reader.ok(); ++t) {
    std::string target = string("a target's name");
    if (reader.Byte("a target's hints") != kDictionary) reader.Fail("a dictionary was expected");
    auto [it, is_new] = hints.try_emplace(target);
    if (!is_new) reader.Fail(absl::StrCat("hints for '", target, "' come twice"));
    std::uint64_t num_hints = reader.Varint("the number of hints");
    for (std::uint64_t h = 0; h < num_hints && reader.ok(); ++h) {
      std::string name = string("a hint's name");
      if (reader.Byte("a hint's value") != kInteger) reader.Fail(absl::StrCat("hint '", name, "' is no integer"));
      reader.Index("a hint's type", parsed.types.items.size());
      auto value = static_cast<std::int64_t>(reader.Varint("a hint's value"));
      if (!it->second.emplace(name, value).second) reader.Fail(absl::StrCat("hint '", name, "' comes twice"));
    }
  }
  return hints;
}

void SkipAttribute(ByteReader& reader, const Parsed& parsed, int nesting) {
  if (nesting > kMaxNesting) return reader.Fail("attributes nest too deep");
  std::size_t num_types = parsed.types.items.size();
  std::size_t num_strings = parsed.strings.items.size();
  auto skip_flagged = [&] {  // Up to two numbers, as the flags say.
    std::uint8_t flags = reader.Byte("an attribute's flags");
    if ((flags & 1) != 0) reader.Varint("an attribute's number");
    if ((flags & 2) != 0) reader.Varint("an attribute's number");
  };
  std::uint8_t tag = reader.Byte("an attribute");
  if (!reader.ok()) return;
  switch (tag) {
    case kInteger:
      reader.Index("an attribute's type", num_types);
      reader.Varint("an integer");
      return;
    case kFloat: {
      std::uint64_t type = reader.Index("an attribute's type", num_types);
      // Formats of 8 bits (f8E4M3FN, f8E5M2, f8E8M0FNU) are a byte, wider ones a varint.
      std::uint8_t format =
          reader.ok() && !parsed.types.items[type].empty() ? static_cast<std::uint8_t>(parsed.types.items[type][0]) : 0;
      if (format == 0x0a || format == 0x0b || format == 0x12) {
        reader.Byte("a float");
      } else {
        reader.Varint("a float");
      }
      return;
    }
    case kTruth:
      reader.Byte("a bool");
      return;
    case kType:
      reader.Index("a type", num_types);
      return;
    case kString:
      reader.Index("a string", num_strings);
      return;
    case kDivBy:
      reader.Varint("a divisor");
      return skip_flagged();
    case kBounded:
      return skip_flagged();
    case kArray:
    case kDictionary: {
      std::uint64_t count = reader.Varint("a number of attributes");
      for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
        if (tag == kDictionary) reader.Index("an attribute's name", num_strings);
        SkipAttribute(reader, parsed, nesting + 1);
      }
      return;
    }
    default:
      return reader.Fail(absl::StrCat("attribute tag ", tag, " is unknown"));
  }
}

Function ReadFunction(ByteReader& reader, const Parsed& parsed) {
  Function function;
  function.begin = reader.offset();
  function.name = reader.Index("a function's name", parsed.strings.items.size());
  function.signature = reader.Index("a function's type", parsed.types.items.size());
  function.flags_at = reader.offset();
  function.flags = reader.Byte("a function's flags");
  function.is_entry = (function.flags & kEntryFlag) != 0;
  reader.Varint("a function's location");
  function.hints_begin = reader.offset();
  bool has_hints = parsed.file.AtLeast(5) ? function.is_entry : (function.flags & kHintsFlag) != 0;
  if (has_hints) function.hints = ReadHints(reader, parsed);
  function.hints_end = reader.offset();
  if (parsed.file.AtLeast(5)) SkipAttribute(reader, parsed, 0);  // The arguments' attributes.
  reader.Bytes(reader.Varint("a body's length"), "a function's body");
  function.end = reader.offset();
  return function;
}

Result<Parsed> Parse(std::string_view bytecode) {
  Parsed parsed;
  TUNEONCE_ASSIGN_OR_RETURN(parsed.file, TileIrFile::Parse(bytecode));
  TUNEONCE_ASSIGN_OR_RETURN(parsed.strings, TileIrTable::Parse(parsed.file, TileIrFile::kString, "the strings"));
  TUNEONCE_ASSIGN_OR_RETURN(parsed.types, TileIrTable::Parse(parsed.file, TileIrFile::kType, "the types"));
  const TileIrFile::Section& section = parsed.file.Find(TileIrFile::kFunc);
  ByteReader reader(bytecode, section.begin, section.end);
  std::uint64_t count = reader.Varint("the number of functions");
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) parsed.functions.push_back(ReadFunction(reader, parsed));
  TUNEONCE_RETURN_IF_ERROR(reader.status());
  return parsed;
}

/// Renders types in tileirdisasm's words, those that can be a parameter's.
class TypePrinter {
 public:
  explicit TypePrinter(const Parsed& parsed) : parsed_(parsed) {}

  Result<std::vector<std::string>> Parameters(std::uint64_t signature) {
    ByteReader reader = ReaderOf(signature);
    if (reader.Byte("a function's type") != 0x10) reader.Fail("a function's type is no function type");
    std::uint64_t count = reader.Varint("the number of parameters");
    std::vector<std::string> parameters;
    for (std::uint64_t i = 0; i < count && reader.ok(); ++i) parameters.push_back(Print(ReadTypeIndex(reader), 0));
    TUNEONCE_RETURN_IF_ERROR(reader.status());
    return parameters;
  }

 private:
  ByteReader ReaderOf(std::uint64_t type) const {
    std::string_view item = parsed_.types.items[type];
    auto begin = static_cast<std::size_t>(item.data() - parsed_.file.bytes.data());
    return ByteReader(parsed_.file.bytes, begin, begin + item.size());
  }

  std::uint64_t ReadTypeIndex(ByteReader& reader) const { return reader.Index("a type", parsed_.types.items.size()); }

  std::string Print(std::uint64_t type, int nesting) {
    static constexpr std::string_view kSimple[] = {"i1",   "i8",  "i16",  "i32", "i64",      "f16",
                                                   "bf16", "f32", "tf32", "f64", "f8E4M3FN", "f8E5M2"};
    ByteReader reader = ReaderOf(type);
    std::uint8_t tag = reader.Byte("a type");
    std::string other = absl::StrCat("type ", type);
    if (!reader.ok() || nesting > kMaxNesting) return other;
    if (tag < std::size(kSimple)) return std::string(kSimple[tag]);
    std::string text;
    if (tag == 0x0c) {
      if (parsed_.file.AtLeast(4)) reader.Varint("a pointer's flags");
      std::uint64_t pointee = ReadTypeIndex(reader);
      text = reader.ok() ? absl::StrCat("ptr<", Print(pointee, nesting + 1), ">") : other;
    } else if (tag == 0x0d) {
      std::uint64_t element = ReadTypeIndex(reader);
      std::uint64_t rank = reader.Varint("a rank");
      text = "tile<";
      for (std::uint64_t i = 0; i < rank && reader.ok(); ++i) {
        std::uint64_t low = reader.Word("an extent");
        std::uint64_t extent = low | (std::uint64_t{reader.Word("an extent")} << 32);
        absl::StrAppend(&text, extent, "x");
      }
      text = reader.ok() ? absl::StrCat(text, Print(element, nesting + 1), ">") : other;
    } else {
      text = other;
    }
    return text;
  }

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
  out->push_back(static_cast<char>(kOptimizationHints));
  AppendVarint(hints.size(), out);
  for (const auto& [target, values] : hints) {
    AppendVarint(parsed.strings.Intern(target), out);
    out->push_back(static_cast<char>(kDictionary));
    AppendVarint(values.size(), out);
    for (const auto& [name, value] : values) {
      AppendVarint(parsed.strings.Intern(name), out);
      out->push_back(static_cast<char>(kInteger));
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
    flags = static_cast<std::uint8_t>(hints.empty() ? flags & ~kHintsFlag : flags | kHintsFlag);
  }
  copy(function.begin, function.flags_at);
  out->push_back(static_cast<char>(flags));
  copy(function.flags_at + 1, function.hints_begin);
  if (always_present || !hints.empty()) AppendHints(hints, parsed, out);
  copy(function.hints_end, function.end);
}

std::string_view NameOf(const Function& function, const Parsed& parsed) { return parsed.strings.items[function.name]; }

}  // namespace

Result<TileIrModule> ReadTileIr(std::string_view bytecode) {
  TUNEONCE_ASSIGN_OR_RETURN(Parsed parsed, Parse(bytecode));
  TileIrModule module;
  module.major = parsed.file.major;
  module.minor = parsed.file.minor;
  for (const Function& function : parsed.functions) {
    if (!function.is_entry) continue;
    TileIrEntry entry;
    entry.name = NameOf(function, parsed);
    TUNEONCE_ASSIGN_OR_RETURN(entry.parameters, TypePrinter(parsed).Parameters(function.signature));
    entry.hints = function.hints;
    module.entries.push_back(std::move(entry));
  }
  return module;
}

Result<std::string> PatchTileIrHints(std::string_view bytecode, const Hints& hints, std::string_view entry) {
  TUNEONCE_RETURN_IF_ERROR(hints.Check());
  TUNEONCE_ASSIGN_OR_RETURN(Parsed parsed, Parse(bytecode));
  std::string func;
  std::set<std::string_view> names;
  bool found = false;
  AppendVarint(parsed.functions.size(), &func);
  for (const Function& function : parsed.functions) {
    bool is_meant = function.is_entry && (entry.empty() || NameOf(function, parsed) == entry);
    if (function.is_entry) names.insert(NameOf(function, parsed));
    found = found || is_meant;
    if (is_meant) {
      AppendPatched(function, Combine(function.hints, hints), parsed, &func);
    } else {
      func.append(bytecode.substr(function.begin, function.end - function.begin));
    }
  }
  if (!found) {
    return NotFoundError(names.empty()
                             ? "Tile IR bytecode: there is no entry"
                             : absl::StrCat("Tile IR bytecode: there is no entry '", std::string(entry), "', but ",
                                            absl::StrJoin(names, ", ", [](std::string* out, std::string_view name) {
                                              out->append(name);
                                            })));
  }
  return parsed.file.Write({{TileIrFile::kFunc, std::move(func)},
                            {TileIrFile::kString, parsed.strings.Write()},
                            {TileIrFile::kType, parsed.types.Write()}});
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
  if (hints.empty()) return absl::StrCat("entry '", entry.name, "' brings hints of its own: ", baked);
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
  return absl::StrCat("entry '", entry.name,
                      "' keeps hints that win over the merged default: ", absl::StrJoin(winners, ", "));
}

}  // namespace v0
}  // namespace tuneonce
