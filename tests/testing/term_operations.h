#ifndef TUNEONCE_TESTS_TESTING_TERM_OPERATIONS_H_
#define TUNEONCE_TESTS_TESTING_TERM_OPERATIONS_H_

#include "tuneonce/condition.h"

namespace tuneonce::testing {

/// Returns one of the eight operations of terms by its number, 0 to 7, for tests that make random terms.
inline Term OperationOn(int which, const Term& a, const Term& b) {
  switch (which) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a / b;
    case 4:
      return a % b;
    case 5:
      return CeilDiv(a, b);
    case 6:
      return Min(a, b);
    default:
      return Max(a, b);
  }
}

}  // namespace tuneonce::testing

#endif  // TUNEONCE_TESTS_TESTING_TERM_OPERATIONS_H_
