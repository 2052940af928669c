#ifndef USE_H_
#define USE_H_

#include "tuneonce/tuneonce.h"

/// A search and a launch on the CPU device.
tuneonce::Status UseTuneonce();

#endif  // USE_H_
