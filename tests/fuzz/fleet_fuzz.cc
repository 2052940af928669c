// What a fleet's server may hand out, of any content: nothing opens that was not signed, under its name, as it is. And
// addresses of any text.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "signatures.h"
#include "tuneonce/redis_options.h"

namespace {

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto* const signatures = new tuneonce::Signatures(
      *tuneonce::Signatures::Create({{"a", std::string(32, 'a')}, {"b", std::string(32, 'b')}}));
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  // Nothing is ever signed under this name: the fuzzer reads what the comparison below holds, and finds good bytes
  // there.
  Expect(!signatures->Open("unsigned", bytes).ok(), "bytes opened that nobody signed");
  // The input as a change of what was signed: each byte of it turns one over.
  std::string changed = signatures->Sign("name", "the body of a record");
  const std::string good = changed;
  for (std::size_t i = 0; i + 1 < size; i += 2) {
    changed[data[i] % changed.size()] = static_cast<char>(changed[data[i] % changed.size()] ^ data[i + 1]);
  }
  Expect(signatures->Open("name", changed).ok() == (changed == good), "something else opened than what was signed");
  Expect(!signatures->Open("nam", good).ok(), "it opened under another name");
  tuneonce::Result<tuneonce::RedisOptions> address = tuneonce::RedisOptions::Parse(bytes);
  if (address.ok()) Expect(address->Validate().ok(), "an address was read that is none");
  return 0;
}
