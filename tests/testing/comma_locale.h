#ifndef TUNEONCE_TESTS_TESTING_COMMA_LOCALE_H_
#define TUNEONCE_TESTS_TESTING_COMMA_LOCALE_H_

#include <locale.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <string>

namespace tuneonce::testing {

/// The process's locale is one that writes a comma in numbers while this object lives: the machine's de_DE.UTF-8, or
/// one that localedef makes in a temporary folder. Thread rule: no other thread formats numbers meanwhile.
class CommaLocale {
 public:
  CommaLocale() {
    if (Set()) return;
    char pattern[] = "/tmp/tuneonce-locale-XXXXXX";
    if (mkdtemp(pattern) == nullptr) return;
    folder_ = pattern;
    const std::string command = "localedef -i de_DE -f UTF-8 " + folder_ + "/de_DE.UTF-8 > /dev/null 2>&1";
    if (system(command.c_str()) != 0) return;
    setenv("LOCPATH", folder_.c_str(), 1);
    (void)Set();
  }
  ~CommaLocale() {
    setlocale(LC_ALL, "C");
    if (folder_.empty()) return;
    unsetenv("LOCPATH");
    std::filesystem::remove_all(folder_);
  }
  CommaLocale(const CommaLocale&) = delete;
  CommaLocale& operator=(const CommaLocale&) = delete;

  bool is_set() const { return is_set_; }

 private:
  bool Set() {
    is_set_ = setlocale(LC_ALL, "de_DE.UTF-8") != nullptr && std::strcmp(localeconv()->decimal_point, ",") == 0;
    return is_set_;
  }

  bool is_set_ = false;
  std::string folder_;
};

/// Declares the test's CommaLocale, or skips the test.
#define TUNEONCE_COMMA_LOCALE_OR_SKIP()                                                                         \
  ::tuneonce::testing::CommaLocale comma_locale;                                                                \
  if (!comma_locale.is_set())                                                                                   \
  GTEST_SKIP() << "no locale with a decimal comma: install de_DE.UTF-8, or localedef and its sources (Debian: " \
                  "locales)"

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_COMMA_LOCALE_H_
