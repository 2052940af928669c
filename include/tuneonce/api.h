#ifndef TUNEONCE_API_H_
#define TUNEONCE_API_H_

/// Marks what the shared library exports; everything else is hidden (`-fvisibility=hidden`).
#define TUNEONCE_API [[gnu::visibility("default")]]

#endif  // TUNEONCE_API_H_
