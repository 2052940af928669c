#ifndef TUNEONCE_LIB_DEFINITION_SHARED_SOURCE_H_
#define TUNEONCE_LIB_DEFINITION_SHARED_SOURCE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tuneonce/kernel_source.h"
#include "tuneonce/plugin/fingerprint.h"
#include "tuneonce/result.h"

namespace tuneonce {
inline namespace v0 {

/// The long parts of a source.
struct SourceText {
  std::string content;
  std::vector<std::pair<std::string, std::string>> headers;
};

/// Texts of sources, each kept once. The sources of a search differ in macros and symbols, but rarely in their text.
/// Thread rule: one thread.
class SourceTexts {
 public:
  /// Moves the text out of `source`, and returns it or an equal text that was kept before. `identity` is
  /// KernelSource::TextFingerprint of the source.
  std::shared_ptr<const SourceText> Keep(KernelSource* source, const Fingerprint& identity);

 private:
  std::map<Fingerprint, std::shared_ptr<const SourceText>> texts_;
};

/// A source that shares its text with others (SourceTexts), so that the candidates of a search need little memory until
/// they are compiled. It has value semantics, and copies share the text. Thread rule: immutable; any thread.
class SharedSource {
 public:
  SharedSource();  ///< Makes an empty source.
  /// Keeps the text in `texts`, or for itself and its copies if that is null.
  SharedSource(KernelSource source, SourceTexts* texts = nullptr);  // NOLINT(google-explicit-constructor)

  SourceKind kind() const { return rest_->kind; }
  const std::string& symbol() const { return rest_->symbol; }
  const std::string& file() const { return rest_->file; }
  const std::string& content() const { return text_->content; }
  /// Returns the source with its text, which is copied.
  KernelSource Whole() const;
  /// Returns KernelSource::Fingerprint of the source, without reading its text again.
  tuneonce::Fingerprint Fingerprint() const { return rest_->Fingerprint(); }

 private:
  std::shared_ptr<const KernelSource> rest_;  // The source without its text, whose fingerprint is in `withheld`.
  bool is_withheld_;                          // Whether the source itself was shipped without its text.
  std::shared_ptr<const SourceText> text_;
};

}  // namespace v0
}  // namespace tuneonce

#endif  // TUNEONCE_LIB_DEFINITION_SHARED_SOURCE_H_
