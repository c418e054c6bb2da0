/**
 * What an argument is; Kind in arguments.hpp has the same numbers. Both sides fold the kinds of a call's
 * arguments into one number, and the core refuses a call where the two differ.
 */
export const Kind = {
  real: 1,
  integer: 2,
  flag: 3,
  choice: 4,
  optionalReal: 5,
  optionalInteger: 6,
  address: 7,
  floats: 8,
  result: 9,
  ints: 10,
  doubles: 11,
  bytes: 12,
  halves: 13,
};
