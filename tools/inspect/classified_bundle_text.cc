// What ClassifiedBundle says: to people, and as JSON.
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/printable.h"
#include "inspect/classified_bundle.h"

namespace tuneonce {
inline namespace v0 {

std::string ClassifiedBundle::ToString() const {
  std::string text = absl::StrCat(kernel, " on ", target.name(), ": ", classification.name(), "\n");
  for (const OfVariant& variant : variants) {
    absl::StrAppend(&text, "  variant ", variant.name, " (", std::string(SourceKindName(variant.kind)), "): ");
    if (variant.num_sources == 0) {
      absl::StrAppend(&text, "no evidence: ", variant.no_evidence.empty() ? "it builds no config" : variant.no_evidence,
                      "\n");
      continue;
    }
    absl::StrAppend(&text, variant.classification.name(), ": ", absl::StrJoin(variant.classification.reasons, "; "));
    if (variant.num_of_no_family > 0 && variant.classification.family != nullptr) {
      absl::StrAppend(&text, " (", variant.num_of_no_family, " of its ", variant.num_sources, " sources are of none)");
    }
    absl::StrAppend(&text, "\n");
    if (!variant.assumptions.empty()) {
      absl::StrAppend(&text, "    its code assumes that ", absl::StrJoin(variant.assumptions, ", "), "\n");
    }
  }
  if (intensity) {
    absl::StrAppendFormat(&text, "  %.4g operations per byte at %s: %s\n", *intensity, shape,
                          std::string(BoundName(*bound)));
  }
  if (!recommended.empty()) absl::StrAppend(&text, "  space to start from: ", recommended, ", ", why_recommended, "\n");
  for (const std::string& departure : departures) absl::StrAppend(&text, "  [look] ", departure, "\n");
  for (const std::string& warning : warnings) absl::StrAppend(&text, "  [look] ", warning, "\n");
  return PrintableLines(text);
}

std::string ClassifiedBundle::Json() const {
  using OrderedJson = nlohmann::ordered_json;
  auto family_of = [](const Classification& each) {
    return each.family != nullptr ? OrderedJson(each.family->name) : OrderedJson();
  };
  OrderedJson json = {{"kernel", kernel},
                      {"target", target.name()},
                      {"family", family_of(classification)},
                      {"reasons", classification.reasons},
                      {"recommended_space", recommended.empty() ? OrderedJson() : OrderedJson(recommended)},
                      {"intensity", intensity ? OrderedJson(*intensity) : OrderedJson()},
                      {"bound", bound ? OrderedJson(std::string(BoundName(*bound))) : OrderedJson()},
                      {"shape", shape},
                      {"departures", departures},
                      {"warnings", warnings},
                      {"variants", OrderedJson::array()}};
  for (const OfVariant& variant : variants) {
    json["variants"].push_back({{"name", variant.name},
                                {"source", std::string(SourceKindName(variant.kind))},
                                {"family", family_of(variant.classification)},
                                {"reasons", variant.classification.reasons},
                                {"sources", variant.num_sources},
                                {"sources_of_no_family", variant.num_of_no_family},
                                {"no_evidence", variant.no_evidence},
                                {"assumptions", variant.assumptions}});
  }
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace v0
}  // namespace tuneonce
