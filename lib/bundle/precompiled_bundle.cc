#include "bundle/precompiled_bundle.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace tuneonce {
inline namespace v0 {
namespace {

/// Beyond what there are architectures, and ways to build configs for them.
constexpr std::size_t kMostTargets = 64;
constexpr std::size_t kMostCode = 50'000;
/// Beyond what a kernel takes: 4 KiB of parameters, of at least a byte.
constexpr std::size_t kMostKernelParameters = 4096;

Result<std::string> ReadText(const ManifestNode& node, std::string_view field) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* value, node.Get(field));
  return value->String();
}

/// As Fingerprint::ToString writes it.
Result<Fingerprint> ReadFingerprint(const ManifestNode& node, std::string_view field) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* value, node.Get(field));
  TUNEONCE_ASSIGN_OR_RETURN(std::string text, value->String());
  Fingerprint fingerprint;
  const char* middle = text.data() + 16;
  bool fits = text.size() == 32 && std::from_chars(text.data(), middle, fingerprint.high, 16).ptr == middle &&
              std::from_chars(middle, middle + 16, fingerprint.low, 16).ptr == middle + 16;
  return fits ? Result<Fingerprint>(fingerprint) : value->Error("expected 32 hexadecimal digits");
}

}  // namespace

Result<std::shared_ptr<const PrecompiledBundle>> PrecompiledBundle::Read(const BundleFiles& files) {
  Result<std::string> text = files.ReadNow(kFile, ManifestDocument::kMostBytes);
  if (text.status().code() == StatusCode::kNotFound) return std::shared_ptr<const PrecompiledBundle>();
  const std::string where = absl::StrCat(files.Where(), "/", kFile);
  TUNEONCE_RETURN_IF_ERROR(text.status().WithPrefix(where));
  TUNEONCE_ASSIGN_OR_RETURN(auto document, ManifestDocument::Parse(*text, where));
  std::shared_ptr<PrecompiledBundle> bundle(new PrecompiledBundle(files));
  TUNEONCE_RETURN_IF_ERROR(bundle->ReadFrom(document->root()));
  return std::shared_ptr<const PrecompiledBundle>(std::move(bundle));
}

Status PrecompiledBundle::ReadFrom(const ManifestNode& root) {
  TUNEONCE_RETURN_IF_ERROR(root.CheckFields({"tuneonce_precompiled", "targets", "code", "withheld", "selections"}));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* format, root.Get("tuneonce_precompiled"));
  TUNEONCE_ASSIGN_OR_RETURN(std::int64_t version, format->Int());
  if (version != kFormat) {
    return format->Error(absl::StrCat("this is format ", version, "; this tuneonce reads format ", kFormat,
                                      version > kFormat ? ": update tuneonce" : ": compile the bundle again"));
  }
  TUNEONCE_RETURN_IF_ERROR(ReadTargets(root));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* code, root.Get("code"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, code->Array(kMostCode));
  for (const ManifestNode& each : list) TUNEONCE_RETURN_IF_ERROR(ReadCode(each));
  TUNEONCE_RETURN_IF_ERROR(ReadWithheld(root));
  return ReadSelectionsField(root);
}

Status PrecompiledBundle::ReadTargets(const ManifestNode& root) {
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* targets, root.Get("targets"));
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, targets->Array(kMostTargets));
  for (const ManifestNode& each : list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"name", "cpu"}));
    TargetCode target;
    TUNEONCE_ASSIGN_OR_RETURN(target.name, ReadText(each, "name"));
    if (IsFor(target.name)) return each.Error("the target is given twice");
    if (const ManifestNode* cpu = each.Find("cpu")) {
      TUNEONCE_ASSIGN_OR_RETURN(target.cpu, cpu->String());
    }
    targets_.push_back(std::move(target));
  }
  return Status();
}

Status PrecompiledBundle::ReadCode(const ManifestNode& node) {
  TUNEONCE_RETURN_IF_ERROR(node.CheckFields({"key", "target", "variant", "config", "file", "checksum", "symbol",
                                             "toolchain", "refusal", "parameters", "assumptions"}));
  Code code;
  TUNEONCE_ASSIGN_OR_RETURN(Fingerprint key, ReadFingerprint(node, "key"));
  TUNEONCE_ASSIGN_OR_RETURN(code.target, ReadText(node, "target"));
  if (!IsFor(code.target)) return node.Find("target")->Error("the target is not listed in \"targets\"");
  TUNEONCE_ASSIGN_OR_RETURN(code.variant, ReadText(node, "variant"));
  TUNEONCE_ASSIGN_OR_RETURN(code.config, ReadText(node, "config"));
  TUNEONCE_ASSIGN_OR_RETURN(code.toolchain, ReadText(node, "toolchain"));
  if (node.Find("refusal") != nullptr) {
    if (node.Find("file") != nullptr)
      return node.Error(
          "the entry has both \"file\" (compiled code) and \"refusal\" (the compiler's error), but only one can apply: "
          "compile the bundle again");
    TUNEONCE_ASSIGN_OR_RETURN(code.refusal, ReadText(node, "refusal"));
    if (code.refusal.empty()) return node.Find("refusal")->Error("the refusal gives no reason");
  } else {
    TUNEONCE_ASSIGN_OR_RETURN(code.file, ReadText(node, "file"));
    TUNEONCE_ASSIGN_OR_RETURN(code.checksum, ReadFingerprint(node, "checksum"));
    TUNEONCE_ASSIGN_OR_RETURN(code.symbol, ReadText(node, "symbol"));
    TUNEONCE_RETURN_IF_ERROR(ReadParameters(node, &code));
  }
  if (!code_.emplace(key, std::move(code)).second) return node.Find("key")->Error("the key is given twice");
  return Status();
}

Status PrecompiledBundle::ReadParameters(const ManifestNode& node, Code* code) {
  if (const ManifestNode* types = node.Find("parameters")) {
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, types->Array(kMostKernelParameters));
    for (const ManifestNode& each : list) {
      TUNEONCE_ASSIGN_OR_RETURN(std::string type, each.String());
      code->parameters.push_back(std::move(type));
    }
  }
  const ManifestNode* assumptions = node.Find("assumptions");
  if (assumptions == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, assumptions->Array(kMostCode));
  for (const ManifestNode& each : list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"parameter", "divisible_by", "at_least", "at_most"}));
    TUNEONCE_ASSIGN_OR_RETURN(const ManifestNode* parameter, each.Get("parameter"));
    TUNEONCE_ASSIGN_OR_RETURN(const std::int64_t index, parameter->Int());
    if (index < 0 || index >= static_cast<std::int64_t>(kMostKernelParameters)) {
      return parameter->Error(absl::StrCat("parameter ", index, " is not within 0 to ", kMostKernelParameters - 1));
    }
    for (const CodeAssumption::Kind kind :
         {CodeAssumption::Kind::kDivisibleBy, CodeAssumption::Kind::kAtLeast, CodeAssumption::Kind::kAtMost}) {
      const ManifestNode* given = each.Find(CodeAssumptionName(kind));
      if (given == nullptr) continue;
      TUNEONCE_ASSIGN_OR_RETURN(const std::int64_t value, given->Int());
      if (kind == CodeAssumption::Kind::kDivisibleBy && value < 1)
        return given->Error("expected a whole number of at least 1");
      code->assumptions.push_back({kind, static_cast<std::size_t>(index), value});
    }
  }
  return Status();
}

Status PrecompiledBundle::ReadWithheld(const ManifestNode& root) {
  const ManifestNode* withheld = root.Find("withheld");
  if (withheld == nullptr) return Status();
  TUNEONCE_ASSIGN_OR_RETURN(const ManifestChildren list, withheld->Array(kMostCode));
  for (const ManifestNode& each : list) {
    TUNEONCE_RETURN_IF_ERROR(each.CheckFields({"variant", "source", "text"}));
    TUNEONCE_ASSIGN_OR_RETURN(std::string variant, ReadText(each, "variant"));
    TUNEONCE_ASSIGN_OR_RETURN(std::string source, ReadText(each, "source"));
    TUNEONCE_ASSIGN_OR_RETURN(Fingerprint text, ReadFingerprint(each, "text"));
    withheld_[{std::move(variant), std::move(source)}] = std::make_shared<const Fingerprint>(text);
  }
  return Status();
}

Status PrecompiledBundle::ReadSelectionsField(const ManifestNode& root) {
  const ManifestNode* selections = root.Find("selections");
  if (selections == nullptr) return Status();
  TUNEONCE_RETURN_IF_ERROR(selections->CheckFields({"file", "checksum"}));
  TUNEONCE_ASSIGN_OR_RETURN(selections_file_, ReadText(*selections, "file"));
  TUNEONCE_ASSIGN_OR_RETURN(selections_checksum_, ReadFingerprint(*selections, "checksum"));
  return Status();
}

Result<std::string> PrecompiledBundle::ReadChecked(const std::string& file, const Fingerprint& checksum) const {
  Result<std::string> bytes = files_.ReadNow(file);
  if (!bytes.ok()) return bytes.status().WithPrefix(files_.Where());
  if (Fingerprinter().Add(*bytes).Finish() == checksum) return bytes;
  return InvalidArgumentError(absl::StrCat(files_.Where(), "/", file,
                                           " was changed or damaged (the checksum differs): compile the bundle again"));
}

Result<std::string> PrecompiledBundle::ReadSelections() const {
  return selections_file_.empty() ? Result<std::string>(std::string())
                                  : ReadChecked(selections_file_, selections_checksum_);
}

Result<std::optional<PrecompiledCode::Image>> PrecompiledBundle::Find(const Fingerprint& key) const {
  auto found = code_.find(key);
  if (found == code_.end()) return std::optional<Image>();
  const Code& code = found->second;
  Image image;
  image.symbol = code.symbol;
  image.toolchain = code.toolchain;
  image.parameters = code.parameters;
  image.assumptions = code.assumptions;
  if (!code.refusal.empty()) {
    image.refusal = InvalidArgumentError(absl::StrCat(code.refusal, " (when the bundle was compiled)"));
    return std::optional<Image>(std::move(image));
  }
  auto target = std::find_if(targets_.begin(), targets_.end(), [&](const auto& t) { return t.name == code.target; });
  image.cpu = target->cpu;  // ReadCode has seen that there is one.
  TUNEONCE_ASSIGN_OR_RETURN(image.bytes, ReadImage(code));
  return std::optional<Image>(std::move(image));
}

bool PrecompiledBundle::IsFor(const std::string& target) const {
  return std::any_of(targets_.begin(), targets_.end(), [&](const auto& each) { return each.name == target; });
}

std::string PrecompiledBundle::Description() const {
  auto name = [](std::string* out, const TargetCode& target) { out->append(target.name); };
  return absl::StrCat("the bundle ", files_.Where(), " was compiled ahead for ", absl::StrJoin(targets_, ", ", name));
}

}  // namespace v0
}  // namespace tuneonce
