// A manifest of any content; the files that it may name are those of the examples.
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>

#include "base/file.h"
#include "tuneonce/bundle.h"

namespace tuneonce {
namespace {

struct Files {
  std::list<std::string> texts;  // Names and contents, which stay where they are.
  std::vector<EmbeddedFile> files = {EmbeddedFile{"manifest.json", nullptr, 0}};
};

const Files& ExampleFiles() {
  static const Files* const all = [] {
    auto* made = new Files;
    std::string root = TUNEONCE_BUNDLE_FOLDER;
    for (const std::string& bundle : NamesIn(root)) {
      for (const std::string& name : NamesIn(root + "/" + bundle)) {
        if (name == "manifest.json") continue;
        const std::string& kept = made->texts.emplace_back(name);
        const std::string& content = made->texts.emplace_back(*ReadFile(root + "/" + bundle + "/" + name));
        made->files.push_back({kept.c_str(), reinterpret_cast<const unsigned char*>(content.data()), content.size()});
      }
    }
    return made;
  }();
  return *all;
}

}  // namespace
}  // namespace tuneonce

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<tuneonce::EmbeddedFile> files = tuneonce::ExampleFiles().files;
  files.front() = tuneonce::EmbeddedFile{"manifest.json", data, size};
  static_cast<void>(tuneonce::Bundle::Load(tuneonce::EmbeddedBundle{"fuzz", files.data(), files.size()}));
  return 0;
}
