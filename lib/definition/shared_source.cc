#include "definition/shared_source.h"

namespace tuneonce {
inline namespace v0 {
namespace {

std::shared_ptr<const SourceText> TakeText(KernelSource* source) {
  auto text = std::make_shared<SourceText>();
  text->content = std::exchange(source->content, std::string());
  text->headers = std::exchange(source->headers, {});
  return text;
}

}  // namespace

std::shared_ptr<const SourceText> SourceTexts::Keep(KernelSource* source, const Fingerprint& identity) {
  auto [kept, is_new] = texts_.try_emplace(identity);
  if (is_new) {
    kept->second = TakeText(source);
  } else {
    TakeText(source);
  }
  return kept->second;
}

SharedSource::SharedSource() : SharedSource(KernelSource()) {}

SharedSource::SharedSource(KernelSource source, SourceTexts* texts) : is_withheld_(source.withheld != nullptr) {
  if (is_withheld_) {
    text_ = TakeText(&source);  // A text with the same fingerprint may be kept, but this source has none.
  } else {
    const tuneonce::Fingerprint identity = source.TextFingerprint();
    text_ = texts != nullptr ? texts->Keep(&source, identity) : TakeText(&source);
    source.withheld = std::make_shared<const tuneonce::Fingerprint>(identity);
  }
  rest_ = std::make_shared<const KernelSource>(std::move(source));
}

KernelSource SharedSource::Whole() const {
  KernelSource whole = *rest_;
  whole.content = text_->content;
  whole.headers = text_->headers;
  if (!is_withheld_) whole.withheld = nullptr;
  return whole;
}

}  // namespace v0
}  // namespace tuneonce
