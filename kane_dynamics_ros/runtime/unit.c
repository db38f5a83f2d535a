/* Some functions of a generated module as a library that extension.c calls: compiled together with NAME.c. */
#include KD_HEADER
#include "wrappers.h"
