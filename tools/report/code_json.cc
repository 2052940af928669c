#include "report/code_json.h"

#include <cctype>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "store/checksummed_artifact.h"

namespace tuneonce {
inline namespace v0 {
namespace {

using Json = nlohmann::ordered_json;

/// As deep as a piece of code lies: what is nested deeper is not built.
constexpr int kDeepestCode = 16;

std::optional<Fingerprint> ParseKey(const Json& json) {
  constexpr std::size_t kDigits = 16;
  std::string text = json.is_string() ? json.get<std::string>() : "";
  if (text.size() != 2 * kDigits || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    return std::nullopt;
  }
  auto word = [&](std::size_t at) { return std::stoull(text.substr(at, kDigits), nullptr, 16); };
  return Fingerprint{word(0), word(kDigits)};
}

Result<RecordedCode> PieceOf(const Json& json) {
  if (!json.is_object() || json.size() != 2 || !json.contains("key") || !json.contains("bytes")) {
    return InvalidArgumentError("the entry must be an object with 'key' and 'bytes'");
  }
  std::optional<Fingerprint> key = ParseKey(json["key"]);
  if (!key) return InvalidArgumentError("field 'key' must be a string of 32 hexadecimal digits");
  std::string bytes;
  if (!json["bytes"].is_string() || !absl::Base64Unescape(json["bytes"].get<std::string>(), &bytes)) {
    return InvalidArgumentError("field 'bytes' must be a string of base64");
  }
  TUNEONCE_ASSIGN_OR_RETURN(Artifact artifact, DecodeChecksummedArtifact(*key, bytes));
  return RecordedCode{*key, std::move(artifact)};
}

}  // namespace

std::string WithCode(const std::string& records_json, const std::vector<RecordedCode>& code) {
  Json json = Json::parse(records_json);
  json["code"] = Json::array();
  for (const RecordedCode& each : code) {
    json["code"].push_back({{"key", each.key.ToString()},
                            {"bytes", absl::Base64Escape(EncodeChecksummedArtifact(each.key, each.artifact))}});
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Result<std::vector<RecordedCode>> CodeFromJson(const std::string& text) {
  bool is_too_deep = false;
  auto keep = [&](int depth, Json::parse_event_t, Json&) {
    is_too_deep |= depth > kDeepestCode;
    return depth <= kDeepestCode;
  };
  Json json = Json::parse(text, keep, /*allow_exceptions=*/false);
  if (is_too_deep || !json.is_object()) return InvalidArgumentError("the file is not a file of records");
  std::vector<RecordedCode> code;
  auto list = json.find("code");
  if (list == json.end()) return code;
  if (!list->is_array()) return InvalidArgumentError("\"code\" must be an array");
  for (const Json& each : *list) {
    Result<RecordedCode> piece = PieceOf(each);
    if (!piece.ok()) return piece.status().WithPrefix(absl::StrCat("code ", code.size()));
    code.push_back(*std::move(piece));
  }
  return code;
}

}  // namespace v0
}  // namespace tuneonce
