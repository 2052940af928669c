#include "tuneonce/redis_options.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace tuneonce {
inline namespace v0 {
namespace {

constexpr char kTcp[] = "redis://";
constexpr char kUnix[] = "redis+unix://";
constexpr char kForms[] = "it is redis://HOST:PORT/NAME or redis+unix:///PATH?name=NAME";
constexpr std::size_t kLongestName = 64;
constexpr int kMostDatabases = 1 << 20;

Status Wrong(const std::string& what) { return InvalidArgumentError("a Redis address " + what + ": " + kForms); }

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
  });
}

/// Takes "?a=1&b=2" off the end of `*rest`.
Result<std::map<std::string, std::string>> TakeQuery(std::string_view* rest) {
  std::map<std::string, std::string> query;
  const std::size_t mark = rest->find('?');
  if (mark == std::string_view::npos) return query;
  const std::string text(rest->substr(mark + 1));
  *rest = rest->substr(0, mark);
  for (const std::string& part : std::vector<std::string>(absl::StrSplit(text, '&'))) {
    const std::size_t equals = part.find('=');
    if (equals == std::string::npos) return Wrong("has '?' without NAME=VALUE after it");
    query[part.substr(0, equals)] = part.substr(equals + 1);
  }
  return query;
}

Status TakeNumber(const char* name, std::map<std::string, std::string>* query, int* number) {
  auto given = query->find(name);
  if (given == query->end()) return Status();
  if (!absl::SimpleAtoi(given->second, number)) return Wrong(absl::StrCat("has a ", name, " that is not a number"));
  query->erase(given);
  return Status();
}

Status TakeUser(std::string_view* rest, RedisOptions* options) {
  const std::size_t at = rest->rfind('@');
  if (at == std::string_view::npos) return Status();
  const std::string_view who = rest->substr(0, at);
  *rest = rest->substr(at + 1);
  const std::size_t colon = who.find(':');
  options->password = std::string(colon == std::string_view::npos ? who : who.substr(colon + 1));
  if (colon != std::string_view::npos) options->user = std::string(who.substr(0, colon));
  return options->password.empty() ? Wrong("has '@' without a password before it") : Status();
}

Status TakeHost(std::string_view place, RedisOptions* options) {
  std::string_view port;
  if (!place.empty() && place.front() == '[') {  // IPv6.
    const std::size_t end = place.find(']');
    if (end == std::string_view::npos) return Wrong("has '[' without ']'");
    options->host = std::string(place.substr(1, end - 1));
    port = place.substr(end + 1);
  } else {
    const std::size_t colon = std::min(place.find(':'), place.size());
    options->host = std::string(place.substr(0, colon));
    port = place.substr(colon);
  }
  if (options->host.empty()) return Wrong("has no host");
  if (port.empty()) return Status();
  if (port.front() == ':' && absl::SimpleAtoi(std::string(port.substr(1)), &options->port)) return Status();
  return Wrong("has a port that is not a number");
}

}  // namespace

bool IsRedisAddress(std::string_view text) {
  return text.substr(0, sizeof(kTcp) - 1) == kTcp || text.substr(0, sizeof(kUnix) - 1) == kUnix;
}

Result<RedisOptions> RedisOptions::Parse(std::string_view address) {
  if (!IsRedisAddress(address)) return Wrong("must begin with redis:// or redis+unix://");
  const bool is_unix = address.substr(0, sizeof(kUnix) - 1) == kUnix;
  std::string_view rest = address.substr(is_unix ? sizeof(kUnix) - 1 : sizeof(kTcp) - 1);
  RedisOptions options;
  TUNEONCE_ASSIGN_OR_RETURN(auto query, TakeQuery(&rest));
  TUNEONCE_RETURN_IF_ERROR(TakeUser(&rest, &options));
  TUNEONCE_RETURN_IF_ERROR(TakeNumber("db", &query, &options.database));
  TUNEONCE_RETURN_IF_ERROR(TakeNumber("timeout_ms", &query, &options.timeout_ms));
  if (is_unix) {
    options.unix_socket = std::string(rest);
    options.name = std::exchange(query["name"], "");
    query.erase("name");
    if (rest.empty() || rest.front() != '/') return Wrong("has no absolute path of a socket");
  } else {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    TUNEONCE_RETURN_IF_ERROR(TakeHost(rest.substr(0, slash), &options));
    options.name = std::string(rest.substr(std::min(slash + 1, rest.size())));
  }
  if (!query.empty()) return Wrong("has the unknown option '" + query.begin()->first + "='");
  TUNEONCE_RETURN_IF_ERROR(options.Validate());
  return options;
}

std::string RedisOptions::ToString() const {
  if (!unix_socket.empty()) return absl::StrCat(kUnix, unix_socket, "?name=", name);
  const bool is_ipv6 = absl::StrContains(host, ":");
  return absl::StrCat(kTcp, is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":", port, "/", name);
}

Status RedisOptions::Validate() const {
  if (!IsName(name)) {
    return Wrong(absl::StrCat("has the name '", name, "', but a name has 1 to ", kLongestName,
                              " letters, digits, '.', '_' and '-'"));
  }
  if (unix_socket.empty() && (port < 1 || port > 65535)) return Wrong(absl::StrCat("has the port ", port));
  if (database < 0 || database > kMostDatabases) return Wrong(absl::StrCat("has the db ", database));
  if (timeout_ms < 1) return InvalidArgumentError("RedisOptions::timeout_ms must be at least 1");
  return Status();
}

}  // namespace v0
}  // namespace tuneonce
